// A contestant: the requests that `sluice publish` sends, and nothing else. Arguments: portal URL, requests at once, table files…
// Logs in once; looks for the nodes of ten tables by one list request; for each table creates the resource, attaches the
// file, reads the resource back, creates the dataset with its list and reads that back; at the end counts the rows of twenty
// tables by one request.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Pool } from 'undici';
import { account } from './workload.ts';

const [url = '', concurrency = '1', ...tables] = process.argv.slice(2);
const pool = new Pool(url, { connections: Number(concurrency) });
const tablesLookedFor = 10;
const tablesCounted = 20;

type Headers = Record<string, string>;
type Answer = Record<string, unknown>;

const send = async (
  method: 'GET' | 'POST',
  path: string,
  headers: Headers,
  body?: string | Buffer,
): Promise<Answer> => {
  const reply = await pool.request({
    path,
    method,
    headers: { accept: 'application/json', ...headers },
    body: body ?? null,
  });
  const text = await reply.body.text();
  if (reply.statusCode !== 200) throw new Error(`${path}: ${reply.statusCode} ${text}`);
  return JSON.parse(text) as Answer; // what this portal answers is known here
};

const json = { 'content-type': 'application/json' };
const logIn = async (): Promise<Headers> => {
  const body = JSON.stringify({ username: account.name, password: account.password });
  const login = await send('POST', '/api/dataset/user/login', json, body);
  return { cookie: `${login.session_name}=${login.sessid}`, 'x-csrf-token': String(login.token) };
};

const attach = async (session: Headers, nid: unknown, path: string): Promise<void> => {
  const boundary = 'bench-boundary-7d1c0a';
  const part = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const head = `${part('attach', '0')}${part('field_name', 'field_upload')}--${boundary}\r\ncontent-disposition: form-data; name="files[1]"; filename="${basename(path)}"\r\ncontent-type: text/csv\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), await readFile(path), Buffer.from(`\r\n--${boundary}--\r\n`)]);
  const type = `multipart/form-data; boundary=${boundary}`;
  await send('POST', `/api/dataset/node/${nid}/attach_file`, { ...session, 'content-type': type }, body);
};

const session = await logIn();
const writing = { ...session, ...json };
const create = async (node: Answer): Promise<string> =>
  String((await send('POST', '/api/dataset/node', writing, JSON.stringify(node))).nid);
const uuids = tables.map(() => ({ dataset: randomUUID(), resource: randomUUID() }));
const looked = new Map<number, Promise<Answer>>();

const lookFor = (index: number): Promise<Answer> => {
  const page = Math.floor(index / tablesLookedFor);
  const known = looked.get(page);
  if (known) return known;
  const wanted = uuids
    .slice(page * tablesLookedFor, (page + 1) * tablesLookedFor)
    .map(({ dataset, resource }) => `${dataset},${resource}`);
  const look = send('GET', `/api/dataset/node?fields=nid,uuid&parameters[uuid]=${wanted.join(',')}`, session);
  looked.set(page, look);
  return look;
};

const publish = async (index: number, path: string): Promise<void> => {
  const uuid = uuids[index];
  await lookFor(index);
  const resource = await create({ type: 'resource', title: `Table ${index}`, uuid: uuid?.resource });
  await attach(session, resource, path);
  await send('GET', `/api/dataset/node/${resource}`, session);
  const dataset = await create({
    type: 'dataset',
    title: `Dataset ${index}`,
    uuid: uuid?.dataset,
    body: { und: [{ value: `Benchmark dataset ${index}` }] },
    field_license: { und: [{ value: 'cc-by' }] },
    field_resources: { und: [{ target_id: resource }] },
  });
  await send('GET', `/api/dataset/node/${dataset}`, session);
};

const count = async (from: number): Promise<void> => {
  const some = uuids.slice(from, from + tablesCounted).map(({ resource }) => resource);
  const queries = Object.fromEntries(some.map((uuid, index) => [`t${index}`, { resource_id: uuid, limit: 1 }]));
  await send('POST', '/api/action/datastore/search.json', writing, JSON.stringify(queries));
};

const inTurn = async <T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> => {
  const next = items[Symbol.iterator]();
  const each = async (): Promise<void> => {
    for (let item = next.next(); !item.done; item = next.next()) await work(item.value);
  };
  await Promise.all(Array.from({ length: Number(concurrency) }, each));
};

const begun = performance.now();
await inTurn(tables.entries(), ([index, path]) => publish(index, path));
await inTurn(
  Array.from({ length: Math.ceil(tables.length / tablesCounted) }, (_, page) => page * tablesCounted),
  count,
);
process.stdout.write(JSON.stringify({ seconds: (performance.now() - begun) / 1000 }));
await pool.close();
