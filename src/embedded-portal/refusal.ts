// A request that is answered with an error (status, message, body), and who may do what with nodes and files (recorded behaviour 14).
import type { Permission } from '../dataset-api/values.ts';
import { escapeHtml } from '../util/html.ts';
import type { StoredFile, StoredNode } from './store/nodes.ts';
import type { Store } from './store/open.ts';
import type { User } from './store/users.ts';

/** What a {@link Refusal} may carry beside status and message. */
interface RefusalDetails {
  /** The value to format as body; `[message]` (one-element list) when absent. */
  body?: unknown;
  /** Sent as it is in place of a formatted body, under the negotiated type; empty where there is no such route or format. */
  raw?: string;
  /** Replaces the reason phrase that status and message make. */
  reason?: string;
}

/** Answers with an error. Its message is for the client: no SQL, paths or stacks; it is wire, so not in `errors.ts`. */
export class Refusal extends Error {
  readonly status: number;
  readonly details: RefusalDetails;

  constructor(status: number, message: string, details: RefusalDetails = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.details = details;
  }
}

const prefixes: Record<number, string> = { 401: 'Unauthorized ', 404: 'Not found ', 406: 'Not Acceptable ' };

/** The reason phrase of an error as servers of this API send it: `Not found : message` (recorded behaviour 2). */
export const reasonPhrase = (status: number, message: string): string => `${prefixes[status] ?? ''}: ${message}`;

/** A text fit for a status line: no tags or control characters, `?` above U+00FF. An unclean one would end the process. */
export const cleanReason = (text: string, longest = 200): string =>
  text
    .replace(/<[^<>]*>/g, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being removed
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
    .replace(/[^\u0020-\u00ff]/gu, '?')
    .slice(0, longest)
    .trim();

/** A text as messages of such portals set it off. */
export const em = (text: string): string => `<em class="placeholder">${escapeHtml(text)}</em>`;

/** Access denied, always 403 and with the user's name (recorded behaviour 2). */
export const accessDenied = (name: string): Refusal =>
  new Refusal(403, `Access denied for user ${name === '' ? 'anonymous' : escapeHtml(name)}`);

/** An exception of a deployed server: 500, the message in the reason only, an empty body. */
export const exceptionFault = (code: string, message: string): Refusal =>
  new Refusal(500, message, {
    reason: `Internal Server Error : An error occurred (${code}): ${message.replaceAll('\n', '')}`,
    raw: '',
  });

/** A value that names no node, as the database of deployed servers says it. */
export const unknownNode = (value: string): Refusal =>
  exceptionFault(
    '0',
    `Invalid data value given. Be sure it matches the required data type and format. Value at node(): ${value}.`,
  );

/** True when a role of the user has the permission; user 1 may everything. */
export const may = (user: User, permission: Permission): boolean => user.uid === 1 || user.permissions.has(permission);

type Owned = Pick<StoredNode, 'uid' | 'status'>;

const owns = (user: User, node: Owned): boolean => user.uid !== 0 && node.uid === user.uid;

/** True when the user may read the node: published, his own, or he administers nodes. */
export const mayRead = (user: User, node: Owned): boolean =>
  node.status === 1 || owns(user, node) || may(user, 'administer nodes');

/** True when the user may update, delete or attach to the node. */
export const mayEdit = (user: User, node: StoredNode): boolean =>
  may(user, 'edit any content') || (owns(user, node) && may(user, 'edit own content'));

/** True when the user may read one of the nodes that use the file. */
export const mayReadFile = (store: Store, user: User, { fid }: StoredFile): boolean =>
  store.files.nodesOf(fid).some((nid) => {
    const node = store.nodes.byNid(nid);
    return node !== null && mayRead(user, node);
  });

/** True when the user may put the file on the node (null: a new one): it is there already, he uploaded it, or may read it. */
export const mayUseFile = (store: Store, user: User, { file, node }: { file: StoredFile; node: StoredNode | null }) =>
  (node !== null && store.files.nodesOf(file.fid).includes(node.nid)) ||
  (user.uid !== 0 && file.uid === user.uid) ||
  mayReadFile(store, user, file);

export const demand = (user: User, allowed: boolean): void => {
  if (!allowed) throw accessDenied(user.name);
};
