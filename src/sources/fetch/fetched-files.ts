// Files of the web on this host while they are on their way to a portal: one folder for each portal and resource.
import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { z } from 'zod';
import { contentTypeOf } from '../../dataset-api/file-types.ts';
import { gone, isErrno, makeFolder, sha256Of, unless, writeDurably } from '../../util/files.ts';
import { parsedJson } from '../../util/json.ts';
import type { Fetcher } from './fetch.ts';
import { type FetchOptions, fetchedSchema, type Validators } from './policy.ts';

/** Folders of resources that were not requested for so long (ms) are removed. */
const forgottenMs = 7 * 86_400_000;

/** `by`: what fetched it; the same job takes it again without asking. */
const noteSchema = fetchedSchema.extend({ url: z.string(), by: z.string() });

export interface FetchedFile extends Facts {
  path: string;
  confirmed?: IncomingHttpHeaders;
}

export interface Wanted {
  /** These name the folder. */
  portal: string;
  uuid: string;
  url: string;
  /** File name it will have, as far as it is known. */
  name: string;
  /** The header of that name; by default as the name suggests. */
  accept?: string;
  /** The job that wants it; its later attempts get the same bytes. */
  by: string;
  /** The version that is published already: `unchanged` is answered for it. Null where its bytes are needed. */
  published: Validators | null;
}

export type FetchedFiles = ReturnType<typeof fetchedFiles>;

/** Of the headers of an answer, only those that `keeps` names are stored: others may repeat a login. */
export const fetchedFiles = (
  dir: string,
  fetcher: Pick<Fetcher, 'toFile'>,
  keeps: (header: string) => boolean = () => false,
) => {
  let swept: Promise<void> | null = null;
  /**
   * Fetches what is wanted, or resolves with `unchanged` where the published version is the present one. A whole file that
   * is here already is used: at once by the job that fetched it, by others if its server confirms that it is current.
   * Throws as {@link Fetcher.toFile}.
   */
  const get = async (wanted: Wanted, options: Pick<FetchOptions, 'signal' | 'log' | 'moved' | 'spentBytes'>) => {
    swept ??= sweep();
    await swept;
    const folder = folderOf(wanted);
    const into = join(folder, 'content');
    const here = await whole(folder, wanted.url);
    if (here?.by === wanted.by) return { ...here, path: into };
    // What another job left here is read once more before a server is told that it is known.
    const isSound = async () => (await unless(sha256Of(into), gone, null)) === here?.sha256;
    const known = wanted.published ?? (here && (await isSound()) ? here.validators : null);
    const how = { ...options, known, name: wanted.name, accept: wanted.accept ?? acceptFor(wanted.name) };
    const fetched = await fetcher.toFile(wanted.url, into, how);
    if (fetched.status === 'unchanged') {
      if (wanted.published !== null || !here) return 'unchanged';
      return { ...(await note(folder, { ...here, by: wanted.by })), confirmed: fetched.headers };
    }
    const { status: _status, headers, ...facts } = fetched;
    const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => keeps(name)));
    return await note(folder, { url: wanted.url, by: wanted.by, ...facts, headers: kept });
  };
  const remove = (of: Pick<Wanted, 'portal' | 'uuid'>): Promise<void> =>
    rm(folderOf(of), { recursive: true, force: true });
  const folderOf = ({ portal, uuid }: Pick<Wanted, 'portal' | 'uuid'>): string => join(dir, portal, uuid);
  const note = async (folder: string, facts: Facts): Promise<FetchedFile> => {
    await makeFolder(folder, 0o700);
    await writeDurably(noteOf(folder), JSON.stringify(facts));
    return { ...facts, path: join(folder, 'content') };
  };
  const whole = async (folder: string, url: string): Promise<Facts | null> => {
    const text = await unless(readFile(noteOf(folder), 'utf8'), ['ENOENT'], null);
    const noted = text === null ? null : noteSchema.safeParse(parsedJson(text)).data;
    const stats = await unless(stat(join(folder, 'content')), ['ENOENT'], null);
    if (!noted || noted.url !== url || stats?.size !== noted.bytes || stats.mtimeMs > (await mtimeOf(noteOf(folder))))
      return null;
    const now = new Date();
    await unless(utimes(folder, now, now), ['ENOENT'], undefined);
    return noted;
  };
  /** Removes the folders of resources that were given up. Errors of the file system are left to the next process. */
  const sweep = async (): Promise<void> => {
    try {
      for (const portal of await readdir(dir)) {
        for (const uuid of await readdir(join(dir, portal))) {
          const folder = folderOf({ portal, uuid });
          if (Date.now() - (await mtimeOf(folder)) > forgottenMs) await rm(folder, { recursive: true, force: true });
        }
      }
    } catch (error) {
      if (!isErrno(error, 'ENOENT', 'EACCES', 'EPERM')) throw error;
    }
  };
  return { get, remove };
};

export const acceptFor = (name: string): string => {
  const type = contentTypeOf(name);
  return type === 'application/octet-stream' ? '*/*' : `${type}, */*;q=0.5`;
};

type Facts = z.infer<typeof noteSchema>;

const noteOf = (folder: string): string => join(folder, 'fetched.json');

const mtimeOf = async (path: string): Promise<number> => (await unless(stat(path), ['ENOENT'], null))?.mtimeMs ?? 0;
