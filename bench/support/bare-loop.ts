// A contestant: bare requests and nothing else. Arguments: portal URL, requests at once, `once` or `each`, table files…
// Logs in once (or for each table, as one-file clients do); creates the dataset and the resource and attaches the file.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Pool } from 'undici';
import { account } from './workload.ts';

const [url = '', concurrency = '1', logins = 'once', ...tables] = process.argv.slice(2);
const pool = new Pool(url, { connections: Number(concurrency) });

const send = async (
  path: string,
  headers: Record<string, string>,
  body: string | Buffer,
): Promise<Record<string, unknown>> => {
  const reply = await pool.request({ path, method: 'POST', headers: { accept: 'application/json', ...headers }, body });
  const text = await reply.body.text();
  if (reply.statusCode !== 200) throw new Error(`${path}: ${reply.statusCode} ${text}`);
  return JSON.parse(text) as Record<string, unknown>; // what this portal answers is known here
};

const json = { 'content-type': 'application/json' };
type Session = Record<string, string>;
const logIn = async (): Promise<Session> => {
  const body = JSON.stringify({ username: account.name, password: account.password });
  const login = await send('/api/dataset/user/login', json, body);
  return { cookie: `${login.session_name}=${login.sessid}`, 'x-csrf-token': String(login.token) };
};

const attach = async (session: Session, nid: unknown, path: string): Promise<void> => {
  const boundary = 'bench-boundary-7d1c0a';
  const part = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const head = `${part('attach', '0')}${part('field_name', 'field_upload')}--${boundary}\r\ncontent-disposition: form-data; name="files[1]"; filename="${basename(path)}"\r\ncontent-type: text/csv\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), await readFile(path), Buffer.from(`\r\n--${boundary}--\r\n`)]);
  await send(
    `/api/dataset/node/${nid}/attach_file`,
    { ...session, 'content-type': `multipart/form-data; boundary=${boundary}` },
    body,
  );
};

const shared = await logIn();
const next = tables.entries();
const work = async (): Promise<void> => {
  for (const [index, path] of next) {
    const session = logins === 'each' ? await logIn() : shared;
    const dataset = await send(
      '/api/dataset/node',
      { ...session, ...json },
      JSON.stringify({
        type: 'dataset',
        title: `Dataset ${index}`,
        body: { und: [{ value: `Benchmark dataset ${index}` }] },
        field_license: { und: [{ value: 'cc-by' }] },
      }),
    );
    const resource = await send(
      '/api/dataset/node',
      { ...session, ...json },
      JSON.stringify({
        type: 'resource',
        title: `Table ${index}`,
        field_dataset_ref: { und: [{ target_id: dataset.nid }] },
      }),
    );
    await attach(session, resource.nid, path);
  }
};
const begun = performance.now();
await Promise.all(Array.from({ length: Number(concurrency) }, work));
process.stdout.write(JSON.stringify({ seconds: (performance.now() - begun) / 1000 }));
await pool.close();
