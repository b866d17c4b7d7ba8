// State of each target: its last run, its schedule, its last comparison with the portal.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { StateMismatchError } from '../model/errors.ts';
import { type RedisKeys, type Target, targetName } from '../model/redis-keys.ts';
import type { ItemOutcome, StoredReport } from '../model/report.ts';
import { storedAs } from './redis/fields.ts';

/** @throws StateMismatchError where Redis holds what a release with another layout has written */
export const refuseOtherLayout = async (redis: Redis, { otherLayouts }: RedisKeys): Promise<void> => {
  if ((await redis.exists(...otherLayouts)) === 0) return;
  throw new StateMismatchError(`Redis holds the state of another release of sluice (${otherLayouts[0]})`, {
    hint: 'begin with another state folder (`--state`) or `redis.prefix`, and run `sluice rebuild MANIFEST` there: it finds what is on the portal',
  });
};

const lastRunSchema = z.object({
  runId: z.string(),
  /** What asked for it: `schedule`, `command`, `drop` or `retry`; null where it is not known. */
  why: z.string().nullable(),
  startedAt: z.string(),
  endedAt: z.string(),
  items: z.number().int(),
  failed: z.number().int(),
  held: z.number().int(),
  /** Code of the reason for which the run as a whole failed or was held. */
  reason: z.string().nullable(),
});

export type LastRun = z.infer<typeof lastRunSchema>;

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

const byTarget = <T>(hash: 'lastRuns' | 'lastSuccesses' | 'triggers', schema: z.ZodType<T>) => ({
  /** By target name; those of an unknown shape are left out. */
  all: async (redis: Redis, keys: RedisKeys): Promise<Map<string, T>> => {
    const records = Object.entries(await redis.hgetall(keys[hash]));
    return new Map(
      records.flatMap(([name, text]) => {
        const record = storedAs(schema, text);
        return record === null ? [] : [[name, record]];
      }),
    );
  },
  /** How the record of a target is written. */
  write: (keys: RedisKeys, target: Target, record: T) => {
    return { hash: keys[hash], field: targetName(target), value: JSON.stringify(record) };
  },
});

export const lastRuns = byTarget('lastRuns', lastRunSchema);

/** When the last run of everything a target has that succeeded has ended, Unix milliseconds. */
export const lastSuccesses = byTarget('lastSuccesses', z.number());

/** True when the last comparison (Unix milliseconds; 0: unknown, null: nothing is published yet) is older than `afterMs` (null: never asked). */
export const isStale = (last: number | null, afterMs: number | null, now: number = Date.now()): boolean =>
  last !== null && afterMs !== null && now - last > afterMs;

const common = { at: z.number(), due: z.number() };

const triggerRecordSchema = z.discriminatedUnion('did', [
  z.object({ did: z.literal('run'), ...common, runId: z.string() }),
  z.object({ did: z.literal('wait'), ...common, until: z.number() }),
  z.object({ did: z.literal('skip'), ...common, why: z.string() }),
]);

/** What a schedule did when it was due: asked for a run, waits, or left the run out. */
export type TriggerRecord = z.infer<typeof triggerRecordSchema>;

export const lastTriggers = byTarget('triggers', triggerRecordSchema);
