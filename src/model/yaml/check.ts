// Checks a document against a zod schema and words every fault for the person who wrote the file.
import type { z } from 'zod';
import type { FileProblem } from '../errors.ts';
import { type PlacedValue, valueAt } from './document.ts';
import { nearest } from './nearest.ts';

/** As the message of unknown keys, the keys that the mapping may have, a line each. */
const knownKeys: z.core.$ZodErrorMap = ({ code, inst }) => {
  const { def } = (inst as z.core.$ZodTypes | undefined)?._zod ?? {}; // every class of zod's own is in $ZodTypes
  return code === 'unrecognized_keys' && def?.type === 'object' ? Object.keys(def.shape).join('\n') : undefined;
};

type Checked<T> = { value: T; problems: [] } | { value: null; problems: FileProblem[] };

/** Checks a document, or a changed copy of its value: all problems, by place. Only misspelt names are quoted. */
export const checkDocument = <T>(
  document: PlacedValue,
  schema: z.ZodType<T>,
  value: unknown = document.value,
): Checked<T> => {
  const result = schema.safeParse(value, { error: knownKeys });
  if (result.success) return { value: result.data, problems: [] };
  return { value: null, problems: result.error.issues.flatMap((issue) => problemsOf(document, issue)) };
};

type Issue = z.core.$ZodIssue;

/** How zod begins a message where a schema has none of its own. */
const stockPhrase = /^(Invalid input|Too (small|big)|Invalid option)/;

const problemsOf = (document: PlacedValue, issue: Issue): FileProblem[] => {
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) =>
        document.problem([...issue.path, key], unknownKey(key, issue.message.split('\n')), 'key'),
      );
    case 'invalid_key':
      return [document.problem(issue.path, issue.issues[0]?.message ?? issue.message, 'key')];
    default: {
      const meant = issue.code === 'invalid_union' ? meantForm(issue) : null;
      if (meant !== null) return meant.flatMap((inner) => problemsOf(document, inner));
      // Messages quote what is in the file, never what a reference in it was replaced with.
      const found = valueAt(document.value, issue.path);
      return [document.problem(issue.path, found === undefined ? missingValue(issue) : wrongValue(issue, found))];
    }
  }
};

/** The issues of the form that was meant (`schedule: text` or `{cron}`): the only one whose type fits, else null. */
const meantForm = (issue: z.core.$ZodIssueInvalidUnion): Issue[] | null => {
  if (!stockPhrase.test(issue.message)) return null;
  const fitting = issue.errors.filter((form) =>
    form.every(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  const [form] = fitting;
  if (fitting.length !== 1 || form === undefined) return null;
  return form.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
};

const unknownKey = (key: string, known: string[]): string => {
  const meant = nearest(key, known);
  if (meant !== undefined) return `unknown key; did you mean \`${meant}\`?`;
  return `unknown key; known here: ${known.join(', ')}`;
};

const missingValue = (issue: Issue): string => {
  const allowed = allowedBy(issue);
  if (allowed !== undefined) return `this key is required; allowed: ${listed(allowed)}`;
  return issue.code === 'custom' ? issue.message : 'this key is required';
};

const wrongValue = (issue: Issue, found: unknown): string => {
  const allowed = allowedBy(issue);
  if (allowed !== undefined) return notAllowed(found, allowed);
  switch (issue.code) {
    case 'invalid_union':
      return ownWords(issue, `cannot be ${article(found)}`);
    case 'invalid_type':
      return ownWords(issue, wrongType(issue.expected, found));
    case 'too_small':
    case 'too_big':
      return ownWords(issue, outOfBounds(issue));
    default:
      return issue.message;
  }
};

/** The values that are allowed, where there are few: of an enumeration, or what tells the forms of a union apart. */
const allowedBy = (issue: Issue): readonly unknown[] | undefined => {
  if (issue.code === 'invalid_value') return issue.values;
  return issue.code === 'invalid_union' && 'options' in issue ? issue.options : undefined;
};

/** A schema's own message wins; zod's stock phrases are replaced by ours. */
const ownWords = (issue: Issue, ours: string): string => (stockPhrase.test(issue.message) ? ours : issue.message);

const notAllowed = (found: unknown, allowed: readonly unknown[]): string => {
  const meant = typeof found === 'string' ? nearest(found, allowed.map(String)) : undefined;
  const question = meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
  const what = typeof found === 'string' && found.length <= 60 ? `\`${found}\` is not allowed` : 'not allowed';
  return `${what}${question}; allowed: ${listed(allowed)}`;
};

const listed = (values: readonly unknown[]): string => values.map(String).join(', ');

const mapping = 'a mapping (key: value)';

const typeWords: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: mapping,
  record: mapping,
};

const wrongType = (expected: string, found: unknown): string => {
  const wanted = typeWords[expected] ?? expected;
  const quotable = typeof found === 'number' || typeof found === 'boolean';
  if (expected === 'string' && quotable) return `must be text; put it in quotes: "${found}"`;
  if (found === null) return `must be ${wanted}, but is empty`;
  return `must be ${wanted}, not ${article(found)}`;
};

const article = (found: unknown): string => {
  if (found === null) return 'nothing';
  if (Array.isArray(found)) return 'a list';
  if (typeof found === 'number' && !Number.isInteger(found)) return 'a fraction';
  return typeof found === 'object' ? 'a mapping' : (typeWords[typeof found] ?? 'this');
};

const outOfBounds = (issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string => {
  const isSmall = issue.code === 'too_small';
  const limit = isSmall ? issue.minimum : issue.maximum;
  const atLeast = isSmall ? 'at least' : 'at most';
  if (issue.origin === 'string')
    return isSmall && limit === 1 ? 'must not be empty' : `must have ${atLeast} ${limit} characters`;
  if (issue.origin === 'array') return `must have ${atLeast} ${limit} ${limit === 1 ? 'entry' : 'entries'}`;
  const beyond = isSmall ? 'more than' : 'less than';
  return `must be ${issue.inclusive === false ? beyond : atLeast} ${limit}`;
};
