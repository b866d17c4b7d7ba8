// `sluice check FILE --fix`: writes a fixed copy of a table and reports what was changed.
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { TableFaultError, UsageError } from '../model/errors.ts';
import { encodings } from '../model/recipe/encodings.ts';
import { isTabular } from '../model/recipe/recipe.ts';
import { fixTable } from '../tables/check.ts';
import type { FixReport } from '../tables/fix/row-fixer.ts';
import { encodingNamed } from '../tables/scan/encodings.ts';
import { plural } from '../util/plural.ts';
import { htmlOfFix, type Reading } from './check-finding.ts';
import { exitCodes } from './exit.ts';
import { type Io, say, sayText } from './io.ts';
import { lines } from './text.ts';

/** Separators by their names on the command line. */
export const separatorNames: Record<string, string> = { comma: ',', semicolon: ';', tab: '\t', bar: '|' };

export interface FixOptions {
  output?: string;
  /** Encoding of the table, a name that TextDecoder knows. */
  encoding?: string;
  skipRows?: string;
  /** Of the table as it is, one of {@link separatorNames} or a character. */
  delimiter?: string;
  /** One of {@link separatorNames}; the table keeps its own when absent. */
  separator?: string;
  report?: string;
  json?: boolean;
}

/** Fixes one table. 0 when the new file is written; null, and nothing is written, when a fault cannot be fixed. */
export const fixCommand = async (
  paths: string[],
  options: FixOptions,
  { io, config }: { io: Io; config: Config | null },
): Promise<number | null> => {
  const [path] = paths;
  const { output, separator } = options;
  if (path === undefined || paths.length > 1 || !isTabular(path) || output === undefined) {
    throw new UsageError('--fix takes one table and the name of the new file', {
      hint: 'sluice check spending.csv --fix -o spending-fixed.csv',
    });
  }
  const report = await fixTable(resolve(io.cwd, path), resolve(io.cwd, output), {
    signal: io.stop,
    rowBytes: config?.limits.rowBytes,
    separator: separator === undefined ? undefined : separatorNames[separator],
    ...readingOf(options),
  }).catch((error: unknown) => {
    if (error instanceof TableFaultError) return null;
    throw error;
  });
  if (report === null) return null;
  const form = options.json ? 'json' : options.report;
  if (form === 'json') sayText(io, JSON.stringify({ ok: true, file: path, output, ...report }, null, 2));
  else if (form === 'html') sayText(io, htmlOfFix(path, output, report));
  else for (const line of linesOf(path, output, report)) say(io, line);
  return exitCodes.ok;
};

/** How tables are read, from the options. Throws a UsageError for an unknown encoding and a bad number. */
export const readingOf = ({ encoding, skipRows, delimiter }: FixOptions): Reading => {
  const refuse = (message: string, hint: string): never => {
    throw new UsageError(message, { hint });
  };
  if (skipRows !== undefined && !/^\d{1,6}$/.test(skipRows))
    refuse(`--skip-rows: ${JSON.stringify(skipRows)} is not a number of lines`, 'use a number such as 2');
  const separator = delimiter === undefined ? undefined : (separatorNames[delimiter] ?? delimiter);
  if (separator !== undefined && !/^[^A-Za-z0-9_"'\r\n]$/.test(separator)) {
    const known = Object.keys(separatorNames).join(', ');
    refuse(`--delimiter: ${JSON.stringify(delimiter)} separates no cells`, `use ${known}, or one character`);
  }
  const name = encoding === undefined ? undefined : encodings.find((known) => known === encodingNamed(encoding));
  if (encoding !== undefined && name === undefined) {
    const examples = 'for example windows-1250, windows-1251, iso-8859-2, cp852, macintosh or shift_jis';
    refuse(`unknown encoding ${JSON.stringify(encoding)}`, examples);
  }
  return {
    encoding: name === 'utf-8' ? undefined : name, // which is detected
    skipRows: skipRows === undefined ? undefined : Number(skipRows),
    delimiter: separator,
  };
};

const linesOf = (path: string, output: string, { mends, rows, unshown, bytes }: FixReport): string[] =>
  lines(
    `${path}: ${mends.length === 0 ? 'nothing to fix' : 'fixed'}, written to ${output}, ${bytes.toLocaleString('en')} bytes, sound`,
    mends.map(({ mend, count }) => `  ${mend}${count > 1 ? ` (${count.toLocaleString('en')} times)` : ''}`),
    rows.map(({ line, column, before, after }) => {
      const place = `  line ${line}${column === null ? '' : `, column ${column}`}:`;
      return [`${place} - ${before}`, after !== null && `${place} + ${after}`];
    }),
    unshown > 0 && `  … and ${plural(unshown, 'more row')}`,
  );
