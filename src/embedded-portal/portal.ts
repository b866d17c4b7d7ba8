// The running portal, a request to it, and what a profile is: the specification's operations, or a release's around them.
import type { IncomingMessage } from 'node:http';
import type { Log } from '../model/log.ts';
import { escapeHtml } from '../util/html.ts';
import type { Answer } from './answer.ts';
import type { Field, NodeReader } from './content/fields.ts';
import type { Copies } from './content/save.ts';
import type { FileItem } from './content/view.ts';
import type { Datastore, DatastoreOptions } from './datastore/datastore.ts';
import type { SearchQuery } from './datastore/query.ts';
import type { FormTree } from './media/form.ts';
import type { chooseFormat, Format, FormatName } from './media/formats.ts';
import type { UploadedFile } from './media/multipart.ts';
import type { BodyParser, ResultShape } from './media/value.ts';
import type { PageCache } from './page-cache.ts';
import type { loginQueue } from './password.ts';
import type { Races } from './races.ts';
import { Refusal } from './refusal.ts';
import type { Site } from './site.ts';
import type { NodeType, StoredFile } from './store/nodes.ts';
import type { Store } from './store/open.ts';
import type { Tokens } from './store/tokens.ts';
import type { Session, User } from './store/users.ts';

/** The datastore as resources use it: our own one, or that of a release. Ids are numeric strings. */
export type PortalDatastore = Omit<Datastore, 'search' | 'sweep' | 'fieldStatus'> & {
  search(query: SearchQuery): Promise<unknown>;
  sweep(): Promise<unknown>;
  /** Value of `field_datastore_status`; null: as stored. */
  fieldStatus(nid: string): string | null;
  /** What cron does for it, where cron has something to do. */
  runCron?(): Promise<void>;
};

export interface DatastoreParts extends DatastoreOptions {
  /** Null: requests do not get in each other's way. */
  races: Races | null;
  site: Site;
}

export interface PortalSettings {
  /** Address under which clients reach the portal, when a proxy stands before it; on https cookies are `Secure`. */
  publicUrl?: string;
  /** The account of our own workers: the secret lets it in, too, and never counts as a guess, so that nobody locks it out. */
  ownAccount?: { name: string; secret: string };
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted for the client's address; none when absent. */
  trustedProxies?: readonly string[];
  /** True: an XML-RPC server over the same resources answers at /api/xmlrpc; off by default. */
  xmlrpc?: boolean;
  /** Operations that exist by resource, such as `{ node: ['index', 'retrieve'] }`; all when absent. */
  expose?: Readonly<Record<string, readonly string[]>>;
  /** Level at which every request is logged; `debug` when absent. */
  accessLevel?: 'info' | 'debug';
}

/** Limits that no real use reaches. Sizes in bytes, times in milliseconds. */
export const defaultLimits = {
  /** Largest body that is not an upload. */
  bodyBytes: 2_000_000,
  fileBytes: 20_000_000_000,
  /** Time in which the headers must have come. */
  headersMs: 20_000,
  bodyIdleMs: 30_000,
  /** Least average speed of a body that has been coming for longer than `bodyIdleMs`, bytes a second. */
  bodyRate: 500,
  /** Longest time that a client may take for the next part (64 kB) of an answer. */
  answerIdleMs: 60_000,
  /** Longest silence on a connection that waits for something; longer than any import that is waited for. */
  silenceMs: 180_000,
  /** Most connections of one address at once; trusted proxies have no limit. */
  connectionsPerAddress: 1024,
};

export type PortalLimits = typeof defaultLimits;

export interface Portal extends PortalSettings {
  store: Store;
  datastore: PortalDatastore;
  /** How overlapping requests interfere; null: they don't. */
  races: Races | null;
  profile: Profile;
  /** The resources that exist, by their names in paths. */
  resources: ReadonlyMap<string, Resource>;
  site: Site;
  limits: PortalLimits;
  log: Log;
  tokens: Tokens | null;
  /** Unix seconds. */
  now: () => number;
  logins: ReturnType<typeof loginQueue>;
  counts: { reads: number; writes: number };
  /** Requests in progress, including those whose client has gone. */
  inProgress: Set<Promise<void>>;
  pages: PageCache;
}

export interface Call {
  portal: Portal;
  request: IncomingMessage;
  /** Address of the portal as the client sees it, without a slash at the end. */
  baseUrl: string;
  cookieName: string;
  /** The client's IP address, as the first proxy that is not trusted gives it. */
  address: () => string;
  session: Session | null;
  user: User;
  query: FormTree;
  /** The query string as it came, without the question mark. */
  queryText: string;
  /** The path after the resource's name, suffix removed; ids and action arguments. */
  args: string[];
  /** Top-level values of the body; empty when it holds no map. */
  body: Record<string, unknown>;
  files: UploadedFile[];
  /** True when the cookie names a session that has ended or never existed. */
  hasDeadCookie: boolean;
  headers: Record<string, string>;
}

/** What the id in the path stands for; 404 with the id as it was sent where there is none. */
export const needById = <T>(call: Call, byId: (id: number) => T | null, words: (id: string) => string): T => {
  const [sent = ''] = call.args;
  const found = /^\d{1,15}$/.test(sent) ? byId(Number(sent)) : null;
  if (found === null) throw new Refusal(404, words(escapeHtml(sent)));
  return found;
};

/** What an operation answers: a value to format, or a body as it is. */
export type Result = { value: unknown; shape?: ResultShape } | (Partial<Answer> & Pick<Answer, 'body'>);

/** An operation; without its optional parts it only reads, takes no arguments and no files, and is open to everybody. */
export interface Operation {
  /** `POST <name>/<action>`, `POST <name>/<id>/<action>` or `GET <name>/<id>/<relationship>`; by its method when absent. */
  place?: 'action' | 'targeted' | 'relationship' | undefined;
  /** True when it changes nodes or datastores; counted by the portal. */
  writes?: boolean;
  /** Top-level keys that the body must have (401 when one is missing). */
  requires?: (call: Call) => readonly string[];
  /** False: never asks for a CSRF token. */
  csrf?: boolean;
  /** True: file parts are kept when access is granted. */
  takesFiles?: boolean;
  /** Throws a Refusal when the user may not; called before {@link Operation.run}. */
  access?: (call: Call) => void;
  run: (call: Call) => Result | Promise<Result>;
}

/**
 * A service resource: what is behind `/api/dataset/<name>` (spec 4, recorded behaviour 1). Its operations by name: `index`,
 * `retrieve`, `create`, `createOn` (`POST <name>/<id>`), `update` and `delete` by their methods, others at their place.
 */
export type Resource = Readonly<Record<string, Operation>>;

export interface Wire {
  formats: Readonly<Record<FormatName, Format>>;
  chooseFormat: typeof chooseFormat;
  /** The format of results of some resources where no suffix names one, whatever Accept says; errors follow Accept. */
  resultFormats: Readonly<Record<string, FormatName>>;
  /** Readers of bodies by content type; that of multipart bodies takes the stream and is null. */
  readers: Readonly<Record<string, BodyParser<unknown> | null>>;
  /** True: the case of a content type does not matter. */
  ignoresCase: boolean;
  /** True: an answer says what is malformed in a body, and where. */
  explains: boolean;
  /** True for a body that is accepted but not read. */
  skipsBody: (call: Call) => boolean;
  /** The answer to an Accept or Content-Type that is no MIME type. */
  malformedMime: (message: string) => Refusal;
  longestReason: number;
  /** The path as web servers before a portal hand it on. */
  pathOf: (path: string) => string;
  /** Whether a Host other than a loopback one may be repeated as the address of the portal. */
  believesHost: (host: string, request: IncomingMessage) => boolean;
  csrfTokenOf: (call: Call) => string;
  cookieAttributes: string;
  /** The answer with what depends on the session. */
  finish: (call: Call, answer: Answer) => Answer;
}

export interface Uploads {
  /** The name of a file that was sent as `name`; null where it may not be attached. */
  nameOf: (name: string) => string | null;
  mimeOf: (name: string) => string;
  /** The public name of a file that takes the place of `freed` ones. */
  publicName: (name: string, isTaken: (name: string) => boolean, freed: readonly StoredFile[]) => string;
  item: FileItem;
}

/** Answers at paths outside of the service; null at any other. */
export type SiteHandler = (call: Call, path: string) => Answer | null | Promise<Answer | null>;

export type ProfileName = 'spec' | 'dkan-7.18.16' | 'dkan-7.18' | 'dkan-7.14';

export interface Profile {
  name: ProfileName;
  siteName: string;
  /** The resources that exist, by their names in paths. */
  resources: Readonly<Record<string, Resource>>;
  fields: Readonly<Record<NodeType, readonly Field[]>>;
  readNode: NodeReader;
  uploads: Uploads;
  /** Saves what else changes with a node; inside the write. */
  savedWith: (call: Call, nid: number, copies: Copies) => void;
  /** Of the resources that get other groups in one request, more than so many wait for cron. */
  mostGroupedAtOnce: number;
  /** Whether overlapping requests interfere where the options leave it open. */
  races: boolean;
  openDatastore: (parts: DatastoreParts) => PortalDatastore;
  wire: Wire;
  site: readonly SiteHandler[];
}
