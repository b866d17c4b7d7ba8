// Worker-thread entry: compares two versions of a table row by row. Both are read as streams, the old one once more where
// examples of its rows are shown.
import { missingSource } from '../../model/errors.ts';
import type { RowChanges } from '../../model/row-changes.ts';
import type { Cancellable } from '../../util/worker-pool.ts';
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { kindOf, valueKinds } from '../scan/value-kind.ts';
import { type Answer, answerOf } from '../thread-answer.ts';
import { type Columns, columnsOf, type Head } from './columns-of.ts';
import { RowSet } from './row-set.ts';
import { type Version, VersionReader } from './version-reader.ts';

export interface CompareTask {
  before: Version;
  after: Version;
  /** Names of columns that tell rows apart; null: to be found. */
  key: readonly string[] | null;
  rowBytes: number;
  /** How many rows of each kind are told of. */
  examples: number;
}

const mixed = (hash: number): number => {
  const mix = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  return mix ^ (mix >>> 13);
};

/** Rows as two independent hashes of their key, and one of the other columns that both versions have. */
const fieldsEach = 3;

let hashes = new Int32Array(fieldsEach * 4096);

let viewed: Buffer | null = null;
let words: DataView = new DataView(new ArrayBuffer(0));

const view = (bytes: Buffer): void => {
  viewed = bytes;
  words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
};

interface Side {
  reader: VersionReader;
  /** Where the columns that both versions have are in this one; in front those of the key, so many. */
  places: Int32Array;
  keys: number;
}

/** Hashes the rows of a scanner from one on, all at once: looking them up then waits for memory less often. */
const hashRows = (side: Side, scanner: CellScanner, from: number): void => {
  const rows = scanner.rows - from;
  if (rows * fieldsEach > hashes.length) hashes = new Int32Array(rows * 2 * fieldsEach);
  for (let row = 0; row < rows; row++) hashRow(side, scanner, from + row, row * fieldsEach);
};

/** Hashes what the cells of a row say: the same in quotes and without. */
const hashRow = ({ reader, places, keys }: Side, scanner: CellScanner, row: number, into: number): void => {
  const from = scanner.firstCell(row);
  const width = scanner.width(row);
  let place = 0;
  let print = 0;
  let content = 0;
  for (let at = 0; at < places.length; at++) {
    const column = places[at] ?? 0;
    const cell = from + column;
    let bytes = scanner.bytes;
    let start = scanner.starts[cell] ?? 0;
    let end = column < width ? (scanner.ends[cell] ?? 0) : start;
    if (column < width && ((scanner.marks[cell] ?? 0) & has.escapes) !== 0) {
      bytes = Buffer.from(reader.cell(scanner, cell));
      start = 0;
      end = bytes.length;
    }
    const salt = Math.imul(at + 1, 0x9e37_79b1);
    const first = hashOf(bytes, start, end, salt);
    if (at < keys) {
      place = (place + first) | 0;
      print = (print + otherHashOf(bytes, start, end, salt)) | 0;
    } else content = (content + first) | 0;
  }
  hashes[into] = mixed(place);
  hashes[into + 1] = print;
  hashes[into + 2] = content;
};

/** By four bytes at once, which is what takes most of the time. */
const hashOf = (bytes: Buffer, start: number, end: number, salt: number): number => {
  let hash = salt;
  let next = start;
  if (bytes !== viewed) view(bytes);
  for (; next + 4 <= end; next += 4) {
    hash = Math.imul(hash ^ words.getInt32(next, true), 0x5bd1_e995);
    hash ^= hash >>> 15;
  }
  for (; next < end; next++) hash = Math.imul(hash ^ (bytes[next] ?? 0), 0x0100_0193);
  return mixed(hash ^ (end - start));
};

const otherHashOf = (bytes: Buffer, start: number, end: number, salt: number): number => {
  let hash = ~salt;
  for (let next = start; next < end; next++) hash = Math.imul(hash ^ (bytes[next] ?? 0), 0x0100_0193) ^ (hash >>> 15);
  return mixed(hash);
};

/** Rows in which columns are looked at before they are compared, and how many are tried as a key. */
const [headRows, mostTried] = [5000, 3];

const isNamedLikeKey =
  /(?:^|[\s_-])(?:id|ids|nr|no|num|number|nummer|code|key|uuid|guid|kennung|schl(?:ü|ue)ssel|year|jahr)$/i;

interface HeadFacts extends Head {
  /** True for columns that may tell rows apart: no value twice or missing, no measurement. */
  mayBeKey: boolean[];
}

/** What the first rows of a version say about its columns. */
const headOf = (reader: VersionReader): HeadFacts => {
  const seen: Set<string>[] = [];
  const mayBeKey: boolean[] = [];
  const counts: Map<string, number>[] = [];
  const look = (scanner: CellScanner, cell: number, column: number): void => {
    const [start, end, mark] = [scanner.starts[cell] ?? 0, scanner.ends[cell] ?? 0, scanner.marks[cell] ?? 0];
    const { type, mostly } = valueKinds[kindOf(scanner.bytes, start, end, mark)] ?? valueKinds[0];
    counts[column] ??= new Map();
    const count = counts[column];
    if (start !== end) count.set(mostly, (count.get(mostly) ?? 0) + 1);
    if (mayBeKey[column] === false) return;
    const isCount = type === 'integer' && column > 0 && !isNamedLikeKey.test(reader.columns[column] ?? '');
    const value = reader.cell(scanner, cell);
    seen[column] ??= new Set();
    const values = seen[column];
    mayBeKey[column] =
      start !== end && !isCount && type !== 'number' && mostly !== 'local number' && !values.has(value);
    values.add(value);
  };
  reader.read((scanner, from, number) => {
    for (let row = from; row < Math.min(scanner.rows, from + headRows - number); row++) {
      const first = scanner.firstCell(row);
      for (let cell = first; cell < scanner.firstCell(row + 1); cell++) look(scanner, cell, cell - first);
    }
    return number + scanner.rows - from < headRows;
  });
  const kinds = counts.map((count) => [...count].sort(([, a], [, b]) => b - a)[0]?.[0] ?? 'empty');
  return { columns: reader.columns, names: reader.names, kinds, mayBeKey };
};

/** What is told of a row: longer values, and more columns, are cut. */
const [longestTold, mostTold] = [500, 50];

const cut = (value = ''): string => value.slice(0, longestTold);

interface Compared {
  old: VersionReader;
  now: VersionReader;
  /** The columns that both have, those of the key in front, and how many these are. */
  pairs: Columns['pairs'];
  keys: number;
  /** False: rows are compared as a whole, and there may be equal ones. */
  isKeyed: boolean;
  examples: number;
}

/** All rows of the old version; null where the key does not tell them apart. `rows`: about how many there are. */
const rowsOf = (of: Compared, rows: number): { set: RowSet; before: number } | null => {
  const { old, pairs, keys, isKeyed } = of;
  const set = new RowSet(rows);
  const side = { reader: old, places: Int32Array.from(pairs, ([at]) => at), keys };
  let [before, isUnique] = [0, true];
  const put = (at: number): void => {
    const slot = set.find(hashes[at] ?? 0, hashes[at + 1] ?? 0);
    if (slot < 0) set.put(~slot, hashes[at + 1] ?? 0, isKeyed ? (hashes[at + 2] ?? 0) : 1, before);
    else if (isKeyed) isUnique = false;
    else set.count(slot, 1);
    before += 1;
  };
  old.read((scanner, from) => {
    hashRows(side, scanner, from);
    for (let at = 0; at < (scanner.rows - from) * fieldsEach && !set.isFull; at += fieldsEach) put(at);
    return isUnique && !set.isFull;
  });
  if (!isUnique) return null;
  return set.isFull ? rowsOf(of, rows * 2 + 1000) : { set, before };
};

type Counted = Pick<RowChanges, 'added' | 'removed' | 'changed' | 'before' | 'examples'>;

/** What changed; null where the key does not tell all rows of both versions apart. */
const compared = (of: Compared, rows: number): Counted | null => {
  const { now, pairs, keys, isKeyed, examples } = of;
  const known = rowsOf(of, rows + 1);
  if (known === null) return null;
  const { set, before } = known;
  const side = { reader: now, places: Int32Array.from(pairs, ([, at]) => at), keys };
  const counts = { added: 0, removed: 0, changed: 0, before };
  const added: string[][] = [];
  const changed: { number: number; cells: string[] }[] = [];
  let isUnique = true;
  const look = (scanner: CellScanner, row: number, at: number): void => {
    const slot = set.find(hashes[at] ?? 0, hashes[at + 1] ?? 0);
    const content = slot < 0 ? 0 : set.contentOf(slot);
    if (slot < 0 || (!isKeyed && content === 0)) {
      if (counts.added++ < examples) added.push(now.cellsOf(scanner, row));
    } else if (!isKeyed) set.count(slot, -1);
    else if (set.isMatched(slot)) isUnique = false;
    else {
      set.match(slot);
      if (content !== hashes[at + 2] && counts.changed++ < examples)
        changed.push({ number: set.numberOf(slot), cells: now.cellsOf(scanner, row) });
    }
  };
  now.read((scanner, from) => {
    hashRows(side, scanner, from);
    for (let row = from; row < scanner.rows; row++) look(scanner, row, (row - from) * fieldsEach);
    return isUnique;
  });
  if (!isUnique) return null;
  const gone: number[] = [];
  set.each((slot) => {
    const left = isKeyed ? Number(!set.isMatched(slot)) : set.contentOf(slot);
    counts.removed += left;
    if (left > 0 && gone.push(set.numberOf(slot)) > 50 * examples) keepFirst(gone, examples);
  });
  keepFirst(gone, examples);
  return { ...counts, examples: examplesOf(of, { added, changed, gone }) };
};

interface Seen {
  added: string[][];
  changed: { number: number; cells: string[] }[];
  gone: number[];
}

const examplesOf = ({ old, now, pairs, keys }: Compared, { added, changed, gone }: Seen): RowChanges['examples'] => {
  const numbers = [...gone, ...changed.map(({ number }) => number)].sort((a, b) => a - b);
  const found = old.rowsAt(numbers);
  const told = ({ columns }: VersionReader, cells: string[], places: number[]) =>
    places.slice(0, mostTold).map((at) => ({ column: columns[at] ?? '', value: cut(cells[at]) }));
  const [placesOld, placesNow] = [pairs.map(([at]) => at), pairs.map(([, at]) => at)];
  return {
    added: added.map((cells) => told(now, cells, placesNow)),
    removed: gone.map((number) => told(old, found.get(number) ?? [], placesOld)),
    changed: changed.map(({ number, cells }) => {
      const was = found.get(number) ?? [];
      const others = pairs.slice(keys).filter(([then, at]) => (was[then] ?? '') !== (cells[at] ?? ''));
      const changes = others.slice(0, mostTold).map(([then, at]) => {
        return { column: now.columns[at] ?? '', old: cut(was[then]), new: cut(cells[at]) };
      });
      return { key: told(now, cells, placesNow.slice(0, keys)), cells: changes };
    }),
  };
};

const keepFirst = (numbers: number[], most: number): void => {
  numbers.sort((a, b) => a - b);
  numbers.length = Math.min(numbers.length, most);
};

/** Compares two versions by the key, by a column that seems to be one, or as whole rows. */
const compareVersions = (task: Cancellable<CompareTask>): RowChanges => {
  const { before, after, key, rowBytes, examples, cancelled } = task;
  const [old, now] = [before, after].map((version) => new VersionReader(version, { rowBytes, cancelled })) as [
    VersionReader,
    VersionReader,
  ]; // as many as there are versions
  const [head, headNow] = [headOf(old), headOf(now)];
  const { pairs, columns } = columnsOf(head, headNow);
  const isNamed = (name: string, [then, at]: [number, number]): boolean =>
    old.columns[then] === name || now.columns[at] === name;
  const named = key?.map((name) => pairs.find((pair) => isNamed(name, pair)));
  const guessed = pairs.filter(([then, at]) => head.mayBeKey[then] === true && headNow.mayBeKey[at] === true);
  const tries = named === undefined ? guessed.slice(0, mostTried).map((pair) => [pair]) : [named];
  for (const keys of tries) {
    if (keys.includes(undefined)) continue;
    const ordered = [...keys.filter((pair) => pair !== undefined), ...pairs.filter((pair) => !keys.includes(pair))];
    const found = compared({ old, now, pairs: ordered, keys: keys.length, isKeyed: true, examples }, before.rows);
    if (found !== null) return { ...found, columns, key: keys.map((pair) => now.columns[pair?.[1] ?? 0] ?? '') };
  }
  const found = compared({ old, now, pairs, keys: pairs.length, isKeyed: false, examples }, before.rows);
  if (found === null) throw new Error('rows as a whole need not differ');
  return { ...found, columns, key: null };
};

export const compareFiles = (task: Cancellable<CompareTask>): Promise<Answer<RowChanges>> =>
  answerOf(
    () => compareVersions(task),
    (error) => missingSource(task.after.path, error),
  );
