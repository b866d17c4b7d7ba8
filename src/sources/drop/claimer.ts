// Turns settled files into claims: takes them out of the inbox by rename, then hashes and records them in the spool.
import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Log } from '../../model/log.ts';
import { type Claim, claimId, claimPaths, type InboxFolders } from './claim.ts';
import { completeClaims, heldForWriting } from './complete.ts';
import { type CollisionFinder, collisionFinder, type Placed, placeOf } from './drop-target.ts';
import { unless } from './durable.ts';
import { type InboxView, isMarked, lookAt } from './inbox-view.ts';
import { type Settler, type Settling, sameStill, stillOf } from './settling.ts';
import { type Taken, takeFile } from './take.ts';

/** What a claimer works on, and to whom it reports. */
export interface ClaimerOptions {
  folders: InboxFolders;
  /** Token of this watcher, part of the ids of its claims. */
  token: string;
  placed: (path: string) => Placed;
  /** Folders that hold datasets, too. */
  listed: string[];
  /** Ending of marker files. */
  marker: string;
  settling: Settling;
  view: InboxView;
  /** What is wrong with the sidecars of the file at this path; null when nothing is. */
  describedBadly: (path: string) => Promise<string | null>;
  /** `movedAt`: when the file was last seen to move, Unix ms. */
  onClaimed: (claim: Claim, movedAt: number) => void;
  /** The file at this path was gone when it was to be taken. */
  onLost: (path: string) => void;
  log: Log;
}

/** Makes claims of what is due in `settling`; files wait there under their path while in the inbox, under the claim's id in the spool. */
export class Claimer {
  readonly #options: ClaimerOptions;
  /** Claims under way: taken or about to be, and not recorded yet. */
  readonly #busy = new Set<string>();
  #lastClaim = 0;

  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  /** True for a claim under way, which must not be taken over. */
  busy(id: string): boolean {
    return this.#busy.has(id);
  }

  /** Moves every file that has settled in the inbox, and that no process here still holds open for writing, into the spool. */
  async takeDue(clock: () => number, signal: AbortSignal): Promise<void> {
    const { folders, placed, settling } = this.#options;
    const due = settling.due(clock()).filter(([, { folder }]) => folder === null);
    if (due.length === 0) return;
    const collides = collisionFinder(folders.inbox, { placed, listed: this.#options.listed });
    const pathOf = (path: string): string => join(folders.inbox, path);
    const unsure = due.filter(([, { marker }]) => marker !== 'now').map(([path]) => pathOf(path));
    const held = await heldForWriting(unsure);
    for (const [path, settler] of due) {
      if (signal.aborted) return;
      if (held.has(pathOf(path))) settling.restart(path, clock());
      else if (await this.#mayTake(path, settler, collides, clock())) await this.#take(path, settler, clock());
    }
  }

  async #mayTake(path: string, settler: Settler, collides: CollisionFinder, at: number): Promise<boolean> {
    const { folders, view } = this.#options;
    const sight = await lookAt(folders.inbox, path);
    if (sight.kind !== 'file' || !sameStill(stillOf(sight.stats), settler.still)) {
      await view.look(path, at);
      return false;
    }
    const other = await collides(path, settler.place);
    const reason =
      other === null
        ? await this.#options.describedBadly(path)
        : `gives the same id as ${other}: rename or remove one of them`;
    if (reason !== null) view.leave(path, reason);
    return reason === null;
  }

  async #take(path: string, settler: Settler, at: number): Promise<void> {
    const { folders, marker, onLost, settling, token, view } = this.#options;
    this.#lastClaim = Math.max(at, this.#lastClaim + 1);
    const id = claimId(this.#lastClaim, token);
    const folder = join(folders.spool, id);
    this.#busy.add(id);
    let taken: Taken | null = null;
    try {
      // One that came, or was put back, since the file was looked at goes along: alone it would speak for a later file.
      const comesAlong = settler.marker === 'now' || (await isMarked(folders.inbox, path, marker));
      const moved = comesAlong ? path + marker : null;
      taken = await takeFile({ inbox: folders.inbox, dropped: path, folder, marker: moved });
    } finally {
      if (taken?.outcome !== 'taken') this.#busy.delete(id); // whatever got into the spool is adopted by the next rescan
    }
    settling.forget(path);
    if (taken.outcome === 'taken') settling.see(id, { ...settler, folder });
    else if (taken.outcome === 'left') view.leave(path, taken.reason);
    else onLost(path);
  }

  /** Lets a file settle in the spool, as it would in the inbox. */
  async settleInSpool(folder: string, dropped: string, at: number): Promise<void> {
    const { settling } = this.#options;
    const id = basename(folder);
    const placed = placeOf(dropped, this.#options.listed);
    const looked = lstat(claimPaths(folder, dropped).file, { bigint: true });
    const stats = await unless(looked, ['ENOENT', 'ENOTDIR'], null);
    settling.forget(id);
    this.#busy.delete(id);
    if (stats === null || placed.kind !== 'file') return;
    this.#busy.add(id);
    const { place } = placed;
    settling.see(id, { path: dropped, place, still: stillOf(stats), since: at, marker: 'none', folder });
  }

  /** Records every file that has settled in the spool; what still moves there settles again. */
  async completeDue(clock: () => number, signal: AbortSignal): Promise<void> {
    const { log, onClaimed, settling } = this.#options;
    const due = settling.due(clock()).flatMap(([, settler]) => {
      return settler.folder === null ? [] : [{ settler, folder: settler.folder }];
    });
    if (due.length === 0) return;
    const { claims, moving } = await completeClaims(due, signal);
    const movedAt = new Map(due.map(({ settler, folder }) => [basename(folder), settler.since]));
    for (const claim of claims) {
      const { id, dropped, bytes, sha256 } = claim;
      settling.forget(id);
      this.#busy.delete(id);
      onClaimed(claim, movedAt.get(id) ?? clock());
      log.info({ path: dropped, claim: id, bytes, sha256 }, 'claimed a file');
    }
    for (const { settler, folder } of moving) await this.settleInSpool(folder, settler.path, clock());
  }
}
