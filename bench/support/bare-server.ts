// Baselines of the portal benchmark in a process of their own: `json` = node:http with as much JSON as the portal
// handles, `sqlite` = one fsynced transaction for each request, `body` = the raw body to disk. Arguments: kind, folder.
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';

const [kind = 'json', folder = '.'] = process.argv.slice(2);

const readText = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer); // no encoding is set
  return Buffer.concat(chunks).toString('utf8');
};

/** Answers with the value that was stored by `PUT`, made into JSON for each request. */
const jsonServer = () => {
  const values = new Map<string, unknown>();
  return async (request: IncomingMessage): Promise<unknown> => {
    const path = request.url ?? '';
    if (request.method === 'GET') return values.get(path);
    const body: unknown = JSON.parse(await readText(request));
    if (request.method === 'PUT') values.set(path, body);
    return { nid: '1', uri: 'http://127.0.0.1/api/dataset/node/1' };
  };
};

const sqliteServer = () => {
  const db = new DatabaseSync(join(folder, 'bare.db'));
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE node (nid INTEGER PRIMARY KEY, body TEXT)',
  );
  const insert = db.prepare('INSERT INTO node (body) VALUES (?)');
  return async (request: IncomingMessage): Promise<unknown> => {
    const body: unknown = JSON.parse(await readText(request));
    db.exec('BEGIN IMMEDIATE');
    const nid = String(insert.run(JSON.stringify(body)).lastInsertRowid);
    db.exec('COMMIT');
    return { nid, uri: `http://127.0.0.1/api/dataset/node/${nid}` };
  };
};

const bodyServer = () => {
  let number = 0;
  return async (request: IncomingMessage): Promise<unknown> => {
    number += 1;
    const path = join(folder, `body-${number}`);
    await pipeline(request, createWriteStream(path, { mode: 0o600 }));
    const file = await open(path, 'r+');
    await file.sync();
    await file.close();
    return { fid: '1' };
  };
};

const answer = { json: jsonServer, sqlite: sqliteServer, body: bodyServer }[kind as 'json' | 'sqlite' | 'body'](); // ours

const server = createServer((request, reply) => {
  answer(request).then(
    (value) => {
      const body = Buffer.from(JSON.stringify(value));
      reply.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
      reply.end(body);
    },
    (error: unknown) => reply.writeHead(500).end(String(error)),
  );
});
server.requestTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.on('SIGTERM', () => process.exit(0));
