// The bytes of a catalogue: a local file, or the web, with the last version kept for conditional requests.
import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { SourceMissingError, unreadable } from '../../model/errors.ts';
import type { Log } from '../../model/log.ts';
import { isSystemError } from '../../util/file-calls.ts';
import { makeFolder } from '../../util/make-folder.ts';
import type { Fetcher } from '../fetch/fetch.ts';
import { validatorsSchema } from '../fetch/policy.ts';
import { isAddress } from '../manifest/list-schemas.ts';

/** What catalogues of the web are fetched with. */
interface CatalogueTools {
  fetcher: Pick<Fetcher, 'toFile'>;
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
});

/**
 * The bytes of a catalogue at an absolute path or an http(s) address. For an address, the version that was fetched last is
 * used if its server confirms that it is current and its bytes are unchanged.
 *
 * @throws SourceMissingError when it is not there; see {@link Fetcher.toFile} for addresses
 */
export async function* catalogueBytes(from: string, tools: CatalogueTools): AsyncGenerator<Uint8Array> {
  const path = isAddress(from) ? await fetched(from, tools) : from;
  yield* fileBytes(path, from, tools.signal);
}

/** The bytes of a local catalogue; messages name `from`. Throws SourceMissingError when it is not there. */
export async function* fileBytes(path: string, from: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
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

/** The file that holds the current version. */
const fetched = async (url: string, { fetcher, cacheDir, signal, log }: CatalogueTools): Promise<string> => {
  const folder = join(cacheDir, hash('sha256', url).slice(0, 32));
  const known = await noteOf(folder, url);
  // This includes leftovers of killed processes, which would otherwise stay as long as the catalogue does not change.
  await sweep(folder, known?.sha256 ?? null);
  // Each process fetches into a file of its own, because several may fetch at once.
  const into = join(folder, `incoming-${process.pid}`);
  const answer = await fetcher.toFile(url, into, {
    known: known?.validators ?? null,
    signal,
    log,
    accept: 'application/json, application/ld+json, */*;q=0.5',
    name: 'data.json',
  });
  if (answer.status === 'unchanged' && known) return fileOf(folder, known.sha256);
  if (answer.status === 'unchanged') throw new Error(`${url} is reported unchanged, but no version of it is known`);
  const path = fileOf(folder, answer.sha256);
  await rename(answer.path, path);
  const note: z.infer<typeof noteSchema> = { url, sha256: answer.sha256, validators: answer.validators };
  await writeFile(`${into}.json`, JSON.stringify(note));
  await rename(`${into}.json`, join(folder, 'note.json'));
  await sweep(folder, answer.sha256);
  return path;
};

const fileOf = (folder: string, sha256: string): string => join(folder, `${sha256}.json`);

/** The note of the stored version; null where its bytes are missing or have changed. */
const noteOf = async (folder: string, url: string): Promise<z.infer<typeof noteSchema> | null> => {
  await makeFolder(folder);
  try {
    const note = noteSchema.parse(JSON.parse(await readFile(join(folder, 'note.json'), 'utf8')));
    const bytes = createHash('sha256');
    await pipeline(createReadStream(fileOf(folder, note.sha256)), bytes);
    return note.url === url && bytes.digest('hex') === note.sha256 ? note : null;
  } catch {
    return null; // whatever is wrong with it, it is fetched again
  }
};

/** Other versions may still be read by other processes, but not for a day. */
const oldMs = 86_400_000;

const sweep = async (folder: string, sha256: string | null): Promise<void> => {
  for (const name of await readdir(folder)) {
    if (name === 'note.json' || (sha256 !== null && name.startsWith(sha256))) continue;
    const path = join(folder, name);
    const facts = await stat(path).catch(() => null);
    if (facts && Date.now() - facts.mtimeMs > oldMs) await rm(path, { force: true });
  }
};
