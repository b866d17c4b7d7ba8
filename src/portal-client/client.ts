// The client of one portal: every call of the Dataset REST API that sluice makes.
import { createHash } from 'node:crypto';
import { paths } from '../dataset-api/paths.ts';
import { PortalConflictError } from '../model/errors.ts';
import { Datastore } from './datastore.ts';
import { DialectChoice } from './dialect.ts';
import { filePath, fileSender } from './files.ts';
import type { FileReply, Http } from './http.ts';
import {
  groupResolver,
  type HiddenNodes,
  hiddenNodes,
  type IsEnough,
  noneHidden,
  ReadCache,
  seesDrafts,
  UuidLookup,
} from './lookup.ts';
import { type NodeInput, Nodes } from './nodes.ts';
import { type PortalProbe, probePortal } from './probe.ts';
import type { NodeRow, PortalNode } from './replies.ts';
import { Caller, type Identity, Session, type WriteLease } from './session.ts';
import { type Dialect, type PortalHooks, type PortalSettings, type TermStore, Traits } from './settings.ts';
import { Suggestions } from './suggestions.ts';
import { Terms } from './terms.ts';

export { isAnswer } from './answers.ts';
export type { PortalTable } from './datastore.ts';
export { filePath, type PortalFile } from './files.ts';
export type { FileReply } from './http.ts';
export { isForbidden, type ListQuery, type NodeChanges, type NodeInput } from './nodes.ts';
export type { PortalProbe, ProbeFinding } from './probe.ts';
export type { NodeRow, PortalNode } from './replies.ts';
export type { Identity } from './session.ts';
export {
  type Dialect,
  type PortalHooks,
  type PortalSettings,
  type PortalTraits,
  type RequestKind,
  traitsSchema,
} from './settings.ts';

const memoryTerms = (): TermStore => {
  const known: Record<string, string> = {};
  return { read: async () => ({ ...known }), write: async (terms) => void Object.assign(known, terms) };
};

const isDraft = ({ status }: PortalNode): boolean => status === '0';

/** What every view of one portal shares. */
const sharedParts = (settings: PortalSettings, hooks: PortalHooks) => {
  const session = new Session(settings, hooks);
  const traits = new Traits(hooks.traits ?? {}, (known) => hooks.onTraits?.(known));
  const caller = new Caller(session, null);
  const datastore = new Datastore(caller, traits, 0);
  const dialect = new DialectChoice({ set: settings.dialect, traits, caller, datastore });
  const nodes = new Nodes(caller, dialect);
  const suggestions = new Suggestions(caller, traits);
  const stated = settings.terms ?? { vocabularies: {}, terms: {} };
  return {
    ...{ session, settings, traits, dialect, suggestions },
    lookup: new UuidLookup((query, signal) => nodes.list(query, signal), session.signal),
    terms: new Terms(hooks.terms ?? memoryTerms(), stated, traits, suggestions),
    resolveGroups: groupResolver(settings.name, nodes, session.signal),
    hidden: new ReadCache<HiddenNodes>(session.signal),
  };
};

/**
 * One portal and one session with it. Every call logs in when needed and rejects with one of the `Portal…Error`s, or with
 * the signal's reason. After a refused login every call fails at once, without a request, until {@link Portal.login}.
 */
export class Portal {
  readonly name: string;
  readonly url: string;
  /** True where nobody logs in, so that only what the public may read is seen. */
  readonly isAnonymous: boolean;
  readonly traits: Traits;
  readonly terms: Terms;
  readonly resolveGroups: ReturnType<typeof groupResolver>;
  readonly suggestions: Suggestions;
  /** {@link createNode} looks before it repeats. */
  readonly nodes: Nodes;
  readonly attach: ReturnType<typeof fileSender>;
  readonly datastore: Datastore;
  readonly #shared: ReturnType<typeof sharedParts>;

  private constructor(shared: ReturnType<typeof sharedParts>, lease: WriteLease | null) {
    const { session, settings, traits } = shared;
    const { timeouts } = settings;
    const caller = new Caller(session, lease);
    this.#shared = shared;
    this.name = settings.name;
    this.url = session.portal.url;
    this.isAnonymous = settings.isAnonymous === true;
    this.traits = traits;
    this.terms = shared.terms;
    this.resolveGroups = shared.resolveGroups;
    this.suggestions = shared.suggestions;
    this.nodes = new Nodes(caller, shared.dialect);
    this.attach = fileSender(caller, traits, timeouts);
    this.datastore = new Datastore(caller, traits, timeouts.importMs ?? timeouts.uploadMs);
  }

  /** Opens the client of a portal. Nothing is sent before the first call. @throws TypeError when `url` is no URL. */
  static open(settings: PortalSettings, hooks: PortalHooks): Portal {
    return new Portal(sharedParts(settings, hooks), null);
  }

  /** The same portal for one job: writes are sent only while the lease is valid. */
  forJob(lease: WriteLease | null): Portal {
    return new Portal(this.#shared, lease);
  }

  /** Logs in anew, also after a refused login. `roles` maps role ids to names. */
  login(signal: AbortSignal): Promise<Identity> {
    return this.#shared.session.login(signal);
  }

  /** The user of the current session; logs in when there is none. */
  identity(signal: AbortSignal): Promise<Identity> {
    return this.#shared.session.identity(signal);
  }

  /** What `check --portal` reports: reachable, this API, login, rights, dialect, datastore. Reads only, never rejects. */
  probe(signal: AbortSignal): Promise<PortalProbe> {
    return probePortal({ ...this.#shared, datastore: this.datastore, nodes: this.nodes }, signal);
  }

  /** The dialect writes are made in; found by at most two reads the first time. */
  dialectInUse(signal: AbortSignal): Promise<Dialect> {
    return this.#shared.dialect.current(signal);
  }

  /**
   * Creates a node with one POST; when the session is lost on the way, the uuid is looked up before it is repeated.
   * @throws PortalConflictError when the portal holds a node with that uuid (`request.nid` where the portal names it)
   */
  createNode(input: NodeInput, signal: AbortSignal): Promise<{ nid: string }> {
    return this.nodes.create(input, signal, async () => {
      const row = await this.#shared.lookup.find(input.uuid, signal);
      if (row === null) return;
      throw new PortalConflictError(
        `portal ${this.name}: node ${row.nid} already has the uuid ${input.uuid}`,
        { method: 'POST', path: paths.nodes, nid: row.nid, mayHaveHappened: false },
        { hint: 'the next attempt adopts the node' },
      );
    });
  }

  /** The listed node with that uuid, or null; calls within a few milliseconds share one list request (up to 20 uuids). */
  findByUuid(uuid: string, signal: AbortSignal, options: { recent?: boolean } = {}): Promise<NodeRow | null> {
    return this.#shared.lookup.find(uuid, signal, options);
  }

  /** Uuids that are looked up soon (`recent`): they go along with the requests for others. */
  expectNodes(uuids: readonly string[]): void {
    this.#shared.lookup.expect(uuids);
  }

  /** Ids of the nodes of a type with that title, also of drafts that lists hide from this account. */
  async nidsTitled(type: string, title: string, signal: AbortSignal): Promise<string[]> {
    const rows = await this.nodes.titled(type, title, signal);
    const { nodes } = await this.draftsTitled(type, title, signal);
    const drafts = nodes.filter((node) => node.type === type && node.title === title);
    return [...new Set([...rows, ...drafts].map(({ nid }) => nid))];
  }

  /**
   * Those of {@link hiddenNodes} with a title, and maybe others. One request finds them where the portal suggests drafts to
   * their author. Many do not (access rights rebuilt), so without a draft in the answer, one must be known that is suggested.
   */
  async draftsTitled(type: string, title: string, signal: AbortSignal): Promise<HiddenNodes> {
    if (seesDrafts(await this.identity(signal))) return noneHidden;
    const nids = await this.suggestions.nodesTitled(type, title, signal);
    if (nids === null) return this.hiddenNodes(signal);
    const seen = await Promise.all(nids.map((nid) => this.nodes.visible(nid, signal)));
    const nodes = seen.filter((node) => node !== null);
    if (nodes.some(isDraft)) return { nodes, unread: 0 };
    return this.hiddenNodes(signal, async (node, until) => {
      const suggested = isDraft(node) ? await this.suggestions.nodesTitled(node.type, node.title, until) : null;
      return suggested?.includes(node.nid) === true;
    });
  }

  /**
   * Nodes that this account may read but no list shows: its own drafts. Searched for at most every five minutes, and up to one
   * that `isEnough`: the others can be found in another way.
   */
  hiddenNodes(signal: AbortSignal, isEnough?: IsEnough): Promise<HiddenNodes> {
    const { session, hidden } = this.#shared;
    const read = (until: AbortSignal) => hiddenNodes({ session, nodes: this.nodes, isEnough }, until);
    return hidden.get(isEnough ? 'suggested' : 'all', read, signal);
  }

  /** True where the list of a dataset's resources is written with the dataset, and the portal sets the other side. */
  async linksByList(signal: AbortSignal): Promise<boolean> {
    return (await this.dialectInUse(signal)) === 'entity' && this.traits.get('linksByList') !== false;
  }

  /** The highest listed node id, "0" on an empty portal. */
  async highestNid(signal: AbortSignal): Promise<string> {
    const orderBy = { column: 'nid', direction: 'DESC' } as const;
    const [row] = await this.nodes.list({ fields: ['nid'], pageSize: 1, orderBy }, signal);
    return row?.nid ?? '0';
  }

  /** Address of a file by its `uri`; null where the portal serves none under it. */
  fileUrl(uri: string): string | null {
    const path = filePath(uri);
    return path === null ? null : `${this.url}${path}`;
  }

  /** sha256 (hex) of a file by its `uri` (`public://…`, `private://…`), as this account is served it; null when it is not. */
  async fileHash(uri: string, signal: AbortSignal): Promise<string | null> {
    const path = filePath(uri);
    if (path === null) return null;
    return this.file(
      path,
      async ({ status, body }) => {
        if (status !== 200) return null;
        const hash = createHash('sha256');
        for await (const chunk of body) hash.update(chunk);
        return hash.digest('hex');
      },
      signal,
    );
  }

  /** A file by its path below the portal's address, streamed, as this account is served it. See `Http.file`. */
  file<T>(path: string, take: (reply: FileReply) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#shared.session.file(path, take, signal);
  }

  /** How long it has owed every reply that this process waits for; null while it owes none. */
  get silence(): Http['silence']['state'] {
    return this.#shared.session.http.silence.state;
  }

  /** Logs out and closes the connections; what is in flight is given two seconds. Idempotent. */
  close(): Promise<void> {
    return this.#shared.session.close();
  }
}
