// Rows that are no records: notes below the table and numbers of pages, or names, as of a second header or another table.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import type { FactsOf } from '../scan/fault-kinds.ts';
import { raggedFacts } from '../scan/faults.ts';
import type { ColumnFacts } from './columns.ts';
import { type Findings, type FoundAt, foundRow } from './finding.ts';

/** How many rows below the last full one may be notes. */
const mostNotes = 20;

/** How notes begin, but not rows: such a word and a colon, an asterisk, a number in brackets; or as a program reports that it failed. */
const noteStarts = [
  /^(?:(?:data )?(?:sources?|notes?|remarks?|footnotes?|legend|disclaimer|updated|applied filters|record count|(?:total|number of) (?:records|rows)|last updated?|as of|quellen?|datenquelle|hinweise?|anmerkung(?:en)?|bemerkung|stand|fuentes?|notas?|fontes?|nota bene|bron(?:nen)?|opmerking|källa|kilde|lähde|zdroj|źródło|forrás|kaynak|remarques?|légende|fonte) ?:\s|(?:generated|printed|exported|created|downloaded|erstellt|gedruckt) (?:on|at|by|am|von) |\*+ ?\p{L}|\(?\d\) |©|copyright |confidential information|grand totals? \(|(?:# ?)?(?:…|\.{3}) ?(?:with |and )?\d+ more |\[\d+ rows x \d+ col)/iu,
  /^(?:php )?(?:(?:(?:fatal |parse |query |internal )?error|uncaught [\w.]+|[\w.]*exception|ora-\d+) ?: |(?:warning|notice|deprecated) ?: .* on line \d|\(\d+ rows?[ )]|\d+ rows? (?:selected|affected)|error \d+ \(|sqlstate|traceback \(most)/i,
];

export const isNoteStart = (text: string): boolean => noteStarts.some((start) => start.test(text));

/** What a program writes at the end or the top of each page that it prints. */
const pageNumber =
  /^(?:[\d.:/ -]+ )?(?:(?:page|seite|blatt|p[aá]gina|side|sida|sivu|strana|strona) ?\d+(?: ?(?:of|von|de|di|sur|af|av|z|\/) ?\d+)?$|\(?(?:continued|fortsetzung)\b)/i;

/** From so many bytes and words on, a text that is alone in the last rows counts as a note. */
const [longNote, noteWords] = [20, 3];

const isProse = (mark: number): boolean => (mark & has.space) !== 0 && (mark & (has.text | has.high)) !== 0;

/** Collects rows with another number of cells than the header; notes among them are reported as such. */
export const raggedRows = (scanner: CellScanner, findings: Findings, width: number) => {
  /** Rows that are notes unless a full row follows. */
  let notes: { at: FoundAt; facts: FactsOf<'row-short'> }[] = [];
  /** True after so many of them that they cannot be notes, until a full row follows. */
  let tooMany = false;
  let long = 0;
  let short = { line: 0, cells: 0 };
  const reportNotes = (): void => {
    for (const { at, facts } of notes) findings.add('row-short', at, facts);
    notes = [];
  };
  const takeShort = (row: number): void => {
    const { line, cells } = short;
    short = { line: scanner.lineOf(row), cells: scanner.width(row) };
    const found = (): FoundAt => foundRow(scanner, row);
    findings.add('row-short', found, raggedFacts(scanner, row, width));
    if (line === short.line - 1 && cells + short.cells === width + 1)
      findings.add('row-split', found, { first: line, second: short.line });
  };
  const takeLong = (row: number): void => {
    const [from, to] = [scanner.firstCell(row) + width, scanner.firstCell(row + 1)];
    const isEmpty = scanner.starts.subarray(from, to).every((start, at) => start === scanner.ends[from + at]);
    if (!isEmpty) long += 1;
    const kind = isEmpty ? 'row-long-empty' : 'row-long';
    findings.add(kind, () => foundRow(scanner, row), raggedFacts(scanner, row, width));
  };
  return {
    /** Takes a row with another number of cells than the header. */
    add: (row: number): void => {
      const cells = scanner.width(row);
      if (cells === 1 && !tooMany && isProse(scanner.marks[scanner.firstCell(row)] ?? 0)) {
        notes.push({ at: foundRow(scanner, row), facts: raggedFacts(scanner, row, width) });
        tooMany = notes.length > mostNotes;
        if (tooMany) reportNotes();
        return;
      }
      reportNotes();
      if (cells > width) takeLong(row);
      else takeShort(row);
    },
    /** A full row follows, so the rows that wait are no notes. */
    fullRow: (): void => {
      if (notes.length > 0) reportNotes();
      tooMany = false;
    },
    /** The table has ended after so many rows; returns the line of the first note below the last row. */
    end: (rows: number): number | null => {
      for (const { at } of notes) findings.add('footer', at, { looks: 'behind' });
      const longRows = findings.of('row-long');
      if (longRows !== undefined && long === rows && rows > 1)
        longRows.hint = 'every row has more cells than the header: quote cells with delimiters, or name each column';
      return notes[0]?.at.line ?? null;
    },
  };
};

/** What is known of padded notes since the last other row; `isApart`: an empty row is above them; `areLong`: that or a blank line. */
const nothing = () => ({ notes: [] as FoundAt[], count: 0, isApart: false, areMarked: true, areLong: true });

/** Collects rows with one value or none at the end of the table, which may be notes; another row resets it. */
export const paddedNotes = (scanner: CellScanner, isBelowBlank: (row: number) => boolean) => {
  let tail = nothing();
  /** True when the table has such rows among the others. */
  let isUsual = false;
  const pages: FoundAt[] = [];
  /** The number that the last rows hold behind an empty cell, and nothing else; `isLone`: the row above holds more. */
  let fill = { value: '', count: 0, isLone: false };
  const noteNumber = (row: number, above: string): void => {
    const [start, end] = [scanner.startOf(row), scanner.outerEnd(scanner.firstCell(row + 1) - 1)];
    const text = scanner.bytes.toString('utf8', start, Math.min(end, start + 200));
    const value = text.replaceAll(/[,;\t|"]+$|^[,;\t|"]+/g, '');
    const isPage = pageNumber.test(value) && !pageNumber.test(above);
    if (isPage && pages.length < mostNotes) pages.push(foundRow(scanner, row));
    if (/^-?[\d.]+$/.test(value) && scanner.isEmpty(scanner.firstCell(row)))
      fill = { value, count: value === fill.value ? fill.count + 1 : 1, isLone: tail.count === 0 };
  };
  return {
    /** `above`: how the row above begins; in a table of messages, the last row is one of them. */
    add: (row: number, filled: number, above: string): void => {
      if (filled === 0) {
        tail.isApart ||= tail.count === 0;
        return;
      }
      const first = scanner.firstCell(row);
      const [start, stop] = [scanner.starts[first] ?? 0, scanner.ends[first] ?? 0];
      noteNumber(row, above);
      if (tail.count === 0 && !tail.isApart && !isBelowBlank(row)) tail.areLong = false;
      if (tail.count === 0 && isNoteStart(above)) tail.areMarked = false;
      tail.count += 1;
      if (start === stop || !isProse(scanner.marks[first] ?? 0)) tail.count = Number.POSITIVE_INFINITY;
      if (tail.count > mostNotes) return;
      const text = scanner.bytes.toString('utf8', start, Math.min(stop, start + 200));
      tail.areMarked &&= isNoteStart(text);
      if (stop - start < longNote || text.split(' ').length < noteWords) tail.areLong = false;
      tail.notes.push(foundRow(scanner, row));
    },
    reset: (): void => {
      if (tail.count === 0 && !tail.isApart) return;
      if (tail.count > 0) isUsual = true;
      tail = nothing();
    },
    /** `last`: the last row, where it is of numbers behind an empty cell; `first`: the first column. */
    reportNumbers: (findings: Findings, last: FoundAt | null, { empty: unbegun, texts, values }: ColumnFacts): void => {
      for (const at of pages) findings.add('footer', at, { looks: 'page' });
      if (last === null || fill.count !== unbegun) return;
      if (fill.count > 2) findings.add('footer', last, { looks: 'filled' });
      else if (fill.isLone && !isUsual && texts + values >= fewestValues)
        findings.add('footer', last, { looks: 'maybe' });
    },
    /** Returns the line of the first note where they are notes for certain. */
    report: (findings: Findings): number | null => {
      const { notes, count, isApart, areMarked, areLong } = tail;
      if (count === 0 || count > mostNotes) return null;
      const isSure = areMarked || areLong;
      if (!isSure && (isUsual || !isApart)) return null;
      for (const at of notes) findings.add('footer', at, { looks: isSure ? 'below' : 'maybe' });
      return isSure ? (notes[0]?.line ?? null) : null;
    },
  };
};

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
  isGap: boolean;
}

/** What stands for a missing value, and is no name. */
const missing =
  /^(?:n\.?\/?a\.?|n\.?d\.?|nan|null|none|nil|unknown|missing|no data|nv|tba|tbd|k\.? ?a\.?|[x.…*/?:-]+|#.*|[<>≤≥~+-].*)$/i;

/** What some programs write below the names: the type of each column, or its tag (hxlstandard.org). */
const typeName =
  /^<?(?:chr|dbl|lgl|fct|dttm|[iuf]\d\d?|\d+[sdn]|(?:u|big|small|tiny)?int(?:eger)?\d*|long|short|byte|float\d*|double(?: precision)?|real|dec(?:imal)?|num(?:eric|ber)?|str(?:ing)?|text|(?:n?var)?char(?:acter)?(?: varying)?|factor|object|category|bool(?:ean)?|logical|(?:date)?time\d*|date|timestamp(?:tz)?|uuid|required|optional|not null|#[a-z]\w*(?: ?\+\w+)*)>?(?: ?\(\d+(?:, ?\d+)?\))?$/i;

/** Types that are words as well, so that a record may hold them. */
const typeWord =
  /^(?:long|short|byte|real|num|number|text|character|factor|category|logical|date|time|required|optional|#.*)$/i;

const unit = String.raw`(?:[cdhkmnµμM]?(?:[mgsl]|Hz|Pa|Wh|mol|bar)|[kMGm][AVW]|min|hr?|ha|days?|[%‰€$£]|pp[mb]|°[CFNE]?|deg\w*)`;

/** Units, also in brackets, and examples. */
const unitName = new RegExp(String.raw`^(?:[[(].+[\])]|e\.g\. .+|${unit}[²³\d]?(?:[/*· ]${unit}[²³\d]?)*)$`);

/** How many columns of values have to prove that a first row says what columns hold; null: it does not. */
const proofsOfTypes = (texts: string[]): number | null => {
  const areTypes = texts.every((text) => typeName.test(text));
  if (areTypes && texts.length > 1 && !texts.every((text) => typeWord.test(text))) return 0;
  const isKnown = (text: string): boolean => typeName.test(text) || unitName.test(text);
  return texts.some(isKnown) && texts.every((text) => isKnown(text) || missing.test(text)) ? 1 : null;
};

/** The first and the last byte of tags, lines and gaps (… ⋮ ⋯ in UTF-8), as one number. */
const signs = new Set(
  ['{}', '..', '--', '==', '[]', 'â¦', 'â®', 'â¯'].map((it) => Buffer.from(it, 'latin1').readUInt16BE()),
);

const sumOf = (bytes: Buffer): number => bytes.reduce((sum, byte) => sum + byte, 0);

/** A cell of a row that stands for others, which are left out, or of a line that is drawn between them. */
const gapSign = /^[[(]?(?:\.{2,}|[…⋮⋯]|-{3,}|={3,})[\])]?$/;

/** What is compared of rows that may repeat the header, or a name in it. */
const plain = (row: Buffer | string): string => row.toString().toLowerCase().replaceAll(/["\s]/g, '');

const title = /^"?[^,;\t|]*\S \S+ \S[^,;\t|]*"?$/;

const [mostRows, longestName] = [50, 80];

/** Collects such rows, which are judged once the columns are known. `header`: the bytes of the header row. */
export const secondHeaders = (scanner: CellScanner, header: Buffer, delimiter: string) => {
  const rows: RowOfNames[] = [];
  const namesIn = (row: Buffer | string): string[] => row.toString().split(delimiter).map(plain).filter(Boolean);
  const [names, known] = [plain(header), new Set(namesIn(header))];
  const sum = sumOf(header);
  /** A first row of types, unless the row below it holds one, too. */
  let types: RowOfNames | null = null;
  const endOf = (row: number): number => scanner.outerEnd(scanner.firstCell(row + 1) - 1);
  /** Dashes in the first row may stand for missing values. */
  const isGapRow = (row: number, isFirst: boolean): boolean => {
    const raw = scanner.bytes.toString('utf8', scanner.startOf(row), endOf(row));
    return (
      (isFirst ? /\.{3}|[…⋮⋯]/ : /\.{3}|[…⋮⋯]|-{3}|={3}/).test(raw) && namesIn(raw).every((cell) => gapSign.test(cell))
    );
  };
  const textsOf = (row: number, columns: number[]): string[] =>
    columns.map((column) => {
      const cell = scanner.firstCell(row) + column;
      const start = scanner.starts[cell] ?? 0;
      return scanner.bytes.toString('utf8', start, Math.min(scanner.ends[cell] ?? 0, start + longestName)).trim();
    });
  /** True for cells that look unlike a record: the first one is empty, or all are in quotes and the header is not. */
  const isMarked = (first: number, behind: number): boolean => {
    const areQuoted = scanner.marks.subarray(first, behind).every((mark) => (mark & has.quotes) !== 0);
    return scanner.isEmpty(first) || (areQuoted && !header.includes('"')) || title.test(header.toString('latin1'));
  };
  /** True for so many of the names in another order; not all of them bring the first text into some `columns`. */
  const areReordered = (shared: number, columns: number, isFirst: boolean): boolean => {
    if (shared < 2 || names.length < 2 * known.size) return false; // names of one character are values as well
    return shared === known.size ? shared > 2 || !isFirst : !isFirst && columns > 0 && 2 * shared >= known.size;
  };
  /** How many columns of values have to prove that a row is of names; null where nothing can. */
  const proofsOf = (row: number, texts: string[], { isApart, isFirst }: Standing): number | null => {
    const [first, behind] = [scanner.firstCell(row), scanner.firstCell(row + 1)];
    const raw = scanner.bytes.subarray(scanner.startOf(row), scanner.outerEnd(behind - 1));
    if (header.equals(raw)) return null;
    const own = plain(raw);
    // As programs draw it below the header, at least as long as the names.
    if (isFirst && /^[-=]{2}[-=,;|]*$/.test(own) && own.length >= names.length) return 0;
    const isTags = own.split('{importid:').length > scanner.width(row); // as Qualtrics writes two lines below it
    const shared = new Set(namesIn(raw).filter((name) => known.has(name))).size;
    if (isTags || (isApart && shared > 0)) return 0;
    if (own !== names && areReordered(shared, texts.length, isFirst)) return 0;
    const areOther = scanner.isEmpty(first) || new Set(texts).size === texts.length;
    if (!areOther || texts.some((text) => missing.test(text))) return null;
    return isApart || (isFirst && isMarked(first, behind)) || own === names ? 1 : 2;
  };
  return {
    /** Takes a row without values; `columns` are those of which it has the first text. */
    add: (row: number, columns: number[], standing: Standing): void => {
      if (rows.length === mostRows) return;
      const texts = textsOf(row, columns);
      const isGap = isGapRow(row, standing.isFirst);
      const ofTypes = standing.isFirst ? proofsOfTypes(texts) : null;
      const proofs = isGap ? Number(known.size < 2) : (ofTypes ?? proofsOf(row, texts, standing));
      if (proofs === null || columns.length < proofs) return;
      rows.push({ at: foundRow(scanner, row), columns, ...standing, proofs, isGap });
      if (ofTypes === 0) types = rows.at(-1) ?? null;
    },
    next: (row: number): void => {
      if (types !== null && textsOf(row, types.columns).some((text) => typeName.test(text))) types.proofs = 1;
      types = null;
    },
    /** True for a row of texts that may be no record whatever its columns hold. */
    isOdd: (row: number): boolean => {
      const { bytes, starts, ends } = scanner;
      const [cell, start, end] = [scanner.firstCell(row), scanner.startOf(row), endOf(row)];
      if (signs.has((bytes[starts[cell] ?? 0] ?? 0) * 256 + (bytes[(ends[cell] ?? 0) - 1] ?? 0))) return true;
      return end - start === header.length && sumOf(bytes.subarray(start, end)) === sum;
    },
    /** The table has ended; `factsOf` gives those of a column, which are asked for only where rows were collected. */
    report: (findings: Findings, factsOf: (column: number) => ColumnFacts): void => {
      const gaps = rows.filter(({ isGap }) => isGap).length;
      for (const { at, columns, isApart, isFirst, isCount, proofs, isGap } of rows) {
        if (isGap && gaps > mostTables) continue;
        const [most, fewest] = [isApart ? mostTables : 1, isApart || isFirst ? 1 : fewestValues];
        // A column of values, so many at least, but for so few texts.
        const isBroken = ({ texts, values }: ColumnFacts): boolean =>
          texts > 0 && texts <= most && values >= Math.max(texts, fewest);
        const isNumbered = ({ texts, values }: ColumnFacts): boolean => values === 1 && texts >= fewestValues;
        const facts = columns.map(factsOf);
        if (isCount ? facts.some(isNumbered) : facts.filter(isBroken).length >= proofs)
          findings.add('second-header', at, { isApart, isFirst, isGap });
      }
    },
  };
};

/** One file holds at most so many tables; a column has at least so many values for a text amid them to be a name. */
const mostTables = 4;
export const fewestValues = 3;
