// The body of an answer on its way into a file: decoded, within its limits, and not a web page in place of the file.
import { Duplex, pipeline as piped, Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createBrotliDecompress, createGunzip, createInflate, gunzipSync } from 'node:zlib';
import { SourceRefusedError, SourceUnreachableError } from '../../model/errors.ts';
import { isTrickling } from '../../util/patience.ts';
import { peeked } from '../../util/peek.ts';
import type { Answer } from './guarded-client.ts';
import type { Part } from './part.ts';
import type { FetchPolicy } from './policy.ts';

/** Media type of a Content-Type header without parameters, lower case; null without one. */
export const mediaType = (header: string | undefined): string | null =>
  header?.split(';')[0]?.trim().toLowerCase() || null;

const gzipTypes = new Set([
  'application/gzip',
  'application/x-gzip',
  'application/gzip-compressed',
  'application/x-gtar',
]);
const gzipName = /\.(gz|tgz)$/i;

/** Encodings to request: none for a file that is compressed itself, so that nothing is compressed twice. */
export const acceptEncoding = (name: string | null): string =>
  gzipName.test(name ?? '') ? 'identity' : 'gzip, br, deflate';

const maxEncodings = 2;

/** Largest ratio of decoded to sent bytes, once a good deal was decoded: tables of one value reach 250 at most. */
const maxRatio = 300;
const ratioFromBytes = 64 * 1024 * 1024;

/**
 * Streams that decode a body with that Content-Encoding. Which layers of gzip there are only the bytes tell: servers also
 * declare a gzip file as an encoding of itself (as is usual for `.csv.gz`), or send it compressed once more.
 * `where` begins the message of the error for unknown encodings.
 */
export const decodersFor = (
  header: string | undefined,
  file: { name: string | null; type: string | null },
  where: string,
): Duplex[] => {
  const encodings = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((encoding) => encoding.trim().replace(/^x-/, ''))
    .filter((encoding) => encoding !== '' && encoding !== 'identity');
  if (encodings.length > maxEncodings) throw unknownEncoding(where, encodings.join(', '));
  const [innermost, ...others] = encodings;
  const declared = innermost === 'gzip' ? 1 : 0;
  const outer = (declared === 1 ? others : encodings).reverse().map((encoding) => {
    if (encoding === 'gzip') return createGunzip();
    if (encoding === 'br') return createBrotliDecompress();
    if (encoding === 'deflate') return createInflate();
    throw unknownEncoding(where, encoding);
  });
  const isItself = gzipTypes.has(file.type ?? '') || gzipName.test(file.name ?? '');
  // A file of text is never gzip; of others the innermost layer is the file, unless it is the encoding.
  const kept = (layers: number): number => {
    if (isItself) return 1;
    return textName.test(file.name ?? '') || layers <= declared ? 0 : 1;
  };
  return [...outer, unpacking(kept)];
};

const textName = /\.(?:csv|tsv|tab|txt|json|jsonl|ndjson|geojson|xml|kml)$/i;

/** Bytes that show the layers of gzip, and the most layers that are looked for. */
const peekBytes = 1024;
const maxLayers = 4;

/** Takes off the layers of gzip that the first bytes show, except as many as are kept. */
const unpacking = (kept: (layers: number) => number): Duplex =>
  Duplex.from(async function* (source: AsyncIterable<Uint8Array>) {
    const { start, all } = await peeked(source, peekBytes);
    const layers = gzipLayers(start.subarray(0, peekBytes));
    const gunzips = Array.from({ length: Math.max(0, layers - kept(layers)) }, () => createGunzip());
    if (gunzips.length === 0) yield* all;
    else yield* piped([Readable.from(all), ...gunzips], () => undefined) as unknown as AsyncIterable<Uint8Array>; // the last of them
  });

const gzipLayers = (start: Uint8Array, found = 0): number => {
  if (found === maxLayers || start[0] !== 0x1f || start[1] !== 0x8b || start[2] !== 8) return found;
  try {
    // Only the beginning is here.
    return gzipLayers(gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }), found + 1);
  } catch {
    return found + 1;
  }
};

/** True when the content grew as only a decompression bomb does. */
const isBomb = (sentBytes: number, decodedBytes: number): boolean =>
  decodedBytes > ratioFromBytes && decodedBytes > sentBytes * maxRatio;

/** Passes on what a server sends and counts it; a server must not block a worker with a byte a second. */
const counting = (where: string, pauseMs: number, count: (bytes: number) => void): Transform => {
  const began = performance.now();
  let sent = 0;
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      sent += chunk.length;
      count(sent);
      const ms = performance.now() - began;
      done(isTrickling(sent, ms, pauseMs) ? tooSlow(where, sent, Math.round(ms)) : null, chunk);
    },
  });
};

const tooSlow = (where: string, bytes: number, ms: number): SourceUnreachableError =>
  new SourceUnreachableError(`${where} could not be fetched: only ${bytes} bytes arrived within ${ms} ms`, {
    hint: 'the server is too slow; sluice retries; raise `sources.body` in the configuration if needed',
  });

const unknownEncoding = (where: string, encoding: string): SourceRefusedError =>
  new SourceRefusedError(`${where} is sent with the content encoding ${printable(encoding)}, which is not supported`, {
    hint: 'use gzip, br, deflate or none',
  });

const tableName = /\.(csv|tsv|txt|json|jsonl|ndjson|geojson|xml|xlsx?|ods|zip|gz)$/i;
const neverData = /^(image|audio|video|font)\/|^application\/pdf$/;

interface Expectation {
  name: string | null;
  accept: string;
  redact: (text: string) => string;
}

/** The error for a media type that cannot be data of that name; null for one that can. What only the body can show is left to {@link PageWatch}. */
export const wrongType = (
  type: string | null,
  { name }: Pick<Expectation, 'name'>,
  where: string,
): SourceRefusedError | null => {
  if (type === null || !neverData.test(type) || !tableName.test(name ?? '')) return null;
  return new SourceRefusedError(`${where} is of type ${printable(type)}, which does not match ${name}`, {
    hint: 'open the address in a browser and correct `url` or `name`',
  });
};

const maxWords = 120;

/** Untrusted text on one line without control characters, shortened. */
const printable = (text: string): string => {
  const line = text.replace(/[\p{C}\s]+/gu, ' ').trim();
  return line.length > maxWords ? `${line.slice(0, maxWords - 1)}…` : line;
};

const pageName = /\.x?html?$/i;
const pageTypes = new Set(['text/html', 'application/xhtml+xml']);
const separatedName = /\.(?:csv|tsv)$/i;
const jsonType = /^application\/(?:[\w.-]+\+)?json$/;

/** Bytes that are held back until it is clear what they are. */
const startBytes = 8192;

/** Checks the beginning of a body for anything but the expected data. */
export class PageWatch {
  readonly #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isData: boolean;
  readonly #refuse: (start: string) => void;

  /** `type` is the media type of the body; `where` begins the messages. */
  constructor(type: string | null, { name, accept, redact }: Expectation, where: string) {
    this.#isData = pageName.test(name ?? '') || accept.includes('html');
    this.#refuse = (start) => {
      if (/^[[{]/.test(start) && jsonType.test(type ?? '') && separatedName.test(name ?? ''))
        throw jsonFault(where, name);
      if (isPage(start, pageTypes.has(type ?? ''))) throw pageFault(where, redact(start));
    };
  }

  /**
   * Takes the next chunk and returns those that may be passed on by now.
   * @throws SourceRefusedError naming what came instead, with the title of a page
   */
  take(chunk: Uint8Array): Uint8Array[] {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    return this.#isData || this.#heldBytes >= startBytes ? this.end() : [];
  }

  /** Ends the body; otherwise as {@link take}. */
  end(): Uint8Array[] {
    if (!this.#isData)
      this.#refuse(
        Buffer.concat(this.#held)
          .toString('utf8', 0, startBytes)
          .replace(/^\uFEFF/, '')
          .trimStart(),
      );
    this.#isData = true;
    return this.#held.splice(0);
  }
}

const jsonFault = (where: string, name: string | null): SourceRefusedError =>
  new SourceRefusedError(`${where} is JSON, which does not match ${name}`, {
    hint: 'it may be an error message: open the address in a browser; if JSON is intended, set `name: ….json`',
  });

const pageFault = (where: string, page: string): SourceRefusedError => {
  const words = printable(/<title\b[^<>]*>([^<]*)<\/title/i.exec(page)?.[1] ?? '');
  return new SourceRefusedError(`${where} is a web page${words === '' ? '' : ` titled "${words}"`}, not a data file`, {
    hint: 'open the address in a browser: it may require a login, or be a landing page; set `url` to the address of the file itself',
  });
};

/** A media type alone is not trusted: some servers label everything as HTML. */
const isPage = (start: string, isLabelled: boolean): boolean => {
  const fromTag = start.replace(/^(?:<!--[\s\S]*?-->\s*|<\?xml[^>]*>\s*)+/, '');
  return /^<(?:!doctype html|html|head|body|title)\b/i.test(fromTag) || (isLabelled && /^<(?!\?xml)/.test(start));
};

interface Flow {
  answer: Answer;
  /** Decode the encodings, in their order. */
  decoders: Duplex[];
  watch: PageWatch;
  part: Part;
  /** Bytes of the whole file; null where they are not known, as of encoded ones. */
  total: number | null;
}

interface PumpOptions {
  limits: Pick<FetchPolicy, 'maxBytes' | 'bodyMs'>;
  signal: AbortSignal;
  report: ((line: string) => void) | undefined;
}

const reportEveryMs = 15_000;

/**
 * Pumps the body to its end, with memory for a few chunks.
 * @throws SourceRefusedError for what is too large, a bomb or a page; SourceUnreachableError for a body that trickles;
 *   what the network or a decoder throws
 */
export const pump = async (
  { answer, decoders, watch, part, total }: Flow,
  { limits, signal, report }: PumpOptions,
): Promise<void> => {
  let sent = 0;
  const count = counting(answer.where, limits.bodyMs, (bytes) => {
    sent = bytes;
  });
  const write = async (chunks: Uint8Array[]): Promise<void> => {
    for (const chunk of chunks) {
      const bytes = part.bytes + chunk.length;
      if (bytes > limits.maxBytes) throw tooLarge(answer.where, `at least ${bytes} bytes`, limits.maxBytes);
      await part.write(chunk);
    }
    if (decoders.length > 0 && isBomb(sent, part.bytes)) throw bomb(answer.where, sent, part.bytes);
  };
  const whole = total === null ? '' : ` of ${total}`;
  const progress = setInterval(() => report?.(`fetched ${part.bytes}${whole} bytes`), reportEveryMs);
  try {
    const sink = sinkOf(
      (chunk) => write(watch.take(chunk)),
      () => write(watch.end()),
    );
    await pipeline([answer.body, count, ...decoders, sink], { signal });
  } finally {
    clearInterval(progress);
  }
};

/** The bytes of a body that goes elsewhere than into a part, within the same limits. @throws as {@link pump} */
export async function* boundedBody(
  body: Readable,
  { where, decoders, limits }: { where: string; decoders: Duplex[]; limits: PumpOptions['limits'] },
): AsyncGenerator<Buffer> {
  let [sent, bytes] = [0, 0];
  const count = counting(where, limits.bodyMs, (total) => {
    sent = total;
  });
  piped([body, count, ...decoders], () => undefined); // the loop below throws what went wrong
  for await (const chunk of decoders.at(-1) ?? count) {
    bytes += chunk.length;
    if (bytes > limits.maxBytes) throw tooLarge(where, `at least ${bytes} bytes`, limits.maxBytes);
    if (decoders.length > 0 && isBomb(sent, bytes)) throw bomb(where, sent, bytes);
    yield chunk;
  }
}

/** The error for a file beyond the limit; `size` as far as it is known. */
export const tooLarge = (where: string, size: string, limit: number): SourceRefusedError =>
  new SourceRefusedError(`${where} has ${size}, more than the limit of ${limit}`, {
    hint: 'publish it as a `link`, or raise sources.maxSize in the configuration',
  });

const bomb = (where: string, sent: number, bytes: number): SourceRefusedError =>
  new SourceRefusedError(`${where} grows from ${sent} to more than ${bytes} bytes when decompressed`, {
    hint: 'tables do not compress that much; if it is intended, serve the file without content encoding',
  });

const sinkOf = (write: (chunk: Uint8Array) => Promise<void>, end: () => Promise<void>): Writable =>
  new Writable({
    // Inside the chain, so that what is thrown before the first await is caught as well.
    write: (chunk: Uint8Array, _encoding, done) => {
      Promise.resolve(chunk)
        .then(write)
        .then(() => done(), done);
    },
    final: (done) => {
      Promise.resolve()
        .then(end)
        .then(() => done(), done);
    },
  });
