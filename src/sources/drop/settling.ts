// Watches a folder: events say where to look, unchanged files count as settled, claims are announced in batches.
import type { BigIntStats } from 'node:fs';
import { relative, sep } from 'node:path';
import { watch } from 'chokidar';
import type { Log } from '../../model/log.ts';
import type { DropTarget } from './drop-target.ts';
import type { Claim } from './spool.ts';

/** What must not move while a file settles. */
interface Snapshot {
  bytes: number;
  mtimeNs: string;
  dev: string;
  ino: string;
}

export const snapshotOf = (stats: BigIntStats): Snapshot => ({
  bytes: Number(stats.size),
  mtimeNs: String(stats.mtimeNs),
  dev: String(stats.dev),
  ino: String(stats.ino),
});

/** True when neither size, mtime nor the file itself is another one. */
export const sameSnapshot = (a: Snapshot, b: Snapshot): boolean =>
  a.bytes === b.bytes && a.mtimeNs === b.mtimeNs && a.dev === b.dev && a.ino === b.ino;

export interface Settler {
  /** Relative to the inbox, with `/`; where it was dropped, also when it settles in the spool. */
  path: string;
  place: DropTarget;
  still: Snapshot;
  /** When it was last seen to move, Unix ms. */
  since: number;
  /** `now`: a marker says that it is whole. `never`: a marker is requested and none is there. */
  marker: 'now' | 'none' | 'never';
  /** Its claim's folder when it is in the spool already, without a record. */
  folder: string | null;
}

/** The files that settle, by an id of the caller's (the path in the inbox, the folder in the spool). */
export class Settling {
  readonly #settlers = new Map<string, Settler>();
  readonly #settleMs: number;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** Notes how a file looks at `since`; the time it has stood still starts again when it moved. */
  see(id: string, seen: Settler): void {
    const known = this.#settlers.get(id);
    const still = known !== undefined && sameSnapshot(known.still, seen.still);
    this.#settlers.set(id, { ...seen, since: still ? known.since : seen.since });
  }

  forget(id: string): void {
    this.#settlers.delete(id);
  }

  has(id: string): boolean {
    return this.#settlers.has(id);
  }

  entries(): [string, Settler][] {
    return [...this.#settlers];
  }

  /** When a file may be taken, Unix ms; infinite when it waits for its marker. */
  dueAt({ marker, since }: Settler): number {
    if (marker === 'never') return Number.POSITIVE_INFINITY;
    return marker === 'now' ? since : since + this.#settleMs;
  }

  due(now: number): [string, Settler][] {
    return this.entries().filter(([, settler]) => this.dueAt(settler) <= now);
  }

  /** When the next file may be taken, infinite when none will. */
  nextDue(): number {
    return this.entries().reduce((next, [, settler]) => Math.min(next, this.dueAt(settler)), Number.POSITIVE_INFINITY);
  }

  /** True while a file settles that may still join a batch whose first file was last seen to move at `first`. */
  mayJoin(first: number): boolean {
    return this.entries().some(([, settler]) => settler.marker !== 'never' && settler.since <= first + this.#settleMs);
  }
}

interface WatchListener {
  onPath: (path: string) => void;
  /** Something left the folder, so a name that collided with another may be free. */
  onRemoved: () => void;
  onError: (error: unknown) => void;
}

const pollingMs = 1000;

/**
 * Starts watching `folder`, `depth` levels deep; links are not followed, dot files and dot folders not reported. `poll` looks by
 * time instead of events (network drives). Resolves once changes are seen; what was there before is not reported.
 */
export const watchFolder = async (
  folder: string,
  { poll, depth, onPath, onRemoved, onError }: WatchListener & { poll: boolean; depth: number },
): Promise<{ close(): Promise<void> }> => {
  const inside = (path: string): string => relative(folder, path).split(sep).join('/');
  const watcher = watch(folder, {
    ignored: (path) =>
      inside(path)
        .split('/')
        .some((name) => name.startsWith('.') && name !== '..'),
    ignoreInitial: true,
    followSymlinks: false,
    depth,
    atomic: false,
    ...(poll ? { backend: 'polling', pollingInterval: pollingMs, pollingBinaryInterval: pollingMs } : {}),
  });
  watcher.on('all', (event, path) => {
    if (event === 'addDir') return;
    if (event === 'unlink' || event === 'unlinkDir') onRemoved();
    if (event !== 'unlinkDir') onPath(inside(path));
  });
  watcher.on('error', onError);
  await new Promise<void>((resolve) => watcher.once('ready', resolve));
  return { close: () => watcher.close() };
};

/** Collects claims and hands them over once their batch is whole; what failed is handed over again by the next retry. */
export class Announcer {
  readonly #report: (claims: Claim[]) => Promise<void>;
  readonly #log: Log;
  readonly #announced = new Set<string>();
  #pending = new Map<string, Claim>();
  #first = Number.POSITIVE_INFINITY;
  #reporting: Promise<void> | null = null;

  constructor(report: (claims: Claim[]) => Promise<void>, log: Log) {
    this.#report = report;
    this.#log = log;
  }

  /** When the first file of the present batch was last seen to move (Unix ms); null while there is none. */
  get first(): number | null {
    return this.#pending.size === 0 ? null : this.#first;
  }

  /** Adds a claim to the present batch unless it was announced before. */
  add(claim: Claim, movedAt: number): void {
    if (this.#announced.has(claim.id) || this.#pending.has(claim.id)) return;
    this.#first = this.#pending.size === 0 ? movedAt : Math.min(this.#first, movedAt);
    this.#pending.set(claim.id, claim);
  }

  /** Takes up what is in the spool and was not announced, and forgets claims that are no longer there. */
  retry(spooled: Claim[], now: number): void {
    const present = new Set(spooled.map((claim) => claim.id));
    for (const id of this.#announced) if (!present.has(id)) this.#announced.delete(id);
    for (const claim of spooled) this.add(claim, now);
  }

  /** Closes the present batch and announces it; one call at a time, `done` runs after it. */
  flush(done: () => void): void {
    if (this.#pending.size === 0 || this.#reporting !== null) return;
    const batch = [...this.#pending.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#pending = new Map();
    this.#reporting = this.#reportOf(batch).finally(() => {
      this.#reporting = null;
      done();
    });
  }

  async #reportOf(batch: Claim[]): Promise<void> {
    for (const claim of batch) this.#announced.add(claim.id);
    try {
      await this.#report(batch);
    } catch (error) {
      for (const claim of batch) this.#announced.delete(claim.id);
      this.#log.warn({ err: error, claims: batch.length }, 'could not hand over claims; the next rescan retries');
    }
  }

  async idle(): Promise<void> {
    await this.#reporting;
  }
}
