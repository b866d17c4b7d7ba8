// Scans the pieces of an XML document: a cursor over the text, names, references, comments.
import { MalformedBody, positionAt } from './malformed.ts';

/** A place in a document. */
export interface Cursor {
  text: string;
  at: number;
}

/** Throws `MalformedBody` with line and column of `index`. */
export const failAt = (cursor: Cursor, reason: string, index = cursor.at): never => {
  throw new MalformedBody(reason, positionAt(cursor.text, index));
};

/** True where `expected` stands at the cursor. */
export const looksAt = (cursor: Cursor, expected: string): boolean => cursor.text.startsWith(expected, cursor.at);

/** Steps over `expected`; `what` names the construct in the error. */
export const expectMark = (cursor: Cursor, expected: string, what: string): void => {
  if (!looksAt(cursor, expected)) failAt(cursor, `expected ${expected} ${what}`);
  cursor.at += expected.length;
};

/** Steps over blanks; returns whether there were any. */
export const skipBlanks = (cursor: Cursor): boolean => {
  const blanks = /[ \t\r\n]*/y;
  blanks.lastIndex = cursor.at;
  const length = blanks.exec(cursor.text)?.[0].length ?? 0;
  cursor.at += length;
  return length > 0;
};

const longestName = 200;

/** The name at the cursor, which moves behind it. */
export const readName = (cursor: Cursor): string => {
  const pattern = /[\p{L}_:][\p{L}\p{M}\p{N}_:.\u00b7-]*/uy;
  pattern.lastIndex = cursor.at;
  const name = pattern.exec(cursor.text)?.[0] ?? failAt(cursor, 'expected a name');
  if (name.length > longestName) failAt(cursor, `a name is longer than ${longestName} characters`);
  cursor.at += name.length;
  return name;
};

/** The text from the cursor to `end`, which is skipped; `what` names the construct in the error. */
export const readTo = (cursor: Cursor, end: string, what: string): string => {
  const stop = cursor.text.indexOf(end, cursor.at);
  if (stop === -1) failAt(cursor, `${what} is never closed`);
  const inner = cursor.text.slice(cursor.at, stop);
  cursor.at = stop + end.length;
  return inner;
};

// What XML 1.0 forbids everywhere.
const forbidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const characterOf = (name: string): string | null => {
  const own = named[name];
  if (own !== undefined) return own;
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  if (!(code > 0 && code <= 0x10ffff) || (code >= 0xd800 && code <= 0xdfff)) return null;
  const char = String.fromCodePoint(code);
  return forbidden.test(char) ? null : char;
};

/** A piece of a document as it stands, line ends as `\n`; control characters are malformed. `start` is where it stands. */
export const plainText = (cursor: Cursor, raw: string, start: number): string => {
  const bad = forbidden.exec(raw);
  if (bad !== null) failAt(cursor, 'a control character is not accepted', start + bad.index);
  return raw.replace(/\r\n?/g, '\n');
};

const reference = /&(?:(#x[0-9a-fA-F]{1,6}|#[0-9]{1,7}|amp|lt|gt|quot|apos);)?/g;

const unknownReference = /&(?!(?:#x[0-9a-fA-F]{1,6}|#[0-9]{1,7}|amp|lt|gt|quot|apos);)/;

/** A piece of text or an attribute with its references followed; entities other than the five named are malformed. */
export const decodeText = (cursor: Cursor, raw: string, start: number): string =>
  plainText(cursor, raw, start).replace(
    reference,
    (_all, name: string | undefined) =>
      (name === undefined ? null : characterOf(name)) ??
      failAt(
        cursor,
        'an & is neither one of the five named entities nor a character reference',
        start + Math.max(0, raw.search(unknownReference)),
      ),
  );
