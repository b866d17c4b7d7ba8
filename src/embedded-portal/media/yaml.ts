// YAML replies, laid out as deployed servers do (`---`, four blanks a level, `- ` alone before a list or map in a list), and
// YAML bodies: the core schema, with bounds on depth, aliases and what they expand to.
import {
  CORE_SCHEMA,
  defineScalarTag,
  dump,
  floatCoreTag,
  intCoreTag,
  loadAll,
  NOT_RESOLVED,
  type ScalarTagDefinition,
  YAMLException,
} from 'js-yaml';
import {
  type BodyParser,
  defaultParseLimits,
  isForbiddenKey,
  MalformedBody,
  openBudget,
  type ParseLimits,
  readText,
  type Spend,
  type Value,
  type ValueMap,
} from './value.ts';

const layout = {
  indent: 4,
  lineWidth: -1,
  seqInlineFirst: false,
  flowBracketPadding: true,
  quoteStyle: 'double',
  noRefs: true,
} as const;

const wellFormed = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value;

/**
 * The value as a YAML document; a scalar is a list of one, null and empty lists are `---` alone. Readers of YAML 1.1 and
 * 1.2 get every value back.
 */
export const writeYaml = (value: Value): string => {
  const whole = value === null || typeof value === 'object' ? value : [value];
  if (whole === null || Object.keys(whole).length === 0) return '---\n';
  return `---\n${dump(JSON.parse(JSON.stringify(whole, wellFormed)), layout)}`;
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
      const isExact = isExplicit || String(value) === source.replace(/\.(?=e)/, '');
      return typeof value === 'number' && isExact ? value : NOT_RESOLVED;
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
