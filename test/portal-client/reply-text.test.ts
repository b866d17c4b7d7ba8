// An exchange whose reply is read whole: text from chunks, and every way to give it up.
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { exchangeText, type Patience, ReplyMemory, type TextReply } from '../../src/portal-client/reply-text.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const poolTo = (port: number): Pool => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1 });
  closers.push(() => pool.destroy());
  return pool;
};

const serve = async (listener: RequestListener): Promise<Pool> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return poolTo((server.address() as AddressInfo).port);
};

const ask = (pool: Pool, patience: Partial<Patience> = {}, path = '/'): Promise<TextReply> =>
  exchangeText(
    pool,
    { method: 'GET', path },
    {
      signal: new AbortController().signal,
      memory: new ReplyMemory(),
      total: { ms: 10_000, error: () => new Error('too slow') },
      ...patience,
    },
  );

it('joins the chunks before it reads them as UTF-8, and leaves a byte order mark out', async () => {
  const bytes = Buffer.from('\u{feff}{"städte":"Łódź 🏙"}');
  const pool = await serve(async (_request, response) => {
    response.writeHead(201, 'Made it', { 'X-Some': 'thing' });
    for (const byte of bytes) {
      response.write(Buffer.of(byte));
      await sleep(0);
    }
    response.end();
  });
  const reply = await ask(pool);
  expect(reply).toMatchObject({ status: 201, reason: 'Made it', text: '{"städte":"Łódź 🏙"}' });
  expect(reply.headers['x-some']).toBe('thing');
});

it('waits for the reply itself where a preliminary one comes first', async () => {
  const pool = await serve((_request, response) => {
    response.writeProcessing();
    response.end();
  });
  expect(await ask(pool)).toMatchObject({ status: 200, text: '' });
});

it('is given up with the reason of the signal, in each part of the exchange', async () => {
  const stopAt = async (pool: Pool): Promise<unknown> => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error('enough')), 50);
    return ask(pool, { signal: stop.signal }).catch((error: unknown) => error);
  };
  const silent = createSocketServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  closers.push(async () => silent.close());
  const busy = poolTo((silent.address() as AddressInfo).port);
  const first = ask(busy).catch(() => undefined); // takes the one connection, so the next one waits in the pool
  expect(await stopAt(busy)).toMatchObject({ message: 'enough' });
  const headless = await serve(() => undefined);
  expect(await stopAt(headless)).toMatchObject({ message: 'enough' });
  const endless = await serve((_request, response) => void response.write('{'));
  expect(await stopAt(endless)).toMatchObject({ message: 'enough' });
  await busy.destroy();
  await first;
});

it('is given up when its time is over', async () => {
  const endless = await serve((_request, response) => void response.write('{'));
  const total = { ms: 50, error: () => new Error('too slow') };
  await expect(ask(endless, { total })).rejects.toThrow('too slow');
});

it('leaves nothing behind: no listener on the signal, no timer, and the connection is used again', async () => {
  let connections = 0;
  const pool = await serve((_request, response) => response.end('ok'));
  pool.on('connect', () => {
    connections += 1;
  });
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...args);
  };
  const total = { ms: 600_000, error: () => new Error('too slow') };
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  for (let n = 0; n < 5; n++) expect((await ask(pool, { signal, total })).text).toBe('ok');
  expect({ listeners, connections }).toEqual({ listeners: 0, connections: 1 });
  expect(timers() - before).toBeLessThan(5);
});

it('takes no more memory for all replies of a portal together, and gives back what a reply took', async () => {
  const pool = await serve((_request, response) => void response.end('x'.repeat(1000)));
  const memory = new ReplyMemory();
  const other = 64 * 1024 * 1024 - 1001;
  expect(memory.take(other)).toBe(true);
  for (let at = 0; at < 3; at++) expect((await ask(pool, { memory })).text).toHaveLength(1000);
  memory.take(2);
  await expect(ask(pool, { memory })).rejects.toThrow('all replies at once are too large');
  expect(memory.take(999)).toBe(true);
  memory.giveBack(other + 2 + 999);
});

it.each([1, 2, 3, 4, 8, 24])('has an equal share of the memory for each of %i portals', (portals) => {
  const megabyte = 1024 * 1024;
  const all = Array.from({ length: portals }, () => new ReplyMemory());
  for (const memory of all) memory.take(1);
  const share = Math.max(16, Math.min(64, 128 / portals));
  const taken = all.map((memory) => {
    let bytes = 1;
    for (; memory.take(megabyte); bytes += megabyte);
    memory.giveBack(megabyte);
    return bytes;
  });
  expect(taken).toEqual(all.map(() => (Math.ceil(share) - 1) * megabyte + 1));
  for (const [at, memory] of all.entries()) memory.giveBack(taken[at] ?? 0);
  const last = new ReplyMemory();
  expect(last.take(64 * megabyte)).toBe(true);
  last.giveBack(64 * megabyte);
});

it('takes no reply of very many tiny values, unless it may have rows', async () => {
  const values = (count: number): string => `[${Array.from({ length: count - 1 }, () => '{}').join()}]`;
  const pool = await serve(({ url }, response) => {
    if (url === '/text') response.end(JSON.stringify({ body: `"\\${'['.repeat(30_000)}` }));
    else response.end(values(url === '/more' ? 20_001 : 20_000));
  });
  expect((await ask(pool)).text).toHaveLength(values(20_000).length);
  await expect(ask(pool, {}, '/more')).rejects.toThrow('more than 20000 objects and lists');
  expect((await ask(pool, {}, '/text')).text).toContain('[[[');
  expect((await ask(pool, { maxBytes: 1e7 }, '/more')).text).toHaveLength(values(20_001).length);
});
