// Buffers what a job writes to Redis (its data, log lines, fields of ledger and run record), in order and in few round
// trips.
import type { Job } from 'bullmq';
import { clock, type HashField, type JobLease, type JobWriter, type StateWrite } from '../model/lease.ts';
import { RedisScript } from '../state/redis/script.ts';
import type { Queues } from './queues.ts';

/** How long a write that may wait is held back, so that others can join it, milliseconds. */
const gatherMs = 100;

/**
 * KEYS: the job's lock, the job, then a log for each line, and a hash or sorted set for each write. ARGV: the token the lock
 * holds while the job is ours; the job's data (empty: unchanged); how many lines a log keeps and its expiry in seconds (0:
 * none); the number of lines; the lines; of each write its kind, then field and value, or member and score (empty: removed).
 * Returns how many milliseconds the lock still stands, or nil when it is not ours; a job that was removed stays removed.
 */
const script = new RedisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local left = redis.call('PTTL', KEYS[1])
if ARGV[2] ~= '' and redis.call('EXISTS', KEYS[2]) == 1 then redis.call('HSET', KEYS[2], 'data', ARGV[2]) end
local lines = tonumber(ARGV[5])
local logs = {}
for i = 1, lines do
  local log = KEYS[2 + i]
  redis.call('RPUSH', log, ARGV[5 + i])
  logs[log] = true
end
for log in pairs(logs) do
  redis.call('LTRIM', log, -tonumber(ARGV[3]), -1)
  if ARGV[4] ~= '0' then redis.call('EXPIRE', log, ARGV[4]) end
end
for i = 3 + lines, #KEYS do
  local at = 3 * (i - 3 - lines) + 6 + lines
  local kind, name, value = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if kind == 'z' then
    if value == '' then redis.call('ZREM', KEYS[i], name) else redis.call('ZADD', KEYS[i], value, name) end
  elseif value == '' then redis.call('HDEL', KEYS[i], name)
  else redis.call('HSET', KEYS[i], name, value) end
end
return left
`);

/** Most lines that go in one call of the script. */
const mostLines = 1000;

const nameOf = (write: HashField | StateWrite): string =>
  'set' in write ? `${write.set}\n${write.member}` : `${write.hash}\n${write.field}`;

/** A write as the script takes it. */
const argumentsOf = (write: StateWrite): (string | number | Buffer)[] =>
  'set' in write ? ['z', write.member, write.score ?? ''] : ['h', write.field, write.value ?? ''];

interface LogLine {
  log: string;
  text: string;
}

interface Taken {
  data: object | null;
  lines: LogLine[];
  writes: StateWrite[];
}

/**
 * The journal of one job. Data and lines are for people and for the poison rule, so a kill may lose the newest; what is
 * written with {@link write} is durable when it resolves, and takes along whatever is buffered.
 */
export class JobJournal implements JobWriter {
  readonly job: Job;
  readonly lease: JobLease;
  readonly #queues: Queues;
  #data: object | null = null;
  #lines: LogLine[] = [];
  /** By {@link nameOf}. */
  #writes = new Map<string, StateWrite>();
  #timer: NodeJS.Timeout | null = null;
  #turn: NodeJS.Immediate | null = null;
  #sending: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(job: Job, queues: Queues, lease: JobLease) {
    this.job = job;
    this.lease = lease;
    this.#queues = queues;
  }

  /** Replaces the job's data. */
  save(data: object): void {
    this.job.data = data;
    this.#data = data;
    this.#gather();
  }

  /** Adds a line to a log, with the time in front; without `log` to the one that the queue keeps of the job. */
  line(text: string, log: string = `${this.#jobKey}:logs`): void {
    this.#lines.push({ log, text: `${new Date().toISOString()} ${text}` });
    this.#gather();
  }

  /** Sends what is buffered at the end of this turn of the event loop: a risky step begins, and a kill in it must be attributed. */
  hurry(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = null;
      void this.flush().catch(() => undefined); // reported when the job ends
    });
  }

  async write(writes: readonly StateWrite[]): Promise<void> {
    await this.#sending;
    this.#buffer(writes);
    await this.#send();
  }

  writeLater(writes: readonly StateWrite[]): void {
    this.#buffer(writes);
    this.#gather();
  }

  async catchUp(read?: HashField): Promise<void> {
    await this.#sending;
    if (this.#failure !== null) throw this.#failure;
    if (read ? this.#writes.has(nameOf(read)) : this.#writes.size > 0) await this.#send();
  }

  /** Resolves when everything was sent; rejects with the first failure of a delayed write. */
  async flush(): Promise<void> {
    while (this.#sending || this.#hasUnsent) {
      this.#sending ??= this.#sendQuietly();
      await this.#sending;
    }
    if (this.#failure !== null) throw this.#failure;
  }

  /** Forgets what was not sent yet: the job is another worker's now. */
  drop(): void {
    this.#take();
  }

  get #jobKey(): string {
    return `${this.job.queueQualifiedName}:${this.job.id}`;
  }

  get #hasUnsent(): boolean {
    return this.#data !== null || this.#lines.length > 0 || this.#writes.size > 0;
  }

  /** Of each field and member the newest write counts. */
  #buffer(writes: readonly StateWrite[]): void {
    for (const write of writes) this.#writes.set(nameOf(write), write);
  }

  #take(): Taken {
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#turn) clearImmediate(this.#turn);
    this.#timer = null;
    this.#turn = null;
    const taken = { data: this.#data, lines: this.#lines, writes: [...this.#writes.values()] };
    this.#data = null;
    this.#lines = [];
    this.#writes.clear();
    return taken;
  }

  /** Sends the buffer in a moment; one such write at a time keeps the order. */
  #gather(): void {
    if (this.#sending) return;
    this.#timer ??= setTimeout(() => {
      this.#sending = this.#sendQuietly();
    }, gatherMs);
  }

  async #sendQuietly(): Promise<void> {
    await this.#send().catch(() => undefined); // kept for the next who asks
    this.#sending = null;
    if (this.#hasUnsent) this.#gather();
  }

  /** After a failure no more is written: later writes build on those that are not there. */
  async #send(): Promise<void> {
    const taken = this.#take();
    if (this.#failure !== null) throw this.#failure;
    try {
      await this.#sendAll(taken);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  async #sendAll({ data, lines, writes }: Taken): Promise<void> {
    for (let at = mostLines; at < lines.length; at += mostLines)
      await this.#run(null, lines.slice(at - mostLines, at), []);
    const rest = lines.length === 0 ? 0 : Math.floor((lines.length - 1) / mostLines) * mostLines;
    await this.#run(data, lines.slice(rest), writes);
  }

  async #run(data: object | null, lines: LogLine[], writes: StateWrite[]): Promise<void> {
    const askedAt = clock();
    const { keepLogs, keepMs } = this.#queues.settings;
    const left = await script.run(
      this.#queues.connection,
      [
        this.lease.key,
        this.#jobKey,
        ...lines.map(({ log }) => log),
        ...writes.map((write) => ('set' in write ? write.set : write.hash)),
      ],
      [
        this.lease.token,
        data === null ? '' : JSON.stringify(data),
        keepLogs,
        Math.ceil(keepMs / 1000),
        lines.length,
        ...lines.map(({ text }) => text),
        ...writes.flatMap(argumentsOf),
      ],
    );
    this.lease.renewed(askedAt, typeof left === 'number' ? left : null);
  }
}
