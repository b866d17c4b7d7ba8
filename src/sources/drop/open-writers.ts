// Which files some process of this machine still holds open for writing (Linux; elsewhere nothing is known).
import { lstat, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename } from 'node:path';

const accessMode = 0o3;

const quiet = async <T>(pending: Promise<T>): Promise<T | null> => pending.catch(() => null);

const opensForWriting = async (pid: string, fd: string): Promise<boolean> => {
  const info = await quiet(readFile(`/proc/${pid}/fdinfo/${fd}`, 'utf8'));
  const flags = /^flags:\s*([0-7]+)/m.exec(info ?? '')?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & accessMode) !== 0;
};

const identity = (stats: { dev: bigint; ino: bigint }): string => `${stats.dev}:${stats.ino}`;

/**
 * The paths among `paths` that a process whose descriptors we may see (ours, our user's, all for root) holds open for writing.
 * Empty where there is no `/proc`, and blind to writers on other hosts: one sign among several, never the only one.
 */
export const heldForWriting = async (paths: string[]): Promise<Set<string>> => {
  const wanted = new Map<string, string>();
  for (const path of paths) {
    const stats = await quiet(lstat(path, { bigint: true }));
    if (stats !== null) wanted.set(identity(stats), path);
  }
  const held = new Set<string>();
  if (wanted.size === 0) return held;
  const names = new Set(paths.map((path) => basename(path)));
  const pids = (await quiet(readdir('/proc')))?.filter((name) => /^\d+$/.test(name)) ?? [];
  for (const pid of pids) {
    for (const fd of (await quiet(readdir(`/proc/${pid}/fd`))) ?? []) {
      const target = await quiet(readlink(`/proc/${pid}/fd/${fd}`));
      if (target === null || !names.has(basename(target))) continue;
      const stats = await quiet(stat(`/proc/${pid}/fd/${fd}`, { bigint: true }));
      const path = stats === null ? undefined : wanted.get(identity(stats));
      if (path !== undefined && (await opensForWriting(pid, fd))) held.add(path);
    }
  }
  return held;
};
