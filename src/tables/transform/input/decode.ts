// Bytes in a named encoding as UTF-8: nothing is guessed but what a byte order mark says.
import type { TextDecoder as Decoder } from 'node:util';
import { TableFaultError } from '../../../model/errors.ts';
import { hasBom } from '../../sniff.ts';
import { Utf8Check } from '../../utf8.ts';
import type { Bytes } from './bytes.ts';

const marks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
];

/** The encoding that a byte order mark tells; null without one. */
export const markedEncoding = (head: Uint8Array): string | null =>
  marks.find(({ bytes }) => bytes.every((byte, index) => head[index] === byte))?.encoding ?? null;

/**
 * The text of `bytes` in pieces. `encoding` null: UTF-8, or what a byte order mark says.
 *
 * @throws TableFaultError (`table-encoding`) with the line of the first byte that cannot be read
 */
export async function* decoded(bytes: Bytes, encoding: string | null): AsyncGenerator<string> {
  let decoder: Decoder | null = null;
  let name = '';
  let lines = 1;
  for await (const chunk of bytes()) {
    if (decoder === null) {
      name = markedEncoding(chunk) ?? encoding ?? 'utf-8';
      decoder = new TextDecoder(name, { fatal: true });
    }
    const text = decodeOr(decoder, chunk, () => unreadable(name, chunk, lines));
    lines += newlinesIn(text);
    if (text !== '') yield text;
  }
  const rest = decoder === null ? '' : decodeOr(decoder, null, () => unreadable(name, null, lines));
  if (rest !== '') yield rest;
}

/**
 * The bytes of text in UTF-8, without a byte order mark. `encoding` null: UTF-8, or what a byte order mark says.
 *
 * @throws TableFaultError (`table-encoding`) with the line of the first byte that cannot be read
 */
export async function* utf8Bytes(bytes: Bytes, encoding: string | null): AsyncGenerator<Buffer> {
  let name: string | null = null;
  let check: Utf8Check | null = null;
  let lines = 1;
  for await (const chunk of bytes()) {
    if (check === null) {
      name = markedEncoding(chunk) ?? encoding ?? 'utf-8';
      if (name !== 'utf-8') break;
    }
    const isFirst = check === null;
    check ??= new Utf8Check();
    if (check.feed(chunk) >= 0) throw unreadable('utf-8', chunk, lines);
    lines += linesIn(chunk);
    yield isFirst && hasBom(chunk) ? chunk.subarray(3) : chunk;
  }
  if (check !== null && check.end() >= 0) throw unreadable('utf-8', null, lines);
  if (name !== null && name !== 'utf-8') for await (const text of decoded(bytes, name)) yield Buffer.from(text);
}

const linesIn = (chunk: Buffer): number => {
  let count = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) count++;
  return count;
};

const decodeOr = (decoder: Decoder, chunk: Buffer | null, fault: () => TableFaultError): string => {
  try {
    return chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw fault();
  }
};

/** How many lines end in a text. */
export const newlinesIn = (text: string): number => {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++;
  return count;
};

const unreadable = (encoding: string, chunk: Buffer | null, linesBefore: number): TableFaultError => {
  const lossy = chunk === null ? '' : new TextDecoder(encoding).decode(chunk);
  const at = lossy.indexOf('\ufffd');
  const line = linesBefore + newlinesIn(lossy.slice(0, Math.max(0, at)));
  const hint =
    encoding === 'utf-8'
      ? 'save the file as UTF-8, or name its encoding: `table: [{encoding: windows-1252}]`'
      : 'name the right encoding in the step `encoding`';
  return new TableFaultError(
    `line ${line}: the text is not valid ${encoding.toUpperCase()}`,
    { code: 'table-encoding', line },
    { hint },
  );
};
