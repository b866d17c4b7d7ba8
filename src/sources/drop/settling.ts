// Which files are settling, and which have stood still long enough. No clock of its own: times are passed in.
import type { BigIntStats } from 'node:fs';
import type { DropTarget } from './drop-target.ts';

/** What must not move while a file settles. */
export interface Still {
  bytes: number;
  mtimeNs: string;
  ino: string;
}

/** Takes what must not move from bigint stats. */
export const stillOf = (stats: BigIntStats): Still => ({
  bytes: Number(stats.size),
  mtimeNs: String(stats.mtimeNs),
  ino: String(stats.ino),
});

/** True when neither size, mtime nor inode moved. */
export const sameStill = (a: Still, b: Still): boolean =>
  a.bytes === b.bytes && a.mtimeNs === b.mtimeNs && a.ino === b.ino;

/** A file that is settling. */
export interface Settler {
  /** Relative to the inbox, with `/`; where it was dropped, also when it settles in the spool. */
  path: string;
  place: DropTarget;
  still: Still;
  /** When it was last seen to move, Unix ms. */
  since: number;
  /** `now`: a marker says that it is whole. `never`: a marker is asked for and none is there. */
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

  /** Notes how a file looks at `since`; the time it has stood still starts anew when it moved. */
  see(id: string, seen: Settler): void {
    const known = this.#settlers.get(id);
    const still = known !== undefined && sameStill(known.still, seen.still);
    this.#settlers.set(id, { ...seen, since: still ? known.since : seen.since });
  }

  /** Lets a file settle anew from `since`, although it did not move. */
  restart(id: string, since: number): void {
    const known = this.#settlers.get(id);
    if (known !== undefined) this.#settlers.set(id, { ...known, since });
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

  /** The files that may be taken at `now`. */
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
