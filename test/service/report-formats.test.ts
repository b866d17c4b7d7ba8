import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { type Report, type ReportItem, reportSchema } from '../../src/model/report.ts';
import { type ReportFormat, reportFormats } from '../../src/service/report-formats.ts';

const item = (key: string, more: Partial<ReportItem> = {}): ReportItem => ({
  key,
  kind: 'resource',
  nid: '1',
  uuid: 'u',
  url: null,
  actions: ['updated'],
  outcome: 'done',
  live: true,
  stale: false,
  rows: 12,
  file: null,
  rejected: null,
  fixes: [],
  warnings: [],
  reason: null,
  jobId: null,
  attempts: 1,
  ms: 1,
  ...more,
});

const reportOf = (items: ReportItem[]): Report => ({
  runId: '20261121-120000-aaaaa',
  manifest: 'city',
  portal: 'p',
  startedAt: '2026-11-21T12:00:00.000Z',
  endedAt: '2026-11-21T12:01:00.000Z',
  counts: { dataset: {}, resource: { done: items.length }, actions: {} },
  reason: null,
  items,
});

const faulty = item('city/one/a', {
  outcome: 'quarantined',
  actions: [],
  rows: null,
  reason: { code: 'table-ragged-row', message: '=HYPERLINK("x"), <b>line\n7</b>', hint: 'mend it' },
});

const text = (report: Report, format: ReportFormat): string => [...reportFormats[format].piecesOf(report)].join('');

it.each([0, 1, 3])('JSON of %i items is the report', (count) => {
  const report = reportOf(Array.from({ length: count }, (_, index) => item(`city/one/${index}`)));
  expect(reportSchema.parse(JSON.parse(text(report, 'json')))).toEqual(report);
});

it('CSV has a row for each item, and no cell that a spreadsheet takes for a formula', () => {
  const rows = parse(text(reportOf([item('city/one'), faulty]), 'csv'), { columns: true });
  expect(rows).toMatchObject([
    { key: 'city/one', outcome: 'updated', live: 'yes', rows: '12', code: '' },
    { key: 'city/one/a', outcome: 'quarantined', message: `'=HYPERLINK("x"), <b>line\n7</b>`, hint: 'mend it' },
  ]);
});

it('the page escapes what portals and files say', () => {
  const page = text(reportOf([faulty]), 'html');
  expect(page).toContain('&lt;b&gt;line');
  expect(page).not.toContain('<b>');
});
