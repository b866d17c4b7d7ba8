// Where the unix socket of the embedded Redis lies.
import { createHash } from 'node:crypto';
import { lstat, mkdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { RedisFailedError } from '../model/errors.ts';

/** Bytes of a socket's path that every system takes: 104 with the closing zero on BSD, 108 on Linux (unix(7)). */
const longestPath = 100;

const fits = (path: string): boolean => Buffer.byteLength(path) <= longestPath;

/**
 * The socket of a Redis folder: inside it where that path is short enough, else in a folder of the temporary directory
 * that is named after a hash of the Redis folder.
 */
export const chooseSocket = async (folder: string, temporary = tmpdir()): Promise<string> => {
  const near = join(folder, 'redis.sock');
  if (fits(near)) return near;
  const hash = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
    .slice(0, 16);
  const name = `sluice-${process.getuid?.() ?? 'user'}-${hash}`;
  const far = join(temporary, name, 'redis.sock');
  return fits(far) ? far : join('/tmp', name, 'redis.sock');
};

/**
 * Makes the folder of a socket. Others can write to the temporary directory too: throws {@link RedisFailedError} when
 * a folder outside of the Redis folder is not this user's alone.
 */
export const makeSocketFolder = async (socket: string, folder: string): Promise<void> => {
  const holder = dirname(socket);
  if (holder === folder) return;
  await mkdir(holder, { mode: 0o700, recursive: true });
  const facts = await lstat(holder);
  if (facts.isDirectory() && facts.uid === process.getuid?.() && (facts.mode & 0o077) === 0) return;
  throw new RedisFailedError(`the folder ${holder} for the socket of the embedded Redis is not private to this user`, {
    hint: 'remove that folder, or choose a state folder with a shorter path (--state)',
  });
};
