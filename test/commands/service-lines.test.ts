import { beforeEach, expect, it } from 'vitest';
import { type ServiceLines, serviceLines, startCommand } from '../../src/commands/start.ts';
import { createLog } from '../../src/model/log.ts';
import type { Reason, Report, ReportItem } from '../../src/model/report.ts';
import { type CommandIo, commandIo } from '../support/command-io.ts';
import { commandPlace } from '../support/command-place.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

let shown: CommandIo;
let lines: ServiceLines;
beforeEach(() => {
  shown = commandIo(tempDir());
  lines = serviceLines(shown.io);
});

const item = (key: string, more: Partial<ReportItem> = {}): ReportItem => ({
  key,
  kind: 'resource',
  nid: '1',
  uuid: 'u',
  url: null,
  actions: ['imported'],
  outcome: 'done',
  live: true,
  stale: false,
  rows: 2,
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
const fault: Reason = { code: 'table-ragged', message: 'line 7: two cells', hint: 'look there' };
const bad = (key: string): Partial<ReportItem> & ReportItem =>
  item(key, { actions: [], outcome: 'quarantined', live: false, reason: fault });

const report = (items: ReportItem[]): Report => ({
  runId: 'r',
  manifest: 'm',
  portal: 'p',
  startedAt: '',
  endedAt: '',
  counts: { dataset: {}, resource: {}, actions: {} },
  reason: null,
  items,
});
const said = (): string[] =>
  shown
    .out()
    .replaceAll(/^\d\d:\d\d:\d\d {2}/gm, '')
    .trimEnd()
    .split('\n');

it('says one line for each file that changed, and one for each failure, once', () => {
  const unchanged = item('m/d/same', { actions: [], outcome: 'unchanged' });
  lines.closed(report([item('m/d/a'), bad('m/d/b'), unchanged]));
  lines.closed(report([unchanged, bad('m/d/b')]));
  expect(said()).toEqual([
    'm/d/a  updated, live, 2 rows',
    'm/d/b  quarantined: table-ragged: line 7: two cells',
    '            -> look there',
  ]);
});

it('says a failure again that came back', () => {
  for (const items of [[bad('m/d/b')], [item('m/d/b')], [bad('m/d/b')]]) lines.closed(report(items));
  expect(said().filter((line) => line.includes('table-ragged'))).toHaveLength(2);
});

it('says counts and causes of a large run', () => {
  lines.closed(report(Array.from({ length: 30 }, (_, at) => (at < 25 ? bad(`m/d/b${at}`) : item(`m/d/b${at}`)))));
  expect(said()).toEqual(['m@p  25 quarantined, 5 updated', '  25 items with table-ragged: m/d/b0, m/d/b1, m/d/b2, …']);
});

it('says what the log warns of, but not of items', () => {
  const log = createLog({ level: 'warn', destination: lines.log });
  log.warn({ action: 'give-up', reason: fault }, 'job failed for good');
  log.info('a step');
  log.error({ portal: 'p', reason: fault }, 'portal paused');
  expect(said()).toEqual(['error: portal p: portal paused: line 7: two cells']);
});

it('says of a warning what it is about and why, and the same not again at once', () => {
  const log = createLog({ level: 'info', destination: lines.log });
  log.warn({ path: 'bikes/june.tmp', reason: 'its name begins or ends like a temporary file' }, 'ignored a file');
  for (const key of ['m/d/a', 'm/d/b', 'm/d/c'])
    log
      .child({ portal: 'p', key })
      .warn({ err: new Error('the disk is full\nat line 1') }, 'the run could not be advanced');
  log.warn({ path: 'bikes/july.tmp', reason: 'it is empty' }, 'ignored a file');
  log.warn({ manifest: 'm', err: 'closed' }, 'a connection failed');
  expect(said()).toEqual([
    'warn: bikes/june.tmp: ignored a file: its name begins or ends like a temporary file',
    'warn: m/d/a: portal p: the run could not be advanced: the disk is full',
    'warn: bikes/july.tmp: ignored a file: it is empty',
    'warn: m: a connection failed: closed',
  ]);
});

it('says that a portal works again, which is no warning', () => {
  const log = createLog({ level: 'info', destination: lines.log });
  log.info({ action: 'resume', portal: 'p' }, 'portal answers again: resumed');
  expect(said()).toEqual(['portal p: portal answers again: resumed']);
});

it('says once that a run is held', () => {
  const reason: Reason = { code: 'held', message: 'held by the guard: 9 of 10 would be removed', hint: null };
  lines.closed({ ...report([]), reason });
  expect(said()).toEqual(['m@p  held by the guard: 9 of 10 would be removed']);
});

it('start says on a terminal what becomes of dropped files', async () => {
  const place = commandPlace({ manifests: ['*.yaml'] });
  place.write('inbox.yaml', JSON.stringify({ name: 'inbox', drop: { folder: 'inbox' } }));
  place.write('inbox/bikes/june.csv', 'day,count\n2026-06-01,240\n');
  place.write('inbox/bikes/bad.csv', 'a,\n1,2\n');
  const { io, out, stop } = place.io({ terminal: true });
  const ended = startCommand([], place.options, io);
  await waitUntil('both lines', () => out().includes('inbox/bikes/june') && out().includes('inbox/bikes/bad'));
  stop();
  expect(await ended).toBe(0);
  expect(out()).toMatch(/^\d\d:\d\d:\d\d {2}sluice is running, see http:\/\/127\.0\.0\.1:\d+\/$/m);
  expect(out()).toMatch(/^\d\d:\d\d:\d\d {4}portal local is at http:\/\/127\.0\.0\.1:\d+\/$/m);
  expect(out()).toMatch(/^\d\d:\d\d:\d\d {2}inbox\/bikes\/june {2}new, live, 1 row$/m);
  expect(out()).toMatch(/^\d\d:\d\d:\d\d {2}inbox\/bikes\/bad {2}quarantined: table-header: .*\n +-> \S/m);
  expect(out()).not.toContain('{');
});
