// What commands print: lines, tables, reasons with what to do about them, and long lists cut short.
import { placeText } from '../model/errors.ts';
import { dropAgain, faultyLine, type Reason, reasonText } from '../model/report.ts';
import { countText, plural } from '../util/plural.ts';

export type Lines = string | false | null | undefined | readonly Lines[];

export const lines = (...given: Lines[]): string[] =>
  given.flatMap((part) => (typeof part === 'string' ? [part] : part ? lines(...part) : []));

export const shellWord = (path: string): string =>
  /^[\p{L}\p{N}_./-]+$/u.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;

export const hintLine = (hint: string | null | undefined, indent = '  '): Lines =>
  hint ? `${indent}-> ${hint}` : null;

/** Rows of cells as aligned lines, columns of `right` at their end. A cell beyond 60 characters widens no column. */
export const aligned = (rows: readonly (readonly string[])[], right: readonly number[] = []): string[] => {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, { length }] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, Math.min(60, length));
  return rows.map((row) =>
    row
      .map((cell, at) => (right.includes(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
};

export const reasonLines = (reason: Reason, indent: string): string[] => {
  const { line, column } = reason;
  const place = line === undefined ? '' : placeText({ line, column });
  const faulty = faultyLine(reason);
  const [first = '', ...more] = reasonText(reason).split('\n');
  return lines(
    `${indent}${first}${place !== '' && !reason.message.includes(place) ? ` (${place})` : ''}`,
    more.map((each) => `${indent}${each}`),
    faulty && `${indent}| ${faulty}`,
    hintLine(reason.hint, indent),
    hintLine(dropAgain(reason), indent),
  );
};

export const restLine = (rest: number, where: string, indent = ''): Lines =>
  rest > 0 && `${indent}… and ${countText(rest)} more; ${where}`;

/** Items by the code of their reason, the most frequent first: five of each, or `all`, and what lists the others. */
export const causeLines = <T extends { reason: Reason | null }>(
  items: readonly T[],
  itemLines: (some: readonly T[]) => string[],
  { indent = '', all = false, where }: { indent?: string; all?: boolean; where: string },
): string[] => {
  return [...Map.groupBy(items, ({ reason }) => reason?.code ?? 'warnings')]
    .sort(([, a], [, b]) => b.length - a.length)
    .flatMap(([code, of]) => {
      const listed = all ? of : of.slice(0, 5);
      return lines(
        `${indent}${plural(of.length, 'item')} with ${code}:`,
        itemLines(listed),
        restLine(of.length - listed.length, where, '  '),
      );
    });
};
