// What comes in a reply: its encodings and its type.
import { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { SourceRefusedError } from '../../model/errors.ts';

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

/** Encodings to ask for: none for a file that is compressed by itself, so that nothing is compressed twice. */
export const acceptEncoding = (name: string | null): string =>
  gzipName.test(name ?? '') ? 'identity' : 'gzip, br, deflate';

/**
 * The encodings to take off, outermost first. A gzip file that its server labels as an encoding of what is inside (as is
 * usual for `.csv.gz`) stays as it is.
 */
export const encodingsOf = (
  header: string | undefined,
  file: { name: string | null; type: string | null },
): string[] => {
  const all = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((encoding) => encoding.trim().replace(/^x-/, ''))
    .filter((encoding) => encoding !== '' && encoding !== 'identity');
  const itself = gzipTypes.has(file.type ?? '') || gzipName.test(file.name ?? '');
  return (itself && all[0] === 'gzip' ? all.slice(1) : all).reverse();
};

const maxEncodings = 2;

/** Largest ratio of decoded to sent bytes, once a good deal was decoded: tables of one value reach 250 at most. */
const maxRatio = 300;
const ratioFromBytes = 64 * 1024 * 1024;

/** Streams that take the encodings off. `where` begins the message of the error for encodings that are not known. */
export const decodersFor = (encodings: readonly string[], where: string): Transform[] => {
  if (encodings.length > maxEncodings) throw unknownEncoding(where, encodings.join(', '));
  return encodings.map((encoding) => {
    if (encoding === 'gzip') return createGunzip();
    if (encoding === 'br') return createBrotliDecompress();
    if (encoding === 'deflate') return createInflate();
    throw unknownEncoding(where, encoding);
  });
};

/** True when what was sent grew as only a decompression bomb does. */
export const isBomb = (sentBytes: number, decodedBytes: number): boolean =>
  decodedBytes > ratioFromBytes && decodedBytes > sentBytes * maxRatio;

/** Counts the bytes that pass. */
export const countBytes = (count: (bytes: number) => void): Transform =>
  new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      count(chunk.length);
      done(null, chunk);
    },
  });

const unknownEncoding = (where: string, encoding: string): SourceRefusedError =>
  new SourceRefusedError(`${where} is sent with the content encoding ${printable(encoding)}, which is not known`, {
    hint: 'gzip, br and deflate are; have its server send the file as it is',
  });

const tableName = /\.(csv|tsv|txt|json|jsonl|ndjson|geojson|xml|xlsx?|ods|zip|gz)$/i;
const neverData = /^(image|audio|video|font)\/|^application\/pdf$/;

/** What a body must not be. */
export interface Expectation {
  /** File name it is meant for. */
  name: string | null;
  /** The Accept header that was sent. */
  accept: string;
}

/** The error for a media type that cannot be data of that name; null for one that can. What only the body can tell is left to `page-watch.ts`. */
export const wrongType = (type: string | null, { name }: Expectation, where: string): SourceRefusedError | null => {
  if (type === null || !neverData.test(type) || !tableName.test(name ?? '')) return null;
  return new SourceRefusedError(`${where} is of type ${printable(type)}, not what ${name} should hold`, {
    hint: 'open the address in a browser and mend `url` or `name`',
  });
};

const maxWords = 120;

/** Words of a stranger on one line without control characters, shortened. */
export const printable = (text: string): string => {
  const line = text.replace(/[\p{C}\s]+/gu, ' ').trim();
  return line.length > maxWords ? `${line.slice(0, maxWords - 1)}…` : line;
};
