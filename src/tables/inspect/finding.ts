// Findings of an inspection: places, and whether they can be fixed.
import { type TableFaultCode, TableFaultError } from '../../model/errors.ts';
import { plural } from '../../util/plural.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { contextAt } from '../scan/cell-text.ts';
import type { Candidate } from '../scan/dialect.ts';
import { described, type Facts, type FindingKind, faultKinds } from '../scan/fault-kinds.ts';
import { placeInRow } from '../scan/faults.ts';

export interface FindingPlace {
  line: number;
  /** Number of the cell in its row, from 1; null where the row or file is meant. */
  column: number | null;
  /** Bytes of the file before it; null for a file in UTF-16. */
  offset: number | null;
  /** A few characters around it, escaped. Holds row contents: for reports, never for logs. */
  context: string | null;
  message: string;
}

export interface Finding {
  kind: FindingKind;
  /** Null for a remark, which does not block publication. */
  code: TableFaultCode | null;
  /** Of the first place; holds no row contents. */
  message: string;
  hint: string | null;
  /** What `--fix` does about it; null when it does nothing. */
  mend: string | null;
  candidates?: Candidate[];
  count: number;
  /** The first of them, {@link mostPlaces} at most. */
  places: FindingPlace[];
}

export const mostPlaces = 10;

/** Where a finding is, and what is known beside its words. */
export interface FoundAt {
  line: number;
  column?: number | null | undefined;
  offset?: number | null;
  context?: string | null;
  candidates?: Candidate[];
  count?: number;
}

export const foundAt = (
  { base, bytes, end }: CellScanner,
  at: number,
  place: { line: number; column?: number },
): FoundAt => ({ ...place, offset: base + at, context: contextAt(bytes, at, end) });

export const foundRow = (scanner: CellScanner, row: number): FoundAt =>
  foundAt(scanner, scanner.startOf(row), { line: scanner.lineOf(row) });

/** The byte at offset `at` of a scanner, which is in a cell, as a place. */
export const foundIn = (scanner: CellScanner, row: number, [cell, at]: readonly [number, number]): FoundAt =>
  foundAt(scanner, at, placeInRow(scanner, row, cell, at));

/** Collects findings in flat memory: the first places of each kind, and how many there are. */
export const findingList = (hasOffsets: boolean) => {
  const byKind = new Map<FindingKind, Finding>();

  /** Adds one; its place may be a function, which is called while places are kept. A kind can be fixed only where each can. */
  const add = <K extends FindingKind>(kind: K, found: FoundAt | (() => FoundAt), ...facts: Facts<K>): void => {
    const known = byKind.get(kind);
    const isFull = known !== undefined && known.places.length >= mostPlaces;
    const { fix, safeFix } = faultKinds[kind];
    if (isFull && found instanceof Function && !((fix ?? safeFix) instanceof Function)) {
      known.count += 1;
      return;
    }
    const words = described(kind, ...facts);
    const at = found instanceof Function ? found() : found;
    const { line, column = null, offset = null, context = null, candidates, count = 1 } = at;
    const place = { line, column, offset: hasOffsets ? offset : null, context, message: words.message };
    if (known === undefined) {
      byKind.set(kind, { kind, ...words, ...(candidates && { candidates }), count, places: [place] });
      return;
    }
    known.count += count;
    if (words.mend === null) known.mend = null;
    if (!isFull) known.places.push(place);
  };

  const of = (kind: FindingKind): Finding | undefined => byKind.get(kind);

  const list = (): Finding[] => [...byKind.values()].sort(byPlace);

  return { add, of, list };
};

export type Findings = ReturnType<typeof findingList>;

/** Sorts findings: what stands first in the file first; faults before remarks of the same place. */
export const byPlace = (a: Finding, b: Finding): number =>
  orderOf(a) - orderOf(b) || Number(a.code === null) - Number(b.code === null);

const orderOf = ({ places }: Finding): number => {
  const { line, column } = places[0] ?? { line: 0, column: 0 };
  return line + (column ?? 0) / 1e6;
};

/** Sound: it can be published. Fixable: every fault has a mend. */
export type Verdict = 'sound' | 'mendable' | 'faulty';

export const verdictOf = (findings: Finding[]): Verdict => {
  const faults = findings.filter(({ code }) => code !== null);
  if (faults.length === 0) return 'sound';
  return faults.every(({ mend }) => mend !== null) ? 'mendable' : 'faulty';
};

export const firstFault = (findings: Finding[], sheet?: string): TableFaultError | null => {
  const faults = findings.filter(({ code }) => code !== null);
  const [first] = faults;
  const place = first?.places[0];
  if (!first?.code || !place) return null;
  const { line, column } = place;
  const others = faults.reduce((sum, { count }) => sum + count, -1);
  const more = others === 0 ? '' : `; \`sluice check\` lists ${plural(others, 'more fault')}`;
  const hint = `${first.hint ?? ''}${more}`;
  const at = { code: first.code, line, column: column ?? undefined, sheet };
  return new TableFaultError(place.message, at, { hint });
};
