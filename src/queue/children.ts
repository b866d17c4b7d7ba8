// The rule of every parent job: some pages of children at once, each settled when all of it has ended; then wait.
import { type Job, type Queue, WaitingChildrenError } from 'bullmq';
import { z } from 'zod';
import type { ChildOutcome, ChildPages } from '../model/job.ts';
import type { JobLease } from '../model/lease.ts';
import type { RunPriority } from '../model/policy.ts';
import { reasonSchema } from '../model/report.ts';
import { RedisScript } from '../state/redis/script.ts';
import type { Queues } from './queues.ts';

/** A child to be added. */
export interface ChildJob {
  id: string;
  name: string;
  data: object & { portal: string; key: string };
}

/** As {@link ChildPages}, in jobs. */
interface JobPages extends Omit<ChildPages, 'page' | 'priority'> {
  page(index: number): Promise<ChildJob[] | null>;
}

/** The parent job, as this worker holds it. */
interface ParentJob {
  parent: Job;
  token: string;
  queues: Queues;
  /** Rejects when another worker has the job. */
  lease: Pick<JobLease, 'check'>;
  /** Of its children, compared with those of other runs. */
  priority: RunPriority;
  /** Writes what the journal has buffered: a job that moves on loses its lock. */
  flush: () => Promise<void>;
}

/** Pages are added until so many children are open. */
const mostOpen = 1000;
/** With fewer open children than this, a parent that has more is woken before they have all ended. */
export const fewestOpen = 500;

/** How many children one call adds or reads. */
const partSize = 100;

/**
 * Adds children under their deterministic ids, settles the pages that have ended, and moves the parent to waiting-children
 * (by throwing the engine's {@link WaitingChildrenError}) until all are settled. The children of a settled page leave the
 * queue. Must run in full on every attempt: a parent that was killed may wait for what has ended, or for nothing at all.
 */
export const runPages = async (run: ParentJob, pages: JobPages): Promise<void> => {
  await forgetLast(run, pages);
  for (let settled = pages.settled; ; ) {
    let [open, hasMore] = [0, false];
    for (let index = settled; ; index++) {
      const page = await pages.page(index);
      hasMore = page !== null && open >= mostOpen;
      if (!page || hasMore) break;
      open += await addMissing(run, page);
      if (open > 0 || index > settled) continue;
      await pages.settle(index, await outcomes(run.queues, page));
      await forget(run, page);
      settled += 1;
    }
    await pages.waits(hasMore);
    await run.flush();
    // Also at the end: with a child in its books, of whatever page, the engine would not let the parent complete.
    if (await run.parent.moveToWaitingChildren(run.token)) throw new WaitingChildrenError();
    if (open === 0) return;
  }
};

/** Adds those that are neither open nor ended; returns how many have not ended. */
const addMissing = async (run: ParentJob, page: ChildJob[]): Promise<number> => {
  let open = 0;
  for (const part of partsOf(page)) {
    const before = await statesOf(run, part);
    const missing = part.filter((_, index) => before[index] === 'missing');
    if (missing.length > 0) await add(run, missing);
    // Looked at again: one that failed unknown to its parent meanwhile is in the books again.
    const after = missing.length > 0 ? await statesOf(run, part) : before;
    open += after.filter((state) => state !== 'ended').length;
  }
  return open;
};

const add = async ({ parent, queues, lease, priority }: ParentJob, children: ChildJob[]): Promise<void> => {
  const link = { parent: { id: parent.id ?? '', queue: parent.queueQualifiedName }, ignoreDependencyOnFailure: true };
  await lease.check();
  await queueOf(queues, children).addBulk(
    children.map(({ id, name, data }) => ({ name, data, opts: { ...queues.itemOptions(id, priority), ...link } })),
  );
};

type State = 'open' | 'ended' | 'missing';

/**
 * KEYS: the open children in the books of the parent, the completed and the failed jobs of the queue, then each job. ARGV:
 * the id of each. Returns where each stands; one that has ended leaves the books, which would keep the parent forever.
 */
const look = new RedisScript(`
local states = {}
for i, id in ipairs(ARGV) do
  local job = KEYS[3 + i]
  if redis.call('ZSCORE', KEYS[2], id) or redis.call('ZSCORE', KEYS[3], id) then
    redis.call('SREM', KEYS[1], job)
    states[i] = 'ended'
  elseif redis.call('SISMEMBER', KEYS[1], job) == 1 and redis.call('EXISTS', job) == 1 then
    states[i] = 'open'
  else
    states[i] = 'missing'
  end
end
return states
`);

const statesOf = async ({ parent, queues }: ParentJob, children: ChildJob[]): Promise<State[]> => {
  const queue = queueOf(queues, children);
  const ids = idsOf(children);
  const lists = [booksOf(parent, 'dependencies'), queue.toKey('completed'), queue.toKey('failed')];
  const states = await look.run(queues.connection, [...lists, ...ids.map((id) => queue.toKey(id))], ids);
  return states as State[]; // what the script gives
};

/** Removes the children of a settled page, the last one last, and what their parent keeps of those that have ended. */
const forget = async ({ parent, queues }: ParentJob, page: ChildJob[]): Promise<void> => {
  for (const part of partsOf(page)) {
    const queue = queueOf(queues, part);
    await Promise.all(idsOf(part).map((id) => queue.remove(id, { removeChildren: false })));
  }
  await queues.connection.del(booksOf(parent, 'processed'), booksOf(parent, 'failed'));
};

/** Forgets the page that was settled last, where a kill came before that. */
const forgetLast = async (run: ParentJob, pages: JobPages): Promise<void> => {
  const page = pages.settled > 0 ? await pages.page(pages.settled - 1) : null;
  const last = page?.at(-1);
  if (!page || !last) return;
  const isThere = await run.queues.connection.exists(queueOf(run.queues, page).toKey(last.id));
  if (isThere === 1) await forget(run, page);
};

/** Name of what the engine keeps of the children of a job. */
const booksOf = (parent: Job, name: 'dependencies' | 'processed' | 'failed'): string =>
  `${parent.queueQualifiedName}:${parent.id}:${name}`;

/** The queue of the portal that children are for. */
const queueOf = (queues: Queues, [first]: ChildJob[]): Queue => queues.portal(first?.data.portal ?? '');

const outcomes = async (queues: Queues, children: ChildJob[]): Promise<Map<string, ChildOutcome>> => {
  const found = new Map<string, ChildOutcome>();
  for (const part of partsOf(children)) {
    const queue = queueOf(queues, part);
    const completed = await queues.connection.zmscore(queue.toKey('completed'), idsOf(part));
    const others = part.filter((_, index) => completed[index] === null);
    const ended = await Promise.all(others.map(({ id }) => failureOf(queue, id)));
    for (const { data } of part) found.set(data.key, { state: 'completed' });
    for (const [index, { data }] of others.entries()) found.set(data.key, ended[index] ?? { state: 'lost' });
  }
  return found;
};

const failureSchema = z.looseObject({ failure: reasonSchema });

const failureOf = async (queue: Queue, id: string): Promise<ChildOutcome> => {
  const job = await queue.getJob(id);
  if (!job?.finishedOn) return { state: 'lost' };
  const stored = failureSchema.safeParse(job.data);
  const reason = stored.success
    ? stored.data.failure
    : { code: 'bug', message: job.failedReason ?? 'the job failed without a reason', hint: null };
  return { state: 'failed', reason };
};

const idsOf = (children: ChildJob[]): string[] => children.map(({ id }) => id);

const partsOf = (children: ChildJob[]): ChildJob[][] =>
  Array.from({ length: Math.ceil(children.length / partSize) }, (_, index) =>
    children.slice(index * partSize, (index + 1) * partSize),
  );
