// Turns settled files into claims: takes them out of the inbox by rename, then hashes and records them.
import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { SourceChangedError, SourceMissingError } from '../../model/errors.ts';
import type { SourceFingerprint } from '../../model/ledger-entry.ts';
import type { Log } from '../../model/log.ts';
import { mapInBatches } from '../../util/concurrency.ts';
import { gone, unless } from '../../util/durable.ts';
import { type CollisionFinder, collisionFinder, type Placed, placeOf } from './drop-target.ts';
import { factsOf, fingerprintFile, sameFacts } from './fingerprint.ts';
import { type InboxView, isMarked, lookAt } from './inbox-view.ts';
import { type Settler, type Settling, sameSnapshot, snapshotOf } from './settling.ts';
import { type Claim, claimId, claimPaths, type InboxFolders, parseClaimId, writeRecord } from './spool.ts';
import { beat, beatMs, type Taken, takeFile } from './take.ts';

interface ClaimerOptions {
  folders: InboxFolders;
  token: string;
  placed: (path: string) => Placed;
  /** Folders that hold datasets, too. */
  listed: string[];
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
  /** Claims in progress: taken or about to be, and not recorded yet. */
  readonly #busy = new Set<string>();
  readonly #beats: NodeJS.Timeout;
  #lastClaim = 0;

  constructor(options: ClaimerOptions) {
    this.#options = options;
    const show = () => mapInBatches([...this.#busy], atOnce, (id) => beat(join(options.folders.spool, id)));
    this.#beats = setInterval(() => show().catch(() => undefined), beatMs).unref();
  }

  close(): void {
    clearInterval(this.#beats);
  }

  /** True for a claim in progress, which must not be taken over. */
  busy(id: string): boolean {
    return this.#busy.has(id);
  }

  /** Moves every file that has settled in the inbox into the spool. */
  async takeDue(clock: () => number, signal: AbortSignal): Promise<void> {
    const { folders, placed, settling } = this.#options;
    const due = settling.due(clock()).filter(([, { folder }]) => folder === null);
    if (due.length === 0) return;
    const collides = collisionFinder(folders.inbox, placed, this.#options.listed);
    for (const [path, settler] of due) {
      if (signal.aborted) return;
      if (await this.#mayTake(path, settler, collides, clock())) await this.#take(path, settler, clock());
    }
  }

  async #mayTake(path: string, settler: Settler, collides: CollisionFinder, at: number): Promise<boolean> {
    const { folders, view } = this.#options;
    const sight = await lookAt(folders.inbox, path);
    if (sight.kind !== 'file' || !sameSnapshot(snapshotOf(sight.stats), settler.still)) {
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
      // A marker that appeared since the file was checked is taken along: left alone it would vouch for a later file.
      const comesAlong = settler.marker === 'now' || (await isMarked(folders.inbox, path, marker));
      const moved = comesAlong ? path + marker : null;
      taken = await takeFile({ inbox: folders.inbox, dropped: path, settled: settler.still, folder, marker: moved });
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
    const stats = await unless(looked, gone, null);
    settling.forget(id);
    this.#busy.delete(id);
    if (stats === null || placed.kind !== 'file') return;
    this.#busy.add(id);
    const { place } = placed;
    settling.see(id, { path: dropped, place, still: snapshotOf(stats), since: at, marker: 'none', folder });
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

/** A file that a claim was made for and that has no record yet. */
export interface Unrecorded {
  settler: Settler;
  folder: string;
}

/** A writer that pauses between two writes is given this long (ms) to show itself after the hash. */
const secondLookMs = 250;

const hashOne = async ({ settler, folder }: Unrecorded, signal: AbortSignal): Promise<SourceFingerprint | null> => {
  const { file } = claimPaths(folder, settler.path);
  const stats = await unless(lstat(file, { bigint: true }), gone, null);
  if (stats === null || !sameSnapshot(snapshotOf(stats), settler.still)) return null;
  try {
    return await fingerprintFile(file, null, signal);
  } catch (error) {
    if (error instanceof SourceChangedError || error instanceof SourceMissingError) return null;
    throw error;
  }
};

const standsStill = async ({ path, fingerprint }: Claim): Promise<boolean> => {
  const stats = await unless(lstat(path, { bigint: true }), gone, null);
  return stats !== null && sameFacts(factsOf(stats), fingerprint);
};

const claimOf = ({ settler, folder }: Unrecorded, fingerprint: SourceFingerprint): Claim => {
  const id = basename(folder);
  return {
    id,
    dataset: settler.place.dataset,
    resource: settler.place.resource,
    name: basename(settler.path),
    path: claimPaths(folder, settler.path).file,
    dropped: settler.path,
    bytes: fingerprint.bytes,
    sha256: fingerprint.sha256,
    claimedAt: parseClaimId(id)?.claimedAt ?? 0,
    fingerprint,
  };
};

/**
 * Hashes all files, looks at all of them again a moment later, and writes the records of those that stood still from
 * settling to then.
 */
export const completeClaims = async (
  files: Unrecorded[],
  signal: AbortSignal,
): Promise<{ claims: Claim[]; moving: Unrecorded[] }> => {
  const hashes = await mapInBatches(files, atOnce, (file) => hashOne(file, signal));
  const hashed = files.flatMap((file, at) => (hashes[at] ? [{ file, claim: claimOf(file, hashes[at]) }] : []));
  if (hashed.length > 0) await wait(secondLookMs, undefined, { signal });
  const recorded = await mapInBatches(hashed, atOnce, async ({ claim }) => {
    signal.throwIfAborted();
    return (await standsStill(claim)) && (await record(claim));
  });
  const claims = hashed.flatMap(({ claim }, at) => (recorded[at] ? [claim] : []));
  const done = new Set(claims.map((claim) => claim.id));
  return { claims, moving: files.filter(({ folder }) => !done.has(basename(folder))) };
};

const atOnce = 8;

/** False when another watcher took the folder over meanwhile. */
const record = async (claim: Claim): Promise<boolean> =>
  await unless(
    writeRecord(claim).then(() => true),
    gone,
    false,
  );
