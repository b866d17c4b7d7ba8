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
  isForbiddenKey,
  MalformedBody,
  openBudget,
  type ParseLimits,
  readText,
  type Spend,
} from './body-parser.ts';
import {
  hiddenDateProperties,
  isDateObject,
  type Value,
  type ValueMap,
  type WriteOptions,
  type WriteStyle,
} from './value.ts';
import { trimEnd, yamlKey, yamlText } from './yaml-scalar.ts';

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
