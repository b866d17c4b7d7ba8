// Plans that runs are pinned to, and runs that a guard holds.
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { NotFoundError } from '../model/errors.ts';
import type { JobWriter } from '../model/lease.ts';
import { type PlanFile, planFileSchema } from '../model/plan-file.ts';
import { type RedisKeys, type Target, targetName } from '../model/redis-keys.ts';
import { plainWriter } from './redis/fields.ts';
import { changeField } from './redis/script.ts';

/** A run that the guard holds: nothing of it was done. */
const heldRunSchema = z.object({
  runId: z.string(),
  manifest: z.string(),
  portal: z.string(),
  manifestPath: z.string(),
  /** Keys it would have taken down; a release takes down no others. */
  removals: z.array(z.string()),
  plan: z.string().nullable().default(null),
  why: z.string(),
  since: z.number().int(),
});

export type HeldRun = z.infer<typeof heldRunSchema>;

export const storedPlans = (redis: Redis, keys: RedisKeys, keepMs: number) => {
  const held = async (): Promise<HeldRun[]> => {
    const texts = Object.values(await redis.hgetall(keys.held));
    return texts.map((text) => heldRunSchema.parse(JSON.parse(text))).sort((a, b) => a.since - b.since);
  };
  const setHeld = (target: Target, writer: JobWriter | null, value: string | null): Promise<void> =>
    (writer ?? plainWriter(redis)).write([{ hash: keys.held, field: targetName(target), value }]);
  return {
    held,

    /** Stores a plan for a run to read; returns its id. It expires with the records of runs. */
    store: async (plan: PlanFile): Promise<string> => {
      const id = randomUUID();
      await redis.set(keys.plan(id), JSON.stringify(plan), 'PX', keepMs);
      return id;
    },

    /** Reads a stored plan. @throws NotFoundError when it has expired */
    read: async (id: string): Promise<PlanFile> => {
      const text = await redis.get(keys.plan(id));
      if (text === null) throw new NotFoundError(`plan ${id} is no longer stored`, { hint: 'apply the plan again' });
      return planFileSchema.parse(JSON.parse(text));
    },

    /** Remembers a held run; an older one of the same target is replaced, because only the newest can be released. */
    hold: (run: HeldRun, writer: JobWriter | null): Promise<void> => setHeld(run, writer, JSON.stringify(run)),

    /** Forgets the held run of a target: a later one went through. */
    forgetHeld: (target: Target, writer: JobWriter | null): Promise<void> => setHeld(target, writer, null),

    /** One held run. @throws NotFoundError when it is not held (any more) */
    heldRun: async (runId: string): Promise<HeldRun> => {
      const run = (await held()).find((each) => each.runId === runId);
      if (run) return run;
      throw new NotFoundError(`no held run ${runId} is known`, { hint: '`sluice status` names the held runs' });
    },

    /** Forgets a held run; false when there is none of that id. */
    dropHeld: async (runId: string): Promise<boolean> => {
      const run = (await held()).find((each) => each.runId === runId);
      if (!run) return false;
      const field = { hash: keys.held, field: targetName(run), schema: heldRunSchema };
      return (await changeField(redis, field, (now) => (now?.runId === runId ? null : undefined))) !== undefined;
    },
  };
};
