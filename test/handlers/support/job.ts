// What a handler works with in a test: a job that keeps its notes, a ledger on a real Redis, a client of a small portal.
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { uuidOfKey } from '../../../src/dkan/identity.ts';
import type { HandlerDeps } from '../../../src/handlers/deps.ts';
import type { NodeWish } from '../../../src/handlers/node-wish.ts';
import type { ResourceState } from '../../../src/handlers/resource-state.ts';
import { freshItem, type JobContext, type ResourceData } from '../../../src/job.ts';
import { type LedgerEntry, newEntry } from '../../../src/ledger/entry.ts';
import { redisKeys } from '../../../src/ledger/keys.ts';
import { Ledger } from '../../../src/ledger/ledger.ts';
import { createLog } from '../../../src/log.ts';
import type { Portal } from '../../../src/portal/client.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';

/** A ledger on a Redis of its own; ends with the test file. */
export const useLedger = (): { ledger: () => Ledger; redis: () => Redis } => {
  let server: TestRedis;
  let redis: Redis;
  beforeAll(async () => {
    server = await startTestRedis();
    redis = new Redis({ ...server.options, maxRetriesPerRequest: null });
  });
  afterAll(async () => {
    redis.disconnect();
    await server.close();
  });
  return { ledger: () => new Ledger(redis, redisKeys('test')), redis: () => redis };
};

/** A resource job outside any queue, which keeps what is said in it. */
export const jobOf = (key: string): { job: JobContext<'resource'>; said: string[] } => {
  const said: string[] = [];
  let data: ResourceData = {
    kind: 'resource',
    runId: 'run-1',
    manifest: key.split('/')[0] ?? '',
    portal: 'city',
    key,
    ...freshItem,
    datasetKey: key.split('/').slice(0, 2).join('/'),
    datasetNid: '1',
  };
  const { signal } = new AbortController();
  const job: JobContext<'resource'> = {
    id: 'job-1',
    get data() {
      return data;
    },
    due: 0,
    attempt: 1,
    isLast: false,
    resumed: false,
    signal,
    fence: null,
    log: createLog({ level: 'silent' }),
    save: async (changes) => {
      data = { ...data, ...changes };
    },
    step: async (label, work) => {
      said.push(label.name);
      return work(signal);
    },
    note: async (line) => void said.push(line),
    children: async () => new Map(),
  };
  return { job, said };
};

/** The wish for a resource node. */
export const nodeWish = (key: string, more: Partial<NodeWish> = {}): NodeWish => ({
  key,
  type: 'resource',
  uuid: uuidOfKey(key),
  title: `Title of ${key}`,
  published: true,
  fields: {},
  fingerprint: 'f'.repeat(64),
  ...more,
});

/** A ledger entry of a resource. */
export const entryOf = (key: string, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  ...newEntry({ key, kind: 'resource', uuid: uuidOfKey(key), title: `Title of ${key}` }),
  ...more,
});

/** The state of a resource job that has attached a table of `rows` rows to node 7. */
export const attachedState = (
  parts: { ledger: Ledger; portal: Portal; job: JobContext<'resource'> },
  more: Partial<ResourceState> = {},
): ResourceState => {
  const { ledger, portal, job } = parts;
  const limits = { importTimeoutMs: () => 5000, refreshAfterMs: () => null, maxFileBytes: 1e9, maxRowBytes: 1e6 };
  const settings = { ...limits, preparedDir: '/nowhere/prepared', rejectsDir: '/nowhere/rejects' };
  const sha256 = 'a'.repeat(64);
  const deps = { ledger, settings, portal: () => portal } as Partial<HandlerDeps> as HandlerDeps; // all that steps use
  return {
    deps,
    job,
    portal,
    wish: {
      key: job.data.key,
      uuid: uuidOfKey(job.data.key),
      datasetKey: job.data.datasetKey,
      title: 'T',
      published: true,
      fields: {},
      source: { kind: 'file', path: '/nowhere/t.csv', name: 't.csv' },
      import: 'auto',
      metadataFingerprint: 'm',
    },
    onDrift: 'overwrite',
    seen: null,
    entry: entryOf(job.data.key, {
      nid: '7',
      file: { fid: '31', name: 't.csv', bytes: 9, sha256, url: null },
      datastore: 'pending',
    }),
    intent: null,
    source: null,
    fetched: null,
    prepared: null,
    table: { rows: 2, columns: ['a'], delimiter: ',', bom: false, bytes: 9, sha256 },
    recreated: false,
    counted: false,
    fallsBack: false,
    ...more,
  };
};
