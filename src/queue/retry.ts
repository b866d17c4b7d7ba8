// Retries: when a failed job is tried again, and what becomes of one whose worker was killed.
import { CatalogueFaultError, PoisonJobError, PortalError, SourceUnreachableError } from '../model/errors.ts';
import type { Trace } from '../model/job.ts';

/** Kills in one step, and losses of its lock, after which it is given up: a machine under load loses locks of sound jobs. */
const [poisonKills, poisonLosses] = [5, 50];

/** Kills, in whatever steps, after which a job is resumed alone. */
const suspectKills = 2;

/** The step of a job that waits until it is alone; a kill in it is not counted. */
export const waitsAlone = 'wait';

/**
 * The trace with the kill that the engine knows of and it does not, counted once for each step in progress; as a loss where
 * the worker still lives: to the engine both are the same, the lock has run out. And a line for the log of each item.
 */
export const withKill = (
  trace: Trace,
  stalls: number,
  kind: 'kills' | 'losses',
): { trace: Trace; lines: [key: string, line: string][] } => {
  // Nothing is started before this is written down, so of several kills since then one met the steps.
  const { steps, interrupted } = trace;
  const after = kind === 'losses' ? 'its lock was lost' : 'a kill';
  const hit = Object.entries(steps).filter(([, step]) => step !== waitsAlone);
  if (Object.keys(steps).length === 0) hit.push(['', 'start']);
  const counted = { ...trace[kind] };
  const lines = hit.map(([key, step]): [string, string] => {
    const count = (counted[`${key} ${step}`] ?? 0) + 1;
    counted[`${key} ${step}`] = count;
    return [key, `resumed after ${after} in step ${step} (${count} in this step)`];
  });
  if (hit.length === 0) lines.push(['', `resumed after ${after}, before any step`]);
  const hitItems = hit.flatMap(([key]) => (key === '' ? [] : [key]));
  const all = [...new Set([...interrupted, ...hitItems])];
  return { trace: { ...trace, steps: {}, going: {}, interrupted: all, [kind]: counted, stalls }, lines };
};

/** Why an item (or with '' the job itself) is given up; null while it is not. */
export const poisonOf = ({ kills, losses }: Trace, key: string): PoisonJobError | null =>
  tooOften(kills, key, poisonKills, 'the worker was killed') ??
  tooOften(losses, key, poisonLosses, 'the lock of the job was lost');

const tooOften = (counted: Trace['kills'], key: string, limit: number, what: string): PoisonJobError | null => {
  for (const [name, count] of Object.entries(counted)) {
    const at = name.lastIndexOf(' ');
    if (count < limit || name.slice(0, at) !== key) continue;
    return new PoisonJobError(`${what} ${count} times in step ${name.slice(at + 1)}`, {
      hint: 'check its log, fix its file or the machine, then `sluice retry`',
    });
  }
  return null;
};

/** True for a job that was hit so often that it continues alone only, so that bystanders are not hit with it again. */
export const isSuspect = ({ kills }: Trace): boolean =>
  Object.values(kills).reduce((sum, each) => sum + each, 0) >= suspectKills;

export interface RetrySettings {
  /** Delay before the second attempt, milliseconds; doubled for each further one. */
  backoffMs: number;
  maxBackoffMs: number;
}

/**
 * Milliseconds to wait before the next attempt: exponential with full jitter over the upper half, never less than what
 * the portal, or the server of a source, requested by `Retry-After`. What a portal requests counts up to the longest
 * delay: beyond that the portal is paused, where everybody can see it.
 */
export const backoffMs = (
  attemptsMade: number,
  error: unknown,
  settings: RetrySettings,
  random: () => number = Math.random,
): number => {
  const ceiling = Math.min(settings.maxBackoffMs, settings.backoffMs * 2 ** Math.max(0, attemptsMade - 1));
  return Math.max(Math.round(ceiling * (0.5 + random() / 2)), askedMs(error, settings));
};

const askedMs = (error: unknown, { maxBackoffMs }: RetrySettings): number => {
  if (error instanceof PortalError) return Math.min(error.request.retryAfterMs ?? 0, maxBackoffMs);
  const source = error instanceof CatalogueFaultError ? error.cause : error;
  return source instanceof SourceUnreachableError ? (source.retryAfterMs ?? 0) : 0;
};
