// Archives (.zip, and workbooks, which are zip files): checks the names of entries, guards contents against bombs.
import { basename } from 'node:path';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { TableInputError } from '../../../model/errors.ts';
import { isSystemError } from '../../../util/file-calls.ts';
import { type CancelFlag, CancelledError, throwIfCancelled } from '../../../util/worker-pool.ts';
import { damaged, type Limits, shown } from '../row.ts';
import { BombGuard, type Bytes } from './bytes.ts';

/** Most entries of an archive; no real table has more. */
const mostEntries = 10_000;

/** An opened archive. */
export interface Archive {
  /** Name of the archive itself. */
  name: string;
  /** Files by name, in the order of the archive; folders are left out. */
  entries: Map<string, Entry>;
  /** The content of an entry, which may be read more than once. */
  read(entry: Entry): Bytes;
  close(): void;
}

/**
 * Opens an archive.
 *
 * @throws TableInputError when it is none, is damaged, or holds names that lead out of a folder
 */
export const openArchive = async (
  path: string,
  { limits, cancelled }: { limits: Limits; cancelled: CancelFlag },
): Promise<Archive> => {
  const name = basename(path);
  const zip = await openPromise(path, { autoClose: false }).catch((cause) => {
    if (isSystemError(cause)) throw cause;
    throw damaged(name, cause);
  });
  try {
    const entries = await entriesOf(zip, name, cancelled);
    const read = (entry: Entry): Bytes => {
      return () => contentOf(zip, entry, { name, guard: new BombGuard(name, limits), cancelled });
    };
    return { name, entries, read, close: () => zip.close() };
  } catch (error) {
    zip.close();
    throw error;
  }
};

const entriesOf = async (zip: ZipFile, name: string, cancelled: CancelFlag): Promise<Map<string, Entry>> => {
  if (zip.entryCount > mostEntries) {
    throw new TableInputError(`${name} holds ${zip.entryCount} entries, more than the limit of ${mostEntries}`, {
      hint: 'publish the table itself',
    });
  }
  const entries = new Map<string, Entry>();
  try {
    for await (const entry of zip.eachEntry()) {
      throwIfCancelled(cancelled);
      if (entry.fileName.endsWith('/')) continue;
      // Programs differ in which of them they read.
      if (entries.has(entry.fileName)) {
        throw new TableInputError(`${name} holds several files called ${shown(entry.fileName)}`, {
          hint: 'recreate the archive with each file once',
        });
      }
      entries.set(entry.fileName, entry);
    }
  } catch (error) {
    throw error instanceof Error ? badEntry(name, error) : error;
  }
  return entries;
};

/** The library itself refuses names such as `../x` and `/x`. */
const badEntry = (name: string, error: Error): Error => {
  if (!/path|characters in fileName/i.test(error.message)) return isOurs(error) ? error : damaged(name, error);
  return new TableInputError(`${name} holds a name that leads out of the archive: ${error.message}`, {
    hint: 'the archive was not opened; recreate it with plain relative names',
    cause: error,
  });
};

const isOurs = (error: Error): boolean => error instanceof CancelledError || error instanceof TableInputError;

async function* contentOf(
  zip: ZipFile,
  entry: Entry,
  { name, guard, cancelled }: { name: string; guard: BombGuard; cancelled: CancelFlag },
): AsyncGenerator<Buffer> {
  const what = `${shown(entry.fileName)} in ${name}`;
  if (entry.isEncrypted()) {
    throw new TableInputError(`${what} is encrypted`, { hint: 'publish it without a password' });
  }
  if (!entry.canDecodeFileData()) {
    throw new TableInputError(`${what} uses an unsupported compression method`, {
      hint: 'recreate the archive with the usual method (deflate)',
    });
  }
  const stream = await zip.openReadStreamPromise(entry).catch((cause) => {
    throw damaged(what, cause);
  });
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      throwIfCancelled(cancelled);
      guard.count(chunk.length, entry.compressedSize);
      yield chunk;
    }
  } catch (error) {
    if (!(error instanceof Error) || isOurs(error)) throw error;
    throw damaged(what, error);
  } finally {
    stream.destroy();
  }
}
