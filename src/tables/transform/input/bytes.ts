// The bytes of a source: unpacked from gzip or an archive (.zip, and workbooks, which are zip files), guarded against
// compression bombs and the names of entries, and decoded.
import { basename, posix } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { TableFaultError, TableInputError } from '../../../model/errors.ts';
import { isSystemError } from '../../../util/files.ts';
import { type CancelFlag, type Cancellable, CancelledError, throwIfCancelled } from '../../../util/worker-pool.ts';
import { decoderOf, markedEncoding } from '../../scan/encodings.ts';
import { fileChunks } from '../../scan/open-table.ts';
import { damaged, freeBytes, type Limits, mostGrowth, shown, tooLarge } from '../row.ts';

/** Chunks that can be read more than once. */
export type Bytes = () => AsyncIterable<Buffer>;

/** Refuses compression bombs; to be told of bytes that were unpacked, and how many compressed ones were read so far. */
export const bombGuard = (what: string, limits: Limits): ((bytes: number, compressed: number) => void) => {
  let out = 0;
  return (bytes, compressed) => {
    out += bytes;
    if (out > limits.tableBytes) throw tooLarge(what, limits);
    if (out <= freeBytes || out <= compressed * mostGrowth) return;
    throw new TableInputError(
      `${what} expands to more than ${mostGrowth} times its size: it looks like a compression bomb`,
      { hint: 'publish the table itself, not an archive of it' },
    );
  };
};

/** The bytes of a file, unpacked when its name ends with `.gz`. */
export const fileBytes = (path: string, name: string, bounds: Cancellable<{ limits: Limits }>): Bytes =>
  /\.gz$/i.test(name) ? () => gunzipped(path, bounds) : () => Readable.from(fileChunks(path, bounds.cancelled));

async function* gunzipped(path: string, { limits, cancelled }: Cancellable<{ limits: Limits }>) {
  const what = basename(path);
  const guard = bombGuard(what, limits);
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  const compressed = Readable.from(fileChunks(path, cancelled));
  compressed.on('error', (error) => gunzip.destroy(error));
  compressed.pipe(gunzip);
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      guard(chunk.length, gunzip.bytesWritten);
      yield chunk;
    }
  } catch (error) {
    const isBroken = error instanceof Error && 'code' in error && /^Z_/.test(String(error.code));
    throw isBroken ? damaged(what, error) : error;
  } finally {
    compressed.destroy();
    gunzip.destroy();
  }
}

/** The text of `bytes` in pieces: UTF-8, or what a byte order mark names. Throws a TableFaultError at bytes that are no text. */
export async function* decoded(bytes: Bytes): AsyncGenerator<string> {
  let encoding = 'UTF-8';
  let decoder: ReturnType<typeof decoderOf> | null = null;
  let line = 1;
  const decode = (chunk?: Buffer): string => {
    try {
      return decoder?.decode(chunk, { stream: chunk !== undefined }) ?? '';
    } catch {
      throw invalidText(encoding, line + newlinesIn(decoderOf(encoding).decode(chunk).split('\ufffd')[0] ?? ''));
    }
  };
  for await (const chunk of bytes()) {
    if (decoder === null) {
      encoding = markedEncoding(chunk) ?? encoding;
      decoder = decoderOf(encoding, { fatal: true });
    }
    const text = decode(chunk);
    line += newlinesIn(text);
    if (text !== '') yield text;
  }
  const rest = decode();
  if (rest !== '') yield rest;
}

const newlinesIn = (text: string): number => text.split('\n').length - 1;

export const invalidText = (
  encoding: string,
  line: number,
  hint = encoding === 'UTF-8'
    ? 'save the file as UTF-8, or set its encoding, such as `encoding: windows-1252`'
    : 'set the right one with `encoding`',
): TableFaultError =>
  new TableFaultError(`the text is not valid ${encoding.toUpperCase()}`, { code: 'table-encoding', line }, { hint });

/** Most entries of an archive; no real table has more. */
const mostEntries = 10_000;

export type Archive = Awaited<ReturnType<typeof openArchive>>;

/** Opens an archive; throws a TableInputError for names that lead out of a folder, and when it is damaged. */
export const openArchive = async (path: string, { limits, cancelled }: Cancellable<{ limits: Limits }>) => {
  const name = basename(path);
  const zip = await openPromise(path, { autoClose: false }).catch((cause) => {
    if (isSystemError(cause)) throw cause;
    throw damaged(name, cause);
  });
  try {
    const entries = await entriesOf(zip, name, cancelled);
    const tools = { name, count: budgetOf(zip, name, limits), cancelled };
    const byPath = new Map([...entries].map(([path, entry]) => [keyOf(path), entry]));
    return {
      name,
      /** Files by name, in the order of the archive; folders are left out. */
      entries,
      /** A file by its path from the root, in whatever case. */
      entry: (path: string): Entry | undefined => entries.get(path.slice(1)) ?? byPath.get(keyOf(path)),
      /** The content of an entry, which may be read more than once. */
      read:
        (entry: Entry): Bytes =>
        () =>
          contentOf(zip, entry, tools),
      close: (): void => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
};

/** Counts what is unpacked of an archive as a whole, an entry up to byte `at`; what is read again counts once. */
const budgetOf = (zip: ZipFile, name: string, limits: Limits): ((entry: Entry, at: number) => void) => {
  const guard = bombGuard(name, limits);
  const reached = new Map<Entry, number>();
  let compressed = 0;
  return (entry, at) => {
    const before = reached.get(entry);
    if (before === undefined) compressed += entry.compressedSize;
    if (at <= (before ?? 0)) return;
    reached.set(entry, at);
    // Entries may share their bytes, so that together they seem to have more than the archive.
    guard(at - (before ?? 0), Math.min(compressed, zip.fileSize));
  };
};

const keyOf = (path: string): string => posix.resolve('/', path).toLowerCase();

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
  { name, count, cancelled }: { name: string; count: ReturnType<typeof budgetOf>; cancelled: CancelFlag },
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
  let at = 0;
  try {
    for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
      throwIfCancelled(cancelled);
      at += chunk.length;
      count(entry, at);
      yield chunk;
    }
  } catch (error) {
    if (!(error instanceof Error) || isOurs(error)) throw error;
    throw damaged(what, error);
  }
}
