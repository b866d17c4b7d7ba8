// A request in the dispatcher, as resources see it, and how it is opened: address of the portal, session, user.
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6, type Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Log } from '../model/log.ts';
import { memoize } from '../util/bounded-map.ts';
import type { ResponseCache, StreamedBody } from './answer.ts';
import type { LongTexts } from './content/long-texts.ts';
import type { Datastore, SearchQuery } from './datastore/datastore.ts';
import type { FormTree } from './media/form.ts';
import type { UploadedFile } from './media/multipart.ts';
import type { ResultShape } from './media/value.ts';
import type { PageCache } from './page-cache.ts';
import type { LoginQueue } from './password.ts';
import type { Profile } from './profiles/profile.ts';
import type { Races } from './races.ts';
import { Refusal } from './refusal.ts';
import type { Site } from './site.ts';
import type { Store } from './store/open.ts';
import type { Session, Tokens } from './store/sessions.ts';
import type { User } from './store/users.ts';

/** The datastore as resources use it: our own one, and that of release B as recorded. Ids are numeric strings. */
export type PortalDatastore = Omit<Datastore, 'search' | 'sweep'> & {
  search(query: SearchQuery): Promise<unknown>;
  sweep(): Promise<unknown>;
};

/** The account by which the workers of this installation log in. */
export interface OwnAccount {
  name: string;
  /** Random bytes that let it in beside its password: guesses at them need no limit. */
  secret: string;
}

/** The running portal, as every request sees it. */
export interface Portal {
  store: Store;
  datastore: PortalDatastore;
  /** How overlapping requests interfere; null: they don't. */
  races: Races | null;
  profile: Profile;
  site: Site;
  limits: PortalLimits;
  log: Log;
  /** Address of the portal as clients know it, without a slash at the end; null: what their Host header says. */
  publicUrl: string | null;
  /** True: the XML-RPC server answers too. */
  speaksXmlRpc: boolean;
  /** Access tokens, when they are switched on. */
  tokens: Tokens | null;
  /** Operations by resource that exist; null: all of the profile. */
  expose: Readonly<Record<string, readonly string[]>> | null;
  /** Unix seconds. */
  now: () => number;
  texts: LongTexts;
  logins: LoginQueue;
  /** From this machine it is exempt from the limit per address, which it would share with everybody behind a local proxy. */
  ownAccount: OwnAccount | null;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  counts: { reads: number; writes: number };
  /** Requests in progress, including those whose client has gone. */
  inProgress: Set<Promise<void>>;
  responses: ResponseCache;
  pages: PageCache;
  /** Level of the access log. */
  accessLevel: 'info' | 'debug';
}

/** One request to the service. */
export interface Call {
  portal: Portal;
  request: IncomingMessage;
  /** Address of the portal as the client sees it, without a slash at the end. */
  baseUrl: string;
  /** True when the client reached the portal over https. */
  isSecure: boolean;
  /** Name of the session cookie for that address. */
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
  /** Set where a deployed server would have started an anonymous session, to keep a warning of its own. */
  warned: boolean;
  /** Further response headers, such as Set-Cookie. */
  headers: Record<string, string>;
}

/** The id in the path; null where there is none. */
export const idIn = ({ args: [id = ''] }: Call): number | null => (/^\d{1,15}$/.test(id) ? Number(id) : null);

/** What an operation answers: a value to format, or nothing at all. */
export type Result =
  | { value: unknown; shape?: ResultShape }
  | { empty: true }
  /** The address to which the client is sent on. */
  | { redirect: string }
  | { stream: StreamedBody }
  | CachedResult;

/** A value that depends on nothing but `key`, the portal's address and what is stored. */
export interface CachedResult {
  key: string;
  read: () => unknown;
  shape?: ResultShape;
}

/** One thing a resource can do. */
export interface Operation {
  /** True when it changes nodes or datastores; counted by the portal. */
  writes: boolean;
  /** Top-level keys that the body must have (401 when one is missing). */
  requires: (call: Call) => readonly string[];
  /** False: never asks for a CSRF token. */
  csrf: boolean;
  /** True: file parts are kept when access is granted. */
  takesFiles: boolean;
  /** Throws a Refusal when the user may not; called before {@link Operation.run}. */
  access: (call: Call) => void;
  run: (call: Call) => Result | Promise<Result>;
}

/** Makes an operation; the defaults are harmless: it reads, takes no arguments and no files, and is open to everybody. */
export const operation = (parts: Partial<Operation> & Pick<Operation, 'run'>): Operation => ({
  writes: false,
  requires: () => [],
  csrf: true,
  takesFiles: false,
  access: () => undefined,
  ...parts,
});

/** A service resource: what is behind `/api/dataset/<name>` (spec 4, recorded behaviour 1). */
export interface Resource {
  index?: Operation;
  retrieve?: Operation;
  create?: Operation;
  /** `POST <name>/<id>` */
  createOn?: Operation;
  update?: Operation;
  delete?: Operation;
  /** `POST <name>/<action>` */
  actions?: Record<string, Operation>;
  /** `POST <name>/<id>/<action>` */
  targetedActions?: Record<string, Operation>;
  /** `GET <name>/<id>/<relationship>` */
  relationships?: Record<string, Operation>;
}

/** Limits that no real use reaches. Sizes in bytes, times in milliseconds. */
export const defaultLimits = {
  /** Largest body that is not an upload. */
  bodyBytes: 2_000_000,
  /** Largest file. */
  fileBytes: 20_000_000_000,
  /** Time in which the headers must have come. */
  headersMs: 20_000,
  /** Longest pause within a body. */
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

/** Limits of a portal, see {@link defaultLimits}. */
export type PortalLimits = typeof defaultLimits;

const hostPattern = /^[A-Za-z0-9._-]{1,253}(?::\d{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?$/;

/** A Host that means this machine wherever it is read, so that repeating it cannot lead elsewhere. */
const loopbackHostPattern = /^(?:localhost|127(?:\.\d{1,3}){3}|\[(?:::1|::ffff:127(?:\.\d{1,3}){3})\])(?::\d{1,5})?$/;

/** Name of the session cookie: `SESS` (`SSESS` on https) and 32 hex digits made from the host (recorded behaviour 5). */
const cookieNameOf = memoize(
  (baseUrl: string): string => {
    const [scheme = '', host = ''] = baseUrl.split('://');
    return `${scheme === 'https' ? 'SSESS' : 'SESS'}${hash('sha256', host).slice(0, 32)}`;
  },
  { max: 1000 },
);

/** True for a Host that is the address at which the request arrived. */
const isLocalAddress = (host: string, socket: Socket): boolean =>
  host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '') === plainAddress(socket.localAddress ?? '');

/** The address by which the client knows the portal: the configured one, else what its Host header says, if that may be believed. */
const baseUrlOf = ({ publicUrl, profile }: Portal, { headers, socket }: IncomingMessage): string => {
  if (publicUrl !== null) return publicUrl;
  const sent = headers.host ?? '';
  const isBelieved =
    loopbackHostPattern.test(sent) ||
    (hostPattern.test(sent) && (!profile.guardsCaches || isLocalAddress(sent, socket)));
  return `http://${isBelieved ? sent : `${bracketed(plainAddress(socket.localAddress ?? ''))}:${socket.localPort}`}`;
};

const bracketed = (address: string): string => (isIPv6(address) ? `[${address}]` : address);

/** An IPv4 address without the prefix that sockets of both families give it. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** The client's address: that of the connection, or what trusted proxies forward, where that is one. */
const addressOf = ({ ip, raw }: FastifyRequest): string =>
  plainAddress(isIP(ip) === 0 ? (raw.socket.remoteAddress ?? '') : ip);

const cookieValue = (header: string | undefined, name: string): string | null => {
  for (const part of header?.split(';') ?? []) {
    const equals = part.indexOf('=');
    if (equals !== -1 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return null;
};

const findSession = (portal: Portal, cookie: string | null): Session | null => {
  if (cookie === null || !/^[\w-]{43}$/.test(cookie)) return null;
  const { sessions, users } = portal.store;
  const now = portal.now();
  const session = sessions.find(cookie, now);
  if (session === null || users.byUid(session.uid)?.status !== 1) return null;
  if (sessions.isDue(session, now)) {
    portal.store
      .write(() => sessions.touch(session, now))
      .catch((error: unknown) => portal.log.warn({ err: error }, 'could not note that a session is in use'));
  }
  return session;
};

/**
 * The account of the request's access token; null without one, and where tokens are off. Throws 401 for a token that is
 * not known, and for OAuth, which no portal of ours speaks.
 */
const tokenUser = ({ tokens, store }: Portal, header: string | undefined): User | null => {
  if (tokens === null || header === undefined) return null;
  const [scheme = '', token = ''] = header.trim().split(/\s+/);
  if (/^oauth$/i.test(scheme)) throw new Refusal(401, 'OAuth is not supported; use a session or an access token.');
  if (!/^bearer$/i.test(scheme)) return null;
  const uid = tokens.uidOf(token);
  const user = uid === null ? null : store.users.byUid(uid);
  if (user?.status !== 1) throw new Refusal(401, 'The access token is not valid.');
  return user;
};

/** The call of a request: its user, and the address under which the portal was reached. An unknown cookie counts as none. */
export const openCall = (
  portal: Portal,
  request: FastifyRequest,
  { query, queryText }: { query: FormTree; queryText: string },
): Call => {
  const { users } = portal.store;
  const baseUrl = baseUrlOf(portal, request.raw);
  const cookieName = cookieNameOf(baseUrl);
  const byToken = tokenUser(portal, request.headers.authorization);
  const cookie = cookieValue(request.headers.cookie, cookieName);
  const session = byToken === null ? findSession(portal, cookie) : null;
  return {
    portal,
    request: request.raw,
    baseUrl,
    isSecure: baseUrl.startsWith('https:'),
    cookieName,
    address: () => addressOf(request),
    session,
    user: byToken ?? (session === null ? null : users.byUid(session.uid)) ?? users.anonymous,
    query,
    queryText,
    args: [],
    body: {},
    files: [],
    hasDeadCookie: byToken === null && cookie !== null && cookie !== '' && session === null,
    warned: false,
    headers: {},
  };
};
