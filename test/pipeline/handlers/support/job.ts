// What a handler works with in a test: an item that keeps its notes, a ledger on a real Redis, a client of a small portal.
import type { Redis } from 'ioredis';
import { uuidOfKey } from '../../../../src/model/key.ts';
import { type LedgerEntry, newEntry } from '../../../../src/model/ledger-entry.ts';
import { redisKeys } from '../../../../src/model/redis-keys.ts';
import type { ItemAction } from '../../../../src/model/report.ts';
import type { NodeWish } from '../../../../src/pipeline/compare/node.ts';
import type { HandlerDeps } from '../../../../src/pipeline/handlers/deps.ts';
import { type Item, jobItem } from '../../../../src/pipeline/handlers/item.ts';
import type { ResourceState } from '../../../../src/pipeline/handlers/resource-file.ts';
import type { Portal } from '../../../../src/portal-client/client.ts';
import { type Ledger, ledgerIn } from '../../../../src/state/ledger.ts';
import type { Runs } from '../../../../src/state/runs.ts';
import { openTestRedis } from '../../../support/redis.ts';

/** A ledger on a database of its own; ends with the test file. */
export const useLedger = (): { ledger: () => Ledger; redis: () => Redis } => {
  const { redis } = openTestRedis();
  return { ledger: () => ledgerIn(redis, redisKeys('test')), redis: () => redis };
};

/** The work on an item outside any queue, which keeps what is said in it. */
export const itemOf = (
  key: string,
  more: { actions?: ItemAction[]; resumed?: boolean; isLast?: boolean } = {},
): { item: Item; said: string[] } => {
  const said: string[] = [];
  const { signal } = new AbortController();
  const [manifest = '', dataset = ''] = key.split('/');
  let lastStep: string | null = null;
  const item = jobItem(
    {
      data: { kind: 'dataset', runId: 'run-1', manifest, portal: 'city', key: `${manifest}/${dataset}` },
      attempt: 1,
      isLast: more.isLast ?? false,
      signal,
      exclusive: (_name, _signal, work) => work(),
    },
    key,
    {
      runs: {
        note: async () => undefined,
        end: async () => undefined,
        leaveToProof: async () => undefined,
      } as unknown as Runs, // all that an item uses
      log: {
        resumed: more.resumed ?? false,
        get lastStep() {
          return lastStep;
        },
        step: async (label, work) => {
          said.push(label.name);
          lastStep = label.name;
          return work(signal, () => undefined);
        },
        note: async (line) => void said.push(line),
        end: () => undefined,
      },
      state: { begun: { actions: more.actions ?? [], unproven: null, attempts: 0, ms: 0 }, ended: null },
    },
  );
  return { item, said };
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

/** The state of a resource that a test changes. */
export type ChangingState = { -readonly [K in keyof ResourceState]: ResourceState[K] };

/** The state of a resource job that has attached a table of `rows` rows to node 7. */
export const attachedState = (
  parts: { ledger: Ledger; portal: Portal; item: Item },
  more: Partial<ResourceState> = {},
): ChangingState => {
  const { ledger, portal, item } = parts;
  const limits = { importTimeoutMs: () => 5000, refreshAfterMs: () => null, tableBytes: 1e9, rowBytes: 1e6 };
  const settings = {
    ...limits,
    importsTogether: () => false,
    preparedDir: '/nowhere/prepared',
    rejectsDir: '/nowhere/rejects',
    changeLogsDir: '/nowhere/change-logs',
  };
  const sha256 = 'a'.repeat(64);
  const deps = { ledger, settings, portal: () => portal } as Partial<HandlerDeps> as HandlerDeps; // all that steps use
  return {
    deps,
    target: { item, ledger, portal, onDrift: 'overwrite', createMissing: false, importsTogether: false },
    datasetNid: null,
    provesNow: true,
    wish: {
      key: item.key,
      uuid: uuidOfKey(item.key),
      datasetKey: item.key.split('/').slice(0, 2).join('/'),
      title: 'T',
      published: true,
      fields: {},
      source: { kind: 'file', path: '/nowhere/t.csv', name: 't.csv' },
      import: 'auto',
      metadataFingerprint: 'm',
    },
    seen: null,
    changes: null,
    entry: entryOf(item.key, {
      nid: '7',
      file: { fid: '31', name: 't.csv', bytes: 9, sha256 },
      datastore: 'pending',
    }),
    node: null,
    source: null,
    fetched: null,
    prepared: null,
    table: {
      rows: 2,
      columns: ['a'],
      contents: [],
      importer: { refuses: [], changes: [] },
      delimiter: ',',
      bom: false,
      bytes: 9,
      sha256,
    },
    fallsBack: false,
    ...more,
  };
};
