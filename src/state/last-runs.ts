// How the last run of each target ended; kept longer than its report, for schedules that run once a year.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type RedisKeys, targetName } from '../model/redis-keys.ts';
import type { ItemOutcome, StoredReport } from '../model/report.ts';

const lastRunSchema = z.object({
  runId: z.string(),
  /** What asked for it: `schedule`, `command`, `drop` or `retry`; null where it is not known. */
  why: z.string().nullable(),
  /** ISO 8601, UTC. */
  startedAt: z.string(),
  endedAt: z.string(),
  items: z.number().int(),
  failed: z.number().int(),
  held: z.number().int(),
  /** Code of the reason for which the run as a whole failed or was held. */
  reason: z.string().nullable(),
});

/** See {@link lastRunSchema}. */
export type LastRun = z.infer<typeof lastRunSchema>;

/** The summary of a report. */
export const lastRunOf = (report: StoredReport, why: string | null): LastRun => ({
  runId: report.runId,
  why,
  startedAt: report.startedAt,
  endedAt: report.endedAt,
  items: report.items.length,
  failed: countOf(report, 'failed') + countOf(report, 'quarantined'),
  held: countOf(report, 'held'),
  reason: report.reason?.code ?? null,
});

const countOf = ({ counts: { dataset, resource } }: StoredReport, outcome: ItemOutcome): number =>
  (dataset[outcome] ?? 0) + (resource[outcome] ?? 0);

/** Last runs, by target name. */
export const lastRuns = async (redis: Redis, keys: RedisKeys): Promise<Map<string, LastRun>> => {
  const runs = new Map<string, LastRun>();
  for (const [name, text] of Object.entries(await redis.hgetall(keys.lastRuns))) {
    const parsed = lastRunSchema.safeParse(JSON.parse(text));
    if (parsed.success) runs.set(name, parsed.data);
  }
  return runs;
};

/** When the last run of each target that succeeded has ended, Unix milliseconds by target name. */
export const lastSuccesses = async (redis: Redis, keys: RedisKeys): Promise<Map<string, number>> =>
  new Map(Object.entries(await redis.hgetall(keys.lastSuccesses)).map(([name, at]) => [name, Number(at)]));

/** Remembers the last run of a target. */
export const rememberRun = async (
  redis: Redis,
  keys: RedisKeys,
  report: StoredReport,
  why: string | null,
): Promise<void> => {
  await redis.hset(keys.lastRuns, targetName(report), JSON.stringify(lastRunOf(report, why)));
};

/** Remembers that a run of everything a target has succeeded. */
export const rememberSuccess = async (redis: Redis, keys: RedisKeys, report: StoredReport): Promise<void> => {
  await redis.hset(keys.lastSuccesses, targetName(report), Date.parse(report.endedAt));
};
