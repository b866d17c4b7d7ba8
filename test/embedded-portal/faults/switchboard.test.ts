// The switchboard before a small server that counts what really reached it.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FaultRule, faultPlanSchema } from '../../../src/embedded-portal/faults/rules.ts';
import { openSwitchboard, type Switchboard } from '../../../src/embedded-portal/faults/switchboard.ts';

const answer = JSON.stringify({ storage: 1, data_import: 2, words: 'long enough to be cut in halves' });
let reached: string[] = [];
const portal = createServer(async (request, reply) => {
  let bytes = 0;
  for await (const chunk of request) bytes += (chunk as Buffer).length;
  reached.push(`${request.method} ${request.url} ${bytes}`);
  reply.writeHead(200, 'Done', { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] });
  reply.end(answer);
});

let switchboard: Switchboard;
beforeAll(async () => {
  await new Promise<void>((resolve) => portal.listen(0, '127.0.0.1', resolve));
  const address = portal.address();
  const port = typeof address === 'object' ? address?.port : 0;
  switchboard = await openSwitchboard({ target: `http://127.0.0.1:${port}`, plan: null });
});
afterAll(async () => {
  await switchboard.close();
  portal.close();
});
beforeEach(() => {
  reached = [];
});

const rules = (...list: FaultRule[]): void => switchboard.setPlan({ seed: 1, rules: list });
const send = (path = '/thing', init?: RequestInit): Promise<Response> => fetch(`${switchboard.url}${path}`, init);

describe('the switchboard', () => {
  it('passes a request and its answer on unchanged where no rule hits', async () => {
    rules({ route: 'GET /other', fault: 'drop-request' });
    const body = 'x'.repeat(3_000_000);
    const reply = await send('/thing?a=b', { method: 'PUT', body });
    expect([reply.status, reply.statusText, await reply.text()]).toEqual([200, 'Done', answer]);
    expect(reply.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(reached).toEqual([`PUT /thing?a=b ${body.length}`]);
  });

  it.each([
    ['drop-request', 0],
    ['drop-reply', 1],
    ['reset-body', 1],
  ] as const)('%s breaks the connection when the portal has seen %i requests', async (fault, seen) => {
    rules({ route: 'POST /**', fault });
    await expect(send('/a/b', { method: 'POST', body: 'x' }).then((reply) => reply.text())).rejects.toThrow();
    expect(reached).toHaveLength(seen);
  });

  it('truncated-body gives half an answer that looks whole', async () => {
    rules({ route: '* /**', fault: 'truncated-body' });
    expect(await (await send()).text()).toBe(answer.slice(0, Math.floor(answer.length / 2)));
  });

  it('continues when a connection cannot be accepted', async () => {
    let server: Server | undefined;
    const take = (message: unknown): void => {
      if ((message as { server: Server }).server !== portal) ({ server } = message as { server: Server });
    };
    subscribe('http.server.request.start', take);
    rules();
    await (await send()).text();
    unsubscribe('http.server.request.start', take);
    expect(server?.emit('error', new Error('accept EMFILE'))).toBe(true);
    expect((await send()).status).toBe(200);
  });

  it.each([
    ['before', 0],
    ['after', 1],
  ] as const)('a status %s the portal has acted leaves it with %i requests', async (when, seen) => {
    rules({ route: '* /**', fault: 'status', status: 503, when, retryAfter: '2s', message: 'not now' });
    const reply = await send('/x', { method: 'POST', body: 'x' });
    expect([reply.status, reply.statusText, await reply.json()]).toEqual([503, 'not now', ['not now']]);
    expect(reply.headers.get('retry-after')).toBe('2');
    expect(reached).toHaveLength(seen);
  });

  it.each(['before', 'after'] as const)('wrong-type %s is an HTML page with status 200', async (when) => {
    rules({ route: '* /**', fault: 'wrong-type', when });
    const reply = await send();
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(reached).toHaveLength(when === 'after' ? 1 : 0);
  });

  it('hang never answers', async () => {
    rules({ route: '* /**', fault: 'hang', when: 'after' });
    const given = new AbortController();
    const reply = send('/thing', { signal: given.signal }).catch(() => 'given up');
    await vi.waitFor(() => expect(reached).toHaveLength(1));
    expect(await Promise.race([reply, sleep(200, 'silence')])).toBe('silence');
    given.abort();
    expect(await reply).toBe('given up');
  });

  it('paused changes nothing of a datastore status but its state', async () => {
    rules({ route: '* /**', fault: 'paused' });
    expect(await (await send()).json()).toEqual({ ...JSON.parse(answer), data_import: 5 });
  });

  it('pass excepts from the rules below it, times ends a rule, and a delay continues', async () => {
    rules(
      { route: 'GET /free/*', fault: 'pass' },
      { route: '* /**', fault: 'delay', delay: '1ms', upTo: '2ms' },
      { route: '* /**', times: 1, fault: 'status', status: 500 },
    );
    const statuses = [];
    for (const path of ['/free/1', '/a', '/a', '/free/2']) statuses.push((await send(path)).status);
    expect(statuses).toEqual([200, 500, 200, 200]);
  });

  it('draws the same faults for the same requests, whatever comes between, and others for another seed', async () => {
    const list: FaultRule[] = [{ route: '* /**', probability: 0.5, fault: 'status', status: 500 }];
    const run = async (seed: number, noise: string[]): Promise<number[]> => {
      switchboard.setPlan({ seed, rules: list });
      const statuses = [];
      for (let at = 0; at < 16; at++) {
        for (const path of noise) await send(path);
        statuses.push((await send('/same')).status);
      }
      return statuses;
    };
    const first = await run(3, []);
    expect(await run(3, ['/noise'])).toEqual(first);
    expect(await run(4, [])).not.toEqual(first);
    expect(new Set(first)).toEqual(new Set([200, 500]));
  });

  it('breaks the connection when there is no portal behind it', async () => {
    const lonely = await openSwitchboard({ target: 'http://127.0.0.1:9', plan: null });
    await expect(fetch(lonely.url)).rejects.toThrow();
    await lonely.close();
  });
});

it('a rule names a fault and a route', () => {
  const wrong = faultPlanSchema.safeParse({ rules: [{ route: 'node', fault: 'hang' }] });
  expect(wrong.error?.issues[0]?.message).toContain('POST /api/dataset/node/*/attach_file');
});
