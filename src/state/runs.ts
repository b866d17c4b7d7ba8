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
import { firstGroup, type RunPhases, runPhases } from './run-phase.ts';
import {
  type Begun,
  begunSchema,
  type DatasetWork,
  datasetWorkSchema,
  notBegun,
  type PlanWriter,
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

const dropSchema = z.union([z.object({ claim: z.string(), key: z.string() }), settledClaimSchema]);

export class Runs {
  readonly phases: RunPhases;
  readonly keepMs: number;
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #writer: StateWriter;

  constructor(redis: Redis, keys: RedisKeys, keepMs: number, writer: JobWriter | null = null) {
    this.#redis = redis;
    this.#keys = keys;
    this.keepMs = keepMs;
    this.#writer = writer ?? plainWriter(redis);
    this.phases = runPhases(redis, keys, this.#writer);
  }

  /** The records in the name of a job: what it writes is refused with JobLostError once another worker has the job. */
  forJob(writer: JobWriter | null): Runs {
    return new Runs(this.#redis, this.#keys, this.keepMs, writer);
  }

  /** Records what is asked of a run before its job is added; null where that is not understood. */
  async ask(runId: string, target: Target, request: RunRequest | null): Promise<void> {
    const asked = request && { request: JSON.stringify(request) };
    await this.#redis.hset(this.#keys.run(runId), { target: targetName(target), ...asked });
  }

  request(runId: string): Promise<RunRequest | null> {
    return this.#field(runId, 'request', runRequestSchema);
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

  /** Starts to write the planned work of a run that is in phase `planning`. */
  newPlan(runId: string): PlanWriter {
    return planWriter(this.#redis, this.#keys, { runId, writer: this.#writer, phases: this.phases });
  }

  async isPlanned(runId: string): Promise<boolean> {
    return (await this.#redis.hexists(this.#keys.run(runId), 'total')) === 1;
  }

  /** The dropped files of a planned run, or null before its plan is ended. */
  async drops(runId: string): Promise<RunDrops | null> {
    if (!(await this.isPlanned(runId))) return null;
    const drops: RunDrops = { claims: [], dropped: new Map() };
    for (const text of Object.values(await this.#redis.hgetall(this.#keys.runDrops(runId)))) {
      const drop = storedAs(dropSchema, text);
      if (drop && 'key' in drop) drops.dropped.set(drop.key, drop.claim);
      else if (drop) drops.claims.push(drop);
    }
    return drops;
  }

  async remarks(runId: string): Promise<string[]> {
    return (await this.#field(runId, 'remarks', z.array(z.string()))) ?? [];
  }

  async priority(runId: string): Promise<RunPriority> {
    const text = await this.#redis.hget(this.#keys.run(runId), 'priority');
    return runPriorities.find((each) => each === text) ?? 'normal';
  }

  datasetWork(runId: string, key: string): Promise<DatasetWork | null> {
    return this.#work(runId, key, datasetWorkSchema);
  }

  resourceWork(runId: string, key: string): Promise<ResourceWork | null> {
    return this.#work(runId, key, resourceWorkSchema);
  }

  work(runId: string, key: string): Promise<DatasetWork | ResourceWork | null> {
    return kindOfKey(key) === 'dataset' ? this.datasetWork(runId, key) : this.resourceWork(runId, key);
  }

  async #work<T>(runId: string, key: string, schema: z.ZodType<T>): Promise<T | null> {
    return storedAs(schema, await this.#redis.hget(this.#keys.runWork(runId), key));
  }

  async item(runId: string, key: string): Promise<ItemState> {
    const read = (hash: string) => this.#writer.read({ hash, field: key }, () => this.#redis.hgetBuffer(hash, key));
    const [begun, ended] = await Promise.all([read(this.#keys.runBegun(runId)), read(this.#keys.runLines(runId))]);
    return { begun: storedAs(begunSchema, begun) ?? notBegun, ended: storedAs(reportItemSchema, ended) };
  }

  /** Records what was done to an item so far; with the job's next write. */
  async note(runId: string, key: string, begun: Begun): Promise<void> {
    await this.#writer.writeLater([{ hash: this.#keys.runBegun(runId), field: key, value: JSON.stringify(begun) }]);
  }

  /** As {@link Runs.note}, and leaves the item to a job that proves its table. */
  async leaveToProof(runId: string, key: string, begun: Begun): Promise<void> {
    await this.note(runId, key, begun);
    await this.#writer.writeLater([{ set: this.#keys.runOpen(runId), member: key, score: firstGroup }]);
  }

  /** Records how an item ended; with the job's next write, and its entry with it. A later end of the item replaces it. */
  async end(runId: string, item: ReportItem): Promise<void> {
    const keys = this.#keys;
    const { key, outcome, kind } = item;
    const isFailed = outcome === 'failed' || outcome === 'quarantined';
    await this.#writer.writeLater([
      { hash: keys.runLines(runId), field: key, value: JSON.stringify(item) },
      { hash: keys.runBegun(runId), field: key, value: null },
      { hash: keys.runFailures(runId), field: key, value: isFailed ? outcome : null },
      { hash: keys.run(runId), field: 'advancedAt', value: String(Date.now()) },
      ...(kind === 'resource' ? [this.#gone(runId, key)] : []),
    ]);
  }

  /** Records that a dataset with its resources has ended, except for tables to prove; with the job's next write. */
  async leave(runId: string, key: string): Promise<void> {
    await this.#writer.writeLater([this.#gone(runId, key)]);
  }

  #gone(runId: string, key: string): StateWrite {
    return { set: this.#keys.runOpen(runId), member: key, score: null };
  }

  /** Items of an open run that have failed, at most `most`, with their reasons. */
  async failures(runId: string, most: number): Promise<ReportItem[]> {
    const [, fields] = await this.#redis.hscan(this.#keys.runFailures(runId), '0', 'COUNT', most);
    const keys = fields.filter((_, at) => at % 2 === 0).slice(0, most);
    const items = await Promise.all(keys.map((key) => this.item(runId, key)));
    return items.flatMap(({ ended }) => ended ?? []);
  }

  /** Log lines of a run, or by `itemId` of its work on an item, from line `from` (0-based), oldest first. */
  log(id: string, from = 0): Promise<string[]> {
    return this.#redis.lrange(this.#keys.log(id), from, -1);
  }

  async reported(runId: string): Promise<ReportBuilder> {
    await this.#writer.catchUp();
    const builder = new ReportBuilder();
    for await (const [, line] of fieldsOf(this.#redis, this.#keys.runLines(runId))) builder.addLine(`${line}`);
    return builder;
  }

  async progress(runId: string) {
    const keys = this.#keys;
    const [[startedAt, total, settled, doneAtEnd, failedAtEnd], isDone, lines, unproven, failures] = await Promise.all([
      this.#redis.hmget(keys.run(runId), 'startedAt', 'total', 'settled', 'done', 'failed'),
      this.isClosed(runId),
      this.#redis.hlen(keys.runLines(runId)),
      this.#redis.zcount(keys.runOpen(runId), firstGroup, '+inf'),
      this.#redis.hlen(keys.runFailures(runId)),
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
  }

  /** Stores the report; from now on the run counts as done. */
  async close(report: StoredReport): Promise<void> {
    const { runId } = report;
    const why = await this.#redis.hget(this.#keys.run(runId), 'why');
    const fields = {
      report: await packReport(report),
      reason: report.reason && JSON.stringify(report.reason),
      summary: JSON.stringify(summaryOf(report)),
      causes: JSON.stringify(isSuccess(report) ? [] : causesOf(report.items).slice(0, mostCauses)),
    };
    const hash = this.#keys.run(runId);
    await this.#writer.write([
      ...Object.entries(fields).map(([field, value]) => ({ hash, field, value })),
      lastRuns.write(this.#keys, report, lastRunOf(report, why || null)),
    ]);
  }

  /** Ends the last phase: drops the work of a closed run and lets its record expire. */
  async drop(runId: string): Promise<void> {
    const keys = this.#keys;
    const { done, failed } = await this.progress(runId);
    await this.#redis
      .multi()
      .hset(keys.run(runId), { phase: 'closed', done, failed })
      .hdel(keys.run(runId), 'remarks', 'stuck', 'added', 'settled')
      .del(keys.runWork(runId), keys.runOpen(runId), keys.runLines(runId))
      .del(keys.runBegun(runId), keys.runFailures(runId), keys.runDrops(runId))
      .hdel(keys.cancelled, runId)
      .expire(keys.run(runId), Math.ceil(this.keepMs / 1000))
      .zremrangebyscore(keys.runs, '-inf', Date.now() - this.keepMs)
      .exec();
  }

  async report(runId: string): Promise<StoredReport | null> {
    const packed = await this.#redis.hgetBuffer(this.#keys.run(runId), 'report');
    return packed && unpackReport(packed);
  }

  /** What the report of a run comes to; null while it is open. */
  summary(runId: string): Promise<RunSummary | null> {
    return this.#field(runId, 'summary', runSummarySchema);
  }

  async causes(runId: string): Promise<Cause[]> {
    return (await this.#field(runId, 'causes', causesSchema)) ?? [];
  }

  async target(runId: string): Promise<Target | null> {
    const target = targetOfName((await this.#redis.hget(this.#keys.run(runId), 'target')) ?? '');
    return target.manifest && target.portal ? target : null;
  }

  async isClosed(runId: string): Promise<boolean> {
    return (await this.#redis.hexists(this.#keys.run(runId), 'report')) === 1;
  }

  /** Why a run failed, was held or is ended as a whole; null when it was not. */
  reason(runId: string): Promise<Reason | null> {
    return this.#field(runId, 'reason', reasonSchema);
  }

  /** JSON in the record of a run; null where there is none, or it is not understood. */
  async #field<T>(runId: string, name: string, schema: z.ZodType<T>): Promise<T | null> {
    return storedAs(schema, await this.#redis.hget(this.#keys.run(runId), name));
  }

  async latest(count: number): Promise<string[]> {
    return this.#redis.zrevrange(this.#keys.runs, 0, count - 1);
  }
}
