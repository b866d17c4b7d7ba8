// The imports in progress: at most one per resource, each in a worker thread.
import { reasonOf } from '../../model/errors.ts';
import { WorkerPool } from '../../tables/worker-pool.ts';
import type { ImportAnswer, ImportTask } from './import-worker.ts';

/** An import in progress. */
export interface RunningImport {
  /** True once another import or a removal took its place: its answer must not be used. */
  superseded: boolean;
  /** Resolves when the import has ended and what it came to is stored; never rejects. */
  done: Promise<void>;
  cancel: () => void;
}

const pool = new WorkerPool<ImportTask, ImportAnswer>({
  file: 'import-worker',
  of: import.meta.url,
  name: 'importFile',
  threads: 2,
});

/** Runs imports by resource. */
export class Imports {
  readonly #running = new Map<string, RunningImport>();

  /** The import of this resource in progress. */
  of(nid: string): RunningImport | null {
    return this.#running.get(nid) ?? null;
  }

  /**
   * Starts an import; one of the same resource in progress is superseded. `settle` is called with the answer
   * and must not throw; `done` waits for it.
   */
  start(nid: string, task: ImportTask, settle: (answer: ImportAnswer) => Promise<void>): RunningImport {
    this.supersede(nid);
    const { answer, cancel } = pool.start(task);
    const running: RunningImport = { superseded: false, done: Promise.resolve(), cancel };
    running.done = answer
      .catch((error: unknown): ImportAnswer => {
        return running.superseded ? { kind: 'cancelled' } : { kind: 'failed', reason: reasonOf(error) };
      })
      .then(settle)
      .finally(() => {
        if (this.#running.get(nid) === running) this.#running.delete(nid);
      });
    this.#running.set(nid, running);
    return running;
  }

  /** Cancels the import of this resource in progress, if there is one. */
  supersede(nid: string): void {
    const running = this.#running.get(nid);
    if (running === undefined) return;
    running.superseded = true;
    running.cancel();
    this.#running.delete(nid);
  }

  /** Cancels what is in progress, which is still pending and resumed by the next sweep, and waits for its end. Idempotent. */
  async close(): Promise<void> {
    const ending = [...this.#running.values()].map(({ done }) => done);
    for (const nid of [...this.#running.keys()]) this.supersede(nid);
    await Promise.all(ending);
  }
}
