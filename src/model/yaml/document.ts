// Reads YAML as a value that keeps the line and column of every key; writes values as YAML.
import { readFile } from 'node:fs/promises';
import { LineCounter, parseDocument, stringify } from 'yaml';
import { type FileProblem, fileProblem, unreadable } from '../errors.ts';
import { type End, type Path, Places } from './places.ts';

export type { End, Path };

/** True when a value nests deeper than so many levels; looks no deeper itself. */
export const isDeeperThan = (levels: number, value: unknown): boolean =>
  value !== null &&
  typeof value === 'object' &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner)));

/** What is at a path of `root`; undefined where nothing is. */
export const valueAt = (root: unknown, path: Path): unknown => {
  let value = root;
  for (const step of path) {
    if (value === null || typeof value !== 'object') return undefined;
    value = Object.hasOwn(value, step) ? (value as Record<PropertyKey, unknown>)[step] : undefined; // just checked
  }
  return value;
};

const maxBytes = 64 * 1024 * 1024;

/** Most separators of values: each value costs about a kilobyte of memory, however short it is. */
const maxMarks = 1_000_000;

/** A value that knows where its parts stand: a YAML file, or rows of a table. */
export interface PlacedValue {
  readonly value: unknown;
  /** Line and column (from 1) of `path`; where that does not exist (a missing key), of the nearest part around it. */
  position(path: Path, end?: End): { line: number; column: number };
  problem(path: Path, message: string, end?: End): FileProblem;
}

/** A YAML file that was read, with its path as it was given. */
export type YamlDocument = PlacedValue & { readonly file: string };

/** Without `places` every problem is at the beginning of the file. */
export const located = (file: string, value: unknown, places: Places | null): YamlDocument => {
  const position: PlacedValue['position'] = (path, end = 'value') =>
    places?.position(path, end) ?? { line: 1, column: 1 };
  const problem: PlacedValue['problem'] = (path, message, end) => ({
    file,
    ...position(path, end),
    key: path.map(String).join('.'),
    message,
  });
  return { file, value, position, problem };
};

/** What reading a YAML file gave: a document when its text is sound, otherwise problems. */
type YamlReading = { document: YamlDocument; problems: [] } | { document: null; problems: FileProblem[] };

/** Reads a YAML file of at most `limit` bytes; a file that is missing or unreadable is a problem, too. */
export const readYaml = async (file: string, limit: number = maxBytes): Promise<YamlReading> => {
  const read = await readText(file, limit);
  return 'problem' in read ? { document: null, problems: [read.problem] } : parseYaml(read.text, file);
};

/** Reads a UTF-8 file of at most `limit` bytes: its text, or why there is none. @throws MachineBusyError */
export const readText = async (
  file: string,
  limit: number = maxBytes,
): Promise<{ text: string } | { problem: FileProblem }> => {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    const { why, hint } = unreadable(error);
    return { problem: { ...fileProblem(file, why), hint } };
  }
  if (bytes.byteLength > limit)
    return { problem: fileProblem(file, `the file is larger than ${limit.toLocaleString('en')} bytes`) };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: fileProblem(file, 'the file is not valid UTF-8') };
  }
};

/**
 * Parses one YAML 1.2 document (core types and merge keys; dates stay text). Duplicate keys, keys that are not plain text
 * and aliases that would grow the document out of all proportion are problems, all of them at once. Never throws.
 */
export const parseYaml = (text: string, file: string): YamlReading => {
  if (marksIn(text) > maxMarks) {
    const message = `the file may hold more than ${maxMarks.toLocaleString('en')} values; split it, or list the resources in an \`index\``;
    return { document: null, problems: [fileProblem(file, message)] };
  }
  const lines = new LineCounter();
  const { contents, errors, warnings } = parseDocument(text, {
    lineCounter: lines,
    schema: 'core',
    resolveKnownTags: false,
    stringKeys: true,
    uniqueKeys: false, // here they are compared in one pass
    prettyErrors: false,
    logLevel: 'error',
  });
  const [fault] = [...errors, ...warnings];
  if (fault !== undefined) {
    const { line, col } = lines.linePos(fault.pos[0]);
    return { document: null, problems: [{ file, line, column: col, key: '', message: wordsOf(fault) }] };
  }
  if (contents === null) return { document: null, problems: [fileProblem(file, 'the file is empty')] };
  const places = new Places(contents, lines);
  if (places.faults.length > 0) return { document: null, problems: places.faults.map((fault) => ({ file, ...fault })) };
  return { document: located(file, places.value, places), problems: [] };
};

const wordsOf = ({ code, message }: { code: string; message: string }): string => {
  if (code === 'MULTIPLE_DOCS') return 'the file holds more than one YAML document; keep one (`---` separates them)';
  if (code === 'NON_STRING_KEY') return 'a key must be plain text, not a list, a mapping or an alias';
  if (/call stack/.test(message)) return 'lists and mappings are nested too deeply';
  const quotes = code === 'BLOCK_AS_IMPLICIT_KEY' ? '; a value that holds ": " needs quotes' : '';
  const slash = code === 'BAD_DQ_ESCAPE' ? ' in double quotes; paths are written with "/"' : '';
  return `not valid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}${quotes}${slash}`;
};

/** At least the number of values: each begins after one of these marks. */
const marksIn = (text: string): number => {
  let count = 0;
  for (const mark of text.matchAll(/[,:?[{\n\r-]/g)) count += mark.length;
  return count;
};

/** One item of a list, as it appears below its key; texts are not folded. */
export const yamlItem = (value: unknown): string => stringify([value], { lineWidth: 0, aliasDuplicateObjects: false });
