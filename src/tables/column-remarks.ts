// Remarks on the values of columns, by what was counted of them.
import type { ColumnFacts, ColumnType, KindCount } from './column-types.ts';
import type { Findings } from './finding.ts';

const numberKinds = /^(?:decimal|grouped|percent)/;
const localNumbers = /^(?:decimal comma|grouped|percent)/;
const dateKinds = /^date 3|^date 0|^date 2026/;
const unclearDate = 'date 01/02/2026';

/** What is known of the columns when the whole table was read. */
export interface ColumnsRead {
  names: string[];
  facts: ColumnFacts[];
  rows: number;
  /** The line of the header. */
  line: number;
}

const plural = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

const listed = (kinds: KindCount[]): string =>
  kinds.map(({ kind, count, line }) => `${kind} (${count.toLocaleString('en')}, first in line ${line})`).join(', ');

/** Adds remarks on columns. */
export const columnRemarks = (findings: Findings, { names, facts, rows, line }: ColumnsRead): void => {
  facts.forEach((column, at) => {
    const told = { column: at + 1 };
    if (rows > 0 && column.kinds.length === 0 && names[at]?.trim() !== '') {
      findings.add('empty-column', { line, ...told, message: 'the column has no value in any row' });
    }
    numbers(findings, at + 1, column);
    dates(findings, at + 1, column);
    brokenType(findings, at + 1, column);
  });
};

const numbers = (findings: Findings, column: number, { kinds }: ColumnFacts): void => {
  const notations = kinds.filter(({ kind }) => numberKinds.test(kind));
  const [first, second] = notations;
  if (first === undefined) return;
  if (second !== undefined) {
    const message = `the column has numbers in several notations: ${listed(notations)}`;
    findings.add('numbers-mixed', {
      line: second.line,
      column,
      message,
      hint: 'write all numbers of a column in one notation, such as 1234.5',
    });
  } else if (localNumbers.test(first.kind)) {
    const message = `the column has numbers in a notation that portals keep as text: ${first.kind}`;
    findings.add('numbers-local', {
      line: first.line,
      column,
      message,
      hint: 'write numbers as 1234.5, with the unit in the name of the column',
    });
  }
};

const dates = (findings: Findings, column: number, { kinds }: ColumnFacts): void => {
  const notations = kinds.filter(({ kind }) => dateKinds.test(kind));
  const unclear = notations.find(({ kind }) => kind === unclearDate);
  const clear = notations.filter(({ kind }) => kind !== unclearDate);
  const [first, second] = clear;
  const slashed = clear.some(({ kind }) => kind === 'date 31/01/2026' || kind === 'date 01/31/2026');
  if (second !== undefined || (unclear !== undefined && first !== undefined && !slashed)) {
    const line = second?.line ?? unclear?.line ?? 1;
    const message = `the column has dates in several notations: ${listed(notations)}`;
    findings.add('dates-mixed', { line, column, message, hint: 'write all dates as 2026-01-31' });
  } else if (unclear !== undefined && first === undefined) {
    const message = 'in no date of the column can day and month be told apart, as in 01/02/2026';
    findings.add('dates-unclear', { line: unclear.line, column, message, hint: 'write dates as 2026-01-31' });
  }
};

/** At most this share of the values may be of another type. */
const fewShare = 0.05;

const typeNames: Partial<Record<ColumnType, string>> = {
  integer: 'an integer',
  number: 'a number',
  date: 'a date',
  datetime: 'a date with time',
  boolean: 'a boolean',
};

const brokenType = (findings: Findings, column: number, { type, kinds }: ColumnFacts): void => {
  if (type !== 'text') return;
  const total = kinds.reduce((sum, { count }) => sum + count, 0);
  const text = kinds.find(({ kind }) => kind === 'text');
  const [main] = kinds
    .filter(({ kind }) => kind !== 'text' && kind !== 'leading zero')
    .sort((a, b) => b.count - a.count);
  if (
    text === undefined ||
    main === undefined ||
    total < 20 ||
    text.count > total * fewShare ||
    main.count + text.count < total * (1 - fewShare)
  )
    return;
  const name = typeNames[typeNameOf(main.kind)] ?? main.kind;
  const message = `all but ${plural(text.count, 'value')} of the column could be ${name}; the first that cannot is in line ${text.line}`;
  findings.add('type-broken', {
    line: text.line,
    column,
    message,
    hint: 'leave cells without a value empty instead of words such as n/a',
  });
};

const typeNameOf = (kind: KindCount['kind']): ColumnType => {
  if (kind === 'integer' || kind === 'boolean') return kind;
  if (kind.startsWith('datetime')) return 'datetime';
  return kind.startsWith('date') ? 'date' : 'number';
};
