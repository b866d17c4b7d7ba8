// Faults of deployed servers that clients can meet, verbatim (recorded behaviour 2).
import { escapeHtml } from '../../util/html.ts';
import { Refusal } from '../refusal.ts';
import type { ListFault } from './profile.ts';

/** A text as messages of such portals set it off. */
export const em = (text: string): string => `<em class="placeholder">${escapeHtml(text)}</em>`;

/** Longest title, in characters. */
export const longestTitle = 255;

/** What the editing form says of a text that has more than `most` characters; null for a shorter one. */
export const tooLong = (label: string, text: string, most: number): string | null => {
  const { length } = [...text];
  return length <= most
    ? null
    : `${label} cannot be longer than ${em(String(most))} characters but is currently ${em(String(length))} characters long.`;
};

/** An exception of the recorded server: 500, the message in the reason only, an empty body. */
export const exceptionFault = (code: string, message: string): Refusal =>
  new Refusal(500, message, {
    reason: `Internal Server Error : An error occurred (${code}): ${message.replaceAll('\n', '')}`,
    raw: '',
  });

/** A node whose type is unknown when it is saved. */
export const untyped = (): Refusal => exceptionFault('0', 'Missing bundle property on entity of type node.');

/** A request that PHP ends at its time limit. */
export const timeLimitFault = (): Refusal =>
  new Refusal(500, 'Time limit', { reason: 'Internal Server Error', raw: '' });

/** A value that names no node. */
export const unknownNode = (value: string): Refusal =>
  exceptionFault(
    '0',
    `Invalid data value given. Be sure it matches the required data type and format. Value at node(): ${value}.`,
  );

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

const syntax = (near: string, line: number): string =>
  `SQLSTATE[42000]: Syntax error or access violation: 1064 You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version for the right syntax to use near '${near}' at line ${line}`;

const sqlOf = (fault: ListFault): string => {
  switch (fault.kind) {
    case 'column':
      return `SQLSTATE[42S22]: Column not found: 1054 Unknown column '${fault.name}' in '${fault.clause}'`;
    case 'no-columns':
      return syntax('AS \nFROM \nnode t\nORDER BY sticky DESC, created DESC\nLIMIT 2 OFFSET 0', 2);
    case 'operator':
      return syntax(
        `${fault.op.toUpperCase()} '${fault.value}')${fault.seesAll ? '' : " AND (status = '1')"} \n${fault.window}`,
        4,
      );
    case 'negative': {
      const near = fault.limit < 0 ? `${fault.limit} OFFSET ${fault.offset}` : String(fault.offset);
      return syntax(near, fault.seesAll ? 5 : 6);
    }
    default:
      return syntax(')) \nORDER BY sticky DESC, created DESC\nLIMIT 20 OFFSET 0', 4);
  }
};

/** The recorded answer to a list query that cannot be: 406 with the SQL message. */
export const recordedListFault = (fault: ListFault): Refusal | null => {
  if (fault.kind === 'not-text') return fault.parameter === 'pagesize' && !fault.unlimited ? null : fatalFault();
  const message = `Invalid query provided, double check that the fields and parameters you defined are correct and exist. ${sqlOf(fault)}`;
  return new Refusal(406, message, { reason: `Not Acceptable : ${message.replaceAll('\n', '')}` });
};

/** What MySQL shows of a text: bytes from the first character that does not fit, as `\xF0\x9F…`. */
const shownBytes = (text: string): string =>
  [...Buffer.from(text, 'utf8').subarray(0, 6)].map((byte) => `\\x${byte.toString(16).toUpperCase()}`).join('');

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
