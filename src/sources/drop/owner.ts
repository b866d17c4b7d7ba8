// Ownership of a spool: the one Redis it is tied to, and the live watcher that makes a claim.
import { randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { StateMismatchError } from '../../model/errors.ts';
import { isErrno, moveWithoutReplacing, unless } from '../../util/durable.ts';
import { parsedJson } from '../../util/json.ts';
import { makeFolder } from '../../util/make-folder.ts';

/**
 * Writes `id` into `<spool>/.sluice-id` when there is none yet (the folder is made when it is missing), otherwise compares.
 *
 * @throws StateMismatchError when the spool is paired with another id
 */
export const pairSpool = async (spool: string, id: string): Promise<void> => {
  const path = join(spool, '.sluice-id');
  await makeFolder(spool);
  if ((await unless(readFile(path, 'utf8'), ['ENOENT'], null)) === null) {
    const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
    await writeFile(temporary, `${id}\n`);
    if (!(await moveWithoutReplacing(temporary, path))) await unlink(temporary);
  }
  const found = (await readFile(path, 'utf8')).trim();
  if (found === id) return;
  throw new StateMismatchError(
    `the spool ${spool} belongs to another Redis (it holds the id ${found}, ours is ${id})`,
    {
      hint: `use the Redis of that service, use another inbox here, or, if that Redis is permanently gone, delete ${path}`,
    },
  );
};

/** A watcher without a heartbeat for this long (ms) is considered dead where its process cannot be checked. */
const silentMs = 60_000;
const beatMs = 5000;

const ownerSchema = z.object({ host: z.string(), pid: z.number().int() });

/** Tokens of the live watchers of this process. */
const livesHere = new Set<string>();

/** Pids mean something only within one pid namespace of one host. */
const hostOfPids = (): string => {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
};

const processLives = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
};

/** A watcher's heartbeat in the spool. */
export interface Owner {
  /** Eight hex digits; part of the ids of this watcher's claims. */
  token: string;
  /** True when the watcher of `token` cannot come back to its claims. */
  isDead(token: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Registers in `<spool>/.owners` and renews its heartbeat there every 5 s until closed. */
export const openOwner = async (spool: string): Promise<Owner> => {
  const folder = join(spool, '.owners');
  const token = randomBytes(4).toString('hex');
  const host = hostOfPids();
  const pathOf = (of: string): string => join(folder, `${of}.json`);
  const own = pathOf(token);
  await makeFolder(folder);
  const sign = `${JSON.stringify({ host, pid: process.pid })}\n`;
  await writeFile(own, sign);
  livesHere.add(token);
  const timer = setInterval(() => void writeFile(own, sign).catch(() => undefined), beatMs).unref();

  /** Compared with our own heartbeat, so that only the clock of the file server counts. */
  const wasSilent = async (path: string): Promise<boolean> => {
    await unless(writeFile(own, sign), ['ENOENT', 'EPERM', 'EACCES'], undefined);
    const [ours, theirs] = await Promise.all([
      unless(stat(own), ['ENOENT'], null),
      unless(stat(path), ['ENOENT'], null),
    ]);
    return theirs === null || (ours !== null && ours.mtimeMs - theirs.mtimeMs > silentMs);
  };

  return {
    token,
    isDead: async (other) => {
      if (other === token) return false;
      const text = await unless(readFile(pathOf(other), 'utf8'), ['ENOENT'], null);
      if (text === null) return true;
      const parsed = ownerSchema.safeParse(parsedJson(text));
      if (!parsed.success || parsed.data.host !== host) return await wasSilent(pathOf(other));
      if (parsed.data.pid === process.pid) return !livesHere.has(other);
      return !processLives(parsed.data.pid) || (await wasSilent(pathOf(other)));
    },
    close: async () => {
      clearInterval(timer);
      livesHere.delete(token);
      await unless(unlink(own), ['ENOENT'], undefined);
    },
  };
};
