// kill -9 of the service at ten random moments of a large run: everything sound is live, nothing is there twice.

import { expect, it } from 'vitest';
import { ledgerIn } from '../../src/state/ledger.ts';
import { runsIn } from '../../src/state/runs.ts';
import { itemLogs } from '../support/item-logs.ts';
import { randomOf } from '../support/random.ts';
import type { Sluice } from '../support/sluice-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openGateway } from './support/gateway.ts';
import { isIdle, makePlace, type Place, reportsOf } from './support/place.ts';
import { doubles, type Reader, readEmbedded } from './support/reader.ts';
import { remoteConfig, startPortalProcess, writePassword } from './support/server.ts';

const datasets = 100;
const bad = 37;
const kills = 10;

/** Ten moments out of `range`, in order; the seed is printed and can be given as FLOW_SEED. */
const momentsOf = (range: number): number[] => {
  const seed = Number(process.env.FLOW_SEED ?? 1);
  const random = randomOf(seed);
  const moments = Array.from({ length: kills }, () => random.int(1, range)).sort((a, b) => a - b);
  process.stdout.write(`FLOW_SEED=${seed} kills at ${moments.join(' ')}\n`);
  return moments;
};

const nameOf = (index: number): string => `d${String(index).padStart(3, '0')}`;
const rowsOf = (index: number): number => (index % 7) + 1;
const tableOf = (index: number): string => {
  const rows = Array.from({ length: rowsOf(index) }, (_, row) => `${row},${nameOf(index)}`);
  if (index === bad) rows.push('1,2,3');
  return `id,name\n${rows.join('\n')}\n`;
};

/** All but the bad one are live, each node once, with its own rows. */
const expectAll = async (place: Place, reader: Reader, manifest: string): Promise<void> => {
  const redis = place.redis();
  try {
    await waitUntil('the run to close', () => isIdle(place, redis, manifest));
    const entries = await ledgerIn(redis, place.keys).entries({ manifest, portal: 'local' });
    const parsed = [...entries.values()];
    expect(parsed).toHaveLength(2 * datasets - 1); // the dataset of the bad file is left out
    expect(parsed.filter(({ live }) => live !== true).map(({ key, reason }) => ({ key, reason }))).toMatchObject([
      { key: expect.stringContaining(nameOf(bad)), reason: { code: 'table-ragged', line: rowsOf(bad) + 2 } },
    ]);
    const reports = await reportsOf(place, redis, manifest);
    expect(reports.length).toBeGreaterThan(0);
    const lines = [...(await itemLogs(redis, place.keys)).values()].flat();
    expect(lines.filter((line) => line.includes('resumed after a kill in step ')).length).toBeGreaterThan(0);
  } finally {
    redis.disconnect();
  }
  const rows = await reader.list();
  expect(doubles(rows)).toEqual([]);
  expect(rows.filter(({ type }) => type === 'dataset')).toHaveLength(datasets - 1);
  const resources = rows.filter(({ type }) => type === 'resource');
  expect(resources).toHaveLength(datasets - 1);
  for (const { title, uuid } of resources) {
    const index = Number(/(\d{3})/.exec(title)?.[1]);
    expect(await reader.count(uuid), title).toBe(rowsOf(index));
  }
};

it('of one process that works, watches an inbox and serves the portal', async () => {
  const place = makePlace();
  const manifest = place.manifest({ name: 'inbox', drop: { folder: 'inbox', files: '**/*.csv' } });
  for (let index = 0; index < datasets; index++)
    place.write(`inbox/${nameOf(index)}/t${nameOf(index)}.csv`, tableOf(index));
  let service: Sluice = await place.spawnService([manifest]);
  const redis = place.redis();
  const runs = runsIn(redis, place.keys, 0);
  /** Over all runs: how many there are depends on how many files the service claims at once. */
  const ended = async (): Promise<number> => {
    const ids = await redis.zrange(place.keys.runs, '0', '-1');
    const progress = await Promise.all(ids.map((id) => runs.progress(id)));
    return progress.reduce((sum, { done }) => sum + done, 0);
  };
  let before = 0;
  for (const moment of momentsOf(datasets * 2 - 20)) {
    // A further one at least: a job killed five times in one step is given up, by rule.
    const enough = Math.min(Math.max(moment, before + 1), datasets * 2);
    await waitUntil(`${enough} items to end`, async () => (await ended()) >= enough);
    expect(await service.end('SIGKILL')).toBe('SIGKILL');
    before = await ended();
    service = await place.spawnService([manifest]);
  }
  redis.disconnect();
  await waitUntil('the spool to be emptied', async () => {
    const { out } = await place.run(['status', '--json']);
    const { inboxes } = JSON.parse(out) as { inboxes: { inProgress: number; settling: unknown[] }[] };
    return inboxes.every(({ inProgress, settling }) => inProgress === 0 && settling.length === 0);
  });
  await expectAll(place, await readEmbedded(place.stateDir), 'inbox');
  expect(await service.end('SIGTERM')).toBe(0);
});

it('of one process that works, with the portal elsewhere', async () => {
  const portal = await startPortalProcess();
  const gateway = await openGateway(portal.url);
  const place = makePlace(remoteConfig(gateway.url, { concurrency: 8 }));
  writePassword(place.dir);
  const manifest = place.manifest({
    name: 'many',
    datasets: Array.from({ length: datasets }, (_, index) => {
      const id = nameOf(index);
      const file = place.write(`data/${id}.csv`, tableOf(index));
      return { id, title: `Dataset ${id}`, resources: [{ id: `t${id}`, title: `Table ${id}`, file }] };
    }),
  });
  // Asked for by a command that is killed itself once the work has started.
  const asked = place.spawn(['publish', manifest]);
  await waitUntil('the first requests', () => gateway.requests.length > 5);
  expect(await asked.end('SIGKILL')).toBe('SIGKILL');

  let service: Sluice | null = null;
  let arm: (() => void) | null = null;
  let limit = Number.POSITIVE_INFINITY;
  gateway.after = () => {
    if (gateway.requests.length >= limit) arm?.();
  };
  for (const moment of momentsOf(900)) {
    service = place.spawn(['start']);
    const running: Sluice = service;
    // Long enough to get past the step of the kill before: a job killed five times in one step is given up, by rule.
    limit = gateway.requests.length + Math.max(50, Math.floor(moment / 15));
    arm = () => void running.child.kill('SIGKILL');
    expect(await running.ended).toBe('SIGKILL');
  }
  arm = null;
  service = await place.spawnService();
  await expectAll(place, await portal.reader(), 'many');
  expect(await service.end('SIGTERM')).toBe(0);
});
