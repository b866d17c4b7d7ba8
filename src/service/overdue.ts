// Overdue items in words: since when, why, and what to do.
import type { Config } from '../config/config.ts';
import { manifestOfKey } from '../model/key.ts';
import { targetOfName } from '../model/redis-keys.ts';
import { liveWorkers } from '../queue/heartbeat.ts';
import { whyNotFired } from '../queue/schedules.ts';
import { type Deadline, type ExpectedKind, lastBefore } from '../state/deadlines.ts';
import { type LastRun, lastRuns } from '../state/targets.ts';
import { durationWords } from '../util/quantity.ts';
import type { Connections } from './connections.ts';

export interface OverdueParts extends Pick<Connections, 'redis' | 'keys' | 'queues' | 'deadlines'> {
  config: Pick<Config, 'watch'>;
}

export interface Expected {
  kind: ExpectedKind;
  /** Null for a worker, and for a file that is no sound manifest. */
  manifest: string | null;
  portal: string | null;
  /** Key of the dataset that misses new data; null for everything else. */
  key: string | null;
  name: string;
}

/** Something that did not happen in time; `expectedBy` is ISO 8601, UTC. */
export type Overdue = Omit<Expected, 'name'> & Words & { expectedBy: string };

export const expectedIn = (member: string): Expected => {
  const [kind, first = '', second = '', third = ''] = member.split(' ');
  const none = { manifest: null, portal: null, key: null };
  if (kind === 'worker') return { ...none, kind, name: `the process ${third} (${first}) on ${second}` };
  if (kind === 'manifest') return { ...none, kind, name: member.slice('manifest '.length) };
  if (kind === 'inbox') return { ...none, kind, manifest: first, name: `the inbox of ${first}` };
  if (kind === 'data')
    return { kind, manifest: manifestOfKey(second), portal: first, key: second, name: `new data of ${second}` };
  const target = { ...targetOfName(first), key: null };
  if (kind === 'schedule') return { kind, ...target, name: `the schedule of ${first}` };
  if (kind === 'success') return { kind, ...target, name: `a successful run of ${first}` };
  return { kind: 'news', ...target, name: `anything new for ${first}` };
};

/** What is overdue now, reported or not, longest first; `more` counts the rest. Takes a few round trips. */
export const whatIsOverdue = async (parts: OverdueParts, most = 100, now: number = Date.now()) => {
  const { deadlines } = parts;
  const [count, shown] = await Promise.all([deadlines.countLate(now), deadlines.late(now, most)]);
  return { overdue: await inWords(parts, shown), more: Math.max(0, count - shown.length) };
};

export const inWords = async (parts: OverdueParts, late: readonly Deadline[]): Promise<Overdue[]> => {
  if (late.length === 0) return [];
  const { redis, keys, config, deadlines } = parts;
  const [forms, runs] = await Promise.all([
    deadlines.formsOf(late.map(({ member }) => member)),
    lastRuns.all(redis, keys),
  ]);
  return Promise.all(
    late.map(async ({ member, at }, index) => {
      const { name, ...expected } = expectedIn(member);
      const form = forms[index] ?? '';
      const everyMs = Number(form) || null;
      const facts: Facts = {
        ...expected,
        name,
        form,
        by: iso(at),
        since: iso(everyMs === null ? at - config.watch.everyMs : lastBefore(at, everyMs)),
        every: durationWords(everyMs ?? config.watch.everyMs),
        lastRun: runs.get(`${expected.manifest}@${expected.portal}`) ?? null,
      };
      return { ...expected, expectedBy: facts.by, ...(await words[expected.kind](facts, parts)) };
    }),
  );
};

interface Facts extends Expected {
  since: string;
  by: string;
  every: string;
  lastRun: LastRun | null;
  /** What the service announced: the folder of an inbox, why a manifest is skipped. */
  form: string;
}

type Words = { why: string; hint: string };

const words: Record<ExpectedKind, (facts: Facts, parts: OverdueParts) => Words | Promise<Words>> = {
  worker: ({ name, since }) => ({
    why: `${name} has given no sign of life since ${since}`,
    hint: 'look at its log, then start it again; jobs that it held go on in other workers, or at the next start',
  }),
  inbox: ({ name, since, form }) => ({
    why: `nobody has watched ${name} since ${since}: ${form}`,
    hint: 'check that `sluice start` serves the manifest and may read and write the folder; files dropped meanwhile are picked up then',
  }),
  manifest: ({ name, by, form }) => ({
    why: `${name} has been faulty since ${by}: ${form}`,
    hint: `\`sluice check ${name}\` shows what to mend; until then, nothing of it is published by schedule or from an inbox`,
  }),
  schedule: async ({ name, by, manifest, portal }, { redis, keys, queues }) => {
    const fired = await whyNotFired(queues, { manifest: manifest ?? '', portal: portal ?? '' });
    const isIdle = fired === 'waits' && (await liveWorkers(redis, keys, Date.now())).size === 0;
    const { why, hint } = notFired[isIdle ? 'idle' : fired];
    return { why: `${name} has not fired by ${by}: ${why}`, hint };
  },
  success: ({ name, since, every, lastRun, manifest }) => ({
    why: `there has been no ${name.slice(2)} since ${since}, one is expected every ${every}: ${runWords(lastRun, since)}`,
    hint:
      lastRun === null || lastRun.endedAt < since
        ? `check \`sluice schedules\`, or run \`sluice run-now ${manifest}\``
        : `see \`sluice status\` and \`sluice log ${lastRun.runId}\``,
  }),
  news: ({ name, since, every }) => ({
    why: `there has not been ${name} since ${since}; something is expected every ${every}`,
    hint: 'ask whoever delivers the data; `expectEvery` of the manifest says how often it is expected',
  }),
  data: ({ key, since, every }) => ({
    why: `no new file of ${key} has arrived since ${since}; one is expected every ${every}`,
    hint: 'ask whoever delivers it; `expectEvery` of the dataset (`never` ends it) goes before its `frequency`',
  }),
};

const runWords = (run: LastRun | null, since: string): string => {
  if (run === null || run.endedAt < since) return 'none was begun';
  const faults = [...(run.failed > 0 ? [`${run.failed} failed`] : []), ...(run.held > 0 ? [`${run.held} held`] : [])];
  return `run ${run.runId} ended at ${run.endedAt} with ${run.reason ?? faults.join(', ')}`;
};

const notFired: Record<Awaited<ReturnType<typeof whyNotFired>> | 'idle', Words> = {
  gone: {
    why: 'it is no longer in Redis',
    hint: 'restart `sluice start`, which adds the schedules of its manifests again',
  },
  paused: { why: 'the queue of runs is paused', hint: 'resume the queue `runs` with the tool that paused it' },
  idle: { why: 'no worker is running', hint: 'run `sluice start`; missed runs are caught up according to `catchUp`' },
  waits: { why: 'no worker has taken its trigger', hint: 'see `sluice status`: the workers may be busy or stuck' },
};

const iso = (ms: number): string => new Date(ms).toISOString();
