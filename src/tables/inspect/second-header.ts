// Rows of names among rows of values: a second header, a row of units, or another table in the same file.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import type { ColumnFacts } from './columns.ts';
import { type Findings, type FoundAt, foundRow } from './finding.ts';

/** Where a row stands: below a blank line, or as the first one below the header. */
interface Standing {
  isApart: boolean;
  isFirst: boolean;
  /** It numbers the columns: one of texts has to prove that. */
  isCount: boolean;
}

/** A row without any value that brings the first text into some columns. */
interface RowOfNames extends Standing {
  at: FoundAt;
  columns: number[];
  /** How many columns of values have to prove that it is no record. */
  proofs: number;
}

/** What stands for a missing value, and is no name. */
const missing =
  /^(?:n\.?\/?a\.?|n\.?d\.?|nan|null|none|nil|unknown|missing|no data|nv|tba|tbd|k\.? ?a\.?|[x.…*/?:-]+|#.*|[<>≤≥~+-].*)$/i;

/** What some programs write below the names: the type of each column, or its tag (hxlstandard.org). */
const typeName =
  /^(?:(?:u|big|small|tiny)?int(?:eger)?\d*|long|short|byte|float\d*|double(?: precision)?|real|dec(?:imal)?|num(?:eric|ber)?|str(?:ing)?|text|(?:n?var)?char(?:acter)?(?: varying)?|factor|object|category|bool(?:ean)?|logical|(?:date)?time\d*|date|timestamp(?:tz)?|uuid|#[a-z]\w*(?: ?\+\w+)*)(?: ?\(\d+(?:, ?\d+)?\))?$/i;

/** What is compared of rows that may repeat the header, or a name in it. */
const plain = (row: Buffer | string): string => row.toString().toLowerCase().replaceAll(/["\s]/g, '');

const title = /^"?[^,;\t|]*\S \S+ \S[^,;\t|]*"?$/;

const [mostRows, longestName] = [50, 80];

/** Collects such rows, which are judged once the columns are known. `header`: the bytes of the header row. */
export const secondHeaders = (scanner: CellScanner, header: Buffer, delimiter: string) => {
  const rows: RowOfNames[] = [];
  const namesIn = (row: Buffer): string[] => row.toString().split(delimiter).map(plain).filter(Boolean);
  const [names, known] = [plain(header), new Set(namesIn(header))];
  /** True for cells that look unlike a record: the first one is empty, or all are in quotes and the header is not. */
  const isMarked = (first: number, behind: number): boolean => {
    const areQuoted = scanner.marks.subarray(first, behind).every((mark) => (mark & has.quotes) !== 0);
    return scanner.isEmpty(first) || (areQuoted && !header.includes('"')) || title.test(header.toString('latin1'));
  };
  /** How many columns of values have to prove that a row is of names; null where nothing can. */
  const proofsOf = (row: number, texts: string[], { isApart, isFirst }: Standing): number | null => {
    const [first, behind] = [scanner.firstCell(row), scanner.firstCell(row + 1)];
    const raw = scanner.bytes.subarray(scanner.startOf(row), scanner.outerEnd(behind - 1));
    if (header.equals(raw)) return null;
    const own = plain(raw);
    // As programs draw it below the header, at least as long as the names.
    if (isFirst && /^[-=]{2}[-=,;|]*$/.test(own) && own.length >= names.length) return 0;
    if (isApart && namesIn(raw).some((name) => known.has(name))) return 0;
    if (isFirst && texts.every((text) => typeName.test(text))) return 1;
    const areOther = scanner.isEmpty(first) || new Set(texts).size === texts.length;
    if (!areOther || texts.some((text) => missing.test(text))) return null;
    return isApart || (isFirst && isMarked(first, behind)) || own === names ? 1 : 2;
  };
  return {
    /** Takes a row without values; `columns` are those of which it has the first text. */
    add: (row: number, columns: number[], standing: Standing): void => {
      if (rows.length === mostRows) return;
      const { bytes, starts, ends } = scanner;
      const texts = columns.map((column) => {
        const cell = scanner.firstCell(row) + column;
        const start = starts[cell] ?? 0;
        return bytes.toString('utf8', start, Math.min(ends[cell] ?? 0, start + longestName)).trim();
      });
      const proofs = proofsOf(row, texts, standing);
      if (proofs !== null && columns.length >= proofs)
        rows.push({ at: foundRow(scanner, row), columns, ...standing, proofs });
    },
    /** The table has ended; `factsOf` gives those of a column, which are asked for only where rows were collected. */
    report: (findings: Findings, factsOf: (column: number) => ColumnFacts): void => {
      for (const { at, columns, isApart, isFirst, isCount, proofs } of rows) {
        const [most, fewest] = [isApart ? mostTables : 1, isApart || isFirst ? 1 : fewestValues];
        // A column of values, so many at least, but for so few texts.
        const isBroken = ({ texts, values }: ColumnFacts): boolean =>
          texts > 0 && texts <= most && values >= Math.max(texts, fewest);
        const isNumbered = ({ texts, values }: ColumnFacts): boolean => values === 1 && texts >= fewestValues;
        const facts = columns.map(factsOf);
        if (isCount ? facts.some(isNumbered) : facts.filter(isBroken).length >= proofs)
          findings.add('second-header', at, { isApart, isFirst });
      }
    },
  };
};

/** One file holds at most so many tables; a column has at least so many values for a text amid them to be a name. */
const [mostTables, fewestValues] = [4, 3];
