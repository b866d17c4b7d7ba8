// DCAT-AP catalogues in JSON-LD or RDF, as entries with the keys of a data.json, so that one mapping serves all.
import { CatalogueFaultError, type ErrorDetails } from '../../model/errors.ts';
import { isErrno } from '../../util/files.ts';
import { peeked } from '../../util/peek.ts';
import { countText } from '../../util/plural.ts';
import { SilentError, WorkerPool } from '../../util/worker-pool.ts';
import type { LinkedDataAnswer, LinkedDataTask } from './linked-data-worker.ts';
import { syntaxes } from './rdf.ts';
import type { CatalogueEntry, Said } from './read-catalogue.ts';

/** Largest document (bytes): it is read and processed in memory as a whole. */
const longestDocument = 30_000_000;

/** The largest documents take a fraction of this time (milliseconds). */
const usualLongestMs = 300_000;

const pool = new WorkerPool<LinkedDataTask, LinkedDataAnswer>({
  file: 'linked-data-worker',
  of: import.meta.url,
  name: 'readDocument',
  threads: 1,
});

type Syntax = LinkedDataTask['syntax'];

/** Tells by its beginning what a document is written in, null for a data.json. `all` yields all bytes. */
export const detectSyntax = async (bytes: AsyncIterable<Uint8Array>) => {
  const { start, all } = await peeked(bytes, enoughToTell);
  return { syntax: syntaxOf(start.toString('utf8').replace(/^\uFEFF?\s*/, '')), all };
};

const turtleStart =
  /^(?:#|@(?:prefix|base)\s|(?:prefix|base)\s|_:|<(?:[^>\s]*[:#/][^>\s]*)?>\s|\[\s*(?:\]\s*\S|a\s|[<\w]))/i;

const syntaxOf = (begin: string): Syntax | null => {
  if (/^<(?:\?xml\s|[\w-]+:RDF\b|!--|!DOCTYPE\s+(?:[\w-]+:)?RDF\b)/.test(begin)) return 'rdf-xml';
  if (turtleStart.test(begin)) return 'turtle';
  const isGraph = /"(?:@graph|dcat:dataset|http:\/\/www\.w3\.org\/ns\/dcat#dataset)"\s*:/.test(begin);
  return begin.startsWith('[') || (isGraph && !/"dataset"\s*:/.test(begin)) ? 'json-ld' : null;
};

/** Bytes; contexts that are in the document are shorter. */
const enoughToTell = 65_536;

/**
 * The datasets of a document at `base`, in the order of their names. The `@context` of JSON-LD must be in it: none is fetched.
 * A document that needs too much memory or time ends only the thread that it is processed in.
 *
 * @throws CatalogueFaultError when it cannot be read, is too large, or names neither a dataset nor a part; a later page may be empty
 */
export async function* readLinkedData(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  syntax: Syntax,
  { isLater = false, longestMs = usualLongestMs, base = null as string | null } = {},
): AsyncGenerator<CatalogueEntry, Said> {
  const task = { bytes: await wholeOf(bytes, name, syntax), syntax, base };
  const answer = await pool.run(task, undefined, { silenceMs: longestMs }).catch((cause: unknown) => {
    throw endOfThread(cause, name, syntax);
  });
  if ('fault' in answer) throw documentFault(name, answer.fault, answer);
  const { entries, said } = answer;
  if (entries.length === 0 && said.parts.length === 0 && !isLater)
    throw documentFault(name, 'it describes no dataset: it contains no `dcat:Dataset`, and is no {"dataset": [...]}');
  yield* entries;
  return { ...said, isOpen: syntax === 'turtle' && task.bytes.at(-1) !== 0x0a };
}

const wholeOf = async (bytes: AsyncIterable<Uint8Array>, name: string, syntax: Syntax): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    chunks.push(chunk);
    if (length > longestDocument)
      throw documentFault(name, `as ${syntaxes[syntax]} it may have at most ${countText(longestDocument)} bytes`);
  }
  return Buffer.concat(chunks);
};

const endOfThread = (cause: unknown, name: string, syntax: Syntax): unknown => {
  const context = syntax === 'json-ld' ? ', or one with a simpler context' : '';
  const hint = `ask its publisher for a smaller document${context}`;
  const failed = (how: string) => documentFault(name, `reading it as ${syntaxes[syntax]} ${how}`, { hint, cause });
  if (cause instanceof SilentError) return failed('takes too long');
  if (!isErrno(cause, 'ERR_WORKER_OUT_OF_MEMORY')) return cause;
  return failed('exceeds the memory limit of a catalogue');
};

export const documentFault = (
  name: string,
  what: string,
  { hint = 'nothing was published or removed', line = 1, cause }: ErrorDetails = {},
): CatalogueFaultError => new CatalogueFaultError(what, { name, line, column: 1 }, { hint, cause });
