// YAML replies, laid out as those of deployed servers, and YAML bodies: the core schema, with bounds on depth and aliases.
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
import { wellFormed } from '../../util/json.ts';
import { type BodyParser, checked, limits, MalformedBody, placeOf, readText, type Value } from './value.ts';

const layout = {
  indent: 4,
  lineWidth: -1,
  seqInlineFirst: false,
  flowBracketPadding: true,
  quoteStyle: 'double',
  noRefs: true,
} as const;

/** The value as a YAML document; a scalar is a list of one. Readers of YAML 1.1 and 1.2 get every value back. */
export const writeYaml = (value: Value): string => {
  const whole = value === null || typeof value === 'object' ? value : [value];
  if (whole === null || Object.keys(whole).length === 0) return '---\n';
  return `---\n${dump(wellFormed(whole), layout)}`;
};

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

/**
 * The value of a YAML body (spec 1): one document of the core schema, an empty one null. Numbers that would lose digits stay
 * texts. Own types, too many aliases, `__proto__`, infinity are malformed. Throws {@link MalformedBody} with line and column.
 */
export const parseYaml: BodyParser<Value> = (body) => {
  const text = readText(body);
  let documents: unknown[];
  try {
    // js-yaml refuses one level earlier than it says, and counts a scalar as a level; `checked` counts exactly
    documents = loadAll(text, { schema, maxDepth: limits.depth + 2, maxAliases: 100 });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { line, column = 0 } = error.mark ?? {};
    throw new MalformedBody(`${error.reason}${line === undefined ? '' : placeOf(line + 1, column + 1)}`);
  }
  if (documents.length > 1) throw new MalformedBody(`the body holds ${documents.length} documents; send one`);
  return checked(documents[0] ?? null);
};
