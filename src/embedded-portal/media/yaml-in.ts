// Reads YAML bodies: the core schema, with bounds on depth, aliases and what they expand to.
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
import {
  type BodyParser,
  type Budget,
  checkLength,
  decodeUtf8,
  defaultParseLimits,
  isForbiddenKey,
  openBudget,
  type ParseLimits,
} from './limits.ts';
import { MalformedBody } from './malformed.ts';
import type { Value, ValueMap } from './value.ts';

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
const unfold = (value: unknown, depth: number, budget: Budget): Value => {
  const fault = budget.spend(depth);
  if (fault !== null) throw new MalformedBody(fault);
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item) => unfold(item, depth + 1, budget));
  if (typeof value !== 'object') throw new MalformedBody(`${String(value)} is not accepted as a value`);
  const map: ValueMap = {};
  for (const [key, part] of Object.entries(value)) {
    if (isForbiddenKey(key)) throw new MalformedBody(`the key ${key} is not accepted`);
    map[key] = unfold(part, depth + 1, budget);
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
  checkLength(body, limits);
  const documents = loadDocuments(decodeUtf8(body), limits);
  if (documents.length > 1) throw new MalformedBody(`the body holds ${documents.length} documents; send one`);
  return unfold(documents[0] ?? null, 0, openBudget(limits));
};
