// The value of one scanned cell.
import { has } from './byte-class.ts';
import type { CellScanner } from './cell-scanner.ts';
import type { TableDialect } from './dialect.ts';

/** Makes the function that turns the text between quotes into the value it stands for. */
export const unescapeOf = (dialect: TableDialect): ((text: string) => string) => {
  const { quote, escape: protector } = dialect;
  if (protector === quote) return (text) => text.replaceAll(quote + quote, quote);
  return (text) => {
    let value = '';
    let from = 0;
    for (let at = text.indexOf(protector); at >= 0; at = text.indexOf(protector, at + 2)) {
      value += text.slice(from, at);
      from = at + 1;
    }
    return value + text.slice(from);
  };
};

/** The value of a cell of the scanner; `decode` reads its bytes, as UTF-8 when absent. */
export const cellText = (
  scanner: CellScanner,
  cell: number,
  { dialect, decode }: { dialect: TableDialect; decode?: (bytes: Buffer) => string },
): string => {
  const [start, end] = [scanner.starts[cell] ?? 0, scanner.ends[cell] ?? 0];
  const text = decode ? decode(scanner.bytes.subarray(start, end)) : scanner.bytes.toString('utf8', start, end);
  return ((scanner.marks[cell] ?? 0) & has.escapes) === 0 ? text : unescapeOf(dialect)(text);
};
