// What a handler gets of its job: data, steps that are logged, items, children.
import type { Job } from 'bullmq';
import {
  type ChildOutcome,
  childId,
  type DatasetData,
  type JobContext,
  type JobDataOf,
  type JobKind,
  type ProveData,
} from '../model/job.ts';
import { runChildren } from './children.ts';
import type { Exclusive } from './exclusive.ts';
import type { JobJournal } from './journal.ts';
import { poisonOf } from './kills.ts';
import type { Queues } from './queues.ts';
import type { JobTrace } from './trace.ts';

/** What the context of a job is made of. */
export interface ContextParts<K extends JobKind> {
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
    children: async (list: (DatasetData | ProveData)[], after = 0): Promise<Map<string, ChildOutcome>> => {
      trace.silently('children');
      const settled = journal.flush();
      settled.catch(() => undefined); // told when the job is about to leave this worker
      const children = list.map((data) => ({ id: childId(data), name: data.kind, data }));
      return runChildren({ parent: job, token, queues, settled, after }, children);
    },
  };
};
