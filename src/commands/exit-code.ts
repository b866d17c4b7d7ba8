// Exit codes of commands.
import { type ErrorCode, InterruptedError, SluiceError } from '../model/errors.ts';
import type { StoredReport } from '../model/report.ts';

/** Exit codes (`docs/reference/commands.md`). */
export const exitCodes = { ok: 0, bug: 1, usage: 2, someFailed: 3, held: 4, interrupted: 130 } as const;

const usageCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'usage',
  'config',
  'manifest',
  'redis-unreachable',
  'redis-missing',
  'redis-failed',
  'state-mismatch',
  'portal-port',
  'portal-store',
  'users-file',
  'not-found',
]);

/** Nothing was done on purpose: a person decides. */
const heldCodes: ReadonlySet<string> = new Set<ErrorCode>(['held', 'drift', 'plan-moved']);

/** Exit code for an error that ended a command. */
export const exitCodeOfError = (error: unknown): number => {
  if (error instanceof InterruptedError) return exitCodes.interrupted;
  if (!(error instanceof SluiceError)) return exitCodes.bug;
  if (heldCodes.has(error.code)) return exitCodes.held;
  return usageCodes.has(error.code) ? exitCodes.usage : exitCodes.someFailed;
};

/** The exit code of several parts of a command: the first of bug, usage, interrupted, held, some failed that one ended with. */
export const worstOf = (codes: number[]): number =>
  [exitCodes.bug, exitCodes.usage, exitCodes.interrupted, exitCodes.held, exitCodes.someFailed].find((code) =>
    codes.includes(code),
  ) ?? exitCodes.ok;

/** Exit code for reports: the first of bug, usage, held, some failed that applies. */
export const exitCodeOfReports = (reports: StoredReport[]): number => {
  const reasons = reports.flatMap((report) => [report.reason, ...report.items.map((item) => item.reason)]);
  const codes = new Set(reasons.flatMap((reason) => (reason ? [reason.code] : [])));
  if (codes.has('bug')) return exitCodes.bug;
  if (
    reports.some((report) => report.reason && (report.reason.code === 'manifest' || report.reason.code === 'config'))
  ) {
    return exitCodes.usage;
  }
  if ([...codes].some((code) => heldCodes.has(code))) return exitCodes.held;
  return codes.size > 0 ? exitCodes.someFailed : exitCodes.ok;
};
