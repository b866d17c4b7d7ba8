// Looks at one path of the inbox, or at all of them, without ever following a symbolic link.
import type { BigIntStats, Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isErrno, unless } from './durable.ts';

/** What stands at a path of the inbox. `left` is something that is never taken, with the reason. */
export type Sight =
  | { kind: 'file'; stats: BigIntStats }
  | { kind: 'folder' | 'absent' }
  | { kind: 'left'; reason: string };

const gone = ['ENOENT', 'ENOTDIR'];

/** The reason shown for a symbolic link. */
export const linkReason = 'is a symbolic link: put the file itself here';

const sightOf = (stats: BigIntStats): Sight => {
  if (stats.isFile()) return { kind: 'file', stats };
  if (stats.isDirectory()) return { kind: 'folder' };
  return {
    kind: 'left',
    reason: stats.isSymbolicLink() ? linkReason : 'is no regular file (a pipe, socket or device)',
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

/** True when a marker with that ending stands beside the file at `path`. */
export const isMarked = async (inbox: string, path: string, ending: string): Promise<boolean> =>
  (await lookAt(inbox, path + ending)).kind === 'file';

/** One thing found by {@link walkInbox}; `path` is relative to the inbox, with `/`. */
export interface Found {
  path: string;
  /** Set when it is left whatever its name says: a link, or a folder that cannot be read. */
  reason: string | null;
}

/**
 * Walks all folders of the inbox and yields everything but folders. Dot folders (our own among them) are not entered,
 * symbolic links are reported and not followed, a folder that cannot be read is reported.
 */
export async function* walkInbox(inbox: string, folder = ''): AsyncGenerator<Found> {
  let entries: Awaited<ReturnType<typeof entriesOf>>;
  try {
    entries = await entriesOf(join(inbox, folder));
  } catch (error) {
    if (isErrno(error, ...gone) && folder !== '') return;
    if (folder === '' || !isErrno(error, 'EACCES', 'EPERM')) throw error;
    yield { path: folder, reason: 'cannot be read: its permissions do not let sluice in' };
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
