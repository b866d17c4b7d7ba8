// YAML byte for byte as deployed servers write it, also where it cannot be read back or is none at all (recorded behaviour 3).
import { phpNumeric, type Value, type ValueMap, type WriteOptions } from '../../media/value.ts';

const indentStep = 4;

/** What PHP's trim() takes away; its rtrim() takes it from the end only. */
const trimEnd = (text: string): string => {
  let end = text.length;
  while (end > 0 && ' \t\n\r\0\v'.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
};
const trim = (text: string): string => trimEnd(text.replace(/^[ \t\n\r\0\v]+/, ''));

/** True for a date object (`field_x.und[0].db.value`), of which servers show two hidden properties (recorded behaviour 7). */
export const isDateObject = (value: ValueMap): boolean =>
  Array.isArray(value.granularity) &&
  typeof value.originalTime === 'string' &&
  typeof value.timezone === 'string' &&
  'timezone_type' in value;

export const hiddenDateProperties = (date: ValueMap): [string, Value][] => [
  ['\0DateObject\0serializedTime', date.originalTime ?? null],
  ['\0DateObject\0serializedTimezone', date.timezone ?? null],
];

const isEmpty = (value: Value): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

const entriesOf = (map: ValueMap, hasDates: boolean): [string, Value][] => {
  const entries = Object.entries(map);
  if (!hasDates || !isDateObject(map)) return entries;
  return entries.toSpliced(entries.findIndex(([key]) => key === 'errors') + 1, 0, ...hiddenDateProperties(map));
};

const leaf = (value: Value, indent: number): string => {
  if (typeof value === 'string') return textOf(value, indent);
  return typeof value === 'object' && value !== null ? '[ ]' : String(value);
};

const block = (value: Value[] | ValueMap, indent: number, hasDates: boolean): string => {
  const isList = Array.isArray(value);
  const entries: [string, Value][] = isList
    ? value.map((item) => ['- ', item])
    : entriesOf(value, hasDates).map(([key, part]) => [`${/[:#]/.test(key) ? `"${key}"` : key}: `, part]);
  const finish = isList ? (line: string): string => line : trimEnd;
  return entries
    .map(([key, part]) => {
      const head = ' '.repeat(indent) + key;
      return typeof part === 'object' && part !== null && !isEmpty(part)
        ? `${finish(head)}\n${block(part, indent + indentStep, hasDates)}`
        : `${finish(head + leaf(part, indent))}\n`;
    })
    .join('');
};

/** What PHP takes for false is an empty document. */
const isFalsy = (value: Value): boolean =>
  value === null || value === false || value === 0 || value === '' || value === '0';

/** A value as a document; a scalar is a list of one. */
export const writeRecordedYaml = (value: Value, { shape }: WriteOptions): string =>
  isFalsy(value) || isEmpty(value)
    ? '---\n'
    : `---\n${block(value !== null && typeof value === 'object' ? value : [value], 0, shape === 'node')}`;

/** Words that YAML readers take for true, false or null, in their three spellings. */
const reserved =
  /^(?:(?:[Tt]rue|[Oo]n|[Yy]es|[Yy]|[Ff]alse|[Oo]ff|[Nn]o|[Nn]|[Nn]ull|~)|TRUE|ON|YES|FALSE|OFF|NO|NULL)$/;

const stripQuotes = (line: string): string => {
  const quoted = (mark: string): boolean => line.startsWith(mark) && line.lastIndexOf(mark) === line.length - 1;
  return quoted('"') || quoted("'") ? line.slice(1, -1) : line;
};

const literal = (text: string, indent: number): string => {
  if (text === '\n') return '\\n';
  if (!/[\n']/.test(text)) return `'${text}'`;
  if (!/[\n"]/.test(text)) return `"${text}"`;
  const lines = text.split('\n');
  const mark = ['|', '|-', '>'].includes(lines[0] ?? '') ? lines.shift() : '|';
  return [mark, ...lines.map((line) => stripQuotes(trim(line)))].join(`\n${' '.repeat(indent + indentStep)}`);
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

const foldAt = 60;

const fold = (text: string, indent: number): string => {
  const pad = `\n${' '.repeat(indent + indentStep)}`;
  if (Buffer.byteLength(text) > foldAt) return `>${pad}${wordwrap(text, foldAt, pad)}`;
  return phpNumeric(text) ? `"${text}"` : text;
};

/** A text at an indentation; may span lines, does not end with a line end. */
const textOf = (text: string, indent: number): string => {
  const isBlock = /[\n*#<>[\]{}&']|: |- | {2}/.test(text) || text.startsWith('!') || text.endsWith(':');
  const spelt = (isBlock ? literal(text, indent) : fold(text, indent)) || '""';
  return reserved.test(spelt) || trim(spelt) !== spelt ? literal(spelt, indent) : spelt;
};
