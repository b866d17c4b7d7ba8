// What a mend did, fit for a report: it shows rows.
import type { Finding, FindingKind } from './finding.ts';

/** A row that was changed or left out. */
export interface MendedRow {
  /** Its line in the file as it was. */
  line: number;
  before: string;
  /** Null when the row was left out. */
  after: string | null;
}

/** What a mend did. */
export interface MendReport {
  /** Every mend by name and how often it was needed. */
  mends: { kind: FindingKind | 'separator'; mend: string; count: number }[];
  /** Rows changed or left out one by one; what changes all rows alike is told by `mends` only. */
  changed: number;
  /** The first of them, {@link mostShown} at most. */
  rows: MendedRow[];
  /** Of the mended file. */
  bytes: number;
  sha256: string;
  /** Remarks that stay. */
  left: Finding[];
}

/** How many changed rows a report shows. */
export const mostShown = 100;
