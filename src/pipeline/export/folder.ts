// The folder of an export: whose it is, names that every file system accepts, files written whole or not at all, never through a link.
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { z } from 'zod';
import { slugOf } from '../../dataset-api/names.ts';
import { errorMessage, SourceRefusedError, UsageError } from '../../model/errors.ts';
import { gone, sha256Of, unless } from '../../util/files.ts';
import { parsedJson, recordOf } from '../../util/json.ts';
import { type DatasetRecord, recordSchema, resourceSchema } from './record.ts';

export const packageName = 'datapackage.json';

export const datasetsName = 'datasets';

/** Makes a folder below `root`, which must exist. @throws SourceRefusedError where a link or a file is in the way */
export const ownFolder = async (root: string, ...names: string[]): Promise<string> => {
  let path = root;
  await refuseLink(path);
  for (const name of names) {
    path = join(path, name);
    await unless(mkdir(path), ['EEXIST'], undefined);
    await refuseLink(path);
  }
  return path;
};

const refuseLink = async (path: string): Promise<void> => {
  if ((await lstat(path)).isDirectory()) return;
  throw new SourceRefusedError(`${path} is a link or a file where the export needs a folder`, {
    hint: 'an export writes only below its own folder: remove it, or export into another folder',
  });
};

/** Size of a plain file; null where there is none, or something else stands. */
export const sizeOf = async (path: string): Promise<number | null> => {
  const stats = await unless(lstat(path), gone, null);
  return stats?.isFile() ? stats.size : null;
};

export type Written = { bytes: number; sha256: string };

/** The text of a plain file; '' where there is none. */
const textIn = async (path: string): Promise<string> => ((await sizeOf(path)) === null ? '' : readFile(path, 'utf8'));

/** The JSON in a plain file; undefined where there is none. */
export const jsonIn = async (path: string): Promise<unknown> => parsedJson(await textIn(path));

/**
 * Opens a file that takes its chunks one by one and is at its path whole after `end`, or not at all. It replaces what is there,
 * a link too, unless that holds the same. The bytes on the disk are read again and compared with those that were written.
 */
export const openWhole = async (path: string) => {
  const temporary = join(dirname(path), `.${randomBytes(6).toString('hex')}.part`);
  const handle = await open(temporary, 'wx');
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async write(chunk: Uint8Array | string): Promise<void> {
      const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      hash.update(buffer);
      bytes += buffer.length;
      await handle.writeFile(buffer);
    },
    async end(): Promise<Written> {
      await handle.sync();
      await handle.close();
      const sha256 = hash.digest('hex');
      if ((await sha256Of(temporary)) !== sha256) throw new Error(`${path} does not hold what was written to it`);
      const isSame = (await sizeOf(path)) === bytes && (await sha256Of(path)) === sha256;
      if (!isSame) await rename(temporary, path);
      return { bytes, sha256 };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await handle.close().catch(() => undefined);
      await rm(temporary, { force: true });
    },
  };
};

export const writeWhole = async (path: string, chunks: AsyncIterable<Uint8Array | string> | Iterable<string>) => {
  await using file = await openWhole(path);
  for await (const chunk of chunks) await file.write(chunk);
  return await file.end();
};

/** Claims a folder for the export of the portal at this address. @throws UsageError for one that holds something else */
export const markFolder = async (root: string, portal: string): Promise<void> => {
  const stats = await lstat(root).catch((error: unknown) => {
    throw new UsageError(`${root} cannot be written to by this worker: ${errorMessage(error)}`, {
      hint: 'every worker of the portal needs the folder under the same path',
    });
  });
  if (!stats.isDirectory())
    throw new UsageError(`${root} is not a folder`, { hint: 'use a folder, not a link to one' });
  const path = join(root, 'export.json');
  const mark = z.object({ sluiceExport: z.literal(1), portal: z.string() }).safeParse(await jsonIn(path)).data;
  if (!mark && (await readdir(root)).some((name) => !name.startsWith('.')))
    throw new UsageError(`${root} is neither empty nor an export`, { hint: 'use a new folder, or an earlier export' });
  if (mark && mark.portal !== portal)
    throw new UsageError(`${root} holds an export of ${mark.portal}, not of ${portal}`, {
      hint: 'export each portal into a folder of its own',
    });
  if (!mark) await writeWhole(path, [`${JSON.stringify({ sluiceExport: 1, portal }, null, 2)}\n`]);
};

/** The record in the folder of a dataset; null where there is none that can be read. */
export const readRecord = async (folder: string): Promise<DatasetRecord | null> => {
  const { sluice } = recordOf(await jsonIn(join(folder, packageName)));
  return recordSchema.safeParse(sluice).data ?? null;
};

/** Folders of datasets below `root`, by name; none of an export that has not started. */
export const datasetFolders = async (root: string): Promise<string[]> => {
  const entries = await unless(readdir(join(root, datasetsName), { withFileTypes: true }), gone, []);
  return entries.flatMap((entry) => (entry.isDirectory() ? entry.name : [])).sort();
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
    const isLeft = entry.isFile() && /^\.[0-9a-f]{12}\.part$/.test(entry.name);
    if (isLeft) await rm(join(entry.parentPath, entry.name), { force: true });
  }
};

/** Names that Windows keeps for devices, with any ending. */
const reserved = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/** Characters of a slug, and bytes (UTF-8) of a file name that file systems accept. */
const [longestSlug, longestName] = [56, 255];

/** Names in one folder as {@link foldedName} makes them, each with the number that the next one like it may have. */
export type TakenNames = Map<string, number>;

export const takenNames = (names: Iterable<string>): TakenNames =>
  new Map(Iterator.from(names).map((name) => [foldedName(name), 2]));

/** Names that differ by case or composition alone are one name on some file systems. */
const foldedName = (name: string): string => name.normalize('NFC').toLowerCase();

/** A name for what has this title: `City Budget 2026` -> `city-budget-2026`; adds it to `taken`, where it is unique. */
export const slugName = (title: string, fallback: string, taken: TakenNames): string => {
  const short = slugOf(title.normalize('NFC').slice(0, longestSlug)) ?? slugOf(fallback) ?? 'item';
  const single = short.replaceAll(/\.{2,}/g, '.').slice(0, longestSlug);
  const plain = single.replace(/[^a-z0-9]+$/, '');
  return unique(reserved.test(plain) ? `x-${plain}` : plain, taken, (name, number) => `${name}-${number}`);
};

/**
 * A path in a `data` folder for a file of this name, which is kept as far as that is possible everywhere; a second one of
 * the name gets a folder of its own, so that it is sent under the same name again.
 */
export const filePathFor = (name: string, taken: TakenNames): string =>
  unique(fileName(name), taken, (plain, number) => `${number}/${plain}`);

const fileName = (name: string): string => {
  const plain = name
    .normalize('NFC')
    .replaceAll(/[\p{C}<>:"/\\|?*]+/gu, '_')
    .replaceAll(/\.{2,}/g, '.')
    .replace(/^[\s.~]+/, '')
    .replace(/[\s.]+$/, '');
  const safe = plain === '' || reserved.test(plain) ? `file-${plain}` : plain;
  const ending = Buffer.byteLength(extname(safe)) < 20 ? extname(safe) : '';
  return cut(safe.slice(0, safe.length - ending.length), longestName - Buffer.byteLength(ending)) + ending;
};

/** As much of a text as fits into so many bytes of UTF-8. */
const cut = (text: string, bytes: number): string =>
  Buffer.from(text)
    .subarray(0, bytes)
    .toString()
    .replace(/\ufffd+$/, '');

const unique = (name: string, taken: TakenNames, other: (name: string, number: number) => string): string => {
  const folded = foldedName(name);
  for (let number = taken.get(folded) ?? 1; ; number++) {
    const candidate = number === 1 ? name : other(name, number);
    if (taken.has(foldedName(candidate))) continue;
    taken.set(foldedName(candidate), 2).set(folded, number + 1);
    return candidate;
  }
};

const storedSchema = resourceSchema.pick({ file: true, findings: true }).extend({ nid: z.string() });

/** The outcome for the file of a resource: where it is stored, or why it is not. */
export type Stored = z.infer<typeof storedSchema>;

const progressName = '.stored.jsonl';

/** Through no link. */
const appending = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW;

/** Records what was stored before the data package says so, so that a killed export fetches no file twice. */
export const noteStored = async (folder: string, stored: Stored): Promise<void> => {
  const handle = await open(join(folder, progressName), appending);
  await handle.appendFile(`${JSON.stringify(stored)}\n`).finally(() => handle.close());
};

/** What was noted. A torn last line is ignored. */
export const notedStored = async (folder: string): Promise<Stored[]> => {
  const lines = (await textIn(join(folder, progressName))).split('\n');
  return lines.flatMap((line) => storedSchema.safeParse(parsedJson(line)).data ?? []);
};

/** Removes the notes, once everything is in the data package. */
export const forgetStored = (folder: string): Promise<void> => rm(join(folder, progressName), { force: true });
