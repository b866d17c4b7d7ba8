// YAML as deployed servers write it (`---`, four blanks a level, `- ` alone before a list or map in a list), and YAML bodies:
// the core schema, with bounds on depth, aliases and what they expand to.
import {
  CORE_SCHEMA,
  defineScalarTag,
  floatCoreTag,
  intCoreTag,
  loadAll,
  NOT_RESOLVED,
  type ScalarTagDefinition,
  YAMLException,
} from 'js-yaml';
import { isObject } from '../../util/json.ts';
import {
  type BodyParser,
  defaultParseLimits,
  escapeUnit,
  hiddenDateProperties,
  isDateObject,
  isForbiddenKey,
  MalformedBody,
  openBudget,
  type ParseLimits,
  phpNumeric,
  readText,
  type Spend,
  type Value,
  type ValueMap,
  type WriteOptions,
  type WriteStyle,
} from './value.ts';

const indentStep = 4;
// Readers take a key for one only if the colon follows within 1,024 characters.
const longestKey = 1000;

type Scope = { style: WriteStyle; dates: boolean };

const isEmpty = (value: Value): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

const leaf = (value: Value, indent: number, style: WriteStyle): string => {
  if (typeof value === 'string') return yamlText(value, indent, style);
  if (Array.isArray(value)) return '[ ]';
  return isObject(value) ? (style !== 'sound' ? '[ ]' : '{ }') : String(value);
};

/** The entries of a map, with the hidden properties of a date where deployed servers show them. */
const entriesOf = (map: ValueMap, scope: Scope): [string, Value][] => {
  const entries = Object.entries(map);
  if (!scope.dates || !isDateObject(map)) return entries;
  const after = entries.findIndex(([key]) => key === 'errors') + 1;
  return entries.toSpliced(after, 0, ...hiddenDateProperties(map));
};

const entryHead = (key: string, pad: string, style: WriteStyle): string => {
  const spelt = yamlKey(key, style);
  return style === 'sound' && spelt.length > longestKey ? `${pad}? ${spelt}\n${pad}: ` : `${pad}${spelt}: `;
};

const block = (value: Value[] | ValueMap, indent: number, scope: Scope): string => {
  const pad = ' '.repeat(indent);
  const lines = (head: string, part: Value, finish: (line: string) => string): string => {
    const nested = typeof part === 'object' && part !== null && !isEmpty(part);
    if (nested) return `${finish(head)}\n${block(part, indent + indentStep, scope)}`;
    return `${finish(head + leaf(part, indent, scope.style))}\n`;
  };
  if (Array.isArray(value)) return value.map((item) => lines(`${pad}- `, item, (line) => line)).join('');
  return entriesOf(value, scope)
    .map(([key, part]) => lines(entryHead(key, pad, scope.style), part, trimEnd))
    .join('');
};

// PHP takes these for false, and deployed servers then write an empty document.
const isFalsy = (value: Value): boolean => value === false || value === 0 || value === '' || value === '0';

/**
 * The value as a YAML document; a scalar is a list of one, null and empty lists are `---` alone.
 * In the `recorded` style byte for byte what deployed servers write, faults included: line ends and quotes at the ends
 * of texts get lost, some texts are no YAML at all, the hidden properties of date objects show. In the `sound` style
 * YAML 1.1 and 1.2 readers get every value back. Source: recorded behaviour 3, read_formats.
 */
export const writeYaml = (value: Value, options: WriteOptions): string => {
  const scope = { style: options.style, dates: options.style !== 'sound' && options.shape === 'node' };
  if (value === null || isEmpty(value) || (options.style !== 'sound' && isFalsy(value))) return '---\n';
  return `---\n${block(typeof value === 'object' ? value : [value], 0, scope)}`;
};

const mostAliases = 100;

/** A number only where its spelling comes back from it; `007`, `1.10` or 20 digits stay the text they are. */
const exactNumber = (tag: ScalarTagDefinition<number>): ScalarTagDefinition<number> =>
  defineScalarTag(tag.tagName, {
    implicit: true,
    implicitFirstChars: tag.implicitFirstChars,
    identify: tag.identify,
    resolve: (source, isExplicit, tagName) => {
      const value = tag.resolve(source, isExplicit, tagName);
      return typeof value === 'number' && (isExplicit || String(value) === source) ? value : NOT_RESOLVED;
    },
  });

const schema = CORE_SCHEMA.withTags(exactNumber(intCoreTag), exactNumber(floatCoreTag));

/** A copy in which every alias is followed, counted value by value. */
const unfold = (value: unknown, depth: number, spend: Spend): Value => {
  spend(depth);
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item) => unfold(item, depth + 1, spend));
  if (typeof value !== 'object') throw new MalformedBody(`${String(value)} is not accepted as a value`);
  const map: ValueMap = {};
  for (const [key, part] of Object.entries(value)) {
    if (isForbiddenKey(key)) throw new MalformedBody(`the key ${key} is not accepted`);
    map[key] = unfold(part, depth + 1, spend);
  }
  return map;
};

const loadDocuments = (text: string, limits: ParseLimits): unknown[] => {
  try {
    // js-yaml refuses one level earlier than it says, and counts a scalar as a level; `unfold` counts exactly
    return loadAll(text, { schema, maxDepth: limits.depth + 2, maxAliases: mostAliases });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { line, column } = error.mark ?? {};
    throw new MalformedBody(
      error.reason,
      line === undefined ? {} : { line: line + 1, column: column === undefined ? undefined : column + 1 },
    );
  }
};

/**
 * The value of a YAML body (`application/x-yaml`, spec 1): one document of the core schema; an empty one is null.
 * Numbers that would lose digits stay texts. Own types, too many aliases, the key `__proto__` and infinite numbers are
 * malformed. Throws `MalformedBody` with line and column.
 */
export const parseYaml: BodyParser<Value> = (body, limits = defaultParseLimits) => {
  const documents = loadDocuments(readText(body, limits), limits);
  if (documents.length > 1) throw new MalformedBody(`the body holds ${documents.length} documents; send one`);
  return unfold(documents[0] ?? null, 0, openBudget(limits));
};

const foldAt = 60;

// What PHP's trim() takes away.
const phpBlanks = ' \t\n\r\0\x0b';

const trimStart = (text: string): string => {
  let start = 0;
  while (start < text.length && phpBlanks.includes(text.charAt(start))) start += 1;
  return text.slice(start);
};

/** Takes the blanks at the end away, as PHP's rtrim(). */
const trimEnd = (text: string): string => {
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

/** Spells a text that is at an indentation of `indent` blanks. May span lines; does not end with a line end. */
const yamlText = (text: string, indent: number, style: WriteStyle): string =>
  style !== 'sound' ? recordedText(text, indent) : soundText(text, indent);

/** Spells the key of a map. */
const yamlKey = (key: string, style: WriteStyle): string => {
  if (style !== 'sound') return /[:#]/.test(key) ? `"${key}"` : key;
  if (/^(?:0|[1-9][0-9]{0,8})$/.test(key)) return key;
  return !/[:#]/.test(key) && soundText(key, 0) === key ? key : doubleQuoted(key);
};
