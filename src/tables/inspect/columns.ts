// The type of each column, and findings about its values.
import type { ColumnKind } from '../../model/table-history.ts';
import { plural } from '../../util/plural.ts';
import { type ColumnType, type KindFacts, kindNumber, type ValueKind, valueKinds } from '../scan/value-kind.ts';
import type { Findings } from './finding.ts';

interface KindCount extends KindFacts {
  kind: ValueKind;
  count: number;
  line: number;
}

export interface ColumnFacts {
  type: ColumnType;
  /** The line of the row that decided: the one after which no other row changed the type; null for an empty column. */
  decidedBy: number | null;
  kinds: KindCount[];
  /** How many values are text, and how many are not. */
  texts: number;
  values: number;
  empty: number;
}

const kindsCount = valueKinds.length;
const emptyKind = kindNumber('empty');

const joined = (one: ColumnType, other: ColumnType): ColumnType => {
  if (one === other || other === 'empty') return one;
  if (one === 'empty') return other;
  const pair = [one, other].sort().join(' ');
  if (pair === 'integer number') return 'number';
  return pair === 'date datetime' ? 'datetime' : 'text';
};

/** Shares of all values: from which on a kind is that of the column, and leading zeros make numbers codes. */
const mostShare = 0.75;
const codeShare = 0.05;

/** What most values of a column are. Numbers with very few leading zeros are neither numbers nor codes for certain. */
export const mostlyOf = ({ kinds }: Pick<ColumnFacts, 'kinds'>): ColumnKind => {
  const counts = new Map<ColumnKind, number>();
  let total = 0;
  for (const { mostly, count } of kinds) {
    counts.set(mostly, (counts.get(mostly) ?? 0) + count);
    total += count;
  }
  if (total === 0) return 'empty';
  const [codes, numbers] = [counts.get('code') ?? 0, counts.get('number') ?? 0];
  if (codes > 0 && codes + numbers >= total * mostShare) return codes >= total * codeShare ? 'code' : 'mixed';
  return [...counts].find(([, count]) => count >= total * mostShare)?.[0] ?? 'mixed';
};

export const columnKinds = (columns: number) => {
  const counts = new Float64Array(columns * kindsCount);
  const lines = new Float64Array(columns * kindsCount);

  /** Counts a value of a column (from 0); those beyond the last one do not count. */
  const add = (column: number, kind: number, line: number): void => {
    const at = column * kindsCount + kind;
    const count = counts[at] ?? 0;
    if (count === 0) lines[at] = line;
    counts[at] = count + 1;
  };

  const isFirst = (column: number, kind: number): boolean => counts[column * kindsCount + kind] === 1;

  const facts = (column: number): ColumnFacts => {
    const from = column * kindsCount;
    const kinds: KindCount[] = [];
    let [texts, values] = [0, 0];
    for (const [at, own] of valueKinds.entries()) {
      const count = counts[from + at] ?? 0;
      if (count === 0 || at === emptyKind) continue;
      kinds.push({ ...own, count, line: lines[from + at] ?? 0 });
      if (own.kind === 'text') texts = count;
      else values += count;
    }
    if (kinds.length > 1) kinds.sort((a, b) => a.line - b.line);
    let [type, decidedBy]: [ColumnType, number | null] = ['empty', null];
    for (const { type: own, line } of kinds) {
      const next = joined(type, own);
      if (next !== type) [type, decidedBy] = [next, line];
    }
    return { type, decidedBy, kinds, texts, values, empty: counts[from + emptyKind] ?? 0 };
  };

  return { add, isFirst, facts };
};

/** True for numbers but plain integers, percentages and amounts among them. */
const isNumber = ({ type, mostly }: KindFacts): boolean => type === 'number' || mostly === 'local number';

export interface NumberNotation {
  decimal?: ',';
  group?: ',' | '.' | ' ' | "'";
}

const notations: NumberNotation[] = [
  {},
  { decimal: ',' },
  ...([',', ' ', "'"] as const).map((group) => ({ group })),
  ...(['.', ' '] as const).map((group) => ({ decimal: ',' as const, group })),
];

/** The notations that read every value of a column of numbers; none for numbers that portals understand. */
export const notationsOf = ({ kinds }: Pick<ColumnFacts, 'kinds'>): NumberNotation[] => {
  const reads = (at: number): boolean => kinds.every(({ readBy }) => readBy?.includes(at));
  const all = [...notations.keys()].filter(reads);
  if (kinds.length === 0 || all.includes(0)) return [];
  const isSpaced = kinds.some(({ kind }) => kind.startsWith('grouped by spaces'));
  const needed = all.filter((at) => at < 5 || (at === 5 ? !all.includes(1) : !all.includes(isSpaced ? 3 : 1)));
  return needed.map((at) => notations[at] ?? {});
};
const unclearDate = 'date 01/02/2026';

interface ColumnsRead {
  names: string[];
  facts: ColumnFacts[];
  rows: number;
  line: number;
}

const listed = (kinds: KindCount[]): string =>
  kinds.map(({ kind, count, line }) => `${kind} (${count.toLocaleString('en')}, first in line ${line})`).join(', ');

export const columnRemarks = (findings: Findings, { names, facts, rows, line }: ColumnsRead): void => {
  facts.forEach((column, at) => {
    if (rows > 0 && column.kinds.length === 0 && names[at]?.trim() !== '') {
      findings.add('empty-column', { line, column: at + 1 });
    }
    numbers(findings, at + 1, column);
    dates(findings, at + 1, column);
    brokenType(findings, at + 1, column);
  });
};

const numbers = (findings: Findings, column: number, { kinds }: ColumnFacts): void => {
  const found = kinds.filter(isNumber);
  const [first = undefined, second] = found.filter(({ kind }) => kind !== 'decimal point' || found.length > 1);
  if (first === undefined) return;
  if (second !== undefined && notationsOf({ kinds: found }).length === 0) {
    findings.add('numbers-mixed', { line: second.line, column }, { listed: listed(found) });
  } else findings.add('numbers-local', { line: first.line, column }, { notation: first.kind });
};

const dates = (findings: Findings, column: number, { kinds }: ColumnFacts): void => {
  const notations = kinds.filter(({ type }) => type === 'date');
  const unclear = notations.find(({ kind }) => kind === unclearDate);
  const clear = notations.filter(({ kind }) => kind !== unclearDate);
  const [first, second] = clear;
  const slashed = clear.some(({ kind }) => kind === 'date 31/01/2026' || kind === 'date 01/31/2026');
  if (second !== undefined || (unclear !== undefined && first !== undefined && !slashed)) {
    const line = second?.line ?? unclear?.line ?? 1;
    findings.add('dates-mixed', { line, column }, { listed: listed(notations) });
  } else if (unclear !== undefined && first === undefined) {
    findings.add('dates-unclear', { line: unclear.line, column });
  }
};

const fewShare = 0.05;

const brokenType = (findings: Findings, column: number, { type: found, kinds, texts, values }: ColumnFacts): void => {
  const text = kinds.find(({ kind }) => kind === 'text');
  const others = kinds.filter(({ kind }) => kind !== 'text' && kind !== 'leading zero');
  const [main] = others.sort((a, b) => b.count - a.count);
  const total = texts + values;
  if (found !== 'text' || !text || !main || total < 20) return;
  if (texts > total * fewShare || main.count + texts < total * (1 - fewShare)) return;
  const type = isNumber(main) ? 'number' : main.type === 'datetime' ? 'date with time' : main.type;
  const { line } = text;
  findings.add('type-broken', { line, column }, { values: plural(texts, 'value'), type, line });
};
