// Hosts that share work: processes with state folders of their own, one Redis, one folder of manifests, tables and spool.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { datasetKey, resourceKey, uuidOfKey } from '../../../src/model/key.ts';
import { redisKeys } from '../../../src/model/redis-keys.ts';
import { ledgerIn } from '../../../src/state/ledger.ts';
import type { Reader } from '../../flow/support/reader.ts';
import { remoteConfig, writePassword } from '../../flow/support/server.ts';
import { type Sluice, startSluice } from '../../support/sluice-process.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Where a host finds the others. */
export interface HostOptions {
  /** Folder that all hosts see. */
  shared: string;
  redisUrl: string;
  /** What the keys in Redis begin with, where that is not the default. */
  prefix?: string;
  portalUrl: string;
  concurrency: number;
  requestsPerSecond: number;
  /** Command that enters the host; none for this one. */
  through?: string[];
}

/** Makes a host: its own state folder and configuration. Returns what starts a process on it. */
export const makeHost = (options: HostOptions): ((...args: string[]) => Sluice) => {
  const { shared, redisUrl, portalUrl, concurrency, requestsPerSecond, through, prefix } = options;
  const cwd = tempDir();
  mkdirSync(join(cwd, 'config'));
  writePassword(cwd);
  const config = {
    ...remoteConfig(portalUrl, { concurrency, requestsPerSecond }),
    manifests: [join(shared, '*.yaml')],
    jobs: { lock: '1500ms', stalledCheck: '500ms' },
    retry: { backoff: '100ms', maxBackoff: '500ms' },
    inbox: { settle: '300ms', rescan: '1s' },
    web: { port: 0 },
    ...(prefix === undefined ? {} : { redis: { prefix } }),
  };
  writeFileSync(join(cwd, 'config', 'sluice.yaml'), JSON.stringify(config));
  return (...args) => startSluice([...args, '--state', 'state'], { cwd, env: { REDIS_URL: redisUrl }, through });
};

const idOf = (index: number): string => `d${String(index).padStart(2, '0')}`;

/** Writes a manifest of half of the datasets, and an inbox with the other half. */
export const writeShared = (count: number): { shared: string; manifest: string } => {
  const shared = tempDir();
  const drop = (index: number): string => join('inbox', idOf(index), 'table.csv');
  for (let index = 0; index < count; index++) {
    const path = join(shared, index % 2 === 0 ? `data/${idOf(index)}.csv` : drop(index));
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, `id,name\n1,${idOf(index)}\n2,b\n`);
  }
  const datasets = Array.from({ length: count / 2 }, (_, half) => idOf(2 * half)).map((id) => ({
    id,
    title: `Written ${id}`,
    resources: [{ id: 'table', title: `Written table ${id}`, file: `data/${id}.csv` }],
  }));
  writeFileSync(join(shared, 'written.yaml'), JSON.stringify({ name: 'written', portal: 'local', datasets }));
  writeFileSync(
    join(shared, 'dropped.yaml'),
    JSON.stringify({ name: 'dropped', portal: 'local', drop: { folder: 'inbox' } }),
  );
  return { shared, manifest: join(shared, 'written.yaml') };
};

/** Waits until everything of {@link writeShared} is live. */
export const waitUntilLive = async (count: number, redis: Redis, prefix = 'sluice'): Promise<void> => {
  const ledger = ledgerIn(redis, redisKeys(prefix));
  const live = async (name: string): Promise<number> => {
    const index = await ledger.index({ manifest: name, portal: 'local' });
    return [...index.values()].filter((entry) => entry.live).length;
  };
  await waitUntil('everything to be live', async () => (await live('written')) + (await live('dropped')) === 2 * count);
};

/** The portal holds each dataset and table of {@link writeShared} once, with its rows, and nothing else. */
export const expectOnce = async (count: number, reader: Reader): Promise<void> => {
  const rows = await reader.list();
  const wanted = Array.from({ length: count }, (_, index) => [index % 2 === 0 ? 'written' : 'dropped', idOf(index)]);
  const uuids = wanted.flatMap(([name = '', id = '']) => [datasetKey(name, id), resourceKey(name, id, 'table')]);
  expect(rows.map(({ uuid }) => uuid).sort()).toEqual(uuids.map(uuidOfKey).sort());
  for (const { uuid, type } of rows) if (type === 'resource') expect(await reader.count(uuid)).toBe(2);
};
