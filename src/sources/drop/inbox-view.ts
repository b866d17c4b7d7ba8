// The inbox at this moment: settling files, and ignored ones with the reason.
import type { BigIntStats, Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { watch } from 'chokidar';
import type { Log } from '../../model/log.ts';
import { gone, unless } from '../../util/files.ts';
import { type DropTarget, faultyFolder, type Placed } from './drop-target.ts';

export const snapshotOf = (stats: BigIntStats) => ({
  bytes: Number(stats.size),
  mtimeNs: String(stats.mtimeNs),
  dev: String(stats.dev),
  ino: String(stats.ino),
});

/** A file that settles: in the inbox, or in the spool without a record yet. */
export interface Settler {
  /** Relative to the inbox, with `/`; where it was dropped, also when it settles in the spool. */
  path: string;
  place: DropTarget;
  still: ReturnType<typeof snapshotOf>;
  since: number;
  /** `now`: a marker says that it is whole. `never`: a marker is requested and none is there. */
  marker: 'now' | 'none' | 'never';
  folder: string | null;
}

/** What is at a path of the inbox. `left` is something that is never taken, with the reason. */
type Sight = { kind: 'file'; stats: BigIntStats } | { kind: 'folder' | 'absent' } | { kind: 'left'; reason: string };

export const linkReason = 'is a symbolic link: put the file itself here';

/** Looks at `path` (relative to `inbox`, with `/`) and at every folder above it up to the inbox. */
export const lookAt = async (inbox: string, path: string): Promise<Sight> => {
  for (let above = dirname(path); above !== '.'; above = dirname(above)) {
    const stats = await unless(lstat(join(inbox, above)), gone, null);
    if (stats === null || stats.isFile()) return { kind: 'absent' };
    if (!stats.isDirectory())
      return { kind: 'left', reason: 'leads out of the inbox by a symbolic link: put the files themselves here' };
  }
  const stats = await unless(lstat(join(inbox, path), { bigint: true }), gone, null);
  if (stats === null) return { kind: 'absent' };
  if (stats.isFile()) return { kind: 'file', stats };
  if (stats.isDirectory()) return { kind: 'folder' };
  const other = 'is not a regular file (a pipe, socket or device): put a file here';
  return { kind: 'left', reason: stats.isSymbolicLink() ? linkReason : other };
};

export const isMarked = async (inbox: string, path: string, ending: string): Promise<boolean> =>
  (await lookAt(inbox, path + ending)).kind === 'file';

/** All but folders, with the reason for links and unreadable folders. Our own and other dot folders are not entered. */
async function* walkInbox(inbox: string, folder = ''): AsyncGenerator<{ path: string; reason: string | null }> {
  const reading = readdir(join(inbox, folder), { withFileTypes: true });
  const entries = folder === '' ? await reading : await unless(unless(reading, gone, []), ['EACCES', 'EPERM'], null);
  if (entries === null)
    yield {
      path: folder,
      reason: 'cannot be read: permission denied; let the user that runs sluice read and write it',
    };
  for (const entry of entries ?? []) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory() && (entry.name.startsWith('.') || path === faultyFolder)) continue;
    if (entry.isDirectory()) yield* walkInbox(inbox, path);
    else yield { path, reason: reasonOfEntry(entry) };
  }
}

/** A name that is not valid UTF-8 reaches us with U+FFFD in it, and no file can be opened by that. */
const reasonOfEntry = (entry: Dirent): string | null => {
  if (entry.name.includes('\uFFFD')) return 'has a name that is not valid UTF-8: rename it';
  return entry.isSymbolicLink() ? linkReason : null;
};

interface InboxViewOptions {
  inbox: string;
  placed: (path: string) => Placed;
  /** Ending of marker files; `isRequired`: no file is taken without one. */
  marker: { ending: string; isRequired: boolean };
  settleMs: number;
  log: Log;
}

export const inboxView = ({ inbox, placed: placedBy, marker, settleMs, log }: InboxViewOptions) => {
  /** Files that settle, by their path in the inbox, or the id of their claim. */
  const settlers = new Map<string, Settler>();
  const left = new Map<string, string>();

  const leave = (path: string, reason: string): void => {
    settlers.delete(path);
    if (left.get(path) !== reason) log.warn({ path, reason }, 'ignored a file');
    left.set(path, reason);
  };

  const forget = (path: string): void => {
    settlers.delete(path);
    left.delete(path);
  };

  /** Looks at one path; `seenAt` is the time of the look, Unix ms. */
  const look = async (path: string, seenAt: number): Promise<void> => {
    const placed = placedBy(path);
    if (placed.kind === 'ignored') return forget(path);
    const sight = await lookAt(inbox, path);
    if (placed.kind === 'marker') return await lookAtMarker(path, placed.of, sight, seenAt);
    if (sight.kind === 'left') return leave(path, sight.reason);
    if (sight.kind !== 'file' || placed.kind === 'sidecar') return forget(path);
    if (placed.kind === 'left') return leave(path, placed.reason);
    const state = (await isMarked(inbox, path, marker.ending)) ? 'now' : marker.isRequired ? 'never' : 'none';
    const still = snapshotOf(sight.stats);
    const known = settlers.get(path);
    // The time that it has stood still starts again when it moved.
    const since = known !== undefined && isDeepStrictEqual(known.still, still) ? known.since : seenAt;
    settlers.set(path, { path, place: placed.place, still, since, marker: state, folder: null });
    left.delete(path);
  };

  const lookAtMarker = async (path: string, of: string, sight: Sight, seenAt: number): Promise<void> => {
    await look(of, seenAt);
    const isAlone = !settlers.has(of) && !left.has(of);
    if (sight.kind === 'left') leave(path, sight.reason);
    else if (sight.kind === 'file' && isAlone)
      leave(path, `is a marker without its file ${of}: put that beside it, or delete the marker`);
    else forget(path);
  };

  /** Looks at everything; what is no longer there is forgotten. Throws when the inbox itself cannot be read. */
  const scan = async (clock: () => number): Promise<void> => {
    const seen = new Set<string>();
    for await (const { path, reason } of walkInbox(inbox)) {
      seen.add(path);
      if (reason === null || placedBy(path).kind === 'ignored') await look(path, clock());
      else leave(path, reason);
    }
    for (const path of left.keys()) if (!seen.has(path)) left.delete(path);
    for (const [path, { folder }] of settlers) if (folder === null && !seen.has(path)) settlers.delete(path);
  };

  const due = (now: number): Settler[] => [...settlers.values()].filter((settler) => dueAt(settler) <= now);

  /** When the next file may be taken (Unix ms), infinite when none will. */
  const nextDue = (): number => {
    const all = settlers.values(); // too many for arguments
    return all.reduce((next, settler) => Math.min(next, dueAt(settler)), Number.POSITIVE_INFINITY);
  };

  /** True while a file settles that may still join a batch whose first file was last seen to move at `first`. */
  const mayJoin = (first: number): boolean =>
    settlers.values().some(({ marker: state, since }) => state !== 'never' && since <= first + settleMs);

  const dueAt = ({ marker: state, since }: Settler): number => {
    if (state === 'never') return Number.POSITIVE_INFINITY;
    return state === 'now' ? since : since + settleMs;
  };

  return { settlers, left, leave, look, scan, due, nextDue, mayJoin };
};

interface WatchOptions {
  poll: boolean;
  depth: number;
  onChange: (path: string, isGone: boolean) => void;
  onError: (error: unknown) => void;
}

const pollingMs = 1000;

/** Watches `depth` levels without links and dot names; `poll` looks by time. Resolves once changes are seen. */
export const watchFolder = async (folder: string, { poll, depth, onChange, onError }: WatchOptions) => {
  const inside = (path: string): string => relative(folder, path).split(sep).join('/');
  const watcher = watch(folder, {
    ignored: (path) => /(?:^|\/)\.(?!\.(?:\/|$)).|^_faulty(?:\/|$)/.test(inside(path)),
    ignoreInitial: true,
    followSymlinks: false,
    depth,
    atomic: false,
    ...(poll ? { backend: 'polling', pollingInterval: pollingMs, pollingBinaryInterval: pollingMs } : {}),
  });
  watcher.on('all', (event, path) => {
    if (event !== 'addDir') onChange(inside(path), event.startsWith('unlink'));
  });
  watcher.on('error', onError);
  await new Promise<void>((resolve) => watcher.once('ready', resolve));
  return watcher;
};
