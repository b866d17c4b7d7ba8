// Plans that runs are pinned to, and runs that a guard holds.
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { NotFoundError } from '../model/errors.ts';
import { type PlanFile, planFileSchema } from '../model/plan-file.ts';
import { type RedisKeys, type Target, targetName } from '../model/redis-keys.ts';
import { changeField } from './redis/changed.ts';

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

export class StoredPlans {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #keepMs: number;

  constructor(redis: Redis, keys: RedisKeys, keepMs: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#keepMs = keepMs;
  }

  /** Stores a plan for a run to read; returns its id. It expires with the records of runs. */
  async store(plan: PlanFile): Promise<string> {
    const id = randomUUID();
    await this.#redis.set(this.#keys.plan(id), JSON.stringify(plan), 'PX', this.#keepMs);
    return id;
  }

  /** Reads a stored plan. @throws NotFoundError when it has expired */
  async read(id: string): Promise<PlanFile> {
    const text = await this.#redis.get(this.#keys.plan(id));
    if (text === null) throw new NotFoundError(`plan ${id} is no longer stored`, { hint: 'apply the plan again' });
    return planFileSchema.parse(JSON.parse(text));
  }

  /** Remembers a held run; an older one of the same target is replaced, because only the newest can be released. */
  async hold(run: HeldRun): Promise<void> {
    await this.#redis.hset(this.#keys.held, targetName(run), JSON.stringify(run));
  }

  /** Forgets the held run of a target: a later one went through. */
  async forgetHeld(target: Target): Promise<void> {
    await this.#redis.hdel(this.#keys.held, targetName(target));
  }

  async held(): Promise<HeldRun[]> {
    const texts = Object.values(await this.#redis.hgetall(this.#keys.held));
    return texts.map((text) => heldRunSchema.parse(JSON.parse(text))).sort((a, b) => a.since - b.since);
  }

  /** One held run. @throws NotFoundError when it is not held (any more) */
  async heldRun(runId: string): Promise<HeldRun> {
    const run = (await this.held()).find((held) => held.runId === runId);
    if (run) return run;
    throw new NotFoundError(`no held run ${runId} is known`, { hint: '`sluice status` names the held runs' });
  }

  /** Forgets a held run; false when there is none of that id. */
  async dropHeld(runId: string): Promise<boolean> {
    const run = (await this.held()).find((held) => held.runId === runId);
    if (!run) return false;
    const field = { hash: this.#keys.held, field: targetName(run), schema: heldRunSchema };
    const isThis = (now: HeldRun | null) => (now?.runId === runId ? null : undefined);
    return (await changeField(this.#redis, field, isThis)) !== undefined;
  }
}
