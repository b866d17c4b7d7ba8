// A server before a portal that answers each request some time later, as one far away does, and counts requests by kind.
// Arguments: portal URL, delay in milliseconds. Prints its address; `GET /__requests` tells the counts,
// `GET /__at-once` how many requests were under way when most were.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';

const [target = '', delay = '0'] = process.argv.slice(2);
const pool = new Pool(target, { connections: 64 });
const counts: Record<string, number> = {};
let [underWay, most] = [0, 0];

const server = createServer(async (incoming, reply) => {
  const { method = 'GET', url = '/' } = incoming;
  if (url === '/__requests') {
    reply.end(JSON.stringify(counts));
    return;
  }
  if (url === '/__at-once') {
    reply.end(JSON.stringify({ most }));
    return;
  }
  underWay += 1;
  most = Math.max(most, underWay);
  reply.once('close', () => {
    underWay -= 1;
  });
  const kind = `${method} ${url.replace(/\?.*/, '').replace(/\/\d+/g, '/N')}`;
  counts[kind] = (counts[kind] ?? 0) + 1;
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  if (delay !== '0') await sleep(Number(delay));
  const { connection: _connection, 'transfer-encoding': _chunked, ...headers } = incoming.headers;
  const body = chunks.length === 0 ? null : Buffer.concat(chunks);
  const answer = await pool.request({ path: url, method: method as 'GET', headers, body });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const { connection: _other, 'transfer-encoding': _alsoChunked, ...answered } = answer.headers;
  reply.writeHead(answer.statusCode, answered as Record<string, string>);
  reply.end(bytes);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}\n`);
});
process.once('SIGTERM', () => {
  server.closeAllConnections();
  server.close();
  void pool.destroy();
});
