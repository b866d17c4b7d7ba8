// Buffers what a job writes to Redis (its data, log lines, fields of ledger and run record), in order and in few round
// trips.
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import {
  clock,
  type FieldWrite,
  type HashField,
  type JobLease,
  type JobWriter,
  type StateWrite,
} from '../model/lease.ts';
import { redisScript } from '../state/redis/script.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import type { Queues } from './queues.ts';

/** How long a write that may wait is held back, so that others can join it, milliseconds. */
const gatherMs = 100;

/**
 * KEYS: the job's lock, then the key of each write. ARGV: the token the lock holds while the job is ours; how many lines a
 * log keeps and its expiry in seconds (0: none); of each write its kind, a name in the key, and the value (empty: removed).
 * Returns how many milliseconds the lock still stands, or nil when it is not ours; a job that was removed stays removed.
 */
const script = redisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local left = redis.call('PTTL', KEYS[1])
for i = 2, #KEYS do
  local key, kind, name, value = KEYS[i], unpack(ARGV, 3 * i - 2, 3 * i)
  if kind == 'line' then
    redis.call('RPUSH', key, value)
    redis.call('LTRIM', key, -tonumber(ARGV[2]), -1)
    if ARGV[3] ~= '0' then redis.call('EXPIRE', key, ARGV[3]) end
  elseif kind == 'member' then
    if value == '' then redis.call('ZREM', key, name) else redis.call('ZADD', key, value, name) end
  elseif value == '' then redis.call('HDEL', key, name)
  elseif kind ~= 'job' or redis.call('EXISTS', key) == 1 then redis.call('HSET', key, name, value) end
end
return left
`);

/** Milliseconds that the lock still stands, after the writes; null when it is not ours. */
export const leftOfLock = async (redis: Redis, keys: string[], args: (string | number | Buffer)[]) => {
  const left = await script(redis, keys, args);
  return typeof left === 'number' ? left : null;
};

/** Most log lines that go in one call of the script. */
const mostLines = 1000;

type Write = readonly [key: string, kind: 'line' | 'member' | 'field' | 'job', name: string, value: string | Buffer];

const writeOf = (write: StateWrite): Write =>
  'set' in write
    ? [write.set, 'member', write.member, String(write.score ?? '')]
    : [write.hash, 'field', write.field, write.value ?? ''];

/**
 * The journal of one job. Data and lines are for people and for the poison rule, so a kill may lose the newest; what is
 * written with {@link write} is durable when it resolves, and takes along whatever is buffered.
 */
export class JobJournal implements JobWriter {
  readonly job: Job;
  readonly lease: JobLease;
  readonly #queues: Queues;
  readonly #jobKey: string;
  #lines: Write[] = [];
  #isSaved = true;
  /** Of each field and member the newest write counts. */
  readonly #writes = new Map<string, Write>();
  /** Fields as they were written or read last; of those that are forgotten, the value is asked for again. */
  readonly #known = new BoundedMap<string, FieldWrite['value']>(200);
  #timer: NodeJS.Timeout | null = null;
  /** One write at a time keeps the order. */
  #sending: Promise<void> = Promise.resolve();
  #failure: unknown = null;

  constructor(job: Job, queues: Queues, lease: JobLease) {
    this.job = job;
    this.lease = lease;
    this.#queues = queues;
    this.#jobKey = `${job.queueQualifiedName}:${job.id}`;
  }

  save(data: object): void {
    this.job.data = data;
    this.#isSaved = false;
    this.#gather();
  }

  /** Adds a line to a log, with the time in front; without `log` to the one that the queue keeps of the job. */
  line(text: string, log: string = `${this.#jobKey}:logs`): void {
    this.#lines.push([log, 'line', '', `${new Date().toISOString()} ${text}`]);
    this.#gather();
  }

  /** Sends what is buffered at the end of this turn of the event loop: a risky step begins, and a kill in it must be attributed. */
  hurry(): void {
    setImmediate(() => void this.#send().catch(() => undefined)); // reported when the job ends
  }

  async write(writes: readonly StateWrite[]): Promise<void> {
    for (const write of writes) this.#buffer(writeOf(write));
    await this.#send();
  }

  async writeLater(writes: readonly StateWrite[]): Promise<void> {
    for (const write of writes) this.#buffer(writeOf(write));
    this.#gather();
  }

  async catchUp(): Promise<void> {
    await this.#sending;
    if (this.#writes.size > 0 || this.#failure !== null) await this.#send();
  }

  async read({ hash, field }: HashField, ask: () => Promise<Buffer | null>): Promise<FieldWrite['value']> {
    const name = `${hash}\n${field}`;
    if (!this.#known.has(name) || this.#failure !== null) {
      await this.#sending;
      if (this.#writes.has(name) || this.#failure !== null) await this.#send();
      const value = await ask();
      if (!this.#known.has(name)) this.#known.set(name, value); // else it was written meanwhile
    }
    return this.#known.get(name) ?? null;
  }

  /** Resolves when everything was sent; rejects with the first failure of a delayed write. */
  async flush(): Promise<void> {
    do await this.#send();
    while (this.#lines.length + this.#writes.size > 0 || !this.#isSaved);
  }

  /** Forgets what was not sent yet: the job is another worker's now. */
  drop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#lines = [];
    this.#writes.clear();
    this.#isSaved = true;
  }

  #buffer(write: Write): void {
    const [hash, kind, field, value] = write;
    this.#writes.set(`${hash}\n${field}`, write);
    if (kind === 'field') this.#known.set(`${hash}\n${field}`, value === '' ? null : value);
  }

  #gather(): void {
    this.#timer ??= setTimeout(() => void this.#send().catch(() => undefined), gatherMs); // kept for the next who asks
  }

  #send(): Promise<void> {
    const sent = this.#sending.then(() => this.#sendNow());
    this.#sending = sent.catch(() => undefined);
    return sent;
  }

  /** After a failure no more is written: later writes build on those that are not there. */
  async #sendNow(): Promise<void> {
    const lines = this.#lines;
    const writes = [...this.#writes.values()];
    if (!this.#isSaved) writes.push([this.#jobKey, 'job', 'data', JSON.stringify(this.job.data)]);
    this.drop();
    if (this.#failure !== null) throw this.#failure;
    try {
      while (lines.length > mostLines) await this.#run(lines.splice(0, mostLines));
      if (lines.length + writes.length > 0) await this.#run([...lines, ...writes]);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  async #run(writes: Write[]): Promise<void> {
    const askedAt = clock();
    const { keepLogs, keepMs } = this.#queues.settings;
    const left = await leftOfLock(
      this.#queues.connection,
      [this.lease.key, ...writes.map(([key]) => key)],
      [this.lease.token, keepLogs, Math.ceil(keepMs / 1000), ...writes.flatMap(([, ...args]) => args)],
    );
    this.lease.renewed(askedAt, left);
  }
}
