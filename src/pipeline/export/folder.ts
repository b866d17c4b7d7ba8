// The folder of an export: written file by file, each whole or not at all, and never through a link.
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { SourceRefusedError } from '../../model/errors.ts';
import { parsedJson } from '../../util/json.ts';
import { type DatasetRecord, recordSchema } from './record.ts';

/** Name of the file that describes a dataset. */
export const packageName = 'datapackage.json';

/** Where the datasets are. */
export const datasetsName = 'datasets';

/** Makes a folder below `root`, which must exist. @throws SourceRefusedError where a link or a file stands in the way */
export const ownFolder = async (root: string, ...names: string[]): Promise<string> => {
  let path = root;
  await refuseLink(path);
  for (const name of names) {
    path = join(path, name);
    await mkdir(path).catch((error: unknown) => {
      if (!isCode(error, 'EEXIST')) throw error;
    });
    await refuseLink(path);
  }
  return path;
};

const refuseLink = async (path: string): Promise<void> => {
  if ((await lstat(path)).isDirectory()) return;
  throw new SourceRefusedError(`${path} is a link or a file where the export needs a folder`, {
    hint: 'an export writes only below its own folder: remove what stands there, or export into another folder',
  });
};

/** Size of a plain file; null where there is none, or something else stands. */
export const sizeOf = async (path: string): Promise<number | null> => {
  const stats = await lstat(path).catch((error: unknown) => {
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  });
  return stats?.isFile() ? stats.size : null;
};

/** What was written. */
export interface Written {
  bytes: number;
  sha256: string;
}

/**
 * Writes a file at once or not at all, of chunks that may be many; what stands at `path` is replaced, a link too. The bytes
 * on the disk are read again and held against those that were written.
 */
export const writeWhole = async (
  path: string,
  chunks: AsyncIterable<Buffer | string> | Iterable<string>,
): Promise<Written> => {
  const temporary = join(dirname(path), `.${randomBytes(6).toString('hex')}.part`);
  const handle = await open(temporary, 'wx');
  try {
    const written = await writeAll(handle, chunks);
    await handle.sync();
    await handle.close();
    if ((await hashOf(temporary)) !== written.sha256) throw new Error(`${path} does not hold what was written to it`);
    await rename(temporary, path);
    return written;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(temporary, { force: true });
    throw error;
  }
};

const writeAll = async (
  handle: FileHandle,
  chunks: AsyncIterable<Buffer | string> | Iterable<string>,
): Promise<Written> => {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    hash.update(buffer);
    bytes += buffer.length;
    await handle.writeFile(buffer);
  }
  return { bytes, sha256: hash.digest('hex') };
};

const hashOf = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
};

/** As {@link writeWhole}, but leaves a file alone that holds the same already. True when it was written. */
export const writeChanged = async (
  path: string,
  chunks: AsyncIterable<string> | Iterable<string>,
): Promise<boolean> => {
  const fresh = `${path}.new`;
  await rm(fresh, { force: true });
  const { sha256, bytes } = await writeWhole(fresh, chunks);
  const isSame = (await sizeOf(path)) === bytes && (await hashOf(path)) === sha256;
  if (isSame) await rm(fresh);
  else await rename(fresh, path);
  return !isSame;
};

/** The record in the folder of a dataset; null where there is none that can be read. */
export const readRecord = async (folder: string): Promise<DatasetRecord | null> => {
  const path = join(folder, packageName);
  if ((await sizeOf(path)) === null) return null;
  const value = parsedJson(await readFile(path, 'utf8'));
  return recordSchema.safeParse((value as { sluice?: unknown } | null | undefined)?.sluice).data ?? null;
};

/** Folders of datasets below `root`, by name; none of an export that has not begun. */
export const datasetFolders = async (root: string): Promise<string[]> => {
  const entries = await readdir(join(root, datasetsName), { withFileTypes: true }).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
};

/** Every exported dataset with the name of its folder, one after the other. */
export async function* records(root: string): AsyncGenerator<{ folder: string; record: DatasetRecord }> {
  for (const folder of await datasetFolders(root)) {
    const record = await readRecord(join(root, datasetsName, folder));
    if (record) yield { folder, record };
  }
}

/** Removes what killed writers left in a folder and its subfolders. */
export const sweep = async (folder: string): Promise<void> => {
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && isLeft(entry.name)) await rm(join(entry.parentPath, entry.name), { force: true });
  }
};

const isLeft = (name: string): boolean => /^\.[0-9a-f]{12}\.part$/.test(basename(name)) || name.endsWith('.json.new');

const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
