// How far `sluice publish` is from flat: a large catalogue of links and one dataset with many resources.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { BenchOptions } from './options.ts';
import { type Ended, runSluice, type ServerProcess, startPortal } from './support/processes.ts';
import { account, writeConfig } from './support/workload.ts';

/** Of one dataset, for each of the others. */
const resourcesPerDataset = 0.4;
const baselineDatasets = 1000;

interface Figures {
  /** Milliseconds of the slowest of a hundred pings. */
  ping: number;
  /** `used_memory`, bytes: the least, which is that of an empty server in a first run; the most; and at the end. */
  least: number;
  most: number;
  last: number;
}

interface Run extends Ended {
  figures: Figures;
}

/** Publishes, publishes again without a change, plans, and asks `status` and `log`. */
export const run = async ({ datasets, concurrency }: BenchOptions): Promise<void> => {
  const small = await publishOnce(Math.min(baselineDatasets, datasets), concurrency);
  const large = datasets > baselineDatasets ? await publishOnce(datasets, concurrency) : small;
  const ratio = large.rate / small.rate;
  process.stdout.write(
    `items/s at ${datasets} datasets: ${ratio.toFixed(2)} of that at ${baselineDatasets} (mark 0.8)\n`,
  );
};

const publishOnce = async (datasets: number, concurrency: number): Promise<{ rate: number }> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-scale-'));
  const resources = Math.max(1, Math.round(datasets * resourcesPerDataset));
  const items = 2 * datasets + 1 + resources;
  let portal: ServerProcess | null = null;
  try {
    const place = await writeInput(folder, datasets, resources);
    portal = await startPortal(join(folder, 'portal'), place.users);
    const config = await writeConfig({ folder, manifest: '', tables: [], users: place.users }, portal.url, concurrency);
    const common = ['--config', config, '--state', join(folder, 'state')];
    const env = { ...process.env, BENCH_PASSWORD: account.password };
    const plan = await runSluice(['plan', place.manifest, ...common], { env });
    const first = await watched(['publish', place.manifest, ...common, '--json'], env, join(folder, 'state'));
    const again = await watched(['publish', place.manifest, ...common, '--json'], env, join(folder, 'state'));
    const status = await runSluice(['status', ...common], { env });
    const log = await runSluice(['log', 'scale/dataset-0', ...common], { env });
    show(items, { plan, first, again, status, log, portal });
    return { rate: items / first.seconds };
  } finally {
    await portal?.stop();
    await rm(folder, { recursive: true, force: true });
  }
};

const show = (
  items: number,
  {
    plan,
    first,
    again,
    status,
    log,
    portal,
  }: Record<'plan' | 'status' | 'log', Ended> & Record<'first' | 'again', Run> & { portal: ServerProcess },
): void => {
  const each = (bytes: number): string => (bytes / items).toFixed(0);
  process.stdout.write(
    `${items} items\n` +
      `plan             ${plan.seconds.toFixed(1)} s (mark 30), peak RSS ${plan.peak} MB (mark 500)\n` +
      `first publish    ${first.seconds.toFixed(1)} s, ${(items / first.seconds).toFixed(0)} items/s, peak RSS ${first.peak} MB (mark 400), portal ${portal.peak()} MB\n` +
      `second publish   ${again.seconds.toFixed(1)} s (mark 30), peak RSS ${again.peak} MB\n` +
      `Redis            ${each(first.figures.most - first.figures.least)} bytes an item in flight, ${each(again.figures.last - first.figures.least)} at rest\n` +
      `Redis ping       p99 ${first.figures.ping.toFixed(1)} ms (mark 20), unchanged ${again.figures.ping.toFixed(1)} ms\n` +
      `status ${status.seconds.toFixed(2)} s, log ${log.seconds.toFixed(2)} s (mark 1)\n`,
  );
};

const watched = async (args: string[], env: NodeJS.ProcessEnv, state: string): Promise<Run> => {
  const stop = new AbortController();
  const watching = watchRedis(join(state, 'redis', 'redis.sock'), stop.signal);
  const ended = await runSluice(args, { env }).finally(() => stop.abort());
  return { ...ended, figures: await watching };
};

/** Pings the embedded Redis every 10 ms and looks at its memory ten times a second, while it is there. */
const watchRedis = async (path: string, signal: AbortSignal): Promise<Figures> => {
  const pings: number[] = [];
  let [least, most, last] = [Number.POSITIVE_INFINITY, 0, 0];
  const redis = new Redis({
    path,
    retryStrategy: () => 50,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableReadyCheck: false, // which comes again a second later while a server loads its data
  });
  redis.on('error', () => undefined); // not there yet, or no more
  for (let turn = 0; !signal.aborted; turn++) {
    await sleep(10);
    if (redis.status !== 'ready') continue;
    try {
      const begun = performance.now();
      await redis.ping();
      pings.push(performance.now() - begun);
      if (turn % 10 !== 0) continue;
      last = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1] ?? 0);
      [least, most] = [Math.min(least, last), Math.max(most, last)];
    } catch {
      // it ended meanwhile
    }
  }
  redis.disconnect();
  pings.sort((a, b) => a - b);
  return { ping: pings[Math.floor(pings.length * 0.99)] ?? 0, least, most, last };
};

const writeInput = async (
  folder: string,
  datasets: number,
  resources: number,
): Promise<{ manifest: string; users: string }> => {
  const link = (id: string) => ({
    '@type': 'dcat:Distribution',
    title: `Table ${id}`,
    accessURL: `https://example.org/${id}`,
  });
  const dataset = (id: string, distribution: object[]): string =>
    JSON.stringify({
      '@type': 'dcat:Dataset',
      identifier: id,
      title: `Dataset ${id}`,
      description: `What the city knows of ${id}.`,
      keyword: ['scale', 'links'],
      modified: '2026-01-01',
      accessLevel: 'public',
      publisher: { '@type': 'org:Organization', name: 'City' },
      contactPoint: { '@type': 'vcard:Contact', fn: 'Clerk', hasEmail: 'mailto:clerk@example.org' },
      distribution,
    });
  const lines = Array.from({ length: datasets }, (_, index) => dataset(`dataset-${index}`, [link(`${index}`)]));
  lines.push(
    dataset(
      'many',
      Array.from({ length: resources }, (_, index) => link(`many-${index}`)),
    ),
  );
  await writeFile(join(folder, 'data.json'), `{"dataset":[\n${lines.join(',\n')}\n]}\n`);
  const manifest = join(folder, 'scale.yaml');
  await writeFile(manifest, 'name: scale\nportal: portal\ncatalogue: { from: data.json }\n');
  const users = join(folder, 'users.yaml');
  await writeFile(
    users,
    `users:\n  - { name: ${account.name}, password: ${account.password}, roles: [administrator] }\n`,
    { mode: 0o600 },
  );
  return { manifest, users };
};
