// What changed between two versions of a table, row by row, found in a worker thread. Both are read as streams, the old one
// once more where examples of its rows are shown.
import type { RowChanges } from '../../model/table-history.ts';
import type { Cancellable } from '../../util/worker-pool.ts';
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { kindOf, valueKinds } from '../scan/value-kind.ts';
import { type Answer, answerOfFile, inThreads } from '../thread-answer.ts';
import { RowSet } from './row-set.ts';
import { type Version, VersionReader } from './version-reader.ts';

interface CompareTask {
  before: Version;
  after: Version;
  /** Names of columns that tell rows apart; null: to be found. */
  key: readonly string[] | null;
  rowBytes: number;
  examples: number;
}

/** Compares sound versions; throws a SourceMissingError when one cannot be read, the signal's reason when it is aborted. */
export const rowChanges = inThreads<CompareTask, RowChanges>({
  file: 'changes',
  of: import.meta.url,
  name: 'compareFiles',
  threads: 1,
});

const mixed = (hash: number): number => {
  const mix = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  return mix ^ (mix >>> 13);
};

/** Rows as two independent hashes of their key, and one of the other columns that both versions have. */
const fieldsEach = 3;

let hashes = new Int32Array(fieldsEach * 4096);

const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView => new DataView(buffer, byteOffset, length);
const noBytes = viewOf(Buffer.alloc(0));

interface Side {
  reader: VersionReader;
  /** Where the columns that both versions have are in this one; in front those of the key, so many. */
  places: Int32Array;
  keys: number;
  /** The bytes of its scanner, set where its rows are hashed. */
  view: DataView;
}

/** Hashes the rows of a scanner from one on, all at once: looking them up then waits for memory less often. */
const hashRows = (side: Side, scanner: CellScanner, from: number): void => {
  const rows = scanner.rows - from;
  if (rows * fieldsEach > hashes.length) hashes = new Int32Array(rows * 2 * fieldsEach);
  side.view = viewOf(scanner.bytes);
  for (let row = 0; row < rows; row++) hashRow(side, scanner, from + row, row * fieldsEach);
};

/** Hashes what the cells of a row say, the same in quotes and without, by four bytes at once: that takes most of the time. */
const hashRow = ({ reader, places, keys, view }: Side, scanner: CellScanner, row: number, into: number): void => {
  const from = scanner.firstCell(row);
  const width = scanner.width(row);
  let first = 1;
  let second = 2;
  for (let at = 0; ; at++) {
    // Behind the key, which may be all that there is.
    if (at === keys) {
      hashes[into] = mixed(first);
      hashes[into + 1] = mixed(second);
    }
    if (at === places.length) break;
    const column = places[at] ?? 0;
    const cell = column < width ? from + column : -1; // a short row: as an empty cell
    let words = view;
    let next = scanner.starts[cell] ?? 0;
    let end = scanner.ends[cell] ?? 0;
    if (((scanner.marks[cell] ?? 0) & has.escapes) !== 0) {
      const bytes = Buffer.from(reader.cell(scanner, cell));
      words = viewOf(bytes);
      next = 0;
      end = bytes.length;
    }
    // The length tells where a cell ends.
    first = Math.imul(first ^ (end - next), 0x9e37_79b1);
    second = Math.imul(second ^ (end - next), 0x85eb_ca77);
    for (; next + 4 <= end; next += 4) {
      const word = words.getInt32(next, true);
      first = Math.imul(first ^ word, 0x5bd1_e995);
      first ^= first >>> 15;
      second = Math.imul(second ^ word, 0xc2b2_ae3d);
      second ^= second >>> 13;
    }
    for (; next < end; next++) {
      const byte = words.getUint8(next);
      first = Math.imul(first ^ byte, 0x0100_0193);
      second = Math.imul(second ^ byte, 0x27d4_eb2f) ^ (second >>> 15);
    }
  }
  hashes[into + 2] = mixed(first);
};

/** Rows in which columns are looked at before they are compared, and how many are tried as a key. */
const [headRows, mostTried] = [5000, 3];

const isNamedLikeKey =
  /(?:^|[\s_-])(?:id|ids|nr|no|num|number|nummer|code|key|uuid|guid|kennung|schl(?:ü|ue)ssel|year|jahr)$/i;

/** The columns of a version, what portals call them, and what their first values are. */
interface Head {
  columns: string[];
  names: string[];
  kinds: string[];
  /** True for columns that may tell rows apart: no value twice or missing, no measurement. */
  mayBeKey: boolean[];
}

/** What the first rows of a version say about its columns. */
const headOf = (reader: VersionReader): Head => {
  const facts: { kinds: Map<string, number>; values: Set<string>; mayBeKey: boolean }[] = [];
  const look = (scanner: CellScanner, cell: number, column: number): void => {
    const [start, end, mark] = [scanner.starts[cell] ?? 0, scanner.ends[cell] ?? 0, scanner.marks[cell] ?? 0];
    const { type, mostly } = valueKinds[kindOf(scanner.bytes, start, end, mark)] ?? valueKinds[0];
    facts[column] ??= { kinds: new Map(), values: new Set(), mayBeKey: true };
    const known = facts[column];
    if (start !== end) known.kinds.set(mostly, (known.kinds.get(mostly) ?? 0) + 1);
    if (!known.mayBeKey) return;
    const isCount = type === 'integer' && column > 0 && !isNamedLikeKey.test(reader.columns[column] ?? '');
    const value = reader.cell(scanner, cell);
    const isMeasure = isCount || type === 'number' || mostly === 'local number';
    known.mayBeKey = start !== end && !isMeasure && !known.values.has(value);
    known.values.add(value);
  };
  reader.read((scanner, from, number) => {
    for (let row = from; row < Math.min(scanner.rows, from + headRows - number); row++) {
      const first = scanner.firstCell(row);
      for (let cell = first; cell < scanner.firstCell(row + 1); cell++) look(scanner, cell, cell - first);
    }
    return number + scanner.rows - from < headRows;
  });
  const kinds = facts.map((known) => [...known.kinds].sort(([, a], [, b]) => b - a)[0]?.[0] ?? 'empty');
  return { columns: reader.columns, names: reader.names, kinds, mayBeKey: facts.map(({ mayBeKey }) => mayBeKey) };
};

/** Where a column that both versions have is in them. */
type Pair = [old: number, now: number];

/** Between which columns of both versions a column is; those at the ends are beside nothing. */
const gapOf = ({ names }: Head, at: number, kept: ReadonlySet<string>): string => {
  const isKept = (name: string): boolean => kept.has(name);
  return JSON.stringify([names.slice(0, at).findLast(isKept), names.slice(at + 1).find(isKept)]);
};

/**
 * Columns are the same by the name that portals give them. As many columns that take the place of others, with values of
 * the same kind, were renamed.
 */
const columnsOf = (old: Head, now: Head): Pick<RowChanges, 'columns'> & { pairs: Pair[] } => {
  const kept = new Set(old.names.filter((name) => now.names.includes(name)));
  const others = (head: Head): Map<string, number[]> =>
    Map.groupBy(
      [...head.names.keys()].filter((at) => !kept.has(head.names[at] ?? '')),
      (at) => gapOf(head, at, kept),
    );
  const fresh = others(now);
  const renamed = [...others(old)].flatMap(([gap, lost]) => {
    const instead = fresh.get(gap) ?? [];
    const both = lost.map((at, n): Pair => [at, instead[n] ?? -1]);
    const isSame = instead.length === lost.length && both.every(([at, to]) => old.kinds[at] === now.kinds[to]);
    return isSame ? both : [];
  });
  const same = [...kept].map((name): Pair => [old.names.indexOf(name), now.names.indexOf(name)]);
  const pairs = [...same, ...renamed].sort(([a], [b]) => a - b);
  const [paired, pairedNow] = [new Set(pairs.map(([at]) => at)), new Set(pairs.map(([, at]) => at))];
  return {
    pairs,
    columns: {
      added: now.columns.filter((_, at) => !pairedNow.has(at)),
      removed: old.columns.filter((_, at) => !paired.has(at)),
      renamed: renamed.map(([from, to]) => ({ from: old.columns[from] ?? '', to: now.columns[to] ?? '' })),
    },
  };
};

/** What is told of a row: longer values, and more columns, are cut. */
const [longestTold, mostTold] = [500, 50];

const cut = (value = ''): string => value.slice(0, longestTold);

interface Compared {
  old: VersionReader;
  now: VersionReader;
  /** The columns that both have, those of the key in front, and how many these are. */
  pairs: Pair[];
  keys: number;
  /** False: rows are compared as a whole, and there may be equal ones. */
  isKeyed: boolean;
  examples: number;
}

/** All rows of the old version; null where the key does not tell them apart. `rows`: about how many there are. */
const rowsOf = (of: Compared, rows: number): { set: RowSet; before: number } | null => {
  const { old, pairs, keys, isKeyed } = of;
  const set = new RowSet(rows);
  const side = { reader: old, places: Int32Array.from(pairs, ([at]) => at), keys, view: noBytes };
  let before = 0;
  let isUnique = true;
  const put = (at: number): void => {
    const slot = set.find(hashes[at] ?? 0, hashes[at + 1] ?? 0);
    if (slot < 0) set.put(~slot, hashes[at + 1] ?? 0, isKeyed ? (hashes[at + 2] ?? 0) : 1, before);
    else if (isKeyed) isUnique = false;
    else set.count(slot, 1);
    before += 1;
  };
  old.read((scanner, from) => {
    hashRows(side, scanner, from);
    set.touch(hashes, scanner.rows - from, fieldsEach);
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
  const side = { reader: now, places: Int32Array.from(pairs, ([, at]) => at), keys, view: noBytes };
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
    set.touch(hashes, scanner.rows - from, fieldsEach);
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

const examplesOf = (
  { old, now, pairs, keys }: Compared,
  { added, changed, gone }: { added: string[][]; changed: { number: number; cells: string[] }[]; gone: number[] },
): RowChanges['examples'] => {
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
  const old = new VersionReader(before, { rowBytes, cancelled });
  const now = new VersionReader(after, { rowBytes, cancelled });
  const [head, headNow] = [headOf(old), headOf(now)];
  const { pairs, columns } = columnsOf(head, headNow);
  const named = key?.map((name) => pairs.find(([then, at]) => old.columns[then] === name || now.columns[at] === name));
  const guessed = pairs.filter(([then, at]) => head.mayBeKey[then] === true && headNow.mayBeKey[at] === true);
  for (const keys of named === undefined ? guessed.slice(0, mostTried).map((pair) => [pair]) : [named]) {
    if (keys.includes(undefined)) continue;
    const ordered = [...keys.filter((pair) => pair !== undefined), ...pairs.filter((pair) => !keys.includes(pair))];
    const found = compared({ old, now, pairs: ordered, keys: keys.length, isKeyed: true, examples }, before.rows);
    if (found !== null) return { ...found, columns, key: keys.map((pair) => now.columns[pair?.[1] ?? 0] ?? '') };
  }
  const found = compared({ old, now, pairs, keys: pairs.length, isKeyed: false, examples }, before.rows);
  if (found === null) throw new Error('rows as a whole need not differ');
  return { ...found, columns, key: null };
};

/** Worker-thread entry. */
export const compareFiles = (task: Cancellable<CompareTask>): Promise<Answer<RowChanges>> =>
  answerOfFile(task.after.path, () => compareVersions(task));
