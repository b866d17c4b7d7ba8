// Records of runs in Redis: what was asked, the work, how its items stand, progress, and the report.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type RunRequest, runRequestSchema } from '../model/job.ts';
import { kindOfKey } from '../model/key.ts';
import type { JobWriter, StateWrite, StateWriter } from '../model/lease.ts';
import { type RunPriority, runPriorities } from '../model/policy.ts';
import { type RedisKeys, type Target, targetName, targetOfName } from '../model/redis-keys.ts';
import {
  type Cause,
  causesOf,
  causesSchema,
  isSuccess,
  type Reason,
  type ReportItem,
  reasonSchema,
  reportItemSchema,
  type StoredReport,
} from '../model/report.ts';
import { fieldsOf, plainWriter, storedAs } from './redis/fields.ts';
import {
  packReport,
  ReportBuilder,
  type RunSummary,
  runSummarySchema,
  summaryOf,
  unpackReport,
} from './report-lines.ts';
import { firstGroup, runPhases } from './run-phase.ts';
import {
  type Begun,
  begunSchema,
  type DatasetWork,
  datasetWorkSchema,
  notBegun,
  planWriter,
  type ResourceWork,
  resourceWorkSchema,
  type SettledClaim,
  settledClaimSchema,
} from './run-work.ts';
import { lastRunOf, lastRuns } from './targets.ts';

/** Dropped files of a run: those whose end is known, and ids by the key of the resource that decides. */
export type RunDrops = { claims: SettledClaim[]; dropped: Map<string, string> };

/** An item of a run: what was done to it so far, and how it ended; null while it has not. */
export type ItemState = { begun: Begun; ended: ReportItem | null };

const mostCauses = 50;

const remarksSchema = z.array(z.string());

const dropSchema = z.union([z.object({ claim: z.string(), key: z.string() }), settledClaimSchema]);

export interface Runs extends ReturnType<typeof runsWith> {
  /** The records in the name of a job: what it writes is refused with JobLostError once another worker has the job. */
  forJob(writer: JobWriter | null): Runs;
}

export const runsIn = (redis: Redis, keys: RedisKeys, keepMs: number, writer: StateWriter | null = null): Runs => ({
  ...runsWith(redis, keys, keepMs, writer ?? plainWriter(redis)),
  forJob: (own) => runsIn(redis, keys, keepMs, own),
});

const runsWith = (redis: Redis, keys: RedisKeys, keepMs: number, writer: StateWriter) => {
  const phases = runPhases(redis, keys, writer);

  /** JSON in the record of a run; null where there is none, or it is not understood. */
  const fieldOf = async <T>(runId: string, name: string, schema: z.ZodType<T>): Promise<T | null> =>
    storedAs(schema, await redis.hget(keys.run(runId), name));

  const workOf = async <T>(runId: string, key: string, schema: z.ZodType<T>): Promise<T | null> =>
    storedAs(schema, await redis.hget(keys.runWork(runId), key));

  const datasetWork = (runId: string, key: string): Promise<DatasetWork | null> =>
    workOf(runId, key, datasetWorkSchema);

  const resourceWork = (runId: string, key: string): Promise<ResourceWork | null> =>
    workOf(runId, key, resourceWorkSchema);

  const isPlanned = async (runId: string): Promise<boolean> => (await redis.hexists(keys.run(runId), 'total')) === 1;

  const isClosed = async (runId: string): Promise<boolean> => (await redis.hexists(keys.run(runId), 'report')) === 1;

  const item = async (runId: string, key: string): Promise<ItemState> => {
    const read = (hash: string) => writer.read({ hash, field: key }, () => redis.hgetBuffer(hash, key));
    const [begun, ended] = await Promise.all([read(keys.runBegun(runId)), read(keys.runLines(runId))]);
    return { begun: storedAs(begunSchema, begun) ?? notBegun, ended: storedAs(reportItemSchema, ended) };
  };

  /** Records what was done to an item so far; with the job's next write. */
  const note = (runId: string, key: string, begun: Begun): Promise<void> =>
    writer.writeLater([{ hash: keys.runBegun(runId), field: key, value: JSON.stringify(begun) }]);

  const gone = (runId: string, key: string): StateWrite => ({ set: keys.runOpen(runId), member: key, score: null });

  const progress = async (runId: string) => {
    const [[startedAt, total, settled, doneAtEnd, failedAtEnd], isDone, lines, unproven, failures] = await Promise.all([
      redis.hmget(keys.run(runId), 'startedAt', 'total', 'settled', 'done', 'failed'),
      isClosed(runId),
      redis.hlen(keys.runLines(runId)),
      redis.zcount(keys.runOpen(runId), firstGroup, '+inf'),
      redis.hlen(keys.runFailures(runId)),
    ]);
    // While a plan is made, the lines are those of unchanged items.
    const done = Number(doneAtEnd ?? (total ? Math.max(0, lines - Number(settled) + unproven) : 0));
    const begun = startedAt ? ('running' as const) : ('queued' as const);
    return {
      state: isDone ? ('done' as const) : begun,
      startedAt: startedAt ? Number(startedAt) : null,
      /** Items with a job of their own. */
      total: Math.max(Number(total ?? 0), done),
      done,
      /** Those of `done` whose tables are sent and still to be verified. */
      unproven,
      failed: Number(failedAtEnd ?? failures),
    };
  };

  return {
    keepMs,
    phases,
    isPlanned,
    isClosed,
    datasetWork,
    resourceWork,
    item,
    note,
    progress,

    /** Records what is asked of a run before its job is added; null where that is not understood. */
    ask: async (runId: string, target: Target, request: RunRequest | null): Promise<void> => {
      const asked = request && { request: JSON.stringify(request) };
      await redis.hset(keys.run(runId), { target: targetName(target), ...asked });
    },

    request: (runId: string): Promise<RunRequest | null> => fieldOf(runId, 'request', runRequestSchema),

    /** Marks a run as started (idempotent) and returns when that was, Unix milliseconds. */
    begin: async (runId: string, target: Target & { why?: string }): Promise<number> => {
      const key = keys.run(runId);
      const now = Date.now();
      await redis
        .multi()
        .hsetnx(key, 'startedAt', now)
        .hset(key, { target: targetName(target), why: target.why ?? '' })
        .zadd(keys.runs, 'NX', now, runId)
        .exec();
      return Number(await redis.hget(key, 'startedAt'));
    },

    /** Starts to write the planned work of a run that is in phase `planning`. */
    newPlan: (runId: string) => planWriter(redis, keys, { runId, writer, phases }),

    /** The dropped files of a planned run, or null before its plan is ended. */
    drops: async (runId: string): Promise<RunDrops | null> => {
      if (!(await isPlanned(runId))) return null;
      const drops: RunDrops = { claims: [], dropped: new Map() };
      for (const text of Object.values(await redis.hgetall(keys.runDrops(runId)))) {
        const drop = storedAs(dropSchema, text);
        if (drop && 'key' in drop) drops.dropped.set(drop.key, drop.claim);
        else if (drop) drops.claims.push(drop);
      }
      return drops;
    },

    remarks: async (runId: string): Promise<string[]> => (await fieldOf(runId, 'remarks', remarksSchema)) ?? [],

    priority: async (runId: string): Promise<RunPriority> => {
      const text = await redis.hget(keys.run(runId), 'priority');
      return runPriorities.find((each) => each === text) ?? 'normal';
    },

    work: (runId: string, key: string): Promise<DatasetWork | ResourceWork | null> =>
      kindOfKey(key) === 'dataset' ? datasetWork(runId, key) : resourceWork(runId, key),

    /** As `note`, and leaves the item to a job that proves its table. */
    leaveToProof: async (runId: string, key: string, begun: Begun): Promise<void> => {
      await note(runId, key, begun);
      await writer.writeLater([{ set: keys.runOpen(runId), member: key, score: firstGroup }]);
    },

    /** Records how an item ended; with the job's next write, and its entry with it. A later end of the item replaces it. */
    end: async (runId: string, ended: ReportItem): Promise<void> => {
      const { key, outcome, kind } = ended;
      const isFailed = outcome === 'failed' || outcome === 'quarantined';
      await writer.writeLater([
        { hash: keys.runLines(runId), field: key, value: JSON.stringify(ended) },
        { hash: keys.runBegun(runId), field: key, value: null },
        { hash: keys.runFailures(runId), field: key, value: isFailed ? outcome : null },
        { hash: keys.run(runId), field: 'advancedAt', value: String(Date.now()) },
        ...(kind === 'resource' ? [gone(runId, key)] : []),
      ]);
    },

    /** Records that a dataset with its resources has ended, except for tables to prove; with the job's next write. */
    leave: (runId: string, key: string): Promise<void> => writer.writeLater([gone(runId, key)]),

    /** Items of an open run that have failed, at most `most`, with their reasons. */
    failures: async (runId: string, most: number): Promise<ReportItem[]> => {
      const [, fields] = await redis.hscan(keys.runFailures(runId), '0', 'COUNT', most);
      const failed = fields.filter((_, at) => at % 2 === 0).slice(0, most);
      return (await Promise.all(failed.map((key) => item(runId, key)))).flatMap(({ ended }) => ended ?? []);
    },

    /** Log lines of a run, or by `itemId` of its work on an item, from line `from` (0-based), oldest first. */
    log: (id: string, from = 0): Promise<string[]> => redis.lrange(keys.log(id), from, -1),

    reported: async (runId: string): Promise<ReportBuilder> => {
      await writer.catchUp();
      const builder = new ReportBuilder();
      for await (const [, line] of fieldsOf(redis, keys.runLines(runId))) builder.addLine(`${line}`);
      return builder;
    },

    /** Stores the report; from now on the run counts as done. */
    close: async (report: StoredReport): Promise<void> => {
      const hash = keys.run(report.runId);
      const why = await redis.hget(hash, 'why');
      const fields = {
        report: await packReport(report),
        reason: report.reason && JSON.stringify(report.reason),
        summary: JSON.stringify(summaryOf(report)),
        causes: JSON.stringify(isSuccess(report) ? [] : causesOf(report.items).slice(0, mostCauses)),
      };
      await writer.write([
        ...Object.entries(fields).map(([field, value]) => ({ hash, field, value })),
        lastRuns.write(keys, report, lastRunOf(report, why || null)),
      ]);
    },

    /** Ends the last phase: drops the work of a closed run and lets its record expire. */
    drop: async (runId: string): Promise<void> => {
      const { done, failed } = await progress(runId);
      await redis
        .multi()
        .hset(keys.run(runId), { phase: 'closed', done, failed })
        .hdel(keys.run(runId), 'remarks', 'stuck', 'added', 'settled')
        .del(keys.runWork(runId), keys.runOpen(runId), keys.runLines(runId))
        .del(keys.runBegun(runId), keys.runFailures(runId), keys.runDrops(runId))
        .hdel(keys.cancelled, runId)
        .expire(keys.run(runId), Math.ceil(keepMs / 1000))
        .zremrangebyscore(keys.runs, '-inf', Date.now() - keepMs)
        .exec();
    },

    report: async (runId: string): Promise<StoredReport | null> => {
      const packed = await redis.hgetBuffer(keys.run(runId), 'report');
      return packed && unpackReport(packed);
    },

    /** What the report of a run comes to; null while it is open. */
    summary: (runId: string): Promise<RunSummary | null> => fieldOf(runId, 'summary', runSummarySchema),

    causes: async (runId: string): Promise<Cause[]> => (await fieldOf(runId, 'causes', causesSchema)) ?? [],

    target: async (runId: string): Promise<Target | null> => {
      const target = targetOfName((await redis.hget(keys.run(runId), 'target')) ?? '');
      return target.manifest && target.portal ? target : null;
    },

    /** Why a run failed, was held or is ended as a whole; null when it was not. */
    reason: (runId: string): Promise<Reason | null> => fieldOf(runId, 'reason', reasonSchema),

    latest: (count: number): Promise<string[]> => redis.zrevrange(keys.runs, 0, count - 1),
  };
};
