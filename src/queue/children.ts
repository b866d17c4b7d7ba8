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
const firstPage = 32;
/** How long workers are left to take the first ones, milliseconds. */
const headStartMs = 50;
/** How many children are added together after that, and asked for together. */
const pageSize = 100;

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
  if (await hasEnded(parent, after + children.length)) return outcomes(queues, queue, children);
  const link = { parent: { id: parent.id, queue: parent.queueQualifiedName }, ignoreDependencyOnFailure: true };
  const add = async (page: ChildJob[]): Promise<void> => {
    await queue.addBulk(
      page.map(({ id, name, data }) => ({ name, data, opts: { ...queues.itemOptions(id), ...link } })),
    );
    await forgetFailed(queues, queue, page);
  };
  await add(children.slice(0, firstPage));
  if (children.length > firstPage) await sleep(headStartMs);
  for (const page of pagesOf(children.slice(firstPage))) await add(page);
  await settled;
  if (await parent.moveToWaitingChildren(token)) throw new WaitingChildrenError();
  return outcomes(queues, queue, children);
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
const forgetFailed = async ({ connection }: Queues, queue: Queue, page: ChildJob[]): Promise<void> => {
  const failed = await connection.zmscore(queue.toKey('failed'), idsOf(page));
  await Promise.all(
    page.map(async ({ id }, index) => {
      if (failed[index] !== null) await (await queue.getJob(id))?.removeChildDependency();
    }),
  );
};

const outcomes = async (queues: Queues, queue: Queue, children: ChildJob[]): Promise<Map<string, ChildOutcome>> => {
  const found = new Map<string, ChildOutcome>();
  for (const page of pagesOf(children)) {
    const completed = await queues.connection.zmscore(queue.toKey('completed'), idsOf(page));
    const others = page.filter((_, index) => completed[index] === null);
    const ended = await Promise.all(others.map(({ id }) => failureOf(queue, id)));
    for (const { data } of page) found.set(data.key, { state: 'completed' });
    for (const [index, { data }] of others.entries()) found.set(data.key, ended[index] ?? { state: 'lost' });
  }
  return found;
};

const failureSchema = z.looseObject({ failure: reasonSchema });

const failureOf = async (queue: Queue, id: string): Promise<ChildOutcome> => {
  const job = await queue.getJob(id);
  if (!job?.finishedOn) return { state: 'lost' };
  const told = failureSchema.safeParse(job.data);
  const reason = told.success
    ? told.data.failure
    : { code: 'bug', message: job.failedReason ?? 'the job failed without a reason', hint: null };
  return { state: 'failed', reason };
};

const idsOf = (page: ChildJob[]): string[] => page.map(({ id }) => id);

const pagesOf = (children: ChildJob[]): ChildJob[][] =>
  Array.from({ length: Math.ceil(children.length / pageSize) }, (_, index) =>
    children.slice(index * pageSize, (index + 1) * pageSize),
  );
