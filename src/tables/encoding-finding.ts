// What is said of the encoding of a table.
import { notUtf8 } from './faults.ts';
import { type Findings, toldOf } from './finding.ts';

/** A byte that belongs to no UTF-8 character, and where it stands. */
export interface BadByte {
  line: number;
  column: number;
  byte: number;
  offset: number;
  context: string;
}

/** What is known of the encoding. */
export interface EncodingFacts {
  encoding: string;
  /** Bytes that belong to no UTF-8 character. */
  count: number;
  /** The first of them. */
  places: BadByte[];
  bom: boolean;
}

const wideHint = 'save the file again as UTF-8 (in Excel: "CSV UTF-8 (Comma delimited)") and publish it again';

/** What evidence there is, and what a mend does. */
const evidence: Partial<Record<string, { hint: string; mend: string | null }>> = {
  'Windows-1252': {
    hint: 'by the places of these bytes the file is Windows-1252; save it as UTF-8, or let `sluice check --fix` do it',
    mend: 'the file is read as Windows-1252 and written as UTF-8',
  },
  'ISO-8859-1': {
    hint: 'by the places of these bytes the file is ISO-8859-1 (Latin-1); save it as UTF-8, or let `sluice check --fix` do it',
    mend: 'the file is read as ISO-8859-1 and written as UTF-8',
  },
  mixed: {
    hint: 'the file has characters in UTF-8 and others in another encoding: parts of several files were joined; save each as UTF-8 first',
    mend: null,
  },
  unknown: {
    hint: 'there is no evidence for one other encoding; save the file again as UTF-8 in the program it comes from, or name its encoding: `sluice check --encoding NAME --fix`',
    mend: null,
  },
};

/** Adds what is to be said of the encoding. */
export const encodingFinding = (findings: Findings, { encoding, count, places, bom }: EncodingFacts): void => {
  if (bom) {
    const message = 'the file begins with a byte order mark, which some programs take for a part of the first name';
    findings.add('bom', { line: 1, offset: 0, message, mend: 'the byte order mark is removed' });
  }
  if (encoding === 'UTF-16LE' || encoding === 'UTF-16BE') {
    const message = `the file is ${encoding} ("Unicode Text" in Excel), not UTF-8`;
    const mend = `the file is read as ${encoding} and written as UTF-8`;
    findings.add('wide-encoding', { code: 'table-encoding', line: 1, message, hint: wideHint, mend });
  }
  const known = evidence[encoding];
  if (known === undefined) {
    if (!encoding.startsWith('UTF-')) toldEncoding(findings, encoding);
    return;
  }
  const kind = encoding === 'mixed' ? 'mixed-encoding' : 'other-encoding';
  places.forEach(({ line, column, byte, offset, context }, at) => {
    const told = toldOf(notUtf8({ line, column }, byte, offset));
    const rest = at === places.length - 1 ? count - at : 1;
    findings.add(kind, { ...told, ...known, offset, context, count: rest });
  });
};

/** A file that is read in an encoding that somebody told. */
const toldEncoding = (findings: Findings, encoding: string): void => {
  findings.add('other-encoding', {
    code: 'table-encoding',
    line: 1,
    message: `the file is read as ${encoding}, as it was told; portals read UTF-8`,
    hint: 'look whether its letters are right, then let `sluice check --fix` write it as UTF-8',
    mend: `the file is read as ${encoding} and written as UTF-8`,
  });
};
