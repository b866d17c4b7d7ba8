// Reads YAML as a value that keeps the line and column of every key; writes values as YAML.
import { readFile } from 'node:fs/promises';
import { CORE_SCHEMA, constructFromEvents, dump, type Event, mergeTag, parseEvents, YAMLException } from 'js-yaml';
import { type FileProblem, fileProblem, unreadable } from '../errors.ts';
import { buildPlaces, type Position } from './places.ts';

/** True when a value nests deeper than so many levels; looks no deeper itself. */
export const isDeeperThan = (levels: number, value: unknown): boolean =>
  value !== null &&
  typeof value === 'object' &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner)));

/** Keys and list positions from the root of a document to a value. */
export type Path = readonly PropertyKey[];

/** Values by path. */
export class PathMap<T> {
  readonly #values = new Map<string, T>();

  get(path: Path): T | undefined {
    return this.#values.get(nameOf(path));
  }

  set(path: Path, value: T): void {
    this.#values.set(nameOf(path), value);
  }

  /** The value of the nearest part around `path`, with the length of its path; undefined where no part has one. */
  nearest(path: Path): { value: T; length: number } | undefined {
    for (let length = path.length; length > 0; length -= 1) {
      const value = this.get(path.slice(0, length));
      if (value !== undefined) return { value, length };
    }
    return undefined;
  }
}

const nameOf = (path: Path): string => path.map(String).join('\u0000');

/** What is at a path of `root`; undefined where nothing is. */
export const valueAt = (root: unknown, path: Path): unknown => {
  let value = root;
  for (const step of path) {
    if (value === null || typeof value !== 'object') return undefined;
    value = Object.hasOwn(value, step) ? (value as Record<PropertyKey, unknown>)[step] : undefined; // just checked
  }
  return value;
};

/** Which end of an entry a problem points at: its key (or the `-` item), or its value. */
export type End = 'key' | 'value';

const schema = CORE_SCHEMA.withTags(mergeTag);

/** Largest YAML file that is read, in bytes (64 MiB). */
const maxBytes = 64 * 1024 * 1024;

/** Most separators of values: each value costs some hundred bytes of memory, however short it is. */
const maxMarks = 3_000_000;

/** A YAML file that was read: its value, and where each part of it stands. */
export class YamlDocument {
  /** The path as it was given; shown in problems. */
  readonly file: string;
  readonly value: unknown;
  readonly #text: string;
  readonly #root: Position | null;
  #lineStarts: number[] | null = null;

  constructor(file: string, text: string, value: unknown, root: Position | null) {
    this.file = file;
    this.value = value;
    this.#text = text;
    this.#root = root;
  }

  /** A problem at `path`; where that does not exist (a missing key) at the nearest part around it. */
  problem(path: Path, message: string, end: End = 'value'): FileProblem {
    return { file: this.file, ...this.position(path, end), key: path.map(String).join('.'), message };
  }

  /** Line and column (from 1) of `path`, or of the nearest part around it. */
  position(path: Path, end: End = 'value'): { line: number; column: number } {
    return this.lineColumn(this.#offset(path, end));
  }

  #offset(path: Path, end: End): number {
    let place = this.#root;
    let offset = place?.start ?? 0;
    for (const [depth, step] of path.entries()) {
      const found = place?.child(step);
      if (found === undefined) break;
      const last = depth === path.length - 1;
      offset = last && end === 'value' ? found.value.start : found.key;
      place = found.value;
    }
    return offset;
  }

  /** Line and column (from 1) of an offset into the text. */
  lineColumn(offset: number): { line: number; column: number } {
    this.#lineStarts ??= startsOfLines(this.#text);
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const start = this.#lineStarts[low] ?? 0;
    return { line: low + 1, column: offset - start + 1 };
  }
}

/** A value that knows where its parts stand: a YAML file, or rows of a table. */
export type PlacedValue = Pick<YamlDocument, 'value' | 'problem' | 'position'>;

/** What reading a YAML file gave: a document when its text is sound, otherwise problems. */
type YamlReading = { document: YamlDocument; problems: [] } | { document: null; problems: FileProblem[] };

/** Reads a YAML file of at most `limit` bytes; a file that is missing or unreadable is a problem, too. Never throws. */
export const readYaml = async (file: string, limit: number = maxBytes): Promise<YamlReading> => {
  const read = await readText(file, limit);
  return 'problem' in read ? { document: null, problems: [read.problem] } : parseYaml(read.text, file);
};

/** Reads a UTF-8 file of at most `limit` bytes: its text, or why there is none. Never throws. */
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
  const parsed = orProblem(file, () => parseEvents(text, { filename: file }));
  if ('problem' in parsed) return { document: null, problems: [parsed.problem] };
  const { root, faults } = buildPlaces(parsed.value, text);
  const finder = new YamlDocument(file, text, null, root);
  const problems = faults.map(({ path, message, end, earlier }) => {
    const line = earlier === undefined ? '' : ` on line ${finder.lineColumn(earlier).line}`;
    return finder.problem(path, `${message}${line}`, end);
  });
  if (problems.length > 0) return { document: null, problems };
  const constructed = orProblem(file, () => construct(parsed.value, text, file));
  if ('problem' in constructed) return { document: null, problems: [constructed.problem] };
  return { document: new YamlDocument(file, text, constructed.value, root), problems: [] };
};

/** At least the number of values: each begins after one of these marks. */
const marksIn = (text: string): number => {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (isMark[text.charCodeAt(at)] === 1) count += 1;
  return count;
};

const isMark = Uint8Array.from({ length: 128 }, (_, code) =>
  ',:-?[{\n\r'.includes(String.fromCharCode(code)) ? 1 : 0,
);

const construct = (events: Event[], source: string, filename: string): unknown =>
  // Aliases are bounded by what they expand to (`buildPlaces`), so the merge bound need only be out of the way.
  constructFromEvents(events, { source, filename, schema, maxTotalMergeKeys: 10_000_000 })[0];

/** What the YAML library throws, as a problem; by its documentation that may be other exceptions than its own. */
const orProblem = <T>(file: string, step: () => T): { value: T } | { problem: FileProblem } => {
  try {
    return { value: step() };
  } catch (error) {
    const { line, column } = (error instanceof YAMLException ? error.mark : null) ?? { line: 0, column: 0 };
    const reason = error instanceof YAMLException ? error.reason : String(error);
    return { problem: { file, line: line + 1, column: column + 1, key: '', message: `not valid YAML: ${reason}` } };
  }
};

const startsOfLines = (text: string): number[] => {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
};

/** One item of a list, as it appears below its key; texts are not folded. */
export const yamlItem = (value: unknown): string => dump([value], { lineWidth: -1, noRefs: true });
