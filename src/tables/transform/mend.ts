// Mends text before it is made a table or sent, where evidence decides beyond doubt what it should be.
import { fixFile } from '../fix/fix-worker.ts';
import type { FixReport } from '../fix/row-fixer.ts';
import type { FindingKind } from '../inspect/finding.ts';
import { type CheckTask, type Inspection, inspectFile } from '../inspect/inspect-file.ts';
import type { Cancellable } from '../worker-pool.ts';

/** Faults that are fixed automatically: no value changes, and no row with a value goes. */
const safeKinds: ReadonlySet<FindingKind> = new Set<FindingKind>([
  'wide-encoding',
  'other-encoding',
  'bom',
  'title-rows',
  'blank-first',
  'trailing-delimiter',
  'header-spaces',
  'row-long-empty',
  'quote-spaces',
  'quote-style',
  'blank-lines',
  'empty-rows',
  'line-ends-mixed',
  'line-ends-old',
]);

/** A mended text. */
interface Mended {
  /** What was mended, a line each; no row contents. */
  mends: string[];
  report: Pick<FixReport, 'bytes' | 'sha256'>;
  /** Of the text as it was. */
  inspection: Inspection;
}

/**
 * Writes the text of a task to `target`, mended; null, and nothing is written, where there is nothing to mend, or a fault
 * that is not decided by evidence. Throws the system's error when a file cannot be read or written.
 */
export const mendSafely = (task: Cancellable<CheckTask>, target: string): Mended | null => {
  const inspection = inspectFile(task);
  const isSafe = inspection.findings.every(
    ({ code, kind, mend }) => code === null || (mend !== null && safeKinds.has(kind)),
  );
  const findings = inspection.findings.filter(({ kind, mend }) => mend !== null && safeKinds.has(kind));
  if (!isSafe || findings.length === 0) return null;
  const separator = inspection.delimiter;
  const answer = fixFile({ ...task, target, separator, inspection: { ...inspection, findings } });
  if (answer.kind === 'unwritable')
    throw Object.assign(new Error(answer.message), { code: answer.code, syscall: 'write' });
  if (answer.kind === 'unsound') return null;
  const { mends, bytes, sha256 } = answer.report;
  return { mends: mends.map(mendText), report: { bytes, sha256 }, inspection };
};

const mendText = ({ mend, count }: FixReport['mends'][number]): string =>
  count === 1 ? mend : `${mend} (${count.toLocaleString('en')} times)`;
