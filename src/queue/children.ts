// The rule of every parent job: add the children, forget those that have already failed, then wait.
import { setTimeout as sleep } from 'node:timers/promises';
import { type BulkJobOptions, type Job, type Queue, WaitingChildrenError } from 'bullmq';
import { z } from 'zod';
import type { ChildOutcome } from '../job.ts';
import { reasonSchema } from '../report.ts';
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
  { parent, token, queues, settled }: ParentJob,
  children: ChildJob[],
): Promise<Map<string, ChildOutcome>> => {
  const first = children[0];
  if (!first || parent.id === undefined) return new Map();
  const queue = queues.portal(first.data.portal);
  // Begun for the first time, it has no child yet that could have ended.
  const isFirst = parent.attemptsStarted === 1;
  if (!isFirst) {
    const values = await parent.getChildrenValues<unknown>();
    const isDone = children.every(({ id }) => queue.toKey(id) in values);
    if (isDone || (await hasEnded(parent, children.length))) return outcomes(values, queue, children);
  }
  const link = { parent: { id: parent.id, queue: parent.queueQualifiedName }, ignoreDependencyOnFailure: true };
  const jobs = children.map(({ id, name, data }) => ({
    name,
    data,
    // Depth first: a dataset's resources go before the next dataset.
    opts: { ...queues.itemOptions(id), ...link, lifo: name === 'resource' },
  }));
  await addAll(queue, jobs.slice(0, firstChunk));
  if (jobs.length > firstChunk) await sleep(headStartMs);
  for (let at = firstChunk; at < jobs.length; at += chunk) await addAll(queue, jobs.slice(at, at + chunk));
  if (!isFirst) await forgetFailed(queue, children);
  await settled;
  if (await parent.moveToWaitingChildren(token)) throw new WaitingChildrenError();
  return outcomes(await parent.getChildrenValues<unknown>(), queue, children);
};

/** Most datasets have one resource, and a transaction around one job takes the client longer than the job itself. */
const addAll = async (queue: Queue, jobs: { name: string; data: object; opts: BulkJobOptions }[]): Promise<void> => {
  const [only] = jobs;
  if (only && jobs.length === 1) await queue.add(only.name, only.data, only.opts);
  else await queue.addBulk(jobs);
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
  const failed = new Set(await queue.getRanges(['failed']));
  for (const { id } of children) {
    if (failed.has(id)) await (await queue.getJob(id))?.removeChildDependency();
  }
};

const outcomes = async (
  values: Record<string, unknown>,
  queue: Queue,
  children: ChildJob[],
): Promise<Map<string, ChildOutcome>> => {
  const found = new Map<string, ChildOutcome>();
  for (const child of children) {
    const key = queue.toKey(child.id);
    if (key in values) found.set(child.data.key, { state: 'completed', value: values[key] });
    else found.set(child.data.key, await failureOf(queue, child.id));
  }
  return found;
};

const failureSchema = z.looseObject({ failure: reasonSchema });

const failureOf = async (queue: Queue, id: string): Promise<ChildOutcome> => {
  const job = await queue.getJob(id);
  if (!job) return { state: 'lost' };
  if (job.finishedOn !== undefined && job.failedReason === undefined) {
    return { state: 'completed', value: job.returnvalue };
  }
  const told = failureSchema.safeParse(job.data);
  const reason = told.success
    ? told.data.failure
    : { code: 'bug', message: job.failedReason ?? 'the job failed without a reason', hint: null };
  return { state: 'failed', reason, attempts: job.attemptsMade, data: job.data };
};
