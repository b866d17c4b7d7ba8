// Worker-thread entry: one pass over a file for its sha256 and everything that an inspection finds.
import { createHash } from 'node:crypto';
import type { Cancellable } from '../../util/worker-pool.ts';
import type { GivenReading } from '../scan/dialect.ts';
import { encodingNamed } from '../scan/encodings.ts';
import { openTable } from '../scan/open-table.ts';
import { type Answer, answerOfFile } from '../thread-answer.ts';
import { byPlace, verdictOf } from './finding.ts';
import { type Inspected, tableInspection } from './inspection.ts';

export interface CheckTask extends GivenReading {
  path: string;
  rowBytes: number;
  /** Lines of rows that blank rows are above in the workbook that the table was made of. */
  apart?: number[] | undefined;
}

/** What an inspection finds of a file. `sha256` is hex and of the bytes as they are in the file. */
export type Inspection = Inspected & { bytes: number; sha256: string };

const inspectOnce = (task: Cancellable<CheckTask>, fatal = false): Inspection => {
  const hash = createHash('sha256');
  let bytes = 0;
  const onBytes = (chunk: Buffer): void => {
    hash.update(chunk);
    bytes += chunk.length;
  };
  using table = openTable({ ...task, fatal, onBytes });
  const how = { rowBytes: task.rowBytes, isEncodingGiven: task.encoding !== undefined, apart: new Set(task.apart) };
  const inspection = tableInspection({ ...table, ...how });
  for (const chunk of table.chunks) inspection.feed(chunk);
  return { ...inspection.end(), bytes, sha256: hash.digest('hex') };
};

/** The inspection of a file in the encoding that evidence suggests, with the finding about that encoding. */
const withEvidence = (read: Inspection, first: Inspection): Inspection => {
  const unclear = first.findings.filter(({ kind }) => kind === 'other-encoding');
  const findings = [...unclear, ...read.findings.filter(({ kind }) => kind !== 'other-encoding')].sort(byPlace);
  return { ...read, encoding: first.encoding, findings, verdict: verdictOf(findings) };
};

/** Inspects one file; again in the encoding that it certainly has, or where decoding may just have lost characters. */
export const inspectFile = (task: Cancellable<CheckTask>): Inspection => {
  const first = inspectOnce(task);
  const isDecoded = task.encoding !== undefined || first.encoding.startsWith('UTF-16');
  const encoding = isDecoded ? task.encoding : (encodingNamed(first.encoding) ?? 'utf-8');
  if (isDecoded ? first.findings.every(({ kind }) => kind !== 'replaced') : encoding === 'utf-8') return first;
  try {
    return withEvidence(inspectOnce({ ...task, encoding }, true), first);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return undecided(first, isDecoded); // bytes further down are invalid in that encoding
  }
};

const undecided = (first: Inspection, isDecoded: boolean): Inspection => {
  // What decoding has just lost, no earlier conversion has.
  const lost = isDecoded ? first.findings.find(({ kind }) => kind === 'replaced') : undefined;
  const where = lost ? ` (the first in line ${lost.places[0]?.line})` : '';
  const hint = `the file begins like ${first.encoding}, but contains bytes that are invalid in it${where}; save it again as UTF-8 in the program that created it`;
  const others = first.findings.filter((finding) => finding !== lost);
  const findings = others.map((it) => (it.code === 'table-encoding' ? { ...it, hint, mend: null } : it));
  return { ...first, encoding: 'unknown', findings, verdict: verdictOf(findings) };
};

export const checkFile = (task: Cancellable<CheckTask>): Promise<Answer<Inspection>> =>
  answerOfFile(task.path, () => inspectFile(task));
