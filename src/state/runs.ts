// Records of runs in Redis: what was asked, the work planned, progress, and the report.
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { FieldWrite, JobWriter } from '../model/lease.ts';
import { goodFileSchema, sourceFingerprintSchema } from '../model/ledger-entry.ts';
import { driftPolicies, type RunPriority, removalModes, runPriorities } from '../model/policy.ts';
import { type RedisKeys, type Target, targetName, targetOfName } from '../model/redis-keys.ts';
import {
  type Cause,
  causesOf,
  causesSchema,
  isSuccess,
  itemActions,
  type Reason,
  type ReportItem,
  reasonSchema,
  reportItemSchema,
  type StoredReport,
} from '../model/report.ts';
import { liveVersionSchema } from '../model/table-history.ts';
import { datasetWishSchema, resourceWishSchema } from '../model/wish.ts';
import { fieldsOf, readField, writeFields } from './redis/fields.ts';
import { RedisScript } from './redis/script.ts';
import {
  lineOf,
  packReport,
  ReportBuilder,
  type RunSummary,
  runSummarySchema,
  summaryOf,
  unpackReport,
} from './report-lines.ts';
import { rememberRun } from './targets.ts';

/** The planned work on one dataset: its wish without the resources, and the keys of the resources that need work. */
const datasetWorkSchema = z.object({
  wish: datasetWishSchema.omit({ resources: true }),
  why: z.string(),
  /** Node id as the run found it in the ledger; when the node turns out to be another one, all resources have work. */
  nid: z.string().nullable(),
  resources: z.array(z.string()),
  /** Keys of all its resources that have or may get a node, in the order in which its list names them. */
  order: z.array(z.string()),
  /** Uuids that are searched for on the portal: its own, those of its resources, and of datasets after it. */
  next: z.array(z.string()).default([]),
  /** True when the node is to be read and proven although the ledger knows nothing against it. */
  verify: z.boolean(),
  /** True when the node stays as it is and only resources below it have work. */
  frozen: z.boolean(),
  /** Why a stored plan could not be done to a frozen dataset. */
  refused: reasonSchema.nullable(),
  /** How the dataset is to be taken down; null when it is to be published. */
  removal: z.enum(removalModes).nullable(),
  onDrift: z.enum(driftPolicies),
  /** Somebody decided that what cannot be found is created. */
  createMissing: z.boolean().default(false),
});

/** The planned work on one resource. */
const resourceWorkSchema = z.object({
  wish: resourceWishSchema,
  why: z.string(),
  /** The file as the run saw it; null when it could not be read, or was left to the job. */
  source: sourceFingerprintSchema.nullable(),
  removal: z.enum(removalModes).nullable(),
  onDrift: z.enum(driftPolicies),
  createMissing: z.boolean().default(false),
});

/** A table that was ordered to be imported, and what its proof is held against. */
const unprovenSchema = z.object({
  nid: z.string(),
  uuid: z.string(),
  /** Rows and columns of the file. */
  rows: z.number().int(),
  columns: z.number().int(),
  /** What becomes the good file of the resource once it is proven. */
  good: goodFileSchema,
  /** The version of the table that is live then. */
  version: liveVersionSchema.nullable().default(null),
});

export type Unproven = z.infer<typeof unprovenSchema>;

/** Stands among the outcomes for an item that was sent and is not proven yet. */
const sent = 'sent';

/** What a run has done to an item so far. */
const itemRecordSchema = z.object({
  actions: z.array(z.enum(itemActions)),
  /** What its report says once, beside what is known of it at all times. */
  told: z.array(z.string()).exactOptional(),
  /** Its table, while that is not proven to be whole; the item ends with the proof. */
  unproven: unprovenSchema.nullable().default(null),
  /** Attempts that it took until its table was to be proven. */
  attempts: z.number().int().default(0),
  /** Milliseconds of work, over all attempts. */
  ms: z.number().int(),
  /** How the item ended; null while it has not. */
  ended: reportItemSchema.nullable(),
});

export type ItemRecord = z.infer<typeof itemRecordSchema>;

const newRecord: ItemRecord = { actions: [], unproven: null, attempts: 0, ms: 0, ended: null };

export type DatasetWork = z.infer<typeof datasetWorkSchema>;
export type ResourceWork = z.infer<typeof resourceWorkSchema>;

const settledClaimSchema = z.object({
  claim: z.string(),
  reason: reasonSchema.nullable(),
  /** What was mended in the file before it was sent, a line each. */
  mended: z.array(z.string()).exactOptional(),
});

/** A dropped file by its claim id: archived, or quarantined with a reason. */
export type SettledClaim = z.infer<typeof settledClaimSchema>;

/** A part of the planned work of a run. The first attempt writes it down; later attempts of the run use it unchanged. */
export interface RunWork {
  datasets: DatasetWork[];
  resources: ResourceWork[];
  /** Items that need no job. */
  settled: ReportItem[];
  /** Dropped files that need no job: what becomes of them when the run closes. */
  claims: SettledClaim[];
}

/** Planned items by what they need. */
export interface PlannedCounts {
  datasets: number;
  resources: number;
  settled: number;
}

/** What is known of the work that was planned. */
export interface Planned extends Pick<RunWork, 'claims'> {
  /** What is published differently from the source. */
  remarks: string[];
  /** Keys of the datasets with a job. */
  datasets: string[];
  /** Ids of the dropped files behind resources with a job, by key. */
  dropped: Record<string, string>;
}

/** What a run has jobs for. */
export type ChildKind = 'datasets' | 'proofs';

/** How far a run is. */
export interface RunProgress {
  state: 'queued' | 'running' | 'done';
  startedAt: number | null;
  /** Items with a job of their own. */
  total: number;
  done: number;
  failed: number;
}

/** Causes of failures that are kept beside a report. */
const mostCauses = 50;

/** What stays of a part of the plan when its work is in the hash of work. */
const partSchema = z.object({
  datasets: z.array(z.string()),
  claims: z.array(settledClaimSchema),
  dropped: z.record(z.string(), z.string()),
});

const readPart = (text: string): z.infer<typeof partSchema> => partSchema.parse(JSON.parse(text));

/** Bytes of work that one command writes, and parts of a plan that one reads. */
const bytesAtOnce = 200_000;
const partsAtOnce = 20;

// KEYS: lists. ARGV: how long to keep them, then for each how many elements it has, and one more or nothing. A part whose
// reply was lost with its connection is sent again, and must not be in the plan twice.
const addPart = new RedisScript(`
for i, list in ipairs(KEYS) do
  local length, part = tonumber(ARGV[2 * i]), ARGV[2 * i + 1]
  if part ~= '' and redis.call('LLEN', list) == length then redis.call('RPUSH', list, part) end
  redis.call('PEXPIRE', list, ARGV[1])
end
`);

/**
 * Writes the plan of a run in parts. They count once it is ended; another attempt writes a plan of its own. Throws
 * JobLostError once another worker has the job.
 */
export class PlanWriter {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #runId: string;
  readonly #keepMs: number;
  readonly #writer: JobWriter | null;
  readonly #id = randomUUID();
  /** Elements of the lists of parts and of settled items. */
  readonly #written = { parts: 0, settled: 0 };
  readonly #counts: PlannedCounts = { datasets: 0, resources: 0, settled: 0 };

  constructor(
    redis: Redis,
    keys: RedisKeys,
    { runId, keepMs, writer }: { runId: string; keepMs: number; writer: JobWriter | null },
  ) {
    this.#redis = redis;
    this.#keys = keys;
    this.#runId = runId;
    this.#keepMs = keepMs;
    this.#writer = writer;
  }

  get #lists(): string[] {
    return [this.#keys.runPlan(this.#runId, this.#id), this.#keys.runSettled(this.#runId, this.#id)];
  }

  /** Writes a part. */
  async add({ datasets, resources, settled, claims }: RunWork): Promise<void> {
    const dropped: Planned['dropped'] = {};
    for (const { wish } of resources) {
      const { key, source } = wish;
      if (source.kind === 'file' && source.claim !== undefined) dropped[key] = source.claim;
    }
    await this.#write([...datasets, ...resources]);
    const isJob = datasets.length + resources.length + claims.length > 0;
    const part = isJob ? JSON.stringify({ datasets: datasets.map(({ wish }) => wish.key), claims, dropped }) : '';
    const lines = settled.map(lineOf).join('\n');
    const written = this.#written;
    if (part !== '' || lines !== '')
      await addPart.run(this.#redis, this.#lists, [this.#keepMs, written.parts, part, written.settled, lines]);
    if (part !== '') written.parts += 1;
    if (lines !== '') written.settled += 1;
    this.#counts.datasets += datasets.length;
    this.#counts.resources += resources.length;
    this.#counts.settled += settled.length;
  }

  /** Redis refuses a command beyond a size, and answers no client while it takes a large one. */
  async #write(work: (DatasetWork | ResourceWork)[]): Promise<void> {
    const hash = this.#keys.runWork(this.#runId);
    let [fields, length] = [[] as FieldWrite[], 0];
    for (const item of work) {
      const value = JSON.stringify(item);
      if (length + value.length > bytesAtOnce && fields.length > 0) {
        await writeFields(this.#redis, this.#writer, fields);
        [fields, length] = [[], 0];
      }
      fields.push({ hash, field: item.wish.key, value });
      length += value.length;
    }
    if (fields.length > 0) await writeFields(this.#redis, this.#writer, fields);
  }

  /** Ends the plan: from now on it is what the run does. */
  async end(remarks: string[], priority: RunPriority = 'normal'): Promise<PlannedCounts> {
    const { datasets, resources } = this.#counts;
    await this.#writer?.lease.check();
    // First, so that a plan that counts never expires.
    for (const list of this.#lists) await this.#redis.persist(list);
    const run = {
      total: String(datasets + resources),
      remarks: JSON.stringify(remarks),
      plan: this.#id,
      priority,
    };
    await writeFields(this.#redis, this.#writer, writesOf(this.#keys.run(this.#runId), run));
    return this.#counts;
  }
}

/** One write for each field of a hash. */
const writesOf = (hash: string, fields: Record<string, FieldWrite['value']>): FieldWrite[] =>
  Object.entries(fields).map(([field, value]) => ({ hash, field, value }));

/** Reads and writes run records. */
export class Runs {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #keepMs: number;
  readonly #writer: JobWriter | null;

  constructor(redis: Redis, keys: RedisKeys, keepMs: number, writer: JobWriter | null = null) {
    this.#redis = redis;
    this.#keys = keys;
    this.#keepMs = keepMs;
    this.#writer = writer;
  }

  /** The records in the name of a job: what it writes is refused with JobLostError once another worker has the job. */
  inNameOf(writer: JobWriter | null): Runs {
    return new Runs(this.#redis, this.#keys, this.#keepMs, writer);
  }

  /** Marks a run as started (idempotent) and returns when that was, Unix milliseconds. */
  async begin(runId: string, target: Target & { why?: string }): Promise<number> {
    const key = this.#keys.run(runId);
    const now = Date.now();
    await this.#redis
      .multi()
      .hsetnx(key, 'startedAt', now)
      .hset(key, { target: targetName(target), why: target.why ?? '' })
      .zadd(this.#keys.runs, 'NX', now, runId)
      .exec();
    return Number(await this.#redis.hget(key, 'startedAt'));
  }

  /** Starts to write the planned work of a run. */
  newPlan(runId: string): PlanWriter {
    return new PlanWriter(this.#redis, this.#keys, { runId, keepMs: this.#keepMs, writer: this.#writer });
  }

  /** The planned work as written down, or null before its plan is ended. */
  async planned(runId: string): Promise<Planned | null> {
    const [plan, remarks] = await this.#redis.hmget(this.#keys.run(runId), 'plan', 'remarks');
    if (!plan || !remarks) return null;
    const planned: Planned = {
      datasets: [],
      claims: [],
      dropped: {},
      remarks: z.array(z.string()).parse(JSON.parse(remarks)),
    };
    for await (const part of this.#parts(this.#keys.runPlan(runId, plan))) {
      const { datasets, claims, dropped } = readPart(part);
      for (const key of datasets) planned.datasets.push(key);
      for (const claim of claims) planned.claims.push(claim);
      Object.assign(planned.dropped, dropped);
    }
    return planned;
  }

  /** Keys of the datasets with a job in one page of the plan, counted from 0; null behind the last page. */
  async plannedPage(runId: string, page: number): Promise<string[] | null> {
    const plan = await this.#redis.hget(this.#keys.run(runId), 'plan');
    const text = await this.#redis.lindex(this.#keys.runPlan(runId, plan ?? ''), page);
    return text === null ? null : readPart(text).datasets;
  }

  /** What is published differently from the source. */
  async remarks(runId: string): Promise<string[]> {
    const remarks = await this.#redis.hget(this.#keys.run(runId), 'remarks');
    return remarks === null ? [] : z.array(z.string()).parse(JSON.parse(remarks));
  }

  /** Whose jobs go first, as the manifest said when the run was planned. */
  async priority(runId: string): Promise<RunPriority> {
    const text = await this.#redis.hget(this.#keys.run(runId), 'priority');
    return runPriorities.find((each) => each === text) ?? 'normal';
  }

  /** How many pages of jobs have ended and are settled, from the first one. */
  async settledPages(runId: string, kind: ChildKind): Promise<number> {
    return Number((await this.#redis.hget(this.#keys.run(runId), `${kind}Settled`)) ?? 0);
  }

  /** Records how many pages are settled. */
  async settlePages(runId: string, kind: ChildKind, pages: number): Promise<void> {
    await this.#write([{ hash: this.#keys.run(runId), field: `${kind}Settled`, value: String(pages) }]);
  }

  /** Records whether the run has jobs left that were not added yet. */
  async waits(runId: string, hasMore: boolean): Promise<void> {
    await this.#write([{ hash: this.#keys.run(runId), field: 'more', value: hasMore ? '1' : null }]);
  }

  async #write(writes: FieldWrite[]): Promise<void> {
    await writeFields(this.#redis, this.#writer, writes);
  }

  /** True when the work of the run is planned. */
  async isPlanned(runId: string): Promise<boolean> {
    return (await this.#redis.hexists(this.#keys.run(runId), 'plan')) === 1;
  }

  async *#parts(list: string): AsyncGenerator<string> {
    for (let at = 0; ; at += partsAtOnce) {
      const texts = await this.#redis.lrange(list, at, at + partsAtOnce - 1);
      yield* texts;
      if (texts.length < partsAtOnce) return;
    }
  }

  /** Work on one dataset, or null when the run has none on it. */
  async datasetWork(runId: string, key: string): Promise<DatasetWork | null> {
    const value = await readField(this.#redis, this.#keys.runWork(runId), key);
    return value && datasetWorkSchema.parse(JSON.parse(`${value}`));
  }

  /** Work on one resource, or null when the run has none on it. */
  async resourceWork(runId: string, key: string): Promise<ResourceWork | null> {
    const value = await readField(this.#redis, this.#keys.runWork(runId), key);
    return value && resourceWorkSchema.parse(JSON.parse(`${value}`));
  }

  /** What the run has done to an item so far. */
  async record(runId: string, key: string): Promise<ItemRecord> {
    const value = await readField(this.#redis, this.#keys.runItems(runId), key, this.#writer);
    return value ? itemRecordSchema.parse(JSON.parse(`${value}`)) : newRecord;
  }

  /** Records what the run has done to an item, and how it ended if it has; in the name of a job with its next write. */
  async keep(runId: string, key: string, record: ItemRecord): Promise<void> {
    const writes: FieldWrite[] = [{ hash: this.#keys.runItems(runId), field: key, value: JSON.stringify(record) }];
    const outcome = record.ended?.outcome ?? (record.unproven ? sent : null);
    if (outcome) {
      const isFailed = outcome === 'failed' || outcome === 'quarantined';
      writes.push({ hash: this.#keys.runOutcomes(runId), field: key, value: outcome });
      writes.push({ hash: this.#keys.runFailures(runId), field: key, value: isFailed ? outcome : null });
    }
    if (this.#writer) this.#writer.writeLater(writes);
    else await writeFields(this.#redis, null, writes);
  }

  /** Keys of the resources whose tables are to be proven, in lists of at most `size`; every call returns the same lists. */
  async proofs(runId: string, size: number): Promise<string[][]> {
    const key = this.#keys.run(runId);
    const known = await this.#redis.hget(key, 'proofs');
    if (known !== null) return z.array(z.array(z.string())).parse(JSON.parse(known));
    const open = new Set<string>();
    for await (const [item, outcome] of fieldsOf(this.#redis, this.#keys.runOutcomes(runId)))
      if (outcome.toString() === sent) open.add(item);
    const keys = [...open].sort();
    const lists = Array.from({ length: Math.ceil(keys.length / size) }, (_, index) =>
      keys.slice(index * size, (index + 1) * size),
    );
    await this.#write([{ hash: key, field: 'proofs', value: JSON.stringify(lists) }]);
    return lists;
  }

  /** Items of an open run that have failed, at most `most`, with their reasons. */
  async failures(runId: string, most: number): Promise<ReportItem[]> {
    const [, fields] = await this.#redis.hscan(this.#keys.runFailures(runId), '0', 'COUNT', most);
    const keys = fields.filter((_, at) => at % 2 === 0).slice(0, most);
    const records = await Promise.all(keys.map((key) => this.record(runId, key)));
    return records.flatMap(({ ended }) => ended ?? []);
  }

  /** What the run reports so far: items that needed no job, then those that have ended. */
  async reported(runId: string): Promise<ReportBuilder> {
    await this.#writer?.catchUp();
    const builder = new ReportBuilder();
    const plan = await this.#redis.hget(this.#keys.run(runId), 'plan');
    if (plan) {
      for await (const lines of this.#parts(this.#keys.runSettled(runId, plan)))
        for (const line of lines.split('\n')) builder.addLine(line);
    }
    for await (const [, value] of fieldsOf(this.#redis, this.#keys.runItems(runId))) {
      const { ended } = itemRecordSchema.parse(JSON.parse(`${value}`));
      if (ended) builder.add(ended);
    }
    return builder;
  }

  /** How far a run is. */
  async progress(runId: string): Promise<RunProgress> {
    const key = this.#keys.run(runId);
    const [[startedAt, total, done, failed], isDone, ended, failures] = await Promise.all([
      this.#redis.hmget(key, 'startedAt', 'total', 'done', 'failed'),
      this.#redis.hexists(key, 'report'),
      this.#redis.hlen(this.#keys.runOutcomes(runId)),
      this.#redis.hlen(this.#keys.runFailures(runId)),
    ]);
    return {
      state: isDone ? 'done' : startedAt ? 'running' : 'queued',
      startedAt: startedAt ? Number(startedAt) : null,
      total: Math.max(Number(total ?? 0), Number(done ?? ended)),
      done: Number(done ?? ended),
      failed: Number(failed ?? failures),
    };
  }

  /** Stores the report; from now on the run counts as done. */
  async close(report: StoredReport): Promise<void> {
    const why = await this.#redis.hget(this.#keys.run(report.runId), 'why');
    const packed = await packReport(report);
    const reason = report.reason === null ? {} : { reason: JSON.stringify(report.reason) };
    const causes = isSuccess(report) ? [] : causesOf(report.items).slice(0, mostCauses);
    const fields = {
      report: packed,
      ...reason,
      summary: JSON.stringify(summaryOf(report)),
      causes: JSON.stringify(causes),
    };
    await this.#write(writesOf(this.#keys.run(report.runId), fields));
    await rememberRun(this.#redis, this.#keys, report, why === null || why === '' ? null : why);
  }

  /** Drops the work list of a closed run and lets its record expire. */
  async drop(runId: string): Promise<void> {
    const key = this.#keys.run(runId);
    const seconds = Math.ceil(this.#keepMs / 1000);
    const plan = (await this.#redis.hget(key, 'plan')) ?? '';
    const { done, failed } = await this.progress(runId);
    await this.#redis
      .multi()
      .hset(key, { done, failed })
      .hdel(key, 'plan', 'remarks', 'proofs', 'stuck', 'more', 'datasetsSettled', 'proofsSettled')
      .del(this.#keys.runPlan(runId, plan), this.#keys.runSettled(runId, plan), this.#keys.runWork(runId))
      .del(this.#keys.runItems(runId), this.#keys.runOutcomes(runId), this.#keys.runFailures(runId))
      .hdel(this.#keys.cancelled, runId)
      .expire(key, seconds)
      .zremrangebyscore(this.#keys.runs, '-inf', Date.now() - this.#keepMs)
      .exec();
  }

  /** The report of a closed run, or null. */
  async report(runId: string): Promise<StoredReport | null> {
    const packed = await this.#redis.hgetBuffer(this.#keys.run(runId), 'report');
    return packed && unpackReport(packed);
  }

  /** What the report of a run comes to; null while it is open. */
  async summary(runId: string): Promise<RunSummary | null> {
    const text = await this.#redis.hget(this.#keys.run(runId), 'summary');
    return text === null ? null : (runSummarySchema.safeParse(JSON.parse(text)).data ?? null);
  }

  /** What items of a closed run failed for, the most frequent first. */
  async causes(runId: string): Promise<Cause[]> {
    const text = await this.#redis.hget(this.#keys.run(runId), 'causes');
    return text === null ? [] : (causesSchema.safeParse(JSON.parse(text)).data ?? []);
  }

  /** The target of a run that has started, or null. */
  async target(runId: string): Promise<Target | null> {
    const target = targetOfName((await this.#redis.hget(this.#keys.run(runId), 'target')) ?? '');
    return target.manifest && target.portal ? target : null;
  }

  /** True when the run has started or ended and its record is kept. */
  async exists(runId: string): Promise<boolean> {
    return (await this.#redis.exists(this.#keys.run(runId))) === 1;
  }

  /** True when the run has its report. */
  async isClosed(runId: string): Promise<boolean> {
    return (await this.#redis.hexists(this.#keys.run(runId), 'report')) === 1;
  }

  /** Why a closed run failed or was held as a whole; null when it was not. */
  async reason(runId: string): Promise<Reason | null> {
    const text = await this.#redis.hget(this.#keys.run(runId), 'reason');
    return text === null ? null : reasonSchema.parse(JSON.parse(text));
  }

  /** Ids of the newest runs, newest first. */
  async latest(count: number): Promise<string[]> {
    return this.#redis.zrevrange(this.#keys.runs, 0, count - 1);
  }
}
