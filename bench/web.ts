// The operator's pages over many items: how long a person waits, beside the health check, and what it costs in memory.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { loadConfig } from '../src/config/load.ts';
import { itemId } from '../src/model/job.ts';
import { createLog } from '../src/model/log.ts';
import { countItem, type Report, type ReportItem } from '../src/model/report.ts';
import { openRuntime, type Runtime } from '../src/service/runtime.ts';
import { webApp } from '../src/web/server.ts';
import type { BenchOptions } from './options.ts';
import { writeManyItems } from './support/many-items.ts';

const target = { manifest: 'city', portal: 'local' };
const runId = '20261121-031500-many0';
const requests = 300;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void; // exposed by the flag

/** A hundred items for each of `datasets`. */
export const run = async ({ datasets }: BenchOptions): Promise<void> => {
  const count = 100 * datasets;
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-web-'));
  const { REDIS_URL: _none, ...env } = process.env;
  const config = await loadConfig({ file: undefined, cwd: folder, env, stateDir: 'state' });
  const runtime = await openRuntime({ config, log: createLog({ level: 'error' }), env, role: 'start' });
  const app = await webApp(runtime);
  try {
    const keys = await writeManyItems(runtime, { ...target, count, runId });
    await writeRun(runtime, keys);
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    collect();
    const heapBefore = process.memoryUsage().heapUsed;
    const begun = performance.now();
    await get(`${url}/`);
    const first = performance.now() - begun;
    while ((await get(`${url}/`)).includes('being counted')) await sleep(50);
    const counted = performance.now() - begun;
    collect();
    const heap = process.memoryUsage().heapUsed - heapBefore;
    const pick = (at: number): string => keys[(at * 7919) % keys.length] ?? '';
    const base = await p95(url, () => '/healthz');
    const line = async (name: string, path: (at: number) => string, before?: () => Promise<void>): Promise<void> => {
      const figure = await p95(url, path, before);
      process.stdout.write(
        `${name}: p95 ${figure.toFixed(1)} ms (mark 100), ${(figure / base).toFixed(1)} times a health check\n`,
      );
    };
    process.stdout.write(`${count.toLocaleString('en')} items; health check: p95 ${base.toFixed(1)} ms\n`);
    process.stdout.write(
      `first page ever: ${first.toFixed(0)} ms, all counted after ${counted.toFixed(0)} ms, ${(heap / 1e6).toFixed(0)} MB kept\n`,
    );
    await line('first page', () => '/');
    await line('search by title', (at) => `/?q=station+${at * 31}`);
    await line('search for nothing', (at) => `/?q=nowhere${at}`);
    await line('item', (at) => `/item/${pick(at)}`);
    await line('run', () => `/run/${runId}`);
    await line('runs', () => '/runs/city@local');
    let changes = 0;
    await line(
      'first page, each looked for anew while items change',
      () => '/',
      async () => {
        const last = { ...lastRun, runId: `r${changes++}` };
        await runtime.redis.hset(runtime.keys.lastRuns, 'city@local', JSON.stringify(last));
        await sleep(1050); // a view serves for a second
      },
    );
    const whole = performance.now();
    await get(`${url}/run/${runId}/items?code=table-ragged-row`);
    process.stdout.write(`all items of a cause, on request: ${(performance.now() - whole).toFixed(0)} ms\n`);
  } finally {
    await app.close();
    await runtime.close();
    await rm(folder, { recursive: true, force: true });
  }
};

const lastRun = { why: 'command', startedAt: '', endedAt: '', items: 1, failed: 0, held: 0, reason: null };

/** A closed run that has touched every item, with logs as workers pack them. */
const writeRun = async (runtime: Runtime, keys: string[]): Promise<void> => {
  const at = '2026-11-21T03:15:00.000Z';
  const items = keys.map((key, number): ReportItem => {
    const isFaulty = key.includes('/table') && number % 50 === 1;
    const reason = {
      code: 'table-ragged-row',
      message: `line ${number}: 3 cells, but the header has 4`,
      hint: 'add it',
    };
    const common = {
      nid: String(number),
      uuid: '',
      url: null,
      live: !isFaulty,
      stale: isFaulty,
      rows: 365,
      file: null,
    };
    const rest = { rejected: null, fixes: [], warnings: [], jobId: null, attempts: 1, ms: 900 };
    const kind = key.split('/').length > 2 ? 'resource' : 'dataset';
    return isFaulty
      ? { key, kind, ...common, ...rest, actions: [], outcome: 'quarantined', reason }
      : { key, kind, ...common, ...rest, actions: ['updated'], outcome: 'done', reason: null };
  });
  const counts: Report['counts'] = { dataset: {}, resource: {}, actions: {} };
  for (const item of items) countItem(counts, item);
  await runtime.runs.begin(runId, { ...target, why: 'command' });
  await runtime.runs.close({ runId, ...target, startedAt: at, endedAt: at, counts, reason: null, items });
  const steps = ['fetch', 'check', 'guard', 'attach', 'import', 'verify'];
  for (let from = 0; from < keys.length; from += 2000) {
    const some = keys.slice(from, from + 2000);
    const logs = runtime.redis.pipeline();
    for (const key of some) {
      const lines = steps.map((step, order) => `${at} ${step} readings.csv: ok (${12 * order} ms)`);
      logs.rpush(runtime.keys.log(itemId(runId, key)), ...lines);
    }
    await logs.exec();
  }
};

const get = async (url: string): Promise<string> => {
  const reply = await fetch(url);
  if (reply.status !== 200) throw new Error(`${url}: ${reply.status}`);
  return reply.text();
};

/** Milliseconds within which 95 of 100 requests are answered, one after the other; `before` is done before each of fewer. */
const p95 = async (url: string, path: (at: number) => string, before?: () => Promise<void>): Promise<number> => {
  const times: number[] = [];
  for (let at = 0; at < (before ? requests / 10 : requests); at++) {
    await before?.();
    const begun = performance.now();
    await get(`${url}${path(at)}`);
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0;
};
