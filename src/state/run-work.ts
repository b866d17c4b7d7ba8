// What a run has to do: its plan, written piece by piece; what its jobs noted of items in progress; dropped files.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { StateWrite, StateWriter } from '../model/lease.ts';
import { goodFileSchema, sourceFingerprintSchema } from '../model/ledger-entry.ts';
import { driftPolicies, type RunPriority, removalModes } from '../model/policy.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import { itemActions, type ReportItem, reasonSchema } from '../model/report.ts';
import { liveVersionSchema } from '../model/table-history.ts';
import { datasetWishSchema, resourceWishSchema } from '../model/wish.ts';
import type { runPhases } from './run-phase.ts';

/** The planned work on one dataset: its wish without the resources, and the keys of the resources that need work. */
export const datasetWorkSchema = z.object({
  wish: datasetWishSchema.omit({ resources: true }),
  /** Why the plan found work, as `sluice plan` says it; the log of the item begins with it. */
  why: z.string().nullable().exactOptional(),
  /** Node id as the run found it in the ledger; when the node turns out to be another one, all resources have work. */
  nid: z.string().nullable(),
  resources: z.array(z.string()).default([]),
  /** Keys of all its resources that have or may get a node, in the order in which its list names them. */
  order: z.array(z.string()).default([]),
  /** Uuids that are searched for on the portal: its own, those of its resources, and of datasets after it. */
  next: z.array(z.string()).default([]),
  /** True when the node is to be read and proven although the ledger knows nothing against it. */
  verify: z.boolean().default(false),
  /** True when the node stays as it is and only resources below it have work. */
  frozen: z.boolean().default(false),
  /** Why a stored plan could not be done to a frozen dataset. */
  refused: reasonSchema.nullable().default(null),
  removal: z.enum(removalModes).nullable().default(null),
  onDrift: z.enum(driftPolicies).default('hold'),
  createMissing: z.boolean().default(false),
});

export const resourceWorkSchema = z.object({
  wish: resourceWishSchema,
  why: z.string().nullable().exactOptional(),
  /** The file as the run saw it; null when it could not be read, or was left to the job. */
  source: sourceFingerprintSchema.nullable(),
  removal: z.enum(removalModes).nullable(),
  onDrift: z.enum(driftPolicies),
  createMissing: z.boolean().default(false),
});

/** A table that was ordered to be imported, and what its proof is held against. */
const unprovenSchema = z.object({
  nid: z.string(),
  uuid: z.string(),
  rows: z.number().int(),
  columns: z.number().int(),
  /** What becomes the good file of the resource once it is proven. */
  good: goodFileSchema,
  /** The version of the table that is live then. */
  version: liveVersionSchema.nullable().default(null),
});

export type Unproven = z.infer<typeof unprovenSchema>;

/** What the jobs of a run have done so far to an item that has not ended. */
export const begunSchema = z.object({
  actions: z.array(z.enum(itemActions)),
  /** What its report says once, beside what is known of it at all times. */
  told: z.array(z.string()).exactOptional(),
  /** Its table, while that is not proven to be whole; the item ends with the proof. */
  unproven: unprovenSchema.nullable().default(null),
  /** Attempts that it took until its table was to be proven. */
  attempts: z.number().int().default(0),
  /** Milliseconds of work, over all attempts. */
  ms: z.number().int(),
});

export type Begun = z.infer<typeof begunSchema>;

/** What is known of an item to which nothing was done. */
export const notBegun: Begun = { actions: [], unproven: null, attempts: 0, ms: 0 };

export type DatasetWork = z.infer<typeof datasetWorkSchema>;
export type ResourceWork = z.infer<typeof resourceWorkSchema>;

export const settledClaimSchema = z.object({
  claim: z.string(),
  reason: reasonSchema.nullable(),
  /** What was fixed in the file before it was sent, a line each. */
  fixes: z.array(z.string()).exactOptional(),
});

/** A dropped file by its claim id: archived, or quarantined with a reason. */
export type SettledClaim = z.infer<typeof settledClaimSchema>;

export interface RunWork {
  datasets: DatasetWork[];
  resources: ResourceWork[];
  settled: ReportItem[];
  /** Dropped files that need no job: what becomes of them when the run closes. */
  claims: SettledClaim[];
}

export type PlannedCounts = { datasets: number; resources: number; settled: number };

/** Bytes that one command writes: Redis refuses a larger one at some size, and answers no client while it takes it. */
const bytesAtOnce = 200_000;

/** The plan of one attempt. Throws JobLostError once another worker has the job. */
export const planWriter = (
  redis: Redis,
  keys: RedisKeys,
  { runId, writer, phases }: { runId: string; writer: StateWriter; phases: ReturnType<typeof runPhases> },
) => {
  const counts: PlannedCounts = { datasets: 0, resources: 0, settled: 0 };
  let piece: StateWrite[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const writes = piece;
    [piece, bytes] = [[], 0];
    if (writes.length > 0) await writer.write(writes);
  };
  const field = (hash: string, name: string, value: object) => ({ hash, field: name, value: JSON.stringify(value) });
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
