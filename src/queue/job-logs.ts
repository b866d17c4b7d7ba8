// Logs of items and runs, and the removal of the jobs of a closed run.
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisKeys } from '../model/redis-keys.ts';
import { RedisScript } from '../state/redis/script.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import type { Queues } from './queues.ts';

/** Jobs that are removed together, and logs that are packed together. */
const chunk = 500;
/** Packed logs that one command reads. */
const chunksAtOnce = 20;

// Logs that were packed by a call whose reply was lost are gone when it is sent again.
const packLogs = new RedisScript(`
if redis.call('DEL', unpack(KEYS, 3)) == 0 then return end
for i = 1, 2 do
  redis.call('RPUSH', KEYS[i], ARGV[i])
  redis.call('PEXPIRE', KEYS[i], ARGV[3])
end
`);

const deflate = promisify<zlib.InputType, Buffer>(zlib.deflate);
const inflate = promisify<zlib.InputType, Buffer>(zlib.inflate);

/**
 * Reads logs and removes jobs. The logs of items are lists of our own; those of items that have ended are packed together.
 * All of them expire by themselves.
 */
export class JobLogs {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #queues: Queues;
  readonly #packed = new BoundedMap<string, { lines: string[]; chunks: number }>(100);

  constructor(redis: Redis, keys: RedisKeys, queues: Queues) {
    this.#redis = redis;
    this.#keys = keys;
    this.#queues = queues;
  }

  /** Log lines of the work on an item from line `from` (0-based), oldest first, whether its run is open or closed. */
  async read(id: string, from = 0): Promise<string[]> {
    const packed = await this.#packedLines(id);
    return [...packed, ...(await this.#redis.lrange(this.#keys.itemLog(id), 0, -1))].slice(from);
  }

  /** Packs the logs of items of a run. What is logged afterwards follows what is packed. Idempotent. */
  async pack(runId: string, ids: string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += chunk) {
      const logs = ids.slice(at, at + chunk).map((id) => ({ id, key: this.#keys.itemLog(id) }));
      const lines = await Promise.all(logs.map(({ key }) => this.#redis.lrange(key, 0, -1)));
      const texts = logs.flatMap(({ id }, index) =>
        lines[index]?.length ? JSON.stringify([id, ...lines[index]]) : [],
      );
      if (texts.length === 0) continue;
      const [key, marks] = [this.#keys.itemLogs(runId), this.#keys.itemLogMarks(runId)];
      const packed = await deflate(texts.join('\n'));
      const lists = [key, marks, ...logs.map((log) => log.key)];
      await packLogs.run(this.#redis, lists, [
        packed,
        Buffer.concat(logs.map(({ id }) => markOf(id))),
        this.#queues.settings.keepMs,
      ]);
    }
  }

  /** The packed lines of an item; only chunks that were not there before are checked. */
  async #packedLines(id: string): Promise<string[]> {
    const known = this.#packed.get(id) ?? { lines: [], chunks: 0 };
    this.#packed.set(id, known);
    const runId = id.slice(0, id.indexOf('.'));
    const key = this.#keys.itemLogs(runId);
    const marks = await this.#redis.lrangeBuffer(this.#keys.itemLogMarks(runId), known.chunks, -1);
    const mark = markOf(id);
    const chunks = marks.flatMap((chunk, at) => (chunk.includes(mark) ? [known.chunks + at] : []));
    for (let at = 0; at < chunks.length; at += chunksAtOnce) {
      const found = await Promise.all(
        chunks.slice(at, at + chunksAtOnce).map((place) => this.#redis.lindexBuffer(key, place)),
      );
      const texts = await Promise.all(found.flatMap((packed) => (packed ? [inflate(packed)] : [])));
      for (const text of texts) known.lines.push(...linesOf(id, text.toString()));
    }
    known.chunks += marks.length;
    return known.lines;
  }

  /** Log lines of a run's own job. */
  async readRun(runId: string, from = 0): Promise<string[]> {
    const { logs } = await this.#queues.runs.getJobLogs(runId, from, -1);
    return logs;
  }

  /** Removes the jobs of a run; returns how many stay because a worker has them. Idempotent. */
  async closeRun(portal: string, ids: string[]): Promise<number> {
    const queue = this.#queues.portal(portal);
    let kept = 0;
    for (let at = 0; at < ids.length; at += chunk) {
      const some = ids.slice(at, at + chunk);
      const removed = await Promise.all(some.map((id) => queue.remove(id, { removeChildren: false })));
      kept += removed.filter((count) => count === 0).length;
    }
    return kept;
  }
}

/** Marks the chunk that holds an item; wrong for one item in some millions. */
const markOf = (id: string): Buffer => hash('sha1', id, 'buffer').subarray(0, 4);

/** The log of an item among others, each a line of JSON. */
const linesOf = (id: string, text: string): string[] => {
  const start = text.indexOf(`["${id}",`);
  if (start < 0) return [];
  const end = text.indexOf('\n', start);
  const [, ...lines] = z.array(z.string()).parse(JSON.parse(text.slice(start, end < 0 ? text.length : end)));
  return lines;
};
