// Spells one scalar in YAML, the way the YAML writer of deployed servers (Spyc 0.6, indent 4, fold at 60) does.
import type { WriteStyle } from './value.ts';
import { phpNumeric } from './value.ts';

const foldAt = 60;
const indentStep = 4;

// What PHP's trim() takes away.
const phpBlanks = ' \t\n\r\0\x0b';

const trimStart = (text: string): string => {
  let start = 0;
  while (start < text.length && phpBlanks.includes(text.charAt(start))) start += 1;
  return text.slice(start);
};

/** Takes the blanks at the end away, as PHP's rtrim(). */
export const trimEnd = (text: string): string => {
  let end = text.length;
  while (end > 0 && phpBlanks.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
};

const trim = (text: string): string => trimEnd(trimStart(text));

// Words that YAML readers take for true, false or null, in their three spellings.
const reservedWords = new Set(
  ['true', 'on', 'yes', 'y', 'false', 'off', 'no', 'n', 'null', '~'].flatMap((word) => [
    word,
    word.toUpperCase(),
    word.charAt(0).toUpperCase() + word.slice(1),
  ]),
);

const needsBlock = (text: string): boolean =>
  /[\n*#<>[\]{}&']|: |- | {2}/.test(text) || text.startsWith('!') || text.endsWith(':');

const stripQuotes = (line: string): string => {
  const quoted = (mark: string): boolean => line.startsWith(mark) && line.lastIndexOf(mark) === line.length - 1;
  return quoted('"') || quoted("'") ? line.slice(1, -1) : line;
};

const blockMarks = ['|', '|-', '>'];

const literal = (text: string, indent: number): string => {
  if (text === '\n') return '\\n';
  if (!/[\n']/.test(text)) return `'${text}'`;
  if (!/[\n"]/.test(text)) return `"${text}"`;
  const lines = text.split('\n');
  const first = lines[0] ?? '';
  const marked = blockMarks.includes(first);
  const pad = `\n${' '.repeat(indent + indentStep)}`;
  return [marked ? first : '|', ...(marked ? lines.slice(1) : lines).map((line) => stripQuotes(trim(line)))].join(pad);
};

/** PHP's wordwrap() without cutting words; widths count bytes. */
const wordwrap = (text: string, width: number, separator: string): string => {
  const bytes = Buffer.from(text, 'utf8').toString('latin1'); // one character a byte; only ASCII blanks are cut at
  const lines: string[] = [];
  let start = 0;
  let space = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    if (bytes.charAt(at) === ' ') {
      if (at - start >= width) {
        lines.push(bytes.slice(start, at));
        start = at + 1;
      }
      space = at;
    } else if (at - start >= width && start < space) {
      lines.push(bytes.slice(start, space));
      space += 1;
      start = space;
    }
  }
  lines.push(bytes.slice(start));
  return Buffer.from(lines.join(separator), 'latin1').toString('utf8');
};

const fold = (text: string, indent: number): string => {
  const pad = `\n${' '.repeat(indent + indentStep)}`;
  if (Buffer.byteLength(text) > foldAt) return `>${pad}${wordwrap(text, foldAt, pad)}`;
  return phpNumeric(text) ? `"${text}"` : text;
};

/** The spelling of deployed servers, which not every text survives. */
const recordedText = (text: string, indent: number): string => {
  let spelt = needsBlock(text) ? literal(text, indent) : fold(text, indent);
  if (spelt === '') spelt = '""';
  if (reservedWords.has(spelt)) spelt = literal(spelt, indent);
  return trim(spelt) === spelt ? spelt : literal(spelt, indent);
};

// Characters that no YAML style but the double-quoted one carries safely: controls, byte order marks, odd line ends.
const unprintable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const doubleQuoted = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replace(/[\u007f-\u00a0\u2028\u2029\ufeff\ufffe\uffff]/g, escapeUnit);

// Starts like a number, but YAML 1.1 or 1.2 would read a number, a time or a date.
const numberLike = /^(?:0[xob][0-9a-f_]+|[0-9_.]+(?:e[-+]?[0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[tT \t].*)?)$/i;

const plainSafe = (text: string): boolean => {
  if (/^[A-Za-z_/($]|^-[A-Za-z_]|^[\u00a1-\uffff]/.test(text)) return true;
  return /^[0-9]/.test(text) && /[A-Za-z]/.test(text) && !numberLike.test(text);
};

/** A text of several lines as a block, or null where a block would change it. */
const soundBlock = (text: string, spelt: string): string | null => {
  const lines = text.split('\n');
  const ends = text.length - text.replace(/\n+$/, '').length;
  const changed = lines.some((line) => stripQuotes(trim(line)) !== line) || blockMarks.includes(lines[0] ?? '');
  if (changed || ends > 1 || !/[^\n]/.test(text)) return null;
  return ends === 1 ? spelt : spelt.replace(/^\|/, '|-');
};

/** The recorded spelling where every reader gets the text back from it, else the nearest one that does it. */
const soundText = (text: string, indent: number): string => {
  if (unprintable.test(text)) return doubleQuoted(text);
  const spelt = recordedText(text, indent);
  if (text.includes('\n')) return soundBlock(text, spelt) ?? doubleQuoted(text);
  if (spelt.startsWith('>\n') && !/^ | $/.test(text)) return spelt.replace(/^>/, '>-');
  if (spelt === `'${text}'`) return spelt;
  return spelt === text && plainSafe(text) ? spelt : doubleQuoted(text);
};

/** Spells a text that stands at an indentation of `indent` blanks. May span lines; does not end with a line end. */
export const yamlText = (text: string, indent: number, style: WriteStyle): string =>
  style !== 'sound' ? recordedText(text, indent) : soundText(text, indent);

/** Spells the key of a map. */
export const yamlKey = (key: string, style: WriteStyle): string => {
  if (style !== 'sound') return /[:#]/.test(key) ? `"${key}"` : key;
  if (/^(?:0|[1-9][0-9]{0,8})$/.test(key)) return key;
  return !/[:#]/.test(key) && soundText(key, 0) === key ? key : doubleQuoted(key);
};
