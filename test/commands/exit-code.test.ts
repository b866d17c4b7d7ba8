import { describe, expect, it } from 'vitest';
import { exitCodeOfError, exitCodeOfReports } from '../../src/commands/exit-code.ts';
import {
  HeldError,
  InterruptedError,
  RedisMissingError,
  UnfinishedError,
  UsageError,
  VerifyFailedError,
} from '../../src/model/errors.ts';
import type { Report } from '../../src/model/report.ts';

const report = (run: string | null, ...items: string[]): Report => {
  const reason = (code: string) => ({ code, message: '', hint: null });
  return {
    reason: run === null ? null : reason(run),
    items: items.map((code) => ({ reason: code === '' ? null : reason(code) })),
  } as Report; // all that the exit code looks at
};

describe('the exit code of an error', () => {
  it.each([
    [new UsageError('x'), 2],
    [new RedisMissingError('x'), 2],
    [new UnfinishedError('x'), 3],
    [new VerifyFailedError('x'), 3],
    [new HeldError('x'), 4],
    [new InterruptedError('x'), 130],
    [new TypeError('x'), 1],
    ['thrown text', 1],
  ])('%s is %i', (error, code) => {
    expect(exitCodeOfError(error)).toBe(code);
  });
});

describe('the exit code of reports', () => {
  it('is 0 when nothing failed', () => {
    expect(exitCodeOfReports([report(null, '', ''), report(null)])).toBe(0);
  });

  it('is the first of bug, usage, held and failed, over all reports', () => {
    expect(exitCodeOfReports([report(null, '', 'table-ragged')])).toBe(3);
    expect(exitCodeOfReports([report(null, 'table-ragged'), report('held')])).toBe(4);
    expect(exitCodeOfReports([report('held'), report('manifest', 'table-ragged')])).toBe(2);
    expect(exitCodeOfReports([report('manifest'), report(null, 'bug', 'held')])).toBe(1);
  });
});
