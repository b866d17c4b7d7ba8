import { describe, expect, it } from 'vitest';
import type { ItemOutcome, Reason, Report, ReportItem } from '../../src/model/report.ts';
import { type Incident, judge } from '../../src/notify/notice.ts';

let runs = 0;
const reason = (code: string, line?: number): Reason => ({
  code,
  message: 'secret words of the portal',
  hint: null,
  ...(line === undefined ? {} : { line }),
});
const item = (key: string, outcome: ItemOutcome, why: Reason | null = null): ReportItem => ({
  key,
  kind: 'resource',
  nid: null,
  uuid: '',
  url: null,
  actions: [],
  outcome,
  live: why === null,
  stale: false,
  rows: null,
  file: null,
  rejected: null,
  fixes: [],
  warnings: [],
  reason: why,
  jobId: null,
  attempts: 1,
  ms: 1,
});
const fine = (key: string) => item(key, 'unchanged');
const failed = (key: string) => item(key, 'failed', reason('portal-refused'));
const faulty = (key: string, line: number) => item(key, 'quarantined', reason('table-ragged', line));
const report = (items: ReportItem[], whole: Reason | null = null): Report => ({
  runId: `run-${++runs}`,
  manifest: 'm',
  portal: 'p',
  startedAt: '2026-11-21T03:15:00.000Z',
  endedAt: '2026-11-21T03:16:00.000Z',
  counts: { dataset: {}, resource: {}, actions: {} },
  reason: whole,
  items,
});

/** What is told over a sequence of runs: `event key key`. */
const tell = (reports: (Report | { limited: Report })[]): string[][] => {
  let incident: Incident | null = null;
  return reports.map((each) => {
    const judged = 'limited' in each ? judge(incident, each.limited, false) : judge(incident, each, true);
    incident = judged.incident;
    return judged.news.map(({ event, reasons }) => [event, ...reasons.map(({ key }) => key)].join(' '));
  });
};

describe('a failure', () => {
  it('is reported once, however often the schedule meets it, and told as well again at the end', () => {
    const runs = [report([fine('a')]), report([failed('a')]), report([failed('a')]), report([fine('a')])];
    expect(tell([...runs, report([fine('a')])])).toEqual([[], ['run-failed a'], [], ['recovered'], []]);
  });

  it('is reported again once it was well in between', () => {
    const runs = [report([failed('a')]), report([fine('a')]), report([failed('a')])];
    expect(tell(runs)).toEqual([['run-failed a'], ['recovered'], ['run-failed a']]);
  });

  it('beside known ones is told alone, and well again means that all of them are', () => {
    const runs = [
      report([failed('a'), fine('b')]),
      report([failed('a'), failed('b')]),
      report([fine('a'), failed('b')]),
      report([fine('a'), fine('b')]),
    ];
    expect(tell(runs)).toEqual([['run-failed a'], ['run-failed b'], [], ['recovered']]);
  });

  it('stays open in a run that does not look at it, and ends when the manifest drops it', () => {
    const runs = [
      report([failed('a'), failed('b')]),
      { limited: report([fine('a')]) },
      { limited: report([]) },
      report([fine('a')]),
    ];
    expect(tell(runs)).toEqual([['run-failed a b'], [], [], ['recovered']]);
  });

  it('of a whole run is reported, keeps the items open, and ends with the next run that gets as far as planning', () => {
    const runs = [
      report([failed('a')]),
      report([], reason('manifest')),
      report([], reason('manifest')),
      report([failed('a')]),
      report([fine('a')]),
    ];
    expect(tell(runs)).toEqual([['run-failed a'], ['run-failed '], [], [], ['recovered']]);
  });
});

describe('a faulty file', () => {
  it('is reported as such, and again only with another fault', () => {
    const runs = [report([faulty('a', 2)]), report([faulty('a', 2)]), report([faulty('a', 7)]), report([fine('a')])];
    expect(tell(runs)).toEqual([['file-quarantined a'], [], ['file-quarantined a'], ['recovered']]);
  });

  it('that was dropped stays open until that file is dropped sound', () => {
    const runs = [faulty('a', 2), fine('b'), fine('a')].map((each) => ({ limited: report([each]) }));
    expect(tell(runs)).toEqual([['file-quarantined a'], [], ['recovered']]);
  });
});

describe('a held run', () => {
  it('is reported once, as held', () => {
    const held = () => report([], reason('held'));
    expect(tell([held(), held(), report([fine('a')])])).toEqual([['run-held '], [], ['recovered']]);
  });

  it('differs from held items, which are reported with their keys', () => {
    const drifted = item('a', 'held', reason('drift'));
    expect(tell([report([drifted, failed('b')])])).toEqual([['run-failed b', 'run-held a']]);
  });
});

describe('a report that is judged twice', () => {
  it('is reported once: a kill may come between telling and closing the run', () => {
    const twice = report([failed('a')]);
    expect(tell([twice, twice])).toEqual([['run-failed a'], []]);
  });
});
