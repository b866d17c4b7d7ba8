// Converts a source to canonical CSV by its recipe, off the event loop.
import { randomUUID } from 'node:crypto';
import { rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorMessage, TableInputError, TableStepError } from '../../model/errors.ts';
import type { TableRecipe } from '../../model/recipe/recipe.ts';
import { Semaphore } from '../../util/concurrency.ts';
import { isErrno, makeFolder, sweepAttempts, unless } from '../../util/files.ts';
import { OverlongError, SilentError, WorkerPool } from '../../util/worker-pool.ts';
import { type Answer, answered } from '../thread-answer.ts';
import type { Made, MadeTable, PrepareTask } from './prepare-worker.ts';
import type { Limits } from './row.ts';
import { moduleAt } from './step/plugin.ts';

const pool = new WorkerPool<PrepareTask, Answer<Made>>({
  file: 'prepare-worker',
  of: import.meta.url,
  name: 'prepareFile',
  threads: 3,
});

/** Places of a manifest: fewer than there are threads, so that its files cannot make those of others wait. */
const placesEach = 2;
const places = new Map<string, Semaphore>();

export interface PrepareOptions extends Limits, Pick<PrepareTask, 'path' | 'name' | 'recipe'> {
  folder: string;
  label: string;
  /** Where rejected rows are written; null: nowhere. An older file there is replaced, or removed when no row is bad. */
  rejects: string | null;
  manifest: string;
  signal?: AbortSignal | undefined;
  /** Longest time that a `transform` module may neither read nor yield a row, milliseconds; 10 minutes by default. */
  silenceMs?: number;
  /** Longest time for a table without such a module, milliseconds; by default far more than a table of its size takes. */
  mostMs?: number;
}

/** A table at `path`, which the caller removes. */
export interface PreparedTable extends MadeTable {
  path: string;
  rejects: string | null;
}

/** The result: a table, or a file that is none and may be published as it is. */
export type Prepared = PreparedTable | Extract<Made, { kind: 'as-is' }>;

/**
 * Makes a table in a worker thread, with flat memory. Equal sources and recipes give equal bytes. A failure leaves
 * nothing behind but the rejected rows of a TableRowsError.
 */
export const prepareTable = async (options: PrepareOptions): Promise<Prepared> => {
  const { path, name, recipe, folder, label, rejects, tableBytes, rowBytes, signal } = options;
  if (recipe.fault !== null) throw new TableStepError(recipe.fault, { hint: 'fix the manifest or the file it names' });
  await makeFolder(folder, 0o700);
  const attempt = `${label}.${randomUUID()}`;
  const into = join(folder, `${attempt}.csv`);
  const rejected = `${into}.rejects`;
  const task = { path, name, recipe, into, rejects: rejected, limits: { tableBytes, rowBytes } };
  let answer: Answer<Made>;
  try {
    answer = await inPlace(task, options);
  } catch (error) {
    await sweepAttempts(folder, attempt);
    throw signal?.aborted ? error : endOfThread(error, options);
  }
  const kept = await keepRejects(rejected, rejects);
  if ('error' in answer && kept !== null) answer.error.hint += `; the bad rows are in ${kept}`;
  if ('error' in answer || answer.value.kind !== 'table') await sweepAttempts(folder, attempt);
  const made = answered(answer);
  return made.kind === 'table' ? { ...made, path: into, rejects: kept } : made;
};

/** The time of a module is its own affair, as long as it moves on. */
const inPlace = async (
  task: PrepareTask,
  { path, recipe, manifest, signal, silenceMs = 600_000, mostMs }: PrepareOptions,
): Promise<Answer<Made>> => {
  const { size: bytes } = await stat(path).catch(() => ({ size: 0 })); // the thread reports why
  const limits = moduleOf(recipe) === undefined ? { mostMs: mostMs ?? 120_000 + bytes / 500 } : { silenceMs };
  const place = places.get(manifest) ?? new Semaphore(placesEach);
  places.set(manifest, place);
  await place.acquire(signal ?? new AbortController().signal);
  try {
    return await pool.run(task, signal, limits);
  } finally {
    place.release();
  }
};

export const removePreparedFile = (path: string): Promise<void> => rm(path, { force: true });

const moduleOf = ({ steps }: TableRecipe): string | undefined =>
  steps.find(({ transform }) => transform !== undefined)?.transform;

/** The thread itself died: through a `transform` module, or out of memory. */
const endOfThread = (error: unknown, { name, recipe }: PrepareOptions): unknown => {
  const message = errorMessage(error);
  const module = moduleOf(recipe);
  if (module !== undefined) {
    const [what, hint] =
      error instanceof SilentError
        ? ['does not finish', 'look for an endless loop, or a promise that never resolves']
        : [
            'ended its thread',
            'await all that the module begins, catch what it throws, keep only a few rows in memory, and never call process.exit',
          ];
    return new TableStepError(`transform ${moduleAt(module, error)} ${what}: ${message}`, { hint, cause: error });
  }
  if (error instanceof OverlongError) {
    return new TableInputError(`${name} takes too long to become a table: ${message}`, {
      hint: 'publish it as CSV, or split it',
      cause: error,
    });
  }
  if (!isErrno(error, 'ERR_WORKER_OUT_OF_MEMORY')) return error;
  return new TableInputError(`${name} exceeds the memory limit of a table`, {
    hint: 'publish it as CSV, which is read row by row',
    cause: error,
  });
};

const keepRejects = async (from: string, to: string | null): Promise<string | null> => {
  if (to !== null) {
    await makeFolder(dirname(to), 0o700);
    const isKept = await unless(
      rename(from, to).then(() => true),
      ['ENOENT'],
      false,
    );
    if (isKept) return to;
  }
  await rm(to ?? from, { force: true });
  return null;
};
