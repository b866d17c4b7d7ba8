// Findings of an inspection: kinds, places, and whether they can be fixed.
import type { TableFaultCode, TableFaultError } from '../../model/errors.ts';

/** Every kind of finding. Those that block publication carry a code of `errors.ts`; the others are remarks. */
export const findingKinds = {
  'not-a-table': 'the file is something else: an archive, a spreadsheet, a web page, JSON',
  'empty-file': 'no row at all',
  'wide-encoding': 'UTF-16 or UTF-32',
  'other-encoding': 'an encoding of one byte a character, by evidence or unknown',
  'mixed-encoding': 'UTF-8 and another encoding in one file',
  'cut-character': 'the file ends inside a character',
  nul: 'NUL bytes',
  bom: 'a byte order mark',
  control: 'control characters',
  replaced: 'characters that were lost in an earlier conversion (U+FFFD)',
  'twice-encoded': 'UTF-8 that was taken for Latin-1 and encoded again',
  'layout-unclear': 'separator or header that the file does not decide',
  'delimiter-foreign': 'a delimiter that portals do not understand',
  undivided: 'lines that look divided, by something that separates no cells',
  'second-header': 'a row of names among rows of values: a second header, units, another table',
  'joined-files': 'a byte order mark between rows: files were joined',
  'title-rows': 'titles, notes or blank lines above the header',
  'blank-first': 'blank lines above the header',
  'header-empty': 'a header cell without a name',
  'trailing-delimiter': 'every line ends with a delimiter',
  'header-unusable': 'a name without any character that portals keep',
  'header-duplicate': 'two names that portals cannot tell apart',
  'header-long': 'a name that portals cut',
  'header-cleaned': 'a name that loses characters on a portal',
  'header-spaces': 'spaces around a name',
  'header-line-break': 'a line break in a name',
  'header-values': 'values where the names should be',
  'many-columns': 'more columns than a datastore takes',
  'row-short': 'a row with too few cells',
  'row-long': 'a row with too many cells',
  'row-long-empty': 'a row with empty cells behind the last column',
  'row-split': 'two short rows that are one: a line break in a cell without quotes',
  'row-oversize': 'a row over the limit',
  'quote-unclosed': 'a quote that is opened and not closed',
  'quote-text-after': 'text between a closing quote and the delimiter',
  'quote-stray': 'a quote in a cell that does not begin with one',
  'quote-spaces': 'spaces between the quotes of a cell and its delimiters',
  'quote-style': 'another quote or escape than double quotes that are doubled',
  'no-rows': 'a header and nothing else',
  'no-table': 'one line that is no header',
  'blank-lines': 'blank lines between rows',
  'empty-rows': 'rows of empty cells',
  'repeated-header': 'the header again between the rows',
  footer: 'a note below the last row',
  'footer-padded': 'a note below the last row, with delimiters',
  'total-row': 'a sum below the last row',
  'line-ends-mixed': 'several kinds of line ends',
  'line-ends-old': 'line ends of old Macintosh systems (CR)',
  'numbers-mixed': 'numbers in several notations in one column',
  'numbers-local': 'numbers in a notation that portals keep as text',
  'dates-mixed': 'dates in several notations in one column',
  'dates-unclear': 'dates of which nobody can tell day and month',
  'type-broken': 'a few values that keep a column from its type',
  'empty-column': 'a column without any value',
  spaces: 'spaces around values',
  formula: 'cells that spreadsheets would run as a formula',
  'sheet-error': 'errors of a spreadsheet instead of values',
  'importer-escape': 'backslashes that importers of portals misread',
  'importer-long': 'cells that are too long for importers of portals',
  'importer-wide': 'characters that importers of portals do not store',
  'importer-columns': 'more columns than importers of portals take',
  'importer-name': 'names that importers of portals use themselves',
  'importer-backslash': 'backslashes that importers of portals drop',
  'importer-null': 'cells that importers of portals store as NULL',
} as const;

export type FindingKind = keyof typeof findingKinds;

/** One place where something was found. */
export interface FindingPlace {
  /** From 1. */
  line: number;
  /** Number of the cell in its row, from 1; null where the row or file is meant. */
  column: number | null;
  /** Bytes of the file before it; null for a file in UTF-16. */
  offset: number | null;
  /** A few characters around it, escaped. Holds row contents: for reports, never for logs. */
  context: string | null;
  message: string;
}

/** One of several ways to read a file. */
export interface Candidate {
  /** The key that decides for it, such as `encoding: windows-1250`. */
  key: string;
  /** How the file reads then. Holds row contents: for reports, never for logs. */
  reads: string;
}

/** Everything of one kind that was found in a table. */
export interface Finding {
  kind: FindingKind;
  /** Null for a remark, which does not block publication. */
  code: TableFaultCode | null;
  /** Of the first place; holds no row contents. */
  message: string;
  hint: string | null;
  /** What `--fix` does about it; null when it does nothing. */
  mend: string | null;
  /** The ways to read an ambiguous file. */
  candidates?: Candidate[];
  count: number;
  /** The first of them, {@link mostPlaces} at most. */
  places: FindingPlace[];
}

/** How many places of each kind are reported. */
export const mostPlaces = 10;

/** How a finding is reported. */
export interface FindingDetails {
  code?: TableFaultCode;
  line: number;
  column?: number | null | undefined;
  offset?: number | null;
  context?: string | null;
  message: string;
  hint?: string | null | undefined;
  mend?: string | null;
  candidates?: Candidate[];
  /** How many there are; 1 when absent. */
  count?: number;
}

/** A fault as it is in a finding: the place is beside the message. */
export const detailsOf = (fault: TableFaultError): FindingDetails => ({
  code: fault.code,
  line: fault.line,
  column: fault.column,
  message: fault.what,
  hint: fault.hint,
});

/** Collects findings in flat memory: the first places of each kind, and how many there are. */
export class Findings {
  readonly #byKind = new Map<FindingKind, Finding>();

  /**
   * Counts one more of a kind of which enough places are known and returns true; false when it should be added with its
   * place. `mendable` false removes the mend of its kind.
   */
  tally(kind: FindingKind, mendable: boolean): boolean {
    const finding = this.#byKind.get(kind);
    if (finding === undefined || finding.places.length < mostPlaces) return false;
    finding.count += 1;
    if (!mendable) finding.mend = null;
    return true;
  }

  /** Adds one. A kind can be mended only when each of its kind can. */
  add(kind: FindingKind, details: FindingDetails): void {
    const { code, line, column, offset, context, message, hint, mend, candidates, count } = details;
    const place = { line, column: column ?? null, offset: offset ?? null, context: context ?? null, message };
    const known = this.#byKind.get(kind);
    if (known === undefined) {
      const facts = {
        code: code ?? null,
        message,
        hint: hint ?? null,
        mend: mend ?? null,
        ...(candidates ? { candidates } : {}),
      };
      this.#byKind.set(kind, { kind, ...facts, count: count ?? 1, places: [place] });
      return;
    }
    known.count += count ?? 1;
    if (mend === undefined || mend === null) known.mend = null;
    if (known.places.length < mostPlaces) known.places.push(place);
  }

  /** What was found of a kind. */
  of(kind: FindingKind): Finding | undefined {
    return this.#byKind.get(kind);
  }

  /** Everything, what stands first in the file first; faults before remarks of the same place. */
  list(): Finding[] {
    return [...this.#byKind.values()].sort(byPlace);
  }
}

/** Sorts findings: what stands first in the file first; faults before remarks of the same place. */
export const byPlace = (a: Finding, b: Finding): number =>
  orderOf(a) - orderOf(b) || Number(a.code === null) - Number(b.code === null);

const orderOf = ({ places }: Finding): number => {
  const { line, column } = places[0] ?? { line: 0, column: 0 };
  return line + (column ?? 0) / 1e6;
};

/** Sound: it can be published. Fixable: every fault has a mend. */
export type Verdict = 'sound' | 'mendable' | 'faulty';

/** The verdict on a table with these findings. */
export const verdictOf = (findings: Finding[]): Verdict => {
  const faults = findings.filter(({ code }) => code !== null);
  if (faults.length === 0) return 'sound';
  return faults.every(({ mend }) => mend !== null) ? 'mendable' : 'faulty';
};
