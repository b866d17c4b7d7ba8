// Writes the plan of a run piece by piece; it counts once it is ended.
import type { Redis } from 'ioredis';
import type { StateWrite, StateWriter } from '../model/lease.ts';
import type { RunPriority } from '../model/policy.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import { lineOf } from './report-lines.ts';
import type { RunPhases } from './run-phase.ts';
import type { RunWork } from './run-work.ts';

export interface PlannedCounts {
  datasets: number;
  resources: number;
  settled: number;
}

/** Bytes that one command writes: Redis refuses a larger one at some size, and answers no client while it takes it. */
const bytesAtOnce = 200_000;

/** The plan of one attempt. Throws JobLostError once another worker has the job. */
export class PlanWriter {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #runId: string;
  readonly #writer: StateWriter;
  readonly #phases: RunPhases;
  readonly #counts: PlannedCounts = { datasets: 0, resources: 0, settled: 0 };
  #piece: StateWrite[] = [];
  #bytes = 0;

  constructor(
    redis: Redis,
    keys: RedisKeys,
    { runId, writer, phases }: { runId: string; writer: StateWriter; phases: RunPhases },
  ) {
    this.#redis = redis;
    this.#keys = keys;
    this.#runId = runId;
    this.#writer = writer;
    this.#phases = phases;
  }

  async add({ datasets, resources, settled, claims }: RunWork): Promise<void> {
    const [keys, runId, counts] = [this.#keys, this.#runId, this.#counts];
    const dropped = resources.flatMap(({ wish: { key, source } }) =>
      source.kind === 'file' && source.claim !== undefined ? [{ claim: source.claim, key }] : [],
    );
    const write = (hash: string, field: string, value: object): StateWrite => ({
      hash,
      field,
      value: JSON.stringify(value),
    });
    await this.#write([
      ...[...datasets, ...resources].map((work) => write(keys.runWork(runId), work.wish.key, work)),
      ...datasets.map(({ wish }, at) => ({
        set: keys.runOpen(runId),
        member: wish.key,
        score: counts.datasets + at,
      })),
      ...settled.map((item) => ({ hash: keys.runLines(runId), field: item.key, value: lineOf(item) })),
      ...[...claims, ...dropped].map((drop) => write(keys.runDrops(runId), drop.claim, drop)),
    ]);
    counts.datasets += datasets.length;
    counts.resources += resources.length;
    counts.settled += settled.length;
  }

  async #write(writes: StateWrite[]): Promise<void> {
    for (const write of writes) {
      const bytes = 'set' in write ? write.member.length : (write.value?.length ?? 0);
      if (this.#bytes + bytes > bytesAtOnce) await this.#flush();
      this.#piece.push(write);
      this.#bytes += bytes;
    }
  }

  async #flush(): Promise<void> {
    const piece = this.#piece;
    [this.#piece, this.#bytes] = [[], 0];
    if (piece.length > 0) await this.#writer.write(piece);
  }

  /** Ends the plan: from now on it is what the run does, unless the run was cancelled meanwhile. */
  async end(remarks: string[], priority: RunPriority = 'normal'): Promise<PlannedCounts> {
    const { datasets, resources } = this.#counts;
    await this.#flush();
    const settled = await this.#redis.hlen(this.#keys.runLines(this.#runId));
    await this.#phases.planned(this.#runId, { total: datasets + resources, settled, remarks, priority });
    return this.#counts;
  }
}
