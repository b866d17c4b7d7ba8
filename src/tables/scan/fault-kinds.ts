// Every kind of fault and remark of tables: its code, what it says, what to do, and what a fix does. Strict reading,
// inspection, fixing and the steps all take their words from here; docs/reference/table-faults.md lists a file of each.
import { type TableFaultCode, TableFaultError } from '../../model/errors.ts';
import { countText, plural } from '../../util/plural.ts';
import { delimiterName, isDialectCharacter } from './dialect.ts';
import type { Division } from './division.ts';

/** A text, where it depends on facts as a function of them; null: none. */
type Text<F> = string | ((facts: F) => string | null);

interface FaultKind<F> {
  /** Without one it is a remark, which does not block publication. */
  code?: TableFaultCode | ((facts: F) => TableFaultCode | null);
  /** Holds no row contents. */
  message: string | ((facts: F) => string);
  hint?: Text<F>;
  fix?: Text<F>;
  /** The same, where it may be done without a request: no value changes, and no row with a value of its own goes. */
  safeFix?: Text<F>;
}

const kind = <F = unknown>(it: FaultKind<F>): FaultKind<F> => it;

const saveAsUtf8 = 'save the file again as UTF-8 (in Excel: "CSV UTF-8 (Comma delimited)") and publish it again';
const asIs = 'keep it, and set `skipRows` in the manifest to the number of lines above the header (0 for none)';
const asRow = `if it is a row of data, ${asIs}`;
const asList = 'if the file is a list of single values, set `skipRows: 0`';
const closeQuote = 'add the closing quote to that cell';
const leftOut = 'the lines above the header are left out';
const withLf = 'all lines end with LF';
const named = ({ fixed }: { fixed?: string | null }): string | null =>
  fixed ? `columns without a usable name get one, such as ${JSON.stringify(fixed)}` : null;
const size = (limit: number): string => (limit >= 1e6 ? `${Math.round(limit / 1e6)} MB` : `${limit} bytes`);
const shortName = (name: string): string => JSON.stringify(name.length > 40 ? `${name.slice(0, 39)}…` : name);
const openInLimit = {
  message: (limit: number): string => `a quote opens here and is not closed within ${size(limit)}`,
  hint: `${closeQuote}; if it is that long, raise \`limits.row\` in the configuration`,
};

export const hex = (byte: number): string => `0x${byte.toString(16).toUpperCase().padStart(2, '0')}`;

const decoded = ({ encoding }: { encoding: string | null }): string | null =>
  encoding === null ? null : `the file is read as ${encoding} and written as UTF-8`;

/** A byte that is not UTF-8, what to do, and the encoding it can be read in. */
interface BadByteFacts {
  byte: number;
  offset: number;
  hint?: string;
  encoding: string | null;
}
const badByte = ({ byte, offset }: BadByteFacts): string => {
  const usual = byte >= 0xa1 ? `; in Windows-1252 (Latin-1) it is "${String.fromCharCode(byte)}"` : '';
  return `the file is not valid UTF-8: byte ${offset + 1} of the file is ${hex(byte)}${usual}`;
};

interface RaggedFacts {
  line: number;
  lastLine: number;
  found: number;
  expected: number;
}
const ragged = ({ line, lastLine, found, expected }: RaggedFacts): string =>
  `the row has ${plural(found, 'cell')}${lastLine > line ? ` (the row continues to line ${lastLine})` : ''}, the header has ${expected}`;
const raggedHint = ({ line, lastLine, found, expected }: RaggedFacts): string => {
  const unclosed = lastLine > line ? 'a closing quote that is missing, ' : '';
  const cause = found > expected ? 'an unquoted cell with a delimiter' : 'a missing delimiter';
  return `look in that line for ${unclosed}${cause}, or a line break inside a cell; \`badRows: quarantine\` publishes the other rows`;
};
const raggedRow = { code: 'table-ragged', message: ragged, hint: raggedHint } as const;

/** The kind of portal that has the limits of `importer-` remarks (recorded behaviour 13a). */
export const importer = 'the importer of DKAN 7.16 to 7.18';

/** Longest cell, bytes (TEXT of MySQL), and most columns that are known to fit into a row (real portals: 195 fit, 400 do not). */
export const [longestImported, mostImported] = [65_535, 195];

/** Of the encodings that switch between character sets, only the Japanese one can be decoded. */
const isDecodable = (encoding: string): boolean => encoding === 'ISO-2022-JP';

const header = 'table-header';
const encoding = 'table-encoding';
const quoting = 'table-quote';

export const faultKinds = {
  'not-a-table': kind<{ signature: string }>({
    code: encoding,
    message: ({ signature }) => `the file is ${signature}, not a table of text`,
    hint: 'export the table as CSV in UTF-8, and check what the address or program actually returned',
  }),
  'empty-file': kind<{ isBelow?: true }>({
    code: 'table-empty',
    message: ({ isBelow }) => (isBelow ? 'there is no header row' : 'the file is empty: there is no header row'),
    hint: ({ isBelow }) =>
      isBelow
        ? 'the first line read must hold the column names; check skipRows and header.row'
        : 'the first line must hold the column names; export the file again',
  }),
  'wide-encoding': kind<{ name: string; isReadable?: true }>({
    code: encoding,
    message: ({ name }) => `the file is ${name} ("Unicode Text" in Excel), not UTF-8`,
    hint: saveAsUtf8,
    safeFix: ({ name, isReadable }) => decoded({ encoding: isReadable ? name : null }),
  }),
  'other-encoding': kind<BadByteFacts | { encoding: string; isGiven: boolean }>({
    code: encoding,
    message: (facts) => {
      if ('byte' in facts) return badByte(facts);
      return facts.isGiven
        ? `the file is read as ${facts.encoding}, as specified; portals read UTF-8`
        : `the file is ${facts.encoding}, not UTF-8`;
    },
    hint: (facts) => {
      if ('byte' in facts) return facts.hint ?? saveAsUtf8;
      if (facts.isGiven) return 'check that its letters are right, then let `sluice check --fix` write it as UTF-8';
      return isDecodable(facts.encoding) ? saveAsUtf8 : 'save the file again as UTF-8 in the program that created it';
    },
    safeFix: (facts) => ('byte' in facts || facts.isGiven || isDecodable(facts.encoding) ? decoded(facts) : null),
  }),
  'mixed-encoding': kind<BadByteFacts>({ code: encoding, message: badByte, hint: ({ hint }) => hint ?? saveAsUtf8 }),
  'cut-character': kind<{ offset: number }>({
    code: encoding,
    message: ({ offset }) =>
      `the file ends in the middle of a UTF-8 character (byte ${offset + 1}); it may have been cut off`,
    hint: 'copy or export the file again in full',
  }),
  nul: kind<{ offset?: number }>({
    code: encoding,
    message: ({ offset }) =>
      `the file holds a NUL byte${offset === undefined ? '' : ` (byte ${offset + 1} of the file)`}, which tables must not contain`,
    hint: ({ offset }) =>
      `check that this is a text file and not ${offset === undefined ? '' : 'a spreadsheet, an archive or '}a damaged copy; export it again as CSV`,
    fix: 'NUL bytes are removed',
  }),
  bom: kind({
    message: 'the file begins with a byte order mark, which some programs read as part of the first column name',
    safeFix: 'the byte order mark is removed',
  }),
  'mark-as-text': kind({
    code: encoding,
    message: 'the first column name begins with a byte order mark that was read as text, such as "ï»¿"',
    hint: 'remove it from the name; where an encoding is specified, try without',
  }),
  /** A fault where a program wrote colours, or went to the next page. */
  control: kind<{ byte: number }>({
    code: ({ byte }) => (byte === 0x1b || byte === 0x0c ? encoding : null),
    message: ({ byte }) => `a control character (${hex(byte)}) is in the cell`,
    hint: 'export the table as text without colours and pages, or remove it',
    fix: 'control characters are removed',
  }),
  replaced: kind({ message: 'a character was lost in an earlier conversion (U+FFFD stands in its place)' }),
  'twice-encoded': kind({ message: 'the text looks like UTF-8 that was taken for Latin-1 and encoded again' }),
  'lost-letter': kind({ message: 'a question mark inside a word: an earlier conversion may have lost a letter' }),
  'character-reference': kind({ message: 'the text holds an HTML character reference, shown as it stands' }),
  'layout-unclear': kind<{ keys: string[] }>({
    code: header,
    message: 'the table is ambiguous: the file does not determine which row is the header, or what separates the cells',
    hint: ({ keys }) => {
      const [place, option] = keys[0]?.startsWith('skipRows')
        ? ['the manifest', '--skip-rows']
        : ['the first step of `table`', '--delimiter'];
      return `set the right one in ${place}: \`${keys.join('` or `')}\`; try it with \`sluice check ${option}\``;
    },
  }),
  'delimiter-foreign': kind<{ by: string }>({
    code: header,
    message: ({ by }) => `the cells are separated by ${delimiterName(by)}, which portals do not understand`,
    hint: 'save the table as CSV with commas or semicolons, or set `mend: safe`',
    safeFix: 'the cells are separated by commas',
  }),
  undivided: kind<Division>({
    code: header,
    message: ({ kind, by }) =>
      ({
        character: `the lines look divided by ${delimiterName(by)}, which is no delimiter of tables`,
        blanks: 'the lines look divided by spaces',
        'fixed width': 'the columns look aligned by spaces (fixed width)',
        'quoted lines': `every line is one cell that holds cells separated by ${delimiterName(by)}`,
        brackets: `in every row, the ${delimiterName(by)} stands within brackets, as in a program`,
        frame: `all cells are divided by ${JSON.stringify(by)}: by several characters, or in quotes that portals do not read`,
      })[kind],
    hint: ({ kind, by }) => {
      const key = isDialectCharacter(by)
        ? `set \`delimiter: ${JSON.stringify(by)}\` as the first step of \`table\``
        : 'export the table with commas or semicolons';
      const way = {
        character: `if it separates the cells, ${key}`,
        blanks: `if they separate the cells, ${key}`,
        'fixed width': 'export the table as CSV, with a delimiter between the cells',
        'quoted lines': 'divide it into columns, or export the table again without quotes around whole lines',
        brackets: 'export the table as CSV, without brackets around rows',
        frame: 'export the table with one character as delimiter, and double quotes',
      }[kind];
      return `${way}; ${kind === 'frame' || kind === 'brackets' ? 'if the characters belong to the values, set `skipRows: 0`' : asList}`;
    },
  }),
  'second-header': kind<{ isApart: boolean; isFirst: boolean; isGap: boolean }>({
    code: header,
    message: ({ isApart, isFirst, isGap }) => {
      if (isGap) return 'the row stands for others that are left out, or for a line between rows';
      if (isApart) return 'a row of names follows a blank line, among rows of values: another table begins here';
      return isFirst
        ? 'the row below the header is of names, units, types or numbers of columns, not of values: the table seems to have two header rows'
        : 'the row is of names among rows of values: another header, or another table';
    },
    hint: ({ isGap }) =>
      `${isGap ? 'export the table in full' : 'keep one header row and one table in a file'}; ${asRow}`,
  }),
  'joined-files': kind({
    code: encoding,
    message: 'the row begins with a byte order mark or a conflict mark of Git: several files were joined into one here',
    hint: 'remove the mark, and the header or version behind it, or publish the files one by one',
  }),
  'title-rows': kind<{ header: number; unit?: 'line' | 'row' } | { isSkipped: true }>({
    code: header,
    message: (facts) =>
      'isSkipped' in facts
        ? 'lines above the header are skipped, as specified'
        : `titles or notes precede the header in ${facts.unit ?? 'line'} ${facts.header}`,
    hint: (facts) =>
      'isSkipped' in facts
        ? null
        : `remove the ${facts.unit ?? 'line'}s above the header, or skip them with \`skipRows: ${facts.header - 1}\`; a title belongs in the title of the resource`,
    safeFix: leftOut,
  }),
  'blank-first': kind({
    code: header,
    message: 'the first line is blank; it must hold the column names',
    hint: 'remove the blank lines at the top of the file',
    safeFix: leftOut,
  }),
  'header-empty': kind<{ delimiter: string; isTail: boolean; isMostly?: boolean; fixed?: string }>({
    code: header,
    message: 'the header cell is empty',
    hint: ({ delimiter, isTail, isMostly }) => {
      if (isMostly)
        return 'most columns have no name: if the header stands further down, set the number of rows above it, such as `skipRows: 2`; otherwise name the columns';
      return `give the column a name${isTail ? `, or remove the ${delimiterName(delimiter)} at the end of every line` : ''}`;
    },
    fix: named,
  }),
  'trailing-delimiter': kind<{ delimiter: string; isTail: boolean }>({
    code: header,
    message: 'the header cell is empty',
    hint: ({ delimiter }) =>
      `give the column a name, or remove the ${delimiterName(delimiter)} at the end of every line`,
    safeFix: ({ delimiter }) => `the ${delimiterName(delimiter)} at the end of every line is removed`,
  }),
  'header-unusable': kind<{ name: string; fixed?: string }>({
    code: header,
    message: ({ name }) =>
      `the header cell ${shortName(name)} has none of the characters that portals keep in column names`,
    hint: 'use letters A to Z, digits, spaces or underscores in the name',
    fix: named,
  }),
  'header-duplicate': kind<{
    first: { column: number; name: string };
    second: { column: number; name: string };
    portalName: string;
    fixed?: string;
  }>({
    code: header,
    message: ({ first, second, portalName }) =>
      `the header cells of columns ${first.column} (${shortName(first.name)}) and ` +
      `${second.column} (${shortName(second.name)}) give the same column name on a portal: ${portalName}`,
    hint: 'rename one of them; portals ignore capitals and every character but A to Z, digits, spaces and underscores, and cut names to 64',
    fix: named,
  }),
  'header-long': kind<{ length: number; longest: number; portalName: string }>({
    message: ({ length, longest, portalName }) =>
      `the name has ${length} characters; portals cut it to ${longest}: ${portalName}`,
  }),
  'header-cleaned': kind<{ portalName: string }>({
    message: ({ portalName }) =>
      `portals keep only A to Z, digits, spaces and underscores of a name; this one becomes ${portalName}`,
  }),
  'header-spaces': kind({ message: 'spaces surround the name', safeFix: 'spaces around names are removed' }),
  'header-line-break': kind<{ portalName: string }>({
    message: ({ portalName }) => `the name has a line break; portals make it ${portalName}`,
  }),
  'header-values': kind<{ isRecord: boolean }>({
    code: ({ isRecord }) => (isRecord ? header : null),
    message: ({ isRecord }) =>
      isRecord
        ? 'the file has no header: its first row holds values like all others'
        : 'the first row has values where the names of the columns should be',
    hint: ({ isRecord }) =>
      isRecord
        ? 'add a row with names at the top, or name the columns in `table: [{header: {names: […]}}]`'
        : 'add a row with names when the file has no header',
  }),
  'many-columns': kind<{ count: number; most: number; isTable: boolean }>({
    code: ({ isTable }) => (isTable ? null : header),
    message: ({ count, most, isTable }) =>
      isTable
        ? `the table has ${countText(count)} columns; datastores take ${countText(most)} at most`
        : `the header has ${countText(count)} columns; a table can have ${countText(most)}`,
    hint: ({ isTable }) =>
      isTable ? 'publish it as a file without datastore' : 'check the delimiter, or split the table',
  }),
  /** With a `delimiter`: rows that should end with it, and one does not. */
  'row-short': kind<RaggedFacts | { delimiter: string }>({
    code: 'table-ragged',
    message: (facts) =>
      'delimiter' in facts
        ? `the row does not end with a ${delimiterName(facts.delimiter)} although the table is configured that way`
        : ragged(facts),
    hint: (facts) => ('delimiter' in facts ? 'correct the row, or set trailing_delimiter to false' : raggedHint(facts)),
  }),
  'row-long': kind<RaggedFacts>(raggedRow),
  'row-long-empty': kind<RaggedFacts>({ ...raggedRow, safeFix: 'the empty cells behind the last column are left out' }),
  'row-split': kind<{ first: number; second: number }>({
    code: 'table-ragged',
    message: ({ first, second }) =>
      `lines ${first} and ${second} together have as many cells as one row: an unquoted cell contains a line break`,
    hint: 'put the cell with the line break in quotes',
  }),
  'row-oversize': kind<{ limit: number; isOpen?: boolean; isMade?: true }>({
    code: 'table-oversize',
    message: ({ limit, isOpen, isMade }) => {
      if (isOpen) return openInLimit.message(limit);
      return `the row is larger than ${isMade ? `the limit of ${countText(Math.round(limit / 1024))} kB` : size(limit)}`;
    },
    hint: ({ isOpen, isMade }) => {
      if (isOpen) return openInLimit.hint;
      return isMade
        ? 'look for a quote that is never closed; else shorten the cell, or raise limits.row in the configuration'
        : 'check that the rows of the file are separated by line breaks; else shorten the row, or raise `limits.row` in the configuration';
    },
  }),
  /** Beyond the `limit` of a row, or up to the end of the file; in a line below, `until`, text or nothing (`holdsRows`) follows the next quote. */
  'quote-unclosed': kind<{ limit?: number; until?: number | undefined; holdsRows?: true; isFixable?: boolean }>({
    code: ({ limit }) => (limit === undefined ? quoting : 'table-oversize'),
    message: ({ limit, until, holdsRows }) => {
      if (limit !== undefined) return openInLimit.message(limit);
      if (holdsRows) return `this quote is closed only in line ${until}: the lines between look like rows of the table`;
      return until === undefined
        ? 'a quote opens here and is never closed'
        : `a quote opens here and is not closed properly: it runs on to line ${until}, where text follows the next quote`;
    },
    hint: ({ limit, until, holdsRows }) => {
      if (holdsRows)
        return `remove this quote and the one in line ${until}, so that each line is a row; if it is one cell of several lines, ${asIs}`;
      return limit === undefined ? `${closeQuote}; a quote inside a quoted cell is written twice` : openInLimit.hint;
    },
    fix: ({ isFixable }) => (isFixable ? 'the unclosed quote is removed' : null),
  }),
  'quote-text-after': kind<{ isFixable?: boolean }>({
    code: quoting,
    message: 'text follows the closing quote of this cell',
    hint: 'double a quote inside a quoted cell; nothing may follow a closing quote but the delimiter',
    fix: ({ isFixable }) => (isFixable ? 'the quotes inside the cell are doubled' : null),
  }),
  'quote-stray': kind({
    code: quoting,
    message: 'the cell contains a quote but does not begin with one',
    hint: 'quote the whole cell and double the inner quote',
    fix: 'the cell is put in quotes and its quotes are doubled',
  }),
  'quote-spaces': kind({
    code: quoting,
    message: 'spaces stand around the quotes of this cell',
    hint: 'a quote stands right beside the delimiter; with a space between, portals read the quotes as part of the cell',
    safeFix: 'the spaces around quotes are removed',
  }),
  'quote-style': kind<{ quote: string; escape: string; delimiter: string }>({
    code: quoting,
    message: ({ quote, escape: by }) => {
      if (quote === '')
        return 'quotes are a part of the cells here, not around them: every row has its tabs without them';
      return quote === '"'
        ? 'quotes inside cells are written with a backslash (\\") instead of twice ("")'
        : `cells stand in single quotes (')${by === '\\' ? ', with backslashes for quotes inside' : ''} instead of double quotes`;
    },
    hint: ({ delimiter }) =>
      `portals read tables by RFC 4180: a cell with a ${delimiterName(delimiter)} in double quotes, a quote inside written twice`,
    safeFix: 'cells are quoted by RFC 4180',
  }),
  'no-rows': kind({ message: 'the table has a header and no rows' }),
  /** `ends`: what seems to end the lines; null where the one line is a sentence. */
  'no-table': kind<{ ends: string | null }>({
    code: header,
    message: ({ ends }) =>
      ends === null
        ? 'the file is one line of text, not a header and rows'
        : `the file is one line, in which ${ends} seem to end the lines`,
    hint: ({ ends }) =>
      ends === null
        ? 'look at what the program or address that made the file returned; a table without rows has a line of column names'
        : 'export the table again with usual line ends (LF or CRLF)',
  }),
  'blank-lines': kind<{ isUnclear: boolean }>({
    code: ({ isUnclear }) => (isUnclear ? 'table-ragged' : null),
    message: ({ isUnclear }) =>
      isUnclear
        ? 'the line is blank: in a table of one column that may be an empty value or nothing'
        : 'the line is blank and does not count as a row',
    hint: ({ isUnclear }) =>
      isUnclear ? 'write "" for an empty value, or remove the blank lines; with `skipRows: 0` they are left out' : null,
    safeFix: ({ isUnclear }) => (isUnclear ? null : 'blank lines are left out'),
  }),
  'empty-rows': kind({ message: 'every cell of the row is empty', safeFix: 'empty rows are left out' }),
  /** A fault only where a column proves that it is no record. */
  'repeated-header': kind({
    message: 'the row is the same as the header',
    hint: `remove it; ${asRow}`,
    safeFix: 'repeated headers are left out',
  }),
  footer: kind<{ looks: 'behind' | 'below' | 'maybe' | 'cut' | 'page' | 'filled' | 'comment' }>({
    code: 'table-ragged',
    message: ({ looks }) =>
      ({
        behind: 'a note follows the last row of the table',
        below: 'a note stands below the last row of the table',
        maybe: 'the last row has only one cell: it may be a note below the table, or a row without values',
        page: 'the row numbers a page, and is no record',
        filled: 'the last rows hold one number and nothing else: a formula seems to be filled down too far',
        comment: 'the row begins with # among rows of values: it seems to be a comment, or to be commented out',
        cut: 'the last row looks like a note that contains delimiters, or stands between them',
      })[looks],
    hint: ({ looks }) => {
      if (looks === 'maybe') return `remove it if it is a note; ${asRow}`;
      if (looks === 'page' || looks === 'filled' || looks === 'comment')
        return `remove it, and the others like it; ${asRow}`;
      const way = looks === 'cut' ? 'quote its cells' : 'publish it as description of the resource';
      return `remove it, or ${way}; if it is an error message, export the table again; ${asRow}`;
    },
    fix: ({ looks }) => (looks === 'behind' || looks === 'below' ? 'the notes below the last row are left out' : null),
  }),
  'footer-padded': kind({ message: 'the last row has only one cell and looks like a note' }),
  'total-row': kind({ message: 'the last row looks like a total; sums over the column would count it twice' }),
  'line-ends-mixed': kind<{ shares: string; isUnclear: boolean }>({
    code: ({ isUnclear }) => (isUnclear ? 'table-ragged' : null),
    message: ({ shares }) => `the file mixes line endings: ${shares}`,
    hint: ({ isUnclear }) => (isUnclear ? 'put cells with line breaks in quotes, and end all lines alike' : null),
    safeFix: ({ isUnclear }) => (isUnclear ? null : withLf),
  }),
  'line-ends-old': kind({ message: 'lines end with CR alone, as on old Macintosh systems', safeFix: withLf }),
  'numbers-mixed': kind<{ listed: string }>({
    message: ({ listed }) => `the column has numbers in several notations: ${listed}`,
    hint: 'write all numbers of a column in one notation, such as 1234.5',
  }),
  'numbers-local': kind<{ notation: string }>({
    message: ({ notation }) =>
      `portals keep the column as text, so that it cannot be added up or sorted by size: ${notation}`,
    hint: ({ notation }) =>
      `write numbers as 1234.5, ${notation.startsWith('percent') ? 'with the unit in the name of the column' : 'or let the step `cast` do it'}`,
  }),
  'dates-mixed': kind<{ listed: string }>({
    message: ({ listed }) => `the column has dates in several notations: ${listed}`,
    hint: 'write all dates as 2026-01-31',
  }),
  'dates-unclear': kind({
    message: 'day and month are ambiguous in every date of the column, as in 01/02/2026',
    hint: 'write dates as 2026-01-31',
  }),
  'type-broken': kind<{ values: string; type: string; line: number }>({
    message: ({ values, type, line }) =>
      `all but ${values} of the column could be a ${type}; the first that cannot is in line ${line}`,
    hint: 'leave cells without a value empty instead of writing n/a',
  }),
  'empty-column': kind({ message: 'the column has no value in any row' }),
  spaces: kind({ message: 'spaces surround the value; they are part of it' }),
  formula: kind({ message: 'spreadsheets would run this cell as a formula' }),
  'sheet-error': kind({ message: 'the cell holds an error of a spreadsheet instead of a value' }),
  'program-value': kind({
    code: encoding,
    message: 'the cell holds what a program calls a value, or its place in a template, instead of the value itself',
    hint: 'export the values themselves, as text; if these are the values, set `skipRows` in the manifest',
  }),
  'importer-escape': kind({
    message: `a backslash stands before a quote or at the end of a cell: ${importer} takes what follows it for text and misreads the row`,
    hint: 'remove the backslash or write two, or publish with `import: never`',
  }),
  'importer-long': kind({
    message: `the cell has more than ${countText(longestImported)} bytes, which ${importer} does not store`,
    hint: 'shorten it, or publish with `import: never`',
  }),
  'importer-wide': kind({
    message: `the cell has a character of four bytes, such as an emoji, which ${importer} does not store in most databases`,
    hint: 'remove such characters, or publish with `import: never`',
  }),
  'importer-columns': kind({
    message: `the table has more than ${mostImported} columns: ${importer} takes no more than a row of its database has room for, and not 400`,
    hint: 'leave columns out, or publish with `import: never`',
  }),
  'importer-name': kind({
    message: `${importer} uses this name itself: \`entry_id\` becomes the key of the rows, \`timestamp\` is hidden`,
    hint: 'rename the column',
  }),
  'importer-backslash': kind({ message: `${importer} drops the backslash`, hint: 'write slashes, or two backslashes' }),
  'importer-null': kind({
    message: `${importer} stores an empty cell in quotes as NULL`,
    hint: 'write nothing between the delimiters',
  }),
} as const;

type FaultKinds = typeof faultKinds;
export type FindingKind = keyof FaultKinds;

export type FactsOf<K extends FindingKind> = K extends FindingKind
  ? FaultKinds[K] extends FaultKind<infer F>
    ? F
    : never
  : never;

/** The facts as an argument, which kinds without any do not need. */
export type Facts<K extends FindingKind> = unknown extends FactsOf<K> ? [facts?: object] : [facts: FactsOf<K>];

export const described = <K extends FindingKind>(kind: K, ...[facts]: Facts<K>) => {
  const { code, message, hint, safeFix, fix = safeFix }: FaultKind<never> = faultKinds[kind];
  // The type of the argument has checked the facts.
  const filled = <T>(text: T | ((facts: never) => T)): T => (text instanceof Function ? text(facts as never) : text);
  return {
    code: filled(code ?? null),
    message: filled(message),
    hint: filled(hint ?? null),
    mend: filled(fix ?? null),
  };
};

export const faultOf = <K extends FindingKind>(
  kind: K,
  place: { line: number; column?: number; sheet?: string | undefined },
  ...facts: Facts<K>
): TableFaultError => {
  const { code, message, hint } = described(kind, ...facts);
  if (code === null) throw new TypeError(`${kind} is a remark`);
  return new TableFaultError(message, { ...place, code }, hint === null ? {} : { hint });
};
