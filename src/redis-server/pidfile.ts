// `redis.pid`: which server serves a state folder, where, and who looks after it.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { processMarkSchema } from './process-mark.ts';

const pidFileSchema = z.object({
  /** Null from before the server is spawned until its number is known. */
  server: processMarkSchema.nullable(),
  owner: processMarkSchema,
  /** Absolute path of the unix socket. */
  socket: z.string(),
  binary: z.string(),
});
/** What the file holds. Whether the owner lives is told by the owner's lock, never by this file. */
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

/** Replaces the file in one step (made with O_EXCL beside it, then renamed), so that a reader never sees half of it. */
export const writePidFile = async (folder: string, content: PidFile): Promise<void> => {
  const draft = `${pathIn(folder)}.${process.pid}`;
  await rm(draft, { force: true });
  await writeFile(draft, `${JSON.stringify(content)}\n`, { flag: 'wx', mode: 0o600 });
  await rename(draft, pathIn(folder));
};

/** Removes the file, when there is one. */
export const removePidFile = (folder: string): Promise<void> => rm(pathIn(folder), { force: true });
