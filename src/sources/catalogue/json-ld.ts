// DCAT-AP catalogues in JSON-LD, as entries with the keys of a data.json, so that one mapping serves both.
import { CatalogueFaultError } from '../../model/errors.ts';
import { peeked } from '../../util/peek.ts';
import { countText } from '../../util/plural.ts';
import { SilentError, WorkerPool } from '../../util/worker-pool.ts';
import type { JsonLdAnswer, JsonLdTask } from './json-ld-worker.ts';
import type { CatalogueEntry, Said } from './read-catalogue.ts';

/** Largest document (bytes): it is read and processed in memory as a whole. */
const longestDocument = 30_000_000;

/** The largest documents take a fraction of this time (milliseconds). */
const usualLongestMs = 300_000;

const pool = new WorkerPool<JsonLdTask, JsonLdAnswer>({
  file: 'json-ld-worker',
  of: import.meta.url,
  name: 'readDocument',
  threads: 1,
});

/** Tells JSON-LD by its beginning: a list of nodes, a `@graph`, or `dcat:dataset`. `all` yields all bytes. */
export const detectJsonLd = async (
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ isJsonLd: boolean; all: AsyncIterable<Uint8Array> }> => {
  const { start, all } = await peeked(bytes, enoughToTell);
  const begin = start.toString('utf8').replace(/^\uFEFF?\s*/, '');
  const isGraph = /"(?:@graph|dcat:dataset|http:\/\/www\.w3\.org\/ns\/dcat#dataset)"\s*:/.test(begin);
  return { isJsonLd: begin.startsWith('[') || (isGraph && !/"dataset"\s*:/.test(begin)), all };
};

/** Bytes; contexts that are in the document are shorter. */
const enoughToTell = 65_536;

/**
 * The datasets of a JSON-LD document at `base`, in the order of their names. Its `@context` must be in it: none is fetched. A
 * document that needs too much memory or time ends only the thread that it is processed in.
 *
 * @throws CatalogueFaultError when it is not JSON-LD, too large, or names neither a dataset nor a part; a later page may be empty
 */
export async function* readJsonLd(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  { isLater = false, longestMs = usualLongestMs, base = null as string | null } = {},
): AsyncGenerator<CatalogueEntry, Said> {
  const task = { bytes: await wholeOf(bytes, name), base };
  let answer: JsonLdAnswer;
  try {
    answer = await pool.run(task, undefined, { silenceMs: longestMs });
  } catch (cause) {
    throw endOfThread(cause, name);
  }
  if ('fault' in answer) throw documentFault(name, answer.fault, { hint: answer.hint });
  const { entries, said } = answer;
  if (entries.length === 0 && said.parts.length === 0 && !isLater)
    throw documentFault(name, 'it describes no dataset: it contains no `dcat:Dataset`');
  yield* entries;
  return said;
}

const wholeOf = async (bytes: AsyncIterable<Uint8Array>, name: string): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    chunks.push(chunk);
    if (length > longestDocument)
      throw documentFault(name, `as JSON-LD it may have at most ${countText(longestDocument)} bytes`);
  }
  return Buffer.concat(chunks);
};

const endOfThread = (cause: unknown, name: string): unknown => {
  const hint = 'ask its publisher for a smaller document, or one with a simpler context';
  if (cause instanceof SilentError) return documentFault(name, 'reading it as JSON-LD takes too long', { hint, cause });
  if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY')) return cause;
  return documentFault(name, 'reading it as JSON-LD exceeds the memory limit of a catalogue', { hint, cause });
};

export const documentFault = (
  name: string,
  what: string,
  { hint = 'nothing was published or removed', cause }: { hint?: string | undefined; cause?: unknown } = {},
): CatalogueFaultError => new CatalogueFaultError(what, { name, line: 1, column: 1 }, { hint, cause });
