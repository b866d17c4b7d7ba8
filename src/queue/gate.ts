// The run gate: one run of a manifest per portal at a time, and no request is ever lost.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type RunRequest, runRequestSchema } from '../model/job.ts';
import { type RedisKeys, type Target, targetName, targetOfName } from '../model/redis-keys.ts';
import { RedisScript } from '../state/redis/script.ts';
import type { Runs } from '../state/runs.ts';
import { parsedJson } from '../util/json.ts';
import type { Queues } from './queues.ts';

// gate hash: current, currentRequest, again, againRequest, againAll; the set beside it: keys a limited `again` is for.
const requestRun = new RedisScript(`
local gate, only, gates = KEYS[1], KEYS[2], KEYS[3]
local id, request, all = ARGV[1], ARGV[2], ARGV[3]
redis.call('SADD', gates, ARGV[4])
local current = redis.call('HGET', gate, 'current')
-- The client resends a call whose reply was lost: it gets the same answer.
if not current or current == id then
  redis.call('HSET', gate, 'current', id, 'currentRequest', request)
  return {id, 'start'}
end
if ARGV[5] == '1' then return {current, 'busy'} end
local again = redis.call('HGET', gate, 'again')
if not again then
  again = id
  redis.call('HSET', gate, 'again', id, 'againRequest', request, 'againAll', all)
  redis.call('DEL', only)
elseif all == '1' then
  redis.call('HSET', gate, 'againAll', '1', 'againRequest', request)
end
for i = 6, #ARGV do redis.call('SADD', only, ARGV[i]) end
return {again, 'again'}
`);

const closeRun = new RedisScript(`
local gate, only = KEYS[1], KEYS[2]
if redis.call('HGET', gate, 'current') ~= ARGV[1] then return false end
local again = redis.call('HGET', gate, 'again')
if not again then
  redis.call('DEL', gate, only)
  return false
end
local request = redis.call('HGET', gate, 'againRequest')
local keys = {}
if redis.call('HGET', gate, 'againAll') == '0' then keys = redis.call('SMEMBERS', only) end
local decoded = cjson.decode(request)
if #keys > 0 then decoded['only'] = keys else decoded['only'] = cjson.null end
request = cjson.encode(decoded)
redis.call('DEL', gate, only)
redis.call('HSET', gate, 'current', again, 'currentRequest', request)
return {again, request}
`);

const withdrawRun = new RedisScript(`
if redis.call('HGET', KEYS[1], 'again') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'again', 'againRequest', 'againAll')
redis.call('DEL', KEYS[2])
return 1
`);

/** Decides which run of a target starts and which waits. */
export class RunGate {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #queues: Queues;
  readonly #runs: Pick<Runs, 'ask'>;

  constructor(redis: Redis, keys: RedisKeys, queues: Queues, runs: Pick<Runs, 'ask'>) {
    this.#redis = redis;
    this.#keys = keys;
    this.#queues = queues;
    this.#runs = runs;
  }

  /**
   * Requests a run. Returns the id of the run that will serve the request: a new one that starts now, or the one that
   * starts when the current run closes (requests that come meanwhile share it). A request pinned to a plan or a held run
   * is never shared: while another run is current it is refused as `busy`, with the id of that run.
   */
  async request(request: RunRequest): Promise<{ runId: string; starts: 'now' | 'later' | 'busy' }> {
    const target = { manifest: request.manifest, portal: request.portal };
    const answer = await requestRun.run(
      this.#redis,
      [this.#keys.gate(target), this.#keys.gateOnly(target), this.#keys.gates],
      [
        newRunId(),
        JSON.stringify(request),
        request.only === null ? '1' : '0',
        targetName(target),
        isPinned(request) ? '1' : '0',
        ...(request.only ?? []),
      ],
    );
    const [runId, how] = z.tuple([z.string(), z.enum(['start', 'again', 'busy'])]).parse(answer);
    if (how === 'start') await this.#enqueue(runId, request);
    return { runId, starts: how === 'start' ? 'now' : how === 'again' ? 'later' : 'busy' };
  }

  /** Opens the gate after a run; starts the run that was requested meanwhile. Does nothing when that run is not current. */
  async close(target: Target, runId: string): Promise<void> {
    const answer = await closeRun.run(this.#redis, [this.#keys.gate(target), this.#keys.gateOnly(target)], [runId]);
    if (!answer) return;
    const [next, text] = z.tuple([z.string(), z.string()]).parse(answer);
    await this.#enqueue(next, runRequestSchema.parse(JSON.parse(text)));
  }

  /** The target whose gate a run holds or waits for, for the latter with its request; null when it does neither. */
  async find(runId: string): Promise<{ target: Target; waiting: RunRequest | null } | null> {
    for (const name of await this.#redis.smembers(this.#keys.gates)) {
      const target = targetOfName(name);
      const [current, again, text] = await this.#redis.hmget(
        this.#keys.gate(target),
        'current',
        'again',
        'againRequest',
      );
      if (again === runId) return { target, waiting: runRequestSchema.parse(JSON.parse(text ?? '')) };
      if (current === runId) return { target, waiting: null };
    }
    return null;
  }

  /** Withdraws a run that waits for the gate; does nothing once it holds the gate. */
  async withdraw(target: Target, runId: string): Promise<void> {
    await withdrawRun.run(this.#redis, [this.#keys.gate(target), this.#keys.gateOnly(target)], [runId]);
  }

  /** The run that holds the gate of a target, and the one that waits for it. */
  async state(target: Target): Promise<{ current: string | null; again: string | null }> {
    const [current, again] = await this.#redis.hmget(this.#keys.gate(target), 'current', 'again');
    return { current: current ?? null, again: again ?? null };
  }

  /** What is asked of the run that holds the gate of a target; null where there is none, or it is not understood. */
  async requestOf(target: Target): Promise<RunRequest | null> {
    const text = await this.#redis.hget(this.#keys.gate(target), 'currentRequest');
    return runRequestSchema.safeParse(parsedJson(text ?? '')).data ?? null;
  }

  async #enqueue(runId: string, request: RunRequest): Promise<void> {
    await this.#runs.ask(runId, { manifest: request.manifest, portal: request.portal }, request);
    await this.#queues.runs.add('run', { kind: 'run', runId, ...request }, this.#queues.runOptions(runId));
  }
}

/** Requests that are never merged with others. */
const isPinned = (request: RunRequest): boolean =>
  request.plan !== null || request.release !== null || request.remove !== null || request.decision !== undefined;

/** A run id that sorts by time and reads well: `20261121-113005-k3x9`. */
export const newRunId = (now: Date = new Date(), random: () => number = Math.random): string => {
  const digits = now.toISOString().replaceAll(/[-:T]/g, '');
  const tail = Math.floor(random() * 36 ** 5)
    .toString(36)
    .padStart(5, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8, 14)}-${tail}`;
};
