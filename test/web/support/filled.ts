// State of a service with something of everything: live and faulty items, runs, a held run, a paused portal, an inbox, work.
import { itemId, noTrace } from '../../../src/model/job.ts';
import { uuidOfKey } from '../../../src/model/key.ts';
import { type LedgerEntry, newEntry } from '../../../src/model/ledger-entry.ts';
import { targetName } from '../../../src/model/redis-keys.ts';
import {
  countItem,
  type ExportOrder,
  type Reason,
  type Report,
  type ReportItem,
  reportItem,
} from '../../../src/model/report.ts';
import { type LiveVersion, type RowChanges, withFormer } from '../../../src/model/table-history.ts';
import { syncSchedules } from '../../../src/queue/schedules.ts';
import type { Runtime } from '../../../src/service/runtime.ts';
import { expectedOf } from '../../../src/state/deadlines.ts';
import { plainRequest } from '../../support/plain-request.ts';

/** When everything happened, Unix milliseconds. */
export const noon = Date.UTC(2026, 10, 21, 12);
const day = 24 * 3600 * 1000;

/** Faults as a check reports them. */
export const faults = {
  ragged: {
    code: 'table-ragged-row',
    message: 'line 1,204: 3 cells, but the header has 4',
    hint: 'add the missing cell, or quote the one that holds the delimiter',
  },
  refused: {
    code: 'portal-refused',
    message: 'the portal refused the resource: the field License is required',
    hint: 'set `license:` of the dataset in the manifest',
  },
  held: {
    code: 'held',
    message: 'the table has 120 rows, 91 % fewer than the 1,310 before (at most 50 %)',
    hint: '`sluice release KEY` publishes it, `sluice discard KEY` keeps the version before',
  },
} satisfies Record<string, Reason>;

/** Writes entries of a manifest; those whose number is in `reasons` are not live. */
export const writeItems = async (
  runtime: Runtime,
  { manifest, portal = 'local', titles }: { manifest: string; portal?: string; titles: string[] },
  reasons: Record<number, Reason> = {},
): Promise<LedgerEntry[]> => {
  await runtime.ledger.remember({ manifest, portal }, `/srv/manifests/${manifest}.yaml`);
  const entries: LedgerEntry[] = [];
  for (const [at, title] of titles.entries()) {
    const dataset = `${manifest}/${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
    for (const key of [dataset, `${dataset}/table`]) {
      const isTable = key.endsWith('/table');
      const reason = isTable ? (reasons[at] ?? null) : null;
      const name = `${title.replaceAll(' ', '_')}.csv`;
      const entry: LedgerEntry = {
        ...newEntry({
          key,
          kind: isTable ? 'resource' : 'dataset',
          uuid: uuidOfKey(key),
          title: isTable ? `${title}, table` : title,
        }),
        nid: String(at + 1),
        url: `https://data.example.org/dataset/${at + 1}`,
        live: reason === null,
        stale: reason !== null,
        reason,
        ...(isTable
          ? {
              sourcePath: `/srv/data/${name}`,
              file: {
                fid: '1',
                name,
                bytes: 48_200 + 900 * at,
                sha256: '00',
              },
              rows: 1310 + 12 * at,
              datastore: 'imported' as const,
            }
          : {}),
        runId: '20261121-031500-aaaaa',
        syncedAt: noon - 3600_000 * at,
      };
      entries.push(entry);
      await runtime.ledger.put(portal, entry);
    }
  }
  return entries;
};

/** The item of a report as its entry has it. */
export const itemOf = (entry: LedgerEntry, more: Partial<ReportItem> = {}): ReportItem => ({
  key: entry.key,
  kind: entry.kind,
  nid: entry.nid,
  uuid: entry.uuid,
  url: entry.url,
  actions: entry.reason ? [] : ['updated'],
  outcome: entry.reason === null ? 'done' : entry.reason.code === 'held' ? 'held' : 'quarantined',
  live: entry.live,
  stale: entry.stale,
  rows: entry.rows,
  file: entry.file && { name: entry.file.name, bytes: entry.file.bytes, sha256: '00' },
  rejected: null,
  fixes: [],
  warnings: [],
  reason: entry.reason,
  jobId: null,
  attempts: 1,
  ms: 420,
  ...more,
});

/** Records a closed run. */
export const writeRun = async (
  runtime: Runtime,
  { runId, manifest, portal = 'local' }: { runId: string; manifest: string; portal?: string },
  { items, at, reason = null, order }: { items: ReportItem[]; at: number; reason?: Reason | null; order?: ExportOrder },
): Promise<void> => {
  await runtime.runs.begin(runId, { manifest, portal, why: 'schedule' });
  await runtime.redis.hset(runtime.keys.run(runId), 'startedAt', at);
  await runtime.redis.zadd(runtime.keys.runs, at, runId);
  const counts: Report['counts'] = { dataset: {}, resource: {}, actions: {} };
  for (const item of items) countItem(counts, item);
  const report: Report = {
    runId,
    manifest,
    portal,
    startedAt: new Date(at).toISOString(),
    endedAt: new Date(at + 95_000).toISOString(),
    counts,
    reason,
    ...(order ? { export: order } : {}),
    items,
  };
  await runtime.runs.close(report);
  await runtime.redis.hset(runtime.keys.run(runId), {
    done: items.length,
    failed: items.filter(({ outcome }) => outcome !== 'done').length,
  });
};

/** Keys of what a test looks at. */
export interface Filled {
  live: string;
  faulty: string;
  held: string;
  run: string;
  heldRun: string;
}

/** A worker that gives signs of life. */
export const writeWorker = async (runtime: Runtime): Promise<void> => {
  const limits = { local: { concurrency: 1, requestsPerSecond: 0 } };
  const worker = { host: 'publisher', pid: 1, role: 'start', at: Date.now() + day, limits, silences: {} };
  await runtime.redis.hset(runtime.keys.workers, 'w', JSON.stringify(worker));
};

/** Fills the state. */
export const fill = async (runtime: Runtime): Promise<Filled> => {
  const parks = [
    'Air quality',
    'Budget 2026',
    'Council minutes',
    'Cycle counts',
    'Noise map',
    'Parking',
    'Playgrounds',
    'School places',
    'Street trees',
    'Wastewater',
  ];
  const entries = await writeItems(
    runtime,
    { manifest: 'city-open-data', titles: parks },
    { 3: faults.ragged, 8: faults.ragged, 5: faults.held, 6: faults.refused },
  );
  const other = await writeItems(runtime, { manifest: 'transport', titles: ['Boardings', 'Stops', 'Timetable'] });
  for (let back = 29; back >= 0; back--) {
    const at = noon - back * day;
    const stamp = new Date(at).toISOString().slice(0, 10).replaceAll('-', '');
    const isBad = [4, 11, 12, 25].includes(back);
    const fine = entries.filter(({ reason }) => reason === null).map((entry) => itemOf(entry));
    await writeRun(
      runtime,
      { runId: `${stamp}-031500-aaaaa`, manifest: 'city-open-data' },
      { items: back === 0 || isBad ? entries.map((entry) => itemOf(entry)) : fine, at },
    );
    if (back % 2 === 0) {
      const items = other.map((entry) => itemOf(entry, back === 0 ? {} : { outcome: 'unchanged', actions: [] }));
      await writeRun(runtime, { runId: `${stamp}-040000-bbbbb`, manifest: 'transport' }, { items, at });
    }
  }
  const heldRun = '20261121-130000-held1';
  const why = 'the run would take down 9 of 12 items (at most 10 %)';
  const reason = { code: 'held', message: why, hint: '`sluice release` does it, `sluice discard` forgets it' };
  await writeRun(runtime, { runId: heldRun, manifest: 'transport' }, { items: [], at: noon + 3600_000, reason });
  await runtime.plans.hold(
    {
      runId: heldRun,
      manifest: 'transport',
      portal: 'local',
      manifestPath: '/srv/manifests/transport.yaml',
      removals: other.slice(0, 3).map(({ key }) => key),
      plan: null,
      why,
      since: noon + 3600_000,
    },
    null,
  );
  const live = 'city-open-data/air-quality/table';
  await writeVersions(runtime, live);
  await writeLog(runtime, '20261121-031500-aaaaa', live, [
    'found nothing known of it, its table is new',
    'fetch Air_quality.csv: 48,200 bytes (12 ms)',
    'prepare Air_quality.csv: unchanged (3 ms)',
    'check Air_quality.csv: 1,310 rows, 4 columns (41 ms)',
    'guard Air_quality.csv: 1,310 rows after 1,284 (1 ms)',
    'attach Air_quality.csv: file 311 (212 ms)',
    'import node 17: 1,310 rows (1840 ms)',
    'verify node 17: ok (96 ms)',
  ]);
  const faulty = 'city-open-data/cycle-counts/table';
  await writeLog(runtime, '20261121-031500-aaaaa', faulty, [
    'fetch Cycle_counts.csv: 50,900 bytes (9 ms)',
    'check Cycle_counts.csv: failed, table-ragged-row: line 1,204: 3 cells, but the header has 4 (38 ms)',
    'failed for good: table-ragged-row: line 1,204: 3 cells, but the header has 4',
  ]);
  const request = { manifestPath: '/srv/manifests/city-open-data.yaml', manifest: 'city-open-data', portal: 'local' };
  await syncSchedules(runtime.queues, [
    {
      request: { ...request, ...plainRequest, why: 'schedule', only: null },
      schedule: { cron: '15 3 * * *', timezone: 'Europe/Berlin', jitterMs: 0, window: null, catchUp: 'once' },
    },
  ]);
  await writeWorker(runtime);
  const news = expectedOf.news({ manifest: 'transport', portal: 'local' });
  await runtime.deadlines.expect([{ member: news, everyMs: day }], noon - 2 * day);
  await runtime.pauses.pause('local', {
    code: 'portal-unreachable',
    message: 'https://data.example.org does not answer (connect ECONNREFUSED)',
    hint: 'it goes on by itself as soon as the portal answers',
  });
  await runtime.redis.hset(
    runtime.keys.inboxes,
    'transport',
    JSON.stringify({
      manifest: 'transport',
      folder: '/srv/inbox',
      settling: [{ path: 'lines/boardings-2026-11.csv', bytes: 5_210_000, since: Date.now() - 1500 }],
      left: [{ path: 'notes.docx', reason: 'no rule of the manifest names it' }],
      spooled: 1,
      at: Date.now() + day,
    }),
  );
  return { live, faulty, held: 'city-open-data/parking/table', run: '20261121-031500-aaaaa', heldRun };
};

/** Manifests `amt-1` to `amt-<count>`, in no order, with runs; every tenth has a faulty item, the third has never run. */
export const fillMany = async (runtime: Runtime, count: number, { isCalm = false } = {}): Promise<void> => {
  await writeWorker(runtime);
  for (let at = count; at > 0; at--) {
    const manifest = `amt-${at}`;
    const isFaulty = !isCalm && at % 10 === 0;
    const titles = ['Budget', 'Staff', ...(at % 4 === 0 ? ['Permits', 'Works'] : [])];
    const entries = await writeItems(runtime, { manifest, titles }, isFaulty ? { 1: faults.ragged } : {});
    for (let back = at % 7 === 3 ? 0 : 12 + (at % 20); back > 0; back--) {
      const when = noon - back * day;
      const runId = `${new Date(when).toISOString().slice(0, 10).replaceAll('-', '')}-0315${at % 60}-${at}`;
      const items = back === 1 ? entries.map((entry) => itemOf(entry)) : [];
      await writeRun(runtime, { runId, manifest }, { items, at: when });
    }
  }
  await syncSchedules(
    runtime.queues,
    Array.from({ length: count }, (_, at) => ({
      request: {
        ...{ manifestPath: `/srv/manifests/amt-${at + 1}.yaml`, manifest: `amt-${at + 1}`, portal: 'local' },
        ...plainRequest,
        ...{ why: 'schedule', only: null },
      },
      schedule: { cron: `${at} 3 * * *`, timezone: 'Europe/Berlin', jitterMs: 0, window: null, catchUp: 'once' },
    })),
  );
};

const writeVersions = async (runtime: Runtime, key: string): Promise<void> => {
  const portal = 'local';
  const entry = await runtime.ledger.entry(portal, key);
  if (!entry) throw new Error(`no entry of ${key}`);
  const version = (at: number, rows: number): LiveVersion => ({
    at,
    sum: '00000000',
    rows,
    bytes: rows * 37,
    isGuarded: false,
    columns: [
      { name: 'station', kind: 'number', empty: 0 },
      { name: 'day', kind: 'date', empty: 0 },
      { name: 'pm10', kind: 'local number', empty: 0 },
      { name: 'pm25', kind: 'local number', empty: 0 },
    ],
    sparse: {},
  });
  let former = null;
  for (let back = 18; back > 0; back--)
    former = withFormer(former, version(noon - back * day, 820 + (18 - back) * 26 + (back % 3) * 9));
  await runtime.ledger.settle(portal, { ...entry, version: version(noon, 1310), changes }, { former });
};

const writeLog = async (runtime: Runtime, runId: string, key: string, lines: string[]): Promise<void> => {
  const texts = lines.map((line, at) => `${new Date(noon + at * 700).toISOString()} ${line}`);
  await runtime.redis.rpush(runtime.keys.log(itemId(runId, key)), ...texts);
};

/** A run in progress, with jobs that a worker has. */
export const startWork = async (runtime: Runtime): Promise<string> => {
  const target = { manifest: 'transport', portal: 'local' };
  const runId = '20261121-140000-work1';
  const gate = JSON.stringify({ current: { id: runId, request: null }, again: null });
  await runtime.redis.hset(runtime.keys.gates, targetName(target), gate);
  await runtime.runs.begin(runId, { ...target, why: 'command' });
  await runtime.redis.hset(runtime.keys.run(runId), { total: 6, settled: 0 });
  for (const key of ['transport/stops', 'transport/stops/table'])
    await runtime.runs.end(runId, reportItem({ key, uuid: '', outcome: 'done' }));
  const queue = runtime.queues.portal('local');
  const key = 'transport/boardings';
  // Read in the future: it has not stalled, however slow the test is.
  const moved = { bytes: 42_000_000, of: 105_000_000, rate: 6_000_000, at: Date.now() + 60_000 };
  const data = {
    kind: 'dataset',
    runId,
    ...target,
    key,
    trace: {
      ...noTrace,
      steps: { [`${key}/table`]: 'attach' },
      going: { [`${key}/table`]: { since: Date.now() - 9000, moved } },
    },
  };
  const id = itemId(runId, key);
  await runtime.redis.hset(queue.toKey(id), {
    name: 'dataset',
    data: JSON.stringify(data),
    opts: '{}',
    timestamp: noon,
    processedOn: Date.now() - 12_000,
  });
  await writeLog(runtime, runId, `${key}/table`, [
    'planned: its file changed',
    'fetch boardings.csv: 105,000,000 bytes (90 ms)',
  ]);
  await runtime.redis.lpush(queue.toKey('active'), id);
  return runId;
};

const cellsOf = (cells: Record<string, string>) => Object.entries(cells).map(([column, value]) => ({ column, value }));

/** What changed in the last version of a table. */
const changes: RowChanges = {
  ...{ added: 31, removed: 1, changed: 2, key: ['id'], before: 1280 },
  columns: { added: ['source'], removed: [], renamed: [{ from: 'amount', to: 'amount_eur' }] },
  examples: {
    added: [
      cellsOf({ id: '1310', department: 'Parks & Recreation', amount_eur: '1200.50', note: 'new playground' }),
      cellsOf({ id: '1311', department: 'Public Works', amount_eur: '88.00', note: '' }),
    ],
    removed: [cellsOf({ id: '17', department: 'Finance', amount: '3.20', note: 'entered twice' })],
    changed: [
      {
        key: cellsOf({ id: '204' }),
        cells: [
          { column: 'department', old: 'Roads', new: 'Public Works' },
          { column: 'amount_eur', old: '950.00', new: '905.00' },
        ],
      },
      { key: cellsOf({ id: '377' }), cells: [{ column: 'note', old: '', new: 'paid in two parts, see the annex' }] },
    ],
  },
};
