// Faults of deployed servers that clients can meet, verbatim (recorded behaviour 2).
import { exceptionFault, Refusal } from '../../refusal.ts';

export const untyped = (): Refusal => exceptionFault('0', 'Missing bundle property on entity of type node.');

export const timeLimitFault = (): Refusal =>
  new Refusal(500, 'Time limit', { reason: 'Internal Server Error', raw: '' });

/** An error that the recorded server raised without a code: 500, the message as body too. */
export const codelessFault = (message: string): Refusal =>
  new Refusal(500, message, { reason: `Internal Server Error : An error occurred (0): ${message}` });

/** A PHP fatal error: 500 with the site's error page under the negotiated type. */
export const fatalFault = (): Refusal =>
  new Refusal(500, 'The website encountered an unexpected error.', {
    reason: 'Service unavailable (with message)',
    raw: `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"
  "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en" dir="ltr">
  <head>
    <title>Error | DKAN</title>
  </head>
  <body>The website encountered an unexpected error. Please try again later.</body>
</html>
`,
  });

/** The database's message about a statement that it cannot parse from `near` on. */
export const syntaxError = (near: string, line: number): string =>
  `SQLSTATE[42000]: Syntax error or access violation: 1064 You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version for the right syntax to use near '${near}' at line ${line}`;

export const unknownColumn = (name: string, clause: string): string =>
  `SQLSTATE[42S22]: Column not found: 1054 Unknown column '${name}' in '${clause}'`;

/** What MySQL shows of a text: bytes from the first character that does not fit, as `\xF0\x9F…`. */
const shownBytes = (text: string): string =>
  [...Buffer.from(text, 'utf8').subarray(0, 6)].map((byte) => `\\x${byte.toString(16).toUpperCase()}`).join('');

const longestTitle = 255;

/** The fault of a title that the recorded database cannot hold, or null. */
export const titleFault = (title: string): Refusal | null => {
  const wide = /[\u{10000}-\u{10ffff}].*/su.exec(title)?.[0];
  if (wide !== undefined) {
    return exceptionFault(
      '22007',
      `SQLSTATE[22007]: Invalid datetime format: 1366 Incorrect string value: '${shownBytes(wide)}' for column \`dkan2\`.\`node\`.\`title\` at row 1`,
    );
  }
  if ([...title].length > longestTitle) {
    return exceptionFault(
      '22001',
      "SQLSTATE[22001]: String data, right truncated: 1406 Data too long for column 'title' at row 1",
    );
  }
  return null;
};
