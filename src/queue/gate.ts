// The run gate: one run of a manifest per portal at a time, and no request is ever lost.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type RunRequest, runRequestSchema } from '../model/job.ts';
import { type RedisKeys, type Target, targetName, targetOfName } from '../model/redis-keys.ts';
import { changeField } from '../state/redis/script.ts';
import type { Runs } from '../state/runs.ts';
import type { Queues } from './queues.ts';

const askedSchema = z.object({ id: z.string(), request: runRequestSchema.nullable().catch(null) });

export type Asked = z.infer<typeof askedSchema>;

/** The run that holds the gate, and the one that waits for it; a request that is not understood is null. */
const gateSchema = z.object({ current: askedSchema, again: askedSchema.nullable() });

type Gate = z.infer<typeof gateSchema>;

const gateOf = (text: string): Gate => gateSchema.parse(JSON.parse(text));

export type RunGate = ReturnType<typeof runGate>;

export const runGate = (redis: Redis, keys: RedisKeys, queues: Queues, runs: Pick<Runs, 'ask'>) => {
  const change = (target: Target, to: (gate: Gate | null) => Gate | null | undefined) =>
    changeField(redis, { hash: keys.gates, field: targetName(target), schema: gateSchema }, to);

  const enqueue = async (runId: string, request: RunRequest): Promise<void> => {
    await runs.ask(runId, request, request);
    await queues.runs.add('run', { kind: 'run', runId, ...request }, queues.runOptions(runId));
  };

  const all = async (): Promise<[Target, Gate][]> => {
    const gates = Object.entries(await redis.hgetall(keys.gates));
    return gates.map(([name, text]) => [targetOfName(name), gateOf(text)]);
  };

  return {
    all,

    /**
     * Requests a run. Returns the id of the run that will serve the request: a new one that starts now, or the one that
     * starts when the current run closes (requests that come meanwhile share it). A request pinned to a plan or a held
     * run is never shared: while another run is current it is refused as `busy`, with the id of that run.
     */
    request: async (request: RunRequest): Promise<{ runId: string; starts: 'now' | 'later' | 'busy' }> => {
      const id = newRunId();
      let runId = id;
      let starts: 'now' | 'later' | 'busy' = 'now';
      await change(request, (gate) => {
        // A call whose reply was lost is sent again: it finds what it wrote.
        [runId, starts] = [id, 'now'];
        if (gate === null) return { current: { id, request }, again: null };
        if (gate.current.id === id) return undefined;
        [runId, starts] = isPinned(request) ? [gate.current.id, 'busy'] : [gate.again?.id ?? id, 'later'];
        if (starts === 'busy') return undefined;
        return { ...gate, again: { id: runId, request: joined(gate.again?.request ?? null, request) } };
      });
      if (starts === 'now') await enqueue(runId, request);
      return { runId, starts };
    },

    /** Opens the gate after a run; starts the run that was requested meanwhile. Does nothing when that run is not current. */
    close: async (target: Target, runId: string): Promise<void> => {
      const before = await change(target, (gate) =>
        gate?.current.id === runId ? gate.again && { current: gate.again, again: null } : undefined,
      );
      const next = before?.again;
      if (next?.request) await enqueue(next.id, next.request);
    },

    /** The target whose gate a run holds or waits for, for the latter with its request; null when it does neither. */
    find: async (runId: string): Promise<{ target: Target; waiting: RunRequest | null } | null> => {
      for (const [target, { current, again }] of await all()) {
        if (again?.id === runId) return { target, waiting: again.request };
        if (current.id === runId) return { target, waiting: null };
      }
      return null;
    },

    /** Withdraws a run that waits for the gate; does nothing once it holds the gate. */
    withdraw: (target: Target, runId: string): Promise<unknown> =>
      change(target, (gate) => (gate?.again?.id === runId ? { ...gate, again: null } : undefined)),

    /** Ids of the run that holds the gate of a target, and of the one that waits for it. */
    state: async (target: Target): Promise<{ current: string | null; again: string | null }> => {
      const text = await redis.hget(keys.gates, targetName(target));
      const gate = text === null ? null : gateOf(text);
      return { current: gate?.current.id ?? null, again: gate?.again?.id ?? null };
    },
  };
};

/** One request for two, with what either asks for: a limited one adds its keys to another, but one for everything stays so. */
const joined = (waiting: RunRequest | null, request: RunRequest): RunRequest => {
  if (waiting === null) return request;
  return {
    ...(request.only === null ? request : waiting),
    only: waiting.only && request.only && [...new Set([...waiting.only, ...request.only])],
    onDrift: request.onDrift ?? waiting.onDrift,
    refresh: waiting.refresh || request.refresh,
    createMissing: waiting.createMissing || request.createMissing,
  };
};

/** Requests that are never merged with others. */
const isPinned = (request: RunRequest): boolean =>
  request.plan !== null || request.release !== null || request.remove !== null || request.decision !== undefined;

/** A run id that sorts by time and reads well: `20261121-113005-k3x9`. */
export const newRunId = (now: Date = new Date(), random: () => number = Math.random): string => {
  const digits = now.toISOString().replaceAll(/[-:T]/g, '');
  const tail = Math.floor(random() * 36 ** 5).toString(36);
  return `${digits.slice(0, 8)}-${digits.slice(8, 14)}-${tail.padStart(5, '0')}`;
};
