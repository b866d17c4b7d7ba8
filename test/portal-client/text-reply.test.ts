// An exchange whose reply is read whole: text from chunks, and every way to give it up.
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { exchangeText, type Patience, type TextReply } from '../../src/portal-client/text-reply.ts';

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

const ask = (pool: Pool, patience: Partial<Patience> = {}): Promise<TextReply> =>
  exchangeText(
    pool,
    { method: 'GET', path: '/' },
    {
      signal: new AbortController().signal,
      bodyMs: 5000,
      unfinished: { bytes: 0 },
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

it('is given up when its time is over, or when the body takes too long', async () => {
  const endless = await serve((_request, response) => void response.write('{'));
  const total = { ms: 50, error: () => new Error('too slow') };
  await expect(ask(endless, { total })).rejects.toThrow('too slow');
  await expect(ask(endless, { bodyMs: 50 })).rejects.toThrow('the reply did not end within 50 ms');
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
  const unfinished = { bytes: 64 * 1024 * 1024 - 1001 };
  for (let at = 0; at < 3; at++) expect((await ask(pool, { unfinished })).text).toHaveLength(1000);
  unfinished.bytes += 2;
  await expect(ask(pool, { unfinished })).rejects.toThrow('all replies have more than 67108864 bytes');
  expect(unfinished.bytes).toBe(64 * 1024 * 1024 - 999);
});
