// How a request is opened: address of the portal, session, user.
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { clientAddress, plainAddress } from '../util/connections.ts';
import { parseQuery } from './media/form.ts';
import type { Call, Portal } from './portal.ts';
import { Refusal } from './refusal.ts';
import type { Session, User } from './store/users.ts';

const hostPattern = /^[A-Za-z0-9._-]{1,253}(?::\d{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?$/;

/** A Host that means this machine wherever it is read, so that repeating it cannot lead elsewhere. */
const loopbackHostPattern = /^(?:localhost|127(?:\.\d{1,3}){3}|\[(?:::1|::ffff:127(?:\.\d{1,3}){3})\])(?::\d{1,5})?$/;

/** Name of the session cookie: `SESS` (`SSESS` on https) and 32 hex digits made from the host (recorded behaviour 5). */
const cookieNameOf = (baseUrl: string): string => {
  const [scheme = '', host = ''] = baseUrl.split('://');
  return `${scheme === 'https' ? 'SSESS' : 'SESS'}${hash('sha256', host).slice(0, 32)}`;
};

/** True for a Host that is the address at which the request arrived. */
export const isLocalAddress = (host: string, { socket }: IncomingMessage): boolean =>
  host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '') === plainAddress(socket.localAddress ?? '');

/** The address by which the client knows the portal: the configured one, else what its Host header says, if that may be believed. */
const baseUrlOf = ({ publicUrl, profile }: Portal, request: IncomingMessage): string => {
  if (publicUrl !== undefined) return publicUrl;
  const { headers, socket } = request;
  const sent = headers.host ?? '';
  const isBelieved =
    loopbackHostPattern.test(sent) || (hostPattern.test(sent) && profile.wire.believesHost(sent, request));
  const own = plainAddress(socket.localAddress ?? '');
  return `http://${isBelieved ? sent : `${isIPv6(own) ? `[${own}]` : own}:${socket.localPort}`}`;
};

const findSession = (portal: Portal, cookie: string): { session: Session; user: User } | null => {
  const { sessions, users } = portal.store;
  const now = portal.now();
  const session = /^[\w-]{43}$/.test(cookie) ? sessions.find(cookie, now) : null;
  const user = session === null ? null : users.byUid(session.uid);
  if (session === null || user?.status !== 1) return null;
  if (sessions.isDue(session, now)) {
    portal.store
      .write(() => sessions.touch(session, now))
      .catch((error: unknown) => portal.log.warn({ err: error }, 'could not note that a session is in use'));
  }
  return { session, user };
};

/** The account of the access token; null without one or where tokens are off. Throws 401 for an unknown one, and for OAuth. */
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

/** The call of a request; an unknown cookie counts as none. Throws MalformedBody for its query, 401 for its access token. */
export const openCall = (portal: Portal, request: FastifyRequest, queryText: string): Call => {
  const { users } = portal.store;
  const query = parseQuery(queryText);
  const baseUrl = baseUrlOf(portal, request.raw);
  const cookieName = cookieNameOf(baseUrl);
  const byToken = tokenUser(portal, request.headers.authorization);
  // The name has letters and digits only.
  const cookies = request.headers.cookie ?? '';
  const cookie = new RegExp(`(?:^|;)\\s*${cookieName}\\s*=([^;]*)`).exec(cookies)?.[1]?.trim() ?? '';
  const found = byToken === null ? findSession(portal, cookie) : null;
  return {
    portal,
    request: request.raw,
    baseUrl,
    cookieName,
    address: () => clientAddress(request),
    session: found?.session ?? null,
    user: byToken ?? found?.user ?? users.anonymous,
    query,
    queryText,
    args: [],
    body: {},
    files: [],
    hasDeadCookie: byToken === null && cookie !== '' && found === null,
    headers: {},
  };
};
