// The body of an answer on its way into a file: decoded, within its limits, and not a web page in place of the file.
import { type Duplex, pipeline, Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, gunzipSync } from 'node:zlib';
import { SourceRefusedError, SourceUnreachableError } from '../../model/errors.ts';
import { steady } from '../../util/patience.ts';
import { peeked } from '../../util/peek.ts';
import type { Answer } from './guarded-client.ts';
import type { FetchPolicy } from './policy.ts';
import { oneOf } from './response-headers.ts';

export const mediaType = (header: string | undefined): string | null =>
  header?.split(';')[0]?.trim().toLowerCase() || null;

const gzipType = /^application\/(?:x-gzip|gzip|gzip-compressed|x-gtar)$/;
const gzipName = /\.(gz|tgz)$/i;

/** Encodings to request: none for a file that is compressed itself, so that nothing is compressed twice. */
export const acceptEncoding = (name: string | null): string => (gzipName.test(name ?? '') ? 'identity' : 'gzip, br');

/** Largest ratio of decoded to sent bytes, once a good deal was decoded: tables of one value reach 250 at most. */
const [maxRatio, ratioFromBytes] = [300, 64 * 1024 * 1024];

type Decoder = (source: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

const through = (stream: Duplex): Decoder =>
  async function* (source) {
    pipeline(Readable.from(source), stream, () => undefined); // reading it throws what went wrong
    yield* stream;
  };

/**
 * What decodes a body with that Content-Encoding. Which layers of gzip there are only the bytes tell: servers also
 * declare a gzip file as an encoding of itself (as is usual for `.csv.gz`), or send it compressed once more.
 */
export const decodersFor = (
  header: string | undefined,
  file: { name: string | null; type: string | null },
  where: string,
): Decoder[] => {
  const listed = (header ?? '').split(',').map((encoding) => encoding.trim().toLowerCase().replace(/^x-/, ''));
  const encodings = listed.filter((encoding) => encoding !== '' && encoding !== 'identity');
  if (encodings.length > 2) throw unknownEncoding(where, encodings.join(', '));
  const [innermost, ...others] = encodings;
  const declared = innermost === 'gzip' ? 1 : 0;
  const outer = (declared === 1 ? others : encodings).reverse().map((encoding) => {
    if (encoding === 'gzip') return through(createGunzip());
    if (encoding === 'br') return through(createBrotliDecompress());
    if (encoding === 'deflate') return through(createInflate());
    throw unknownEncoding(where, encoding);
  });
  const isItself = gzipType.test(file.type ?? '') || gzipName.test(file.name ?? '');
  const isText = /\.(?:csv|tsv|tab|txt|json|jsonl|ndjson|geojson|xml|kml)$/i.test(file.name ?? '');
  // A file of text is never gzip; of others the innermost layer is the file, unless it is the encoding.
  return [...outer, unpacking((layers) => (isItself || (!isText && layers > declared) ? 1 : 0))];
};

/** Bytes that show the layers of gzip, and the most layers that are looked for. */
const peekBytes = 1024;
const maxLayers = 4;

/** Takes off the layers of gzip that the first bytes show, except as many as are kept. */
const unpacking = (kept: (layers: number) => number): Decoder =>
  async function* (source) {
    const { start, all } = await peeked(source, peekBytes);
    const layers = gzipLayers(start.subarray(0, peekBytes));
    let chunks = all;
    for (let left = layers - kept(layers); left > 0; left -= 1) chunks = through(createGunzip())(chunks);
    yield* chunks;
  };

const gzipLayers = (start: Uint8Array, found = 0): number => {
  if (found === maxLayers || start[0] !== 0x1f || start[1] !== 0x8b || start[2] !== 8) return found;
  try {
    // Only the beginning is here.
    return gzipLayers(gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }), found + 1);
  } catch {
    return found + 1;
  }
};

const unknownEncoding = (where: string, encoding: string): SourceRefusedError =>
  new SourceRefusedError(`${where} is sent with the content encoding ${printable(encoding)}, which is not supported`, {
    hint: 'use gzip, br, deflate or none',
  });

const tableName = /\.(csv|tsv|txt|json|jsonl|ndjson|geojson|xml|xlsx?|ods|zip|gz)$/i;
const neverData = /^(image|audio|video|font)\/|^application\/pdf$/;

/** `name`: of the file, as far as it is known; `accept`: the header that was sent; `where` begins the messages. */
interface Expectation {
  name: string | null;
  accept: string;
  where: string;
  redact: (text: string) => string;
}

const maxWords = 120;

/** Untrusted text on one line without control characters, shortened. */
const printable = (text: string): string => {
  const line = text.replace(/[\p{C}\s]+/gu, ' ').trim();
  return line.length > maxWords ? `${line.slice(0, maxWords - 1)}…` : line;
};

const pageTag = /^<(?:!doctype html|html|head|body|title)\b/i;
const pageName = /\.x?html?$/i;
const pageType = /^(?:text\/html|application\/xhtml\+xml)$/;
const separatedName = /\.(?:csv|tsv)$/i;
const jsonType = /^application\/(?:[\w.-]+\+)?json$/;

/** Bytes that are held back until it is clear what they are. */
const startBytes = 8192;

/** Passes a body on once its beginning is clear. @throws SourceRefusedError for JSON instead of a table, a page */
async function* dataIn(
  chunks: AsyncIterable<Uint8Array>,
  type: string | null,
  { name, accept, redact, where }: Expectation,
): AsyncGenerator<Uint8Array> {
  if (pageName.test(name ?? '') || accept.includes('html')) return yield* chunks;
  const { start, all } = await peeked(chunks, startBytes);
  const text = start.toString('utf8', 0, startBytes).trimStart(); // a byte order mark is a space to it
  if (/^[[{]/.test(text) && jsonType.test(type ?? '') && separatedName.test(name ?? ''))
    throw new SourceRefusedError(`${where} is JSON, which does not match ${name}`, {
      hint: 'it may be an error message: open the address in a browser; if JSON is intended, set `name: ….json`',
    });
  if (isPage(text, pageType.test(type ?? ''))) {
    const title = printable(/<title\b[^<>]*>([^<]*)<\/title/i.exec(redact(text))?.[1] ?? '');
    throw new SourceRefusedError(`${where} is a web page${title && ` titled "${title}"`}, not a data file`, {
      hint: 'open the address in a browser: it may require a login, or be a landing page; the address of the file itself is needed',
    });
  }
  yield* all;
}

/** A media type alone is not trusted: some servers label everything as HTML, also `<rdf:RDF …` and `<https://…> a …`. */
const isPage = (start: string, isLabelled: boolean): boolean => {
  const fromTag = start.replace(/^(?:<!--[\s\S]*?-->\s*|<\?xml[^>]*>\s*)+/, '');
  return pageTag.test(fromTag) || (isLabelled && /^<(?!\?xml|[\w-]+:)/.test(start));
};

/**
 * The file in an answer, with memory for a few chunks. @throws SourceRefusedError for what is too large, a bomb or a page;
 * SourceUnreachableError for a body that trickles; what the network or a decoder throws
 */
export async function* fileIn(
  { body, headers }: Pick<Answer, 'body' | 'headers'>,
  expected: Expectation,
  limits: BodyLimits,
): AsyncGenerator<Uint8Array> {
  const { name, where } = expected;
  const type = mediaType(oneOf(headers['content-type']));
  if (type !== null && neverData.test(type) && tableName.test(name ?? ''))
    throw new SourceRefusedError(`${where} is of type ${printable(type)}, which does not match ${name}`, {
      hint: 'open the address in a browser and correct it, or the name of the file',
    });
  const decoders = decodersFor(oneOf(headers['content-encoding']), { name, type }, where);
  yield* dataIn(boundedBody(body, { where, decoders, limits }), type, expected);
}

type BodyLimits = Pick<FetchPolicy, 'maxBytes' | 'bodyMs'>;

export async function* boundedBody(
  body: Readable,
  { where, decoders, limits }: { where: string; decoders: Decoder[]; limits: BodyLimits },
): AsyncGenerator<Uint8Array> {
  let [sent, bytes] = [0, 0];
  const tooSlow = (far: number, ms: number): SourceUnreachableError =>
    new SourceUnreachableError(`${where} could not be fetched: only ${far} bytes arrived within ${ms} ms`, {
      hint: 'the server is too slow; sluice retries; raise `sources.body` in the configuration if needed',
    });
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of steady(body, { pauseMs: limits.bodyMs, error: tooSlow })) {
      sent += chunk.length;
      yield chunk;
    }
  };
  for await (const chunk of decoders.reduce<AsyncIterable<Uint8Array>>((chunks, decode) => decode(chunks), counted())) {
    bytes += chunk.length;
    if (bytes > limits.maxBytes) throw tooLarge(where, `at least ${bytes} bytes`, limits.maxBytes);
    if (decoders.length > 0 && bytes > ratioFromBytes && bytes > sent * maxRatio)
      throw new SourceRefusedError(`${where} grows from ${sent} to more than ${bytes} bytes when decompressed`, {
        hint: 'tables do not compress that much; if it is intended, serve the file without content encoding',
      });
    yield chunk;
  }
}

/** The error for a file beyond the limit; `size` as far as it is known. */
export const tooLarge = (where: string, size: string, limit: number): SourceRefusedError =>
  new SourceRefusedError(`${where} has ${size}, more than the limit of ${limit}`, {
    hint: 'publish it as a `link`, or raise sources.maxSize in the configuration',
  });
