// The rule of every parent job: add the children, forget those that have already failed, then wait.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, type Queue, WaitingChildrenError } from 'bullmq';
import { z } from 'zod';
import type { ChildOutcome } from '../model/job.ts';
import { reasonSchema } from '../model/report.ts';
import type { Queues } from './queues.ts';

/** A child to be added. */
export interface ChildJob {
  id: string;
  name: string;
  data: object & { portal: string; key: string };
}

/** The job that waits for children, in the hands of this worker. */
export interface ParentJob {
  parent: Job;
  token: string;
  queues: Queues;
  /** Resolves when what the job had to write down has been written; it loses its lock when it goes. */
  settled: Promise<void>;
  /** How many other children had ended before these are added. */
  after: number;
}

/**
 * How many children are added at first: enough work for a while. A worker takes its first jobs one by one, which is quick
 * unless each stands behind others that are just being added.
 */
const firstChunk = 32;
/** How long workers are left to take the first ones, milliseconds. */
const headStartMs = 50;
/** How many are added together after that. */
const chunk = 100;

/**
 * Adds all children under their deterministic ids and moves the parent to waiting-children (by throwing the engine's
 * {@link WaitingChildrenError}), or gives the outcomes by key when none is pending any more. Must run in full on every
 * attempt: a parent that was killed between adding and waiting would otherwise wait for a child that failed meanwhile.
 */
export const runChildren = async (
  { parent, token, queues, settled, after }: ParentJob,
  children: ChildJob[],
): Promise<Map<string, ChildOutcome>> => {
  const first = children[0];
  if (!first || parent.id === undefined) return new Map();
  const queue = queues.portal(first.data.portal);
  // Begun for the first time, it has no child yet that could have ended.
  const isFirst = after === 0 && parent.attemptsStarted === 1;
  if (!isFirst) {
    if (await hasEnded(parent, after + children.length)) return outcomes(queue, children);
  }
  const link = { parent: { id: parent.id, queue: parent.queueQualifiedName }, ignoreDependencyOnFailure: true };
  const jobs = children.map(({ id, name, data }) => ({
    name,
    data,
    opts: { ...queues.itemOptions(id), ...link },
  }));
  await queue.addBulk(jobs.slice(0, firstChunk));
  if (jobs.length > firstChunk) await sleep(headStartMs);
  for (let at = firstChunk; at < jobs.length; at += chunk) await queue.addBulk(jobs.slice(at, at + chunk));
  if (!isFirst) await forgetFailed(queue, children);
  await settled;
  if (await parent.moveToWaitingChildren(token)) throw new WaitingChildrenError();
  return outcomes(queue, children);
};

/** True when the parent's own books say that all of its children have ended: nothing need be added again. */
const hasEnded = async (parent: Job, count: number): Promise<boolean> => {
  const {
    processed = 0,
    ignored = 0,
    unprocessed = 0,
  } = await parent.getDependenciesCount({
    processed: true,
    ignored: true,
    unprocessed: true,
  });
  return unprocessed === 0 && processed + ignored === count;
};

/** A re-added child that has failed stands in the parent's dependencies again and would never leave them. */
const forgetFailed = async (queue: Queue, children: ChildJob[]): Promise<void> => {
  const failed = new Set(await queue.getRanges(['failed'], 0, -1));
  for (const { id } of children) {
    if (failed.has(id)) await (await queue.getJob(id))?.removeChildDependency();
  }
};

/** Jobs whose state is asked for together. */
const statesAtOnce = 100;

const outcomes = async (queue: Queue, children: ChildJob[]): Promise<Map<string, ChildOutcome>> => {
  const found = new Map<string, ChildOutcome>();
  for (let at = 0; at < children.length; at += statesAtOnce) {
    const some = children.slice(at, at + statesAtOnce);
    const all = await Promise.all(some.map(({ id }) => outcomeOf(queue, id)));
    for (const [index, { data }] of some.entries()) found.set(data.key, all[index] ?? { state: 'lost' });
  }
  return found;
};

const failureSchema = z.looseObject({ failure: reasonSchema });

const outcomeOf = async (queue: Queue, id: string): Promise<ChildOutcome> => {
  const state = await queue.getJobState(id);
  if (state === 'completed') return { state };
  const job = state === 'failed' ? await queue.getJob(id) : undefined;
  if (!job) return { state: 'lost' };
  const told = failureSchema.safeParse(job.data);
  const reason = told.success
    ? told.data.failure
    : { code: 'bug', message: job.failedReason ?? 'the job failed without a reason', hint: null };
  return { state: 'failed', reason };
};
