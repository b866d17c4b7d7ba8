import { describe, expect, it } from 'vitest';
import { reportLines } from '../../src/commands/report-text.ts';
import type { Report, ReportItem } from '../../src/model/report.ts';

const itemOf = (at: number, code: string | null): ReportItem => ({
  key: `city/d${at}/table`,
  kind: 'resource',
  nid: String(at),
  uuid: '',
  url: null,
  actions: [],
  outcome: code === null ? 'done' : 'quarantined',
  live: code === null,
  stale: false,
  rows: null,
  file: null,
  rejected: null,
  fixes: [],
  warnings: [],
  reason: code === null ? null : { code, message: `fault ${at}`, hint: null },
  jobId: null,
  attempts: 1,
  ms: 1,
});

describe('the report of a long run', () => {
  const codes = (at: number): string | null => (at < 1200 ? null : at % 3 === 0 ? 'table-header' : 'table-ragged');
  const items = Array.from({ length: 1260 }, (_, at) => itemOf(at, codes(at)));
  const report: Report = {
    runId: '20261121-031500-aaaaa',
    manifest: 'city',
    portal: 'local',
    startedAt: '2026-11-21T03:15:00.000Z',
    endedAt: '2026-11-21T03:16:00.000Z',
    counts: { dataset: {}, resource: { done: 1200, quarantined: 60 }, actions: {} },
    reason: null,
    items,
  };

  it('groups by cause, the most frequent first, and says how to list the rest', () => {
    const lines = reportLines(report);
    expect(lines.filter((line) => !line.includes('city/d') && !line.includes('fault'))).toEqual([
      'run 20261121-031500-aaaaa: city to local, 1,260 items (1,200 unchanged, 60 quarantined) in 60.0 s',
      '  40 items with table-ragged:',
      '  … and 35 more; `sluice report 20261121-031500-aaaaa` lists them',
      '  20 items with table-header:',
      '  … and 15 more; `sluice report 20261121-031500-aaaaa` lists them',
      '  (1,200 more are fine)',
    ]);
    expect(lines.filter((line) => line.includes('city/d'))).toHaveLength(10);
  });

  it('says that all items are fine where none is listed', () => {
    const fine = report.items.map((item) => ({ ...item, live: true, outcome: 'done' as const, reason: null }));
    expect(reportLines({ ...report, items: fine }).slice(1)).toEqual(['  (all 1,260 items are fine)']);
  });

  it('lists everything that needs attention where it is asked for', () => {
    expect(reportLines(report, true).filter((line) => line.includes('city/d'))).toHaveLength(60);
  });
});
