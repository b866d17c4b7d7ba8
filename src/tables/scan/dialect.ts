// The dialect of a tabular file: delimiter and quoting.

/** Delimiters that portals understand. */
export const delimiters: readonly string[] = ['\t', ',', ';', '|'];

/** The conventions of one file. Each string is one ASCII character; an empty `quote` means that nothing is quoted. */
export interface TableDialect {
  delimiter: string;
  quote: string;
  /** Equal to `quote` where quotes are doubled (RFC 4180); otherwise the character that protects the next one inside quotes. */
  escape: string;
  /** True where every row, the header too, ends with one delimiter more than it has cells. */
  trailingDelimiter: boolean;
}

/** How a table is read, where that was specified. */
export interface GivenReading {
  delimiter?: string | undefined;
  /** A name that `encodingNamed` knows, where the file is neither UTF-8 nor UTF-16 and no evidence shows what it is. */
  encoding?: string | undefined;
  /** Lines above the header, where the file does not decide; 0: the first line is the header. */
  skipRows?: number | undefined;
}

export interface Candidate {
  /** The key of a manifest that decides for it. */
  key: string;
  /** How the file reads then. Holds row contents: for reports, never for logs. */
  reads: string;
}

/** The delimiter of a table that is rewritten: its own where portals understand it, else a comma. */
export const portalDelimiter = (delimiter: string): string => (delimiters.includes(delimiter) ? delimiter : ',');

/** RFC 4180: comma, double quotes, doubled to stand for one. */
export const rfc4180: TableDialect = { delimiter: ',', quote: '"', escape: '"', trailingDelimiter: false };

/** Largest size of one row in bytes unless a caller says otherwise; an unclosed quote is stopped there. */
export const defaultRowBytes = 1024 * 1024;

/** True for one printable ASCII character or a tab: what may separate or quote cells. */
export const isDialectCharacter = (text: string): boolean => /^[\t\x20-\x7e]$/.test(text);

export const delimiterName = (delimiter: string): string => {
  const names: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'vertical bar' };
  return (
    names[delimiter] ??
    (delimiter < ' '
      ? `the control character 0x${delimiter.charCodeAt(0).toString(16).padStart(2, '0')}`
      : `"${delimiter}"`)
  );
};
