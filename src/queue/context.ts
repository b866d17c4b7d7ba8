// The context of a handler: data, logged steps, items, children.
import type { Job } from 'bullmq';
import { childId, type JobContext, type JobDataOf, type JobKind } from '../model/job.ts';
import { runPages } from './children.ts';
import type { Exclusive } from './exclusive.ts';
import type { JobJournal } from './journal.ts';
import type { Queues } from './queues.ts';
import { poisonOf } from './retry.ts';
import type { JobTrace } from './trace.ts';

/** What the context of a job is made of. */
interface ContextParts<K extends JobKind> {
  job: Job;
  token: string;
  /** The job's data, which `save` replaces. */
  data: () => JobDataOf[K];
  save: (changes: Partial<JobDataOf[K]>) => void;
  signal: AbortSignal;
  log: JobContext['log'];
  queues: Queues;
  journal: JobJournal;
  trace: JobTrace;
  exclusive: Exclusive;
}

/** Makes the context of a job. */
export const createContext = <K extends JobKind>(parts: ContextParts<K>): JobContext<K> => {
  const { job, token, signal, queues, journal, trace, exclusive } = parts;
  return {
    ...trace.own,
    id: job.id ?? '',
    get data() {
      return parts.data();
    },
    due: job.opts.prevMillis ?? job.timestamp + (job.opts.delay ?? 0),
    attempt: job.attemptsMade + 1,
    isLast: job.attemptsMade + 1 >= (job.opts.attempts ?? 1),
    signal,
    writer: journal,
    log: parts.log,
    save: async (changes) => parts.save(changes),
    item: (key) => trace.item(key),
    poisonOf: (key) => poisonOf(trace.data, key),
    exclusive: (name, stop, work) => exclusive.run(name, journal.lease, stop, work),
    pages: (pages) => {
      trace.silently('children');
      return runPages(
        { parent: job, token, queues, lease: journal.lease, priority: pages.priority, flush: () => journal.flush() },
        {
          ...pages,
          page: async (index) =>
            (await pages.page(index))?.map((data) => ({ id: childId(data), name: data.kind, data })) ?? null,
        },
      );
    },
  };
};
