// Types of columns over the whole table, with the row that decided each.
import { kindNumber, type ValueKind, valueKinds } from './value-kind.ts';

/** What a column holds. Identifiers with leading zeros are text. */
export type ColumnType = 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'text' | 'empty';

/** How often a kind of value stands in a column, and the line of the first of them. */
export interface KindCount {
  kind: ValueKind;
  count: number;
  line: number;
}

/** The type of one column. */
export interface ColumnFacts {
  type: ColumnType;
  /** The line of the row that decided: the one after which no other row changed the type; null for an empty column. */
  decidedBy: number | null;
  /** Kinds of its values but empty ones, in the order they appear. */
  kinds: KindCount[];
  /** Cells without anything. */
  empty: number;
}

const kindsCount = valueKinds.length;
const emptyKind = kindNumber('empty');

const typeOfKind = (kind: ValueKind): ColumnType => {
  if (kind === 'integer') return 'integer';
  if (kind === 'boolean') return 'boolean';
  if (kind.startsWith('decimal') || kind.startsWith('grouped')) return 'number';
  if (kind.startsWith('datetime')) return 'datetime';
  return kind.startsWith('date') ? 'date' : 'text';
};

/** The type that holds the values of both. */
const joined = (one: ColumnType, other: ColumnType): ColumnType => {
  if (one === other || other === 'empty') return one;
  if (one === 'empty') return other;
  const pair = [one, other].sort().join(' ');
  if (pair === 'integer number') return 'number';
  return pair === 'date datetime' ? 'datetime' : 'text';
};

/** Counts kinds of values by column in flat memory. */
export class ColumnKinds {
  #counts: Float64Array = new Float64Array();
  #lines: Float64Array = new Float64Array();

  /** Makes room for so many columns. */
  reserve(columns: number): void {
    if (columns * kindsCount <= this.#counts.length) return;
    const [counts, lines] = [this.#counts, this.#lines];
    this.#counts = new Float64Array(columns * kindsCount);
    this.#lines = new Float64Array(columns * kindsCount);
    this.#counts.set(counts);
    this.#lines.set(lines);
  }

  /** Counts a value of a column (from 0) that {@link reserve} knows. */
  add(column: number, kind: number, line: number): void {
    const at = column * kindsCount + kind;
    const count = this.#counts[at] ?? 0;
    if (count === 0) this.#lines[at] = line;
    this.#counts[at] = count + 1;
  }

  /** What was counted of a column. */
  facts(column: number): ColumnFacts {
    const from = column * kindsCount;
    const kinds: KindCount[] = [];
    for (let at = 0; at < kindsCount; at++) {
      const count = this.#counts[from + at] ?? 0;
      if (count === 0 || at === emptyKind) continue;
      kinds.push({ kind: valueKinds[at] ?? 'empty', count, line: this.#lines[from + at] ?? 0 });
    }
    if (kinds.length > 1) kinds.sort((a, b) => a.line - b.line);
    let [type, decidedBy]: [ColumnType, number | null] = ['empty', null];
    for (const { kind, line } of kinds) {
      const next = joined(type, typeOfKind(kind));
      if (next !== type) [type, decidedBy] = [next, line];
    }
    return { type, decidedBy, kinds, empty: this.#counts[from + emptyKind] ?? 0 };
  }
}
