// A small portal that answers as the recorded releases do: `entity` like 7.18, `form` like 7.14. For tests of the client only.
import type { ServerResponse } from 'node:http';
import type { Dialect } from '../../../src/portal-client/settings.ts';
import {
  type Answer,
  answer,
  refusal,
  type ScriptedServer,
  type Seen,
  startScriptedServer,
  unknownRoute,
} from './scripted-server.ts';

/** What a test may set before and while the portal runs. */
export interface SmallPortalOptions {
  dialect?: Dialect;
  /** False for entity portals older than 7.16.1. */
  datastore?: boolean;
  /** Role names of the one account. */
  roles?: Record<string, string>;
  /** Path the site is under, such as `/sub`. */
  basePath?: string;
  /** False: the login result has no token, only `/services/session/token` has. */
  tokenInLogin?: boolean;
  /** Runs first; what it returns is sent, `true` means it sent something itself. */
  intercept?: (seen: Seen, response: ServerResponse) => Answer | true | undefined;
}

/** The running portal; `username` creator, `password` open-sesame. */
export interface SmallPortal extends ScriptedServer {
  nodes: Map<string, Record<string, unknown>>;
  /** Forgets all sessions, as an expiry does. */
  forgetSessions(): void;
  /** Requests of one method and path prefix, in order. */
  requests(method: string, prefix: string): Seen[];
}

const api = '/api/dataset';

/** Starts it on a free loopback port. */
export const startSmallPortal = async (options: SmallPortalOptions = {}): Promise<SmallPortal> => {
  const { dialect = 'entity', datastore = dialect === 'entity', basePath = '' } = options;
  const nodes = new Map<string, Record<string, unknown>>();
  const sessions = new Set<string>();
  let counter = 0;

  const logIn = (seen: Seen): Answer => {
    const { username, password } = JSON.parse(seen.body.toString()) as Record<string, string>;
    if (username !== 'creator' || password !== 'open-sesame') return refusal(401, 'Wrong username or password.');
    counter += 1;
    const sessid = `session-number-${counter}`;
    sessions.add(sessid);
    const roles = options.roles ?? { 2: 'authenticated user', 6: 'content creator' };
    const token = options.tokenInLogin === false ? {} : { token: `token-of-${sessid}` };
    return {
      headers: { 'set-cookie': [`SESSabc=${sessid}; expires=Mon, 14-Dec-2099 13:36:14 GMT; path=/; HttpOnly`] },
      body: { sessid, session_name: 'SESSabc', ...token, user: { uid: '3', name: 'creator', roles, login: 17 } },
    };
  };

  const sessionOf = (seen: Seen): string | null => {
    const sessid = /SESSabc=([^;]+)/.exec(seen.headers.cookie ?? '')?.[1];
    return sessid !== undefined && sessions.has(sessid) ? sessid : null;
  };

  const create = (seen: Seen): Answer => {
    const input = JSON.parse(seen.body.toString()) as Record<string, unknown>;
    const nid = String(nodes.size + 1);
    const made = dialect === 'entity' ? entityNode(input) : formNode(input);
    if ('status' in made && typeof made.status === 'number') return made as Answer;
    const uuid = dialect === 'entity' ? input.uuid : `00000000-0000-4000-8000-${nid.padStart(12, '0')}`;
    nodes.set(nid, { ...made, nid, vid: nid, uuid, path: `http://site/node/${nid}` });
    return { body: { nid, uri: `http://site${api}/node/${nid}` } };
  };

  const list = (path: string): Answer => {
    const query = new URL(path, 'http://x').searchParams;
    const uuids = query.get('parameters[uuid]')?.split(',');
    const rows = [...nodes.values()].filter(
      (node) => node.status === '1' && (uuids === undefined || uuids.includes(String(node.uuid))),
    );
    if (query.get('options[orderby][nid]') === 'DESC') rows.reverse();
    const columns = query.get('fields')?.split(',') ?? ['nid', 'uuid', 'title'];
    const size = Number(query.get('pagesize') ?? 20);
    return {
      body: rows.slice(0, size).map((row) => Object.fromEntries(columns.map((column) => [column, row[column]]))),
    };
  };

  const ofNode = (seen: Seen, nid: string): Answer => {
    const node = nodes.get(nid) ?? {};
    if (seen.method === 'DELETE') {
      nodes.delete(nid);
      return { body: [true] };
    }
    if (seen.method === 'PUT') Object.assign(node, JSON.parse(seen.body.toString()));
    return seen.method === 'GET' ? { body: node } : { body: { nid, uri: '' } };
  };

  const barred = (seen: Seen): Answer | undefined => {
    const session = sessionOf(seen);
    if (seen.method === 'GET') return undefined;
    if (session === null) return refusal(403, 'Access denied for user anonymous');
    const known = seen.headers['x-csrf-token'] === `token-of-${session}`;
    return known ? undefined : refusal(401, 'CSRF validation failed');
  };

  const ofApi = (seen: Seen, path: string): Answer => {
    const [, resource, nid, rest = ''] = /^\/(node|datastore)(?:\/(\d+)(.*))?/.exec(path) ?? [];
    if (resource === undefined) return unknownRoute('Could not find the controller.');
    if (nid === undefined) return seen.method === 'POST' ? create(seen) : list(path);
    if (!nodes.has(nid)) return refusal(404, `Node ${nid} could not be found`);
    if (resource === 'datastore') return datastoreOf(seen, rest);
    return rest === '/attach_file' ? { body: [{ fid: '31', uri: '' }] } : ofNode(seen, nid);
  };

  const route = (seen: Seen): Answer => {
    const path = seen.path.slice(basePath.length);
    if (path === `${api}/user/login`) return logIn(seen);
    if (path === '/services/session/token') {
      return { headers: { 'content-type': 'text/plain' }, body: `token-of-${sessionOf(seen)}` };
    }
    if (path.startsWith(`${api}/datastore`) && !datastore) return unknownRoute('Could not find resource datastore.');
    return barred(seen) ?? ofApi(seen, path.slice(api.length));
  };

  const server = await startScriptedServer((seen, response) => {
    const intercepted = options.intercept?.(seen, response);
    if (intercepted !== true) answer(response, intercepted ?? route(seen));
  });
  return {
    ...server,
    url: `${server.url}${basePath}`,
    nodes,
    forgetSessions: () => sessions.clear(),
    requests: (method, prefix) =>
      server.seen.filter((seen) => seen.method === method && seen.path.slice(basePath.length).startsWith(prefix)),
  };
};

const datastoreOf = (seen: Seen, rest: string): Answer => {
  if (seen.method !== 'GET' || rest !== '') return { body: [true] };
  return { body: { class: 'Some\\Manager', storage: 1, data_import: 6, configurable_properties: { quote: '"' } } };
};

/** Any structure of the form in an entity portal is taken for item numbers and ends in the database. */
const entityNode = (input: Record<string, unknown>): Record<string, unknown> => {
  const license = input.field_license as { und?: object } | undefined;
  if (license?.und !== undefined && !Array.isArray(license.und)) {
    const message =
      "SQLSTATE[22007]: Invalid datetime format: 1366 Incorrect integer value: 'select' for column `delta`";
    return { status: 500, reason: `Internal Server Error : An error occurred (22007): ${message}`, body: '' };
  }
  return { uid: '0', language: '', ...input, status: String(input.status ?? 1) };
};

const formNode = (input: Record<string, unknown>): Record<string, unknown> => {
  const frequency = input.field_frequency as { und?: { value?: string } } | undefined;
  const illegal = 'An illegal choice has been detected. Please contact the site administrator.';
  if (frequency !== undefined && !/^\d+$/.test(frequency.und?.value ?? '')) {
    const body = { form_errors: { 'field_frequency][und': illegal } };
    return { status: 406, reason: `Not Acceptable : ${illegal}`, body };
  }
  return { ...input, uid: '3', language: 'und', status: '1' };
};
