// `redis.pid` and the socket of the embedded Redis: which server uses a state folder, and where.
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { lstat, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { RedisFailedError } from '../model/errors.ts';
import { makeFolder } from '../util/files.ts';

/** A process. `startedAt` is opaque, equal only for the same process; empty where the system does not provide it. */
const processMarkSchema = z.object({ pid: z.int().positive(), startedAt: z.string() });
export type ProcessMark = z.infer<typeof processMarkSchema>;

/** The mark of the process that has that number now; null when none runs (a zombie does not run). */
export const markProcess = (pid: number): ProcessMark | null => {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return null;
  }
  if (process.platform !== 'linux') return { pid, startedAt: '' };
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): after the name, which may hold anything, come the state and, 19 fields on, the start in ticks since boot.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    const bootIdFile = '/proc/sys/kernel/random/boot_id';
    const bootId = existsSync(bootIdFile) ? readFileSync(bootIdFile, 'utf8').trim() : '';
    return { pid, startedAt: `${bootId}:${fields[19] ?? ''}` };
  } catch {
    return null; // it ended between the two looks
  }
};

export const isRunning = (mark: ProcessMark): boolean => markProcess(mark.pid)?.startedAt === mark.startedAt;

const pidFileSchema = z.object({
  /** Null from before the server is spawned until its number is known. */
  server: processMarkSchema.nullable(),
  /** Absolute path of the unix socket. */
  socket: z.string(),
  binary: z.string(),
});
export type PidFile = z.infer<typeof pidFileSchema>;

const pathIn = (folder: string): string => join(folder, 'redis.pid');

/** The file of a folder; null when there is none or it cannot be read as one. */
export const readPidFile = async (folder: string): Promise<PidFile | null> => {
  try {
    return pidFileSchema.parse(JSON.parse(await readFile(pathIn(folder), 'utf8')));
  } catch {
    return null;
  }
};

/** Replaces the file in one step, so that a reader never sees half of it. */
export const writePidFile = async (folder: string, content: PidFile): Promise<void> => {
  const draft = `${pathIn(folder)}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  await rename(draft, pathIn(folder));
};

export const removePidFile = (folder: string): Promise<void> => rm(pathIn(folder), { force: true });

/** Bytes of a socket's path that every system takes: 104 with the closing zero on BSD, 108 on Linux (unix(7)). */
const longestPath = 100;

const fits = (path: string): boolean => Buffer.byteLength(path) <= longestPath;

/** The socket of a Redis folder: in it where that path is short enough, else in a folder that is named after its hash. */
export const chooseSocket = async (folder: string, temporary = tmpdir()): Promise<string> => {
  const near = join(folder, 'redis.sock');
  if (fits(near)) return near;
  const name = `sluice-${process.getuid?.() ?? 'user'}-${hash('sha256', await realpath(folder)).slice(0, 16)}`;
  const far = join(temporary, name, 'redis.sock');
  return fits(far) ? far : join('/tmp', name, 'redis.sock');
};

/** Makes the folder of a socket. Throws {@link RedisFailedError} when one that others could make is not this user's alone. */
export const makeSocketFolder = async (socket: string, folder: string): Promise<void> => {
  const holder = dirname(socket);
  if (holder === folder) return;
  await makeFolder(holder, 0o700);
  const facts = await lstat(holder);
  if (facts.isDirectory() && facts.uid === process.getuid?.() && (facts.mode & 0o077) === 0) return;
  throw new RedisFailedError(`the folder ${holder} for the socket of the embedded Redis is not private to this user`, {
    hint: 'remove that folder, or choose a state folder with a shorter path (--state)',
  });
};
