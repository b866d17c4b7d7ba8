// The inbox at this moment: settling files, and ignored ones with the reason.
import type { BigIntStats, Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '../../model/log.ts';
import { gone, isErrno, unless } from '../../util/durable.ts';
import type { DropTarget, Placed } from './drop-target.ts';
import { type Settling, snapshotOf } from './settling.ts';

/** What is at a path of the inbox. `left` is something that is never taken, with the reason. */
type Sight = { kind: 'file'; stats: BigIntStats } | { kind: 'folder' | 'absent' } | { kind: 'left'; reason: string };

export const linkReason = 'is a symbolic link: put the file itself here';

const sightOf = (stats: BigIntStats): Sight => {
  if (stats.isFile()) return { kind: 'file', stats };
  if (stats.isDirectory()) return { kind: 'folder' };
  return {
    kind: 'left',
    reason: stats.isSymbolicLink() ? linkReason : 'is not a regular file (a pipe, socket or device)',
  };
};

/** Looks at `path` (relative to `inbox`, with `/`) and at every folder above it up to the inbox. */
export const lookAt = async (inbox: string, path: string): Promise<Sight> => {
  for (let above = dirname(path); above !== '.'; above = dirname(above)) {
    const stats = await unless(lstat(join(inbox, above)), gone, null);
    if (stats === null) return { kind: 'absent' };
    if (!stats.isDirectory()) return { kind: 'left', reason: 'leads out of the inbox by a symbolic link' };
  }
  const stats = await unless(lstat(join(inbox, path), { bigint: true }), gone, null);
  return stats === null ? { kind: 'absent' } : sightOf(stats);
};

/** True when a marker with that ending is beside the file at `path`. */
export const isMarked = async (inbox: string, path: string, ending: string): Promise<boolean> =>
  (await lookAt(inbox, path + ending)).kind === 'file';

/** One thing found by {@link walkInbox}; `path` is relative to the inbox, with `/`. */
interface Found {
  path: string;
  /** Set when it is left whatever its name says: a link, or a folder that cannot be read. */
  reason: string | null;
}

/**
 * Walks all folders of the inbox and yields everything but folders. Dot folders (our own among them) are not entered,
 * symbolic links are reported and not followed, a folder that cannot be read is reported.
 */
async function* walkInbox(inbox: string, folder = ''): AsyncGenerator<Found> {
  let entries: Awaited<ReturnType<typeof entriesOf>>;
  try {
    entries = await entriesOf(join(inbox, folder));
  } catch (error) {
    if (isErrno(error, ...gone) && folder !== '') return;
    if (folder === '' || !isErrno(error, 'EACCES', 'EPERM')) throw error;
    yield { path: folder, reason: 'cannot be read: permission denied' };
    return;
  }
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory() && entry.name.startsWith('.')) continue;
    if (entry.isDirectory()) yield* walkInbox(inbox, path);
    else yield { path, reason: reasonOfEntry(entry) };
  }
}

/** A name that is not valid UTF-8 reaches us with U+FFFD in it, and no file can be opened by that. */
const reasonOfEntry = (entry: Dirent): string | null => {
  if (entry.name.includes('\uFFFD')) return 'has a name that is not valid UTF-8: rename it';
  return entry.isSymbolicLink() ? linkReason : null;
};

const entriesOf = (folder: string) => readdir(folder, { withFileTypes: true });

interface InboxViewOptions {
  /** Real path of the inbox. */
  inbox: string;
  placed: (path: string) => Placed;
  /** Ending of marker files; `required`: no file is taken without one. */
  marker: { ending: string; required: boolean };
  settling: Settling;
  log: Log;
}

/** Looks at paths and keeps what it saw: files in `settling` (under their path), the rest in its list of what is left. */
export class InboxView {
  readonly #options: InboxViewOptions;
  #left = new Map<string, string>();

  constructor(options: InboxViewOptions) {
    this.#options = options;
  }

  /** What is left alone, with the reason, by path. */
  get left(): ReadonlyMap<string, string> {
    return this.#left;
  }

  /** Leaves a path alone until it is checked again. */
  leave(path: string, reason: string): void {
    const { settling, log } = this.#options;
    settling.forget(path);
    if (this.#left.get(path) !== reason) log.warn({ path, reason }, 'ignored a file');
    this.#left.set(path, reason);
  }

  #forget(path: string): void {
    this.#options.settling.forget(path);
    this.#left.delete(path);
  }

  /** Looks at one path; `seenAt` is the time of the look, Unix ms. */
  async look(path: string, seenAt: number): Promise<void> {
    const placed = this.#options.placed(path);
    if (placed.kind === 'ignored') return this.#forget(path);
    const sight = await lookAt(this.#options.inbox, path);
    if (placed.kind === 'marker') return await this.#lookAtMarker(path, placed.of, sight, seenAt);
    if (sight.kind === 'left') return this.leave(path, sight.reason);
    if (sight.kind !== 'file' || placed.kind === 'sidecar') return this.#forget(path);
    if (placed.kind === 'left') return this.leave(path, placed.reason);
    await this.#see(path, placed.place, sight.stats, seenAt);
  }

  async #lookAtMarker(path: string, of: string, sight: Sight, seenAt: number): Promise<void> {
    await this.look(of, seenAt);
    const alone = !this.#options.settling.has(of) && !this.#left.has(of);
    if (sight.kind === 'left') this.leave(path, sight.reason);
    else if (sight.kind === 'file' && alone) this.leave(path, `is a marker without its file ${of}`);
    else this.#forget(path);
  }

  async #see(path: string, place: DropTarget, stats: BigIntStats, since: number): Promise<void> {
    const { inbox, marker, settling } = this.#options;
    const state = (await isMarked(inbox, path, marker.ending)) ? 'now' : marker.required ? 'never' : 'none';
    settling.see(path, { path, place, still: snapshotOf(stats), since, marker: state, folder: null });
    this.#left.delete(path);
  }

  /** Looks at everything; what is no longer there is forgotten. Throws when the inbox itself cannot be read. */
  async scan(clock: () => number): Promise<void> {
    const seen = new Set<string>();
    for await (const { path, reason } of walkInbox(this.#options.inbox)) {
      seen.add(path);
      if (reason === null || this.#options.placed(path).kind === 'ignored') await this.look(path, clock());
      else this.leave(path, reason);
    }
    for (const path of this.#left.keys()) if (!seen.has(path)) this.#left.delete(path);
    for (const [id, { folder }] of this.#options.settling.entries()) {
      if (folder === null && !seen.has(id)) this.#options.settling.forget(id);
    }
  }
}
