// How far a run is: its phase, the keys that have not ended, and the writes that move it on.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { clock, type StateWriter } from '../model/lease.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import type { Reason } from '../model/report.ts';
import { redisScript } from './redis/script.ts';

/**
 * `queued` before its first job, then `planning` until the whole plan is written, `publish` while datasets are open, `prove`
 * while tables are, `closing` until the report is stored and the gate is open, `closed`.
 */
const phases = ['queued', 'planning', 'publish', 'prove', 'closing', 'closed'] as const;

export type Phase = (typeof phases)[number];

/** Datasets are numbered from 0, in the order of the plan; groups of tables to prove from here. */
export const firstGroup = 1_000_000_000;

/** Tables that one job proves: as many as one request counts. */
export const tablesAGroup = 20;

/** What has not ended, with the number of the job that ends it. */
export type OpenKey = { key: string; number: number };

/** How many keys of the phase have not ended: of those whose jobs were added, and of the others. */
export interface RunStand {
  phase: Phase;
  isCancelled: boolean;
  inQueue: number;
  waiting: number;
}

/** A run of which no job can begin, as any worker found it last. */
const stuckSchema = z.object({
  at: z.number(),
  why: z.string(),
  /** How often its jobs were added again since its last progress. */
  repairs: z.number(),
});

export type StuckRun = z.infer<typeof stuckSchema>;

// KEYS: the record, the lock of the job that asks, what is to be forgotten. ARGV: its token, '' outside of any job; the phases
// that it may leave; the new one; fields and values that go with it. Returns the phase that stands then; nil when the job is
// not ours.
const moveScript = redisScript(`
if ARGV[1] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[1] then return false end
local phase = redis.call('HGET', KEYS[1], 'phase') or 'queued'
if not string.find(ARGV[2], ' ' .. phase .. ' ', 1, true) then return phase end
redis.call('HSET', KEYS[1], 'phase', unpack(ARGV, 3))
if #KEYS > 2 then redis.call('UNLINK', unpack(KEYS, 3)) end
return ARGV[3]
`);

// KEYS: the record, the open keys. ARGV: Unix milliseconds. Once no dataset is open, tables are proven in groups, and once none is either, the run closes.
const goOnScript = redisScript(`
local phase = redis.call('HGET', KEYS[1], 'phase') or 'queued'
if phase == 'publish' and redis.call('ZCOUNT', KEYS[2], '-inf', '(${firstGroup}') == 0 then
  local keys = redis.call('ZRANGE', KEYS[2], 0, -1)
  for at, key in ipairs(keys) do
    redis.call('ZADD', KEYS[2], ${firstGroup} + math.floor((at - 1) / ${tablesAGroup}), key)
  end
  phase = #keys > 0 and 'prove' or 'closing'
  redis.call('HSET', KEYS[1], 'phase', phase, 'added', ${firstGroup}, 'advancedAt', ARGV[1])
elseif phase == 'prove' and redis.call('ZCARD', KEYS[2]) == 0 then
  phase = 'closing'
  redis.call('HSET', KEYS[1], 'phase', phase)
end
return phase
`);

// KEYS: the record, the open keys, the cancelled runs. ARGV: the run.
const lookScript = redisScript(`
local phase, added = unpack(redis.call('HMGET', KEYS[1], 'phase', 'added'))
local first, last = '-inf', '(${firstGroup}'
if phase == 'prove' then first, last = ${firstGroup}, '+inf' end
added = added or 0
return {
  phase or 'queued',
  redis.call('HEXISTS', KEYS[3], ARGV[1]),
  redis.call('ZCOUNT', KEYS[2], first, '(' .. added),
  redis.call('ZCOUNT', KEYS[2], added, last),
}
`);

const phaseSchema = z.enum(phases);
const standSchema = z.tuple([phaseSchema, z.number(), z.number(), z.number()]);

export const runPhases = (redis: Redis, keys: RedisKeys, writer: StateWriter) => {
  const move = async (runId: string, args: (string | number)[], forgotten: string[] = []): Promise<Phase> => {
    await writer.catchUp();
    const { lease } = writer;
    const record = keys.run(runId);
    const moved = [record, lease?.key ?? record, ...forgotten];
    const phase = await moveScript(redis, moved, [lease?.token ?? '', ...args]);
    if (phase === null) lease?.renewed(clock(), null); // throws: the job is not ours
    return phaseSchema.parse(phase);
  };

  const stand = async (runId: string): Promise<RunStand> => {
    const looked = await lookScript(redis, [keys.run(runId), keys.runOpen(runId), keys.cancelled], [runId]);
    const [phase, cancelled, inQueue, waiting] = standSchema.parse(looked);
    return { phase, isCancelled: cancelled === 1, inQueue, waiting };
  };

  const phaseOf = async (runId: string): Promise<Phase> => (await stand(runId)).phase;

  const isOpen = async (runId: string, key: string): Promise<boolean> =>
    (await redis.zscore(keys.runOpen(runId), key)) !== null;

  return {
    stand,
    phase: phaseOf,
    isOpen,

    isToDo: async (runId: string, key: string): Promise<boolean> =>
      (await isOpen(runId, key)) && (await phaseOf(runId)) === 'publish',

    /** Begins to plan: forgets what an earlier attempt wrote. Returns the phase, which is another one where the run is planned. */
    startOver: (runId: string): Promise<Phase> => {
      const { runWork, runOpen, runLines, runBegun, runFailures, runDrops } = keys;
      const plan = [runWork, runOpen, runLines, runBegun, runFailures, runDrops].map((of) => of(runId));
      return move(runId, [' queued planning ', 'planning'], plan);
    },

    /** The plan is written: from now on it is what the run does. */
    planned: (
      runId: string,
      { remarks, ...facts }: { total: number; settled: number; remarks: string[]; priority: string },
    ): Promise<Phase> => {
      const fields = Object.entries({ ...facts, remarks: JSON.stringify(remarks), advancedAt: Date.now() }).flat();
      return move(runId, [' planning ', 'publish', ...fields]);
    },

    /** Ends the work on a run for a reason, in the phase in which that was found, or any: what is open ends with it. */
    halt: (runId: string, reason: Reason, from = 'queued planning publish prove'): Promise<Phase> =>
      move(runId, [` ${from} `, 'closing', 'reason', JSON.stringify(reason)]),

    /** Moves a run to its next phase where nothing of this one is open. */
    goOn: (runId: string): Promise<unknown> => goOnScript(redis, [keys.run(runId), keys.runOpen(runId)], [Date.now()]),

    /** Open keys from a number on, in the order of their jobs, at most `most`; while datasets are published, those only. */
    open: async (runId: string, from: number, most: number): Promise<OpenKey[]> => {
      await writer.catchUp();
      const last = (await phaseOf(runId)) === 'publish' ? `(${firstGroup}` : '+inf';
      const found = await redis.zrange(keys.runOpen(runId), from, last, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES');
      return Array.from({ length: found.length / 2 }, (_, at) => ({
        key: found[2 * at] ?? '',
        number: Number(found[2 * at + 1]),
      }));
    },

    /** The open tables of a group, while they are proven; none afterwards. */
    tables: async (runId: string, group: number): Promise<string[]> => {
      const number = firstGroup + group;
      const tables = await redis.zrangebyscore(keys.runOpen(runId), number, number);
      return (await phaseOf(runId)) === 'prove' ? tables : [];
    },

    added: async (runId: string): Promise<number> => Number((await redis.hget(keys.run(runId), 'added')) ?? 0),

    addedTo: (runId: string, number: number): Promise<unknown> => redis.hset(keys.run(runId), 'added', number),

    /** What a sweep found of a run of which no job can begin, and when one of its items ended last, Unix milliseconds. */
    quiet: async (runId: string): Promise<{ stuck: StuckRun | null; advancedAt: number }> => {
      const [text, at] = await redis.hmget(keys.run(runId), 'stuck', 'advancedAt');
      const advancedAt = Number(at ?? 0);
      const stuck = text ? stuckSchema.parse(JSON.parse(text)) : null;
      return { stuck: stuck && stuck.at >= advancedAt ? stuck : null, advancedAt };
    },

    /** Records that no job can begin; null: one can. */
    stuck: async (runId: string, stuck: StuckRun | null): Promise<void> => {
      if (stuck === null) await redis.hdel(keys.run(runId), 'stuck');
      else await redis.hset(keys.run(runId), 'stuck', JSON.stringify(stuck));
    },
  };
};
