// Writes the plan of a run piece by piece; it counts once it is ended.
import type { Redis } from 'ioredis';
import type { StateWrite, StateWriter } from '../model/lease.ts';
import type { RunPriority } from '../model/policy.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import type { RunPhases } from './run-phase.ts';
import type { RunWork } from './run-work.ts';

export type PlannedCounts = { datasets: number; resources: number; settled: number };

/** Bytes that one command writes: Redis refuses a larger one at some size, and answers no client while it takes it. */
const bytesAtOnce = 200_000;

/** The plan of one attempt. Throws JobLostError once another worker has the job. */
export const planWriter = (
  redis: Redis,
  keys: RedisKeys,
  { runId, writer, phases }: { runId: string; writer: StateWriter; phases: RunPhases },
) => {
  const counts: PlannedCounts = { datasets: 0, resources: 0, settled: 0 };
  let piece: StateWrite[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const writes = piece;
    [piece, bytes] = [[], 0];
    if (writes.length > 0) await writer.write(writes);
  };
  const field = (hash: string, name: string, value: object): StateWrite => ({
    hash,
    field: name,
    value: JSON.stringify(value),
  });
  return {
    add: async ({ datasets, resources, settled, claims }: RunWork): Promise<void> => {
      const dropped = resources.flatMap(({ wish: { key, source } }) =>
        source.kind === 'file' && source.claim !== undefined ? [{ claim: source.claim, key }] : [],
      );
      const set = keys.runOpen(runId);
      for (const write of [
        ...[...datasets, ...resources].map((work) => field(keys.runWork(runId), work.wish.key, work)),
        ...datasets.map(({ wish }, at) => ({ set, member: wish.key, score: counts.datasets + at })),
        ...settled.map((item) => field(keys.runLines(runId), item.key, item)),
        ...[...claims, ...dropped].map((drop) => field(keys.runDrops(runId), drop.claim, drop)),
      ]) {
        const more = 'set' in write ? write.member.length : (write.value?.length ?? 0);
        if (bytes + more > bytesAtOnce) await flush();
        piece.push(write);
        bytes += more;
      }
      counts.datasets += datasets.length;
      counts.resources += resources.length;
      counts.settled += settled.length;
    },

    /** Ends the plan: from now on it is what the run does, unless the run was cancelled meanwhile. */
    end: async (remarks: string[], priority: RunPriority = 'normal'): Promise<PlannedCounts> => {
      await flush();
      const settled = await redis.hlen(keys.runLines(runId));
      await phases.planned(runId, { total: counts.datasets + counts.resources, settled, remarks, priority });
      return counts;
    },
  };
};

export type PlanWriter = ReturnType<typeof planWriter>;
