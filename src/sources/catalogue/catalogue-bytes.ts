// The documents of a catalogue: local files, or the web, with the last version of each kept for conditional requests.
import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { SourceMissingError, SourceRefusedError, unreadable } from '../../model/errors.ts';
import type { Log } from '../../model/log.ts';
import { isSystemError } from '../../util/file-calls.ts';
import { makeFolder } from '../../util/make-folder.ts';
import type { Fetcher } from '../fetch/fetch.ts';
import { validatorsSchema } from '../fetch/policy.ts';
import { isAddress } from '../manifest/list-schemas.ts';
import { isUnpaged, noPaging, type Paging, pagingOfHeaders, pagingSchema } from './paging.ts';

export interface CatalogueDocument {
  bytes: AsyncIterable<Uint8Array>;
  /** Its address, where the redirects ended; null for a local file. */
  url: string | null;
  /** What the answer said about the list. */
  paging: Paging;
}

export interface CatalogueSource {
  /**
   * Opens the document at an absolute path or an http(s) address; null for an address that is not fetched here. `spentBytes`
   * of earlier documents count towards the limit.
   */
  open(from: string, spentBytes: number): Promise<CatalogueDocument | null>;
  /** Limit of all fetched documents together. */
  maxBytes: number;
  /** Called once everything was read: versions of documents that are no longer part of it go. */
  done(): Promise<void>;
}

interface CatalogueTools {
  fetcher: Pick<Fetcher, 'toFile' | 'policy'>;
  /** Folder for fetched catalogues; made when it is needed. */
  cacheDir: string;
  signal: AbortSignal;
  log: Log;
}

const noteSchema = z.object({
  url: z.string(),
  /** Of the bytes; names the file beside the note. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  validators: validatorsSchema,
  finalUrl: z.string(),
  paging: pagingSchema,
});

type Note = z.infer<typeof noteSchema>;

export const localCatalogue = (signal: AbortSignal): CatalogueSource => ({
  open: async (from) =>
    isAddress(from) ? null : { bytes: fileBytes(from, from, signal), url: null, paging: noPaging },
  maxBytes: Number.POSITIVE_INFINITY,
  done: async () => undefined,
});

/**
 * The documents of the catalogue at `root`. Of an address, the version that was fetched last is used if its server confirms
 * that it is current and its bytes are unchanged. Opening throws SourceMissingError, or as {@link Fetcher.toFile}.
 */
export const webCatalogue = (root: string, tools: CatalogueTools): CatalogueSource => {
  const folder = join(tools.cacheDir, hash('sha256', root).slice(0, 32));
  const local = localCatalogue(tools.signal);
  const used = new Set<string>();
  return {
    open: async (from, spentBytes) => {
      if (!isAddress(from)) return local.open(from, spentBytes);
      const name = from === root ? 'note.json' : `note-${hash('sha256', from).slice(0, 32)}.json`;
      const note = await fetched(from, { folder, name, spentBytes }, tools).catch(async (error: unknown) => {
        // Headers that led to what is gone are not sent again with an unchanged page: the next run fetches it anew.
        const isGone = error instanceof SourceMissingError || error instanceof SourceRefusedError;
        for (const path of isGone ? used : []) if (basename(path).startsWith('note')) await rm(path, { force: true });
        throw error;
      });
      const { sha256, finalUrl, paging } = note;
      const path = fileOf(folder, sha256);
      used.add(join(folder, name)).add(path);
      return { bytes: fileBytes(path, from, tools.signal), url: finalUrl, paging };
    },
    maxBytes: tools.fetcher.policy.maxBytes,
    done: () => (used.size === 0 ? Promise.resolve() : sweep(folder, used)),
  };
};

/** The bytes of a file; messages name `from`. Throws SourceMissingError when it is not there. */
async function* fileBytes(path: string, from: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { signal });
  } catch (cause) {
    if (!isSystemError(cause)) throw cause;
    throw new SourceMissingError(`the catalogue ${from} cannot be read: ${unreadable(cause).why}`, {
      hint: 'check `catalogue` in the manifest; nothing was published or removed',
      cause,
    });
  }
}

/** Fetches a document, unless its kept version is current, and keeps it with its note. */
const fetched = async (
  url: string,
  { folder, name, spentBytes }: { folder: string; name: string; spentBytes: number },
  { fetcher, signal, log }: CatalogueTools,
): Promise<Note> => {
  const known = await noteOf(folder, name, url);
  // Each process fetches into a file of its own, because several may fetch at once.
  const into = join(folder, `incoming-${process.pid}`);
  const answer = await fetcher.toFile(url, into, {
    known: known?.validators ?? null,
    signal,
    log,
    accept: 'application/json, application/ld+json, */*;q=0.5',
    name: 'data.json',
    spentBytes,
  });
  const paging = pagingOfHeaders(answer.headers);
  if (answer.status === 'unchanged' && known) return isUnpaged(paging) ? known : { ...known, paging };
  if (answer.status === 'unchanged') throw new Error(`${url} is reported unchanged, but no version of it is known`);
  const { sha256, validators, finalUrl } = answer;
  await rename(answer.path, fileOf(folder, sha256));
  const note: Note = { url, sha256, validators, finalUrl, paging };
  await writeFile(`${into}.json`, JSON.stringify(note));
  await rename(`${into}.json`, join(folder, name));
  return note;
};

const fileOf = (folder: string, sha256: string): string => join(folder, `${sha256}.json`);

/** The note of the kept version; null where its bytes are missing or have changed. */
const noteOf = async (folder: string, name: string, url: string): Promise<Note | null> => {
  await makeFolder(folder, 0o700);
  try {
    const note = noteSchema.parse(JSON.parse(await readFile(join(folder, name), 'utf8')));
    const bytes = createHash('sha256');
    await pipeline(createReadStream(fileOf(folder, note.sha256)), bytes);
    return note.url === url && bytes.digest('hex') === note.sha256 ? note : null;
  } catch {
    return null; // whatever is wrong with it, it is fetched again
  }
};

/** Other versions may still be read by other processes, but not for a day. */
const oldMs = 86_400_000;

/** Removes what was not used, and what killed processes left. */
const sweep = async (folder: string, used: ReadonlySet<string>): Promise<void> => {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const facts = used.has(path) ? null : await stat(path).catch(() => null);
    if (facts && Date.now() - facts.mtimeMs > oldMs) await rm(path, { force: true });
  }
};
