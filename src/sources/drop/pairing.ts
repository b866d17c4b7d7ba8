// Ties a spool folder to one Redis, so that two services never work one spool unknowingly.
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StateMismatchError } from '../../model/errors.ts';
import { moveWithoutReplacing, unless } from './durable.ts';

/**
 * Writes `id` into `<spool>/.sluice-id` when nobody has yet (the folder is made when it is missing), otherwise compares.
 *
 * @throws StateMismatchError when the spool is paired with another id
 */
export const pairSpool = async (spool: string, id: string): Promise<void> => {
  const path = join(spool, '.sluice-id');
  await mkdir(spool, { recursive: true });
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
      hint: `use the Redis of that service, give this one another inbox, or, if that Redis is gone for good, delete ${path}`,
    },
  );
};
