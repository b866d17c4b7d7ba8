// A portal that answers whatever a test gives it: for what no sound portal would say.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll } from 'vitest';

/** A node as the fake portal has it; what is left out is made up. */
export type FakeNode = { nid: string; type: 'dataset' | 'resource' | 'group'; title: string } & Record<string, unknown>;

/** See the head of this file. */
export interface FakePortal {
  url: string;
  nodes: FakeNode[];
  /** Files by the path below `/sites/default/files/`; others are 404. */
  files: Map<string, (request: IncomingMessage, response: ServerResponse) => void>;
  /** Rows of the datastore by uuid. */
  rows: Map<string, Record<string, string>[]>;
  /** The list of nodes; to be replaced by a test. */
  list: (type: string, page: { from: number; to: number; orderBy: string; status: string | null }) => FakeNode[];
  requests: string[];
  /** Ids of nodes whose read makes no sense. */
  broken: Set<string>;
  /** Ids of nodes that are listed, and may not be read. */
  hidden: Set<string>;
}

/** A resource with an upload of this name. */
export const withFile = (nid: string, parent: string, filename: string, uri = `public://${filename}`): FakeNode => ({
  nid,
  type: 'resource',
  title: `Resource ${nid}`,
  field_dataset_ref: { und: [{ target_id: parent }] },
  field_upload: { und: [{ fid: nid, filename, uri, filesize: '3', timestamp: '1700000000' }] },
});

/** Starts one; it ends with the test file. */
export const startFakePortal = async (nodes: FakeNode[]): Promise<FakePortal> => {
  const portal: FakePortal = {
    url: '',
    nodes,
    files: new Map(),
    rows: new Map(),
    requests: [],
    broken: new Set(),
    hidden: new Set(),
    list: (type, { from, to, status }) =>
      portal.nodes
        .filter((node) => node.type === type && (status === null || (node.status ?? '1') === status))
        .slice(from, to),
  };
  const server = createServer((request, response) => answer(portal, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  portal.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return portal;
};

const whole = (node: FakeNode): Record<string, unknown> => ({
  vid: node.nid,
  uuid: `00000000-0000-4000-8000-${node.nid.padStart(12, '0')}`,
  status: '1',
  uid: '1',
  name: 'author',
  language: '',
  created: '1700000000',
  changed: '1700000000',
  log: '',
  path: `http://127.0.0.1/node/${node.nid}`,
  ...node,
});

const answer = (portal: FakePortal, request: IncomingMessage, response: ServerResponse): unknown => {
  const url = new URL(request.url ?? '/', 'http://portal');
  portal.requests.push(`${request.method} ${request.url}`);
  const json = (value: unknown, status = 200): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  const file = /^\/sites\/default\/files\/(.+)$/.exec(url.pathname)?.[1];
  const served = file === undefined ? undefined : portal.files.get(decodeURIComponent(file));
  if (served) return served(request, response);
  if (url.pathname.endsWith('/user/login'))
    return json({
      sessid: 'secret-session',
      session_name: 'SESS',
      token: 'secret-token',
      user: { uid: '1', name: 'admin', roles: {} },
    });
  if (url.pathname === '/api/dataset/node') {
    const [page, size] = [Number(url.searchParams.get('page') ?? 0), Number(url.searchParams.get('pagesize') ?? 20)];
    const orderBy = url.searchParams.has('options[orderby][changed]') ? 'changed' : 'nid';
    const status = url.searchParams.get('parameters[status]');
    const window = { from: page * size, to: (page + 1) * size, orderBy, status };
    const rows = portal.list(url.searchParams.get('parameters[type]') ?? '', window);
    return json(rows.map(whole));
  }
  const nid = /^\/api\/dataset\/node\/(\d+)$/.exec(url.pathname)?.[1];
  if (nid && portal.broken.has(nid)) return json('no node');
  if (nid && portal.hidden.has(nid)) return json(['Access denied for user admin'], 403);
  const node = portal.nodes.find((one) => one.nid === nid);
  if (nid) return node ? json(whole(node)) : json([`Node ${nid} could not be found`], 404);
  if (url.pathname === '/api/action/datastore/search.json') {
    if (request.method === 'GET') return json(search(portal, Object.fromEntries(url.searchParams)));
    return text(request).then((body) =>
      json(
        Object.fromEntries(
          Object.entries<Record<string, string>>(JSON.parse(body)).map(([name, query]) => [
            name,
            search(portal, query),
          ]),
        ),
      ),
    );
  }
  response.writeHead(404, { 'content-type': 'text/html' });
  return response.end('<!DOCTYPE html><title>Not found</title>');
};

const search = ({ rows }: FakePortal, query: Record<string, string | number>): unknown => {
  const table = rows.get(String(query.resource_id));
  if (!table) return { error: { message: "table doesn't exist" } };
  const offset = Number(query.offset ?? 0);
  const records = table.slice(offset, offset + Number(query.limit ?? 10));
  const fields = [
    { id: 'entry_id', type: 'serial' },
    ...Object.keys(table[0] ?? {}).map((id) => ({ id, type: 'text' })),
  ];
  return { success: true, result: { fields, total: table.length, records } };
};
