// The guard of a table, on histories of kinds of tables and on incidents: what is right goes, what is ruined is held.
import { describe, expect, it } from 'vitest';
import {
  type CheckedTable,
  type FormerVersions,
  type LiveVersion,
  liveVersionOf,
  type TableGuard,
  versionsOf,
  withFormer,
} from '../../../src/model/table-history.ts';
import { tableGuardFaults } from '../../../src/pipeline/plan/table-guard.ts';
import { inspectFile } from '../../../src/tables/inspect/inspect-file.ts';
import { defaultRowBytes } from '../../../src/tables/scan/dialect.ts';
import { isWhole } from '../../support/extent.ts';
import { pageText } from '../../support/pages.ts';
import { fileOf } from '../../support/table-file.ts';
import { dailyTable, incidents, tableKinds } from './support/table-histories.ts';

const guard: TableGuard = { rows: 0.2, columns: 'grow', nulls: 0.5 };
const seed = 17;
const cancelled = new Int32Array(new SharedArrayBuffer(4));

const check = (text: string): CheckedTable => {
  const { rows, bytes, sha256, columns } = inspectFile({ path: fileOf(text), rowBytes: defaultRowBytes, cancelled });
  return { rows, bytes, sha256, contents: columns.map(({ name, mostly: kind, empty }) => ({ name, kind, empty })) };
};

/** A table with what is known of its versions; a held one is released. */
class Published {
  live: LiveVersion | null = null;
  former: FormerVersions | null = null;
  held: string[] = [];
  #at = 0;

  faultsOf(table: CheckedTable): string[] {
    const { live, former } = this;
    return live === null ? [] : tableGuardFaults(table, { guard, live, versions: versionsOf(former, live) });
  }

  publish(table: CheckedTable): void {
    this.held.push(...this.faultsOf(table).slice(0, 1));
    const { live } = this;
    if (live) this.former = withFormer(this.former, live);
    this.#at += 86_400_000;
    this.live = liveVersionOf(table, { at: this.#at, before: live, guard });
  }
}

const publishedOf = (versions: string[]): Published => {
  const published = new Published();
  for (const version of versions) published.publish(check(version));
  return published;
};

/** Of each kind of table: its versions, how many are held wrongly, and how many incidents are held. */
const measuredKinds: Record<string, [versions: number, held: number, incidents: string]> = {
  'grown daily': [120, 0, '12 of 12'],
  'a window of 30 days': [120, 0, '11 of 11'],
  'replaced yearly': [20, 0, '11 of 11'],
  'the months of a year': [96, 2, '11 of 11'],
  'the days of a year': [730, 1, '11 of 11'],
  'a third at weekends': [140, 2, '11 of 11'],
  'three times as much in summer': [365, 0, '11 of 11'],
  corrected: [100, 0, '11 of 11'],
  'a list of twelve': [60, 0, '11 of 11'],
  'young, grown monthly': [60, 1, '12 of 12'],
  'current events': [200, 2, '11 of 11'],
  'rare remarks': [100, 0, '11 of 11'],
  'new columns yearly': [40, 0, '11 of 11'],
  'words among numbers': [100, 0, '11 of 11'],
  'filled in later': [100, 0, '11 of 11'],
  'a quarterly survey': [24, 0, '11 of 11'],
  'duplicates removed at times': [100, 0, '11 of 11'],
  'sensors with outages': [200, 0, '11 of 11'],
  'rows in another order': [100, 0, '11 of 11'],
  'another spelling of the header': [60, 0, '11 of 11'],
};

/** Why each incident is held. */
const reasons: Record<string, string> = {
  '2 rows': '2 rows, 99% fewer than the previous 31,012 (`rows: 20%`)',
  '3 rows': '3 rows, 99% fewer than the previous 31,012 (`rows: 20%`)',
  '4 rows': '4 rows, 99% fewer than the previous 31,012 (`rows: 20%`)',
  '833 rows': '833 rows, 97% fewer than the previous 31,012 (`rows: 20%`)',
  'the header only': '0 rows, 100% fewer than the previous 31,012 (`rows: 20%`)',
  'half of the rows': '15,507 rows, 50% fewer than the previous 31,012 (`rows: 20%`)',
  'all rows twice': '62,030 rows, 100% more than the previous 31,012 (`rows: 20%`)',
  'a column lost': 'column `name` lost (`columns: grow`)',
  'a column renamed': 'renamed: `value` to `val` (`columns: grow`)',
  'a column emptied': '`value` has values in 0% of the rows, before in 100% (`nulls: 50%`)',
  'decimal commas': 'values changed: `value` from number to local number (`columns: grow`)',
  'leading zeros lost': 'values changed: `station` from code to number (`columns: grow`)',
};

describe('the guard of a table', () => {
  it('holds the incidents of a daily table of 31,000 rows, each for its own reason', () => {
    const daily = publishedOf([0, 1, 2, 3, 4].map((day) => dailyTable(31_000, day)));
    expect(daily.held).toEqual([]);
    const rows = incidents.map(
      ([name, ruin]) => [name, daily.faultsOf(check(ruin(dailyTable(31_000, 5)))).join('; ')] as const,
    );
    expect(Object.fromEntries(rows)).toEqual(reasons);
  });

  it.runIf(isWhole)(
    'holds at most one in a hundred versions wrongly, of twenty kinds of tables, and their incidents',
    () => {
      const kinds = tableKinds(seed).map(({ name, versions }) => {
        const published = publishedOf(versions);
        const last = versions.at(-1) ?? '';
        const ruined = incidents
          .map(([, ruin]) => check(ruin(last)))
          .filter(({ sha256 }) => sha256 !== check(last).sha256);
        const caught = ruined.filter((table) => published.faultsOf(table).length > 0).length;
        return [name, versions.length, published.held.length, `${caught} of ${ruined.length}`] as const;
      });
      expect(Object.fromEntries(kinds.map(([name, ...measured]) => [name, measured]))).toEqual(measuredKinds);
      expect(kinds).toHaveLength(20);
      const versions = kinds.reduce((total, [, count]) => total + count, 0);
      const held = kinds.reduce((total, [, , count]) => total + count, 0);
      expect(held / versions).toBeLessThanOrEqual(0.01);
      const page = pageText('docs/how-to/guard-tables.md');
      expect(page).toContain(`${held} of ${versions.toLocaleString('en')} versions`);
    },
  );
});

const rowsOf = (count: number, row: (at: number) => string, header = 'id,day,value,remark'): string =>
  `${header}\n${Array.from({ length: count }, (_, at) => `${row(at)}\n`).join('')}`;
const plain = (at: number): string => `${at},2026-01-0${1 + (at % 9)},${at}.5,seen`;
const faults = (before: string, now: string, limits: TableGuard): string[] => {
  const live = liveVersionOf(check(before), { at: 1, before: null, guard: limits });
  return tableGuardFaults(check(now), { guard: limits, live, versions: versionsOf(null, live) });
};

describe('limits of rows', () => {
  it.each([
    ['as many as the share', 100, 80, []],
    ['one fewer', 100, 79, ['79 rows, 21% fewer than the previous 100 (`rows: 20%`)']],
    ['one more', 100, 121, ['121 rows, 21% more than the previous 100 (`rows: 20%`)']],
    ['two of a handful', 5, 3, []],
    ['three of a handful', 5, 2, ['2 rows, 60% fewer than the previous 5 (`rows: 20%`)']],
    ['the last ones', 2, 0, ['0 rows, 100% fewer than the previous 2 (`rows: 20%`)']],
    ['the first ones', 0, 1000, []],
  ])('%s', (_, before, now, expected) => {
    expect(faults(rowsOf(before, plain), rowsOf(now, plain), { rows: 0.2 })).toEqual(expected);
  });

  it('know a step only once it has passed the guard', () => {
    const step = (guarded: boolean): string[] => {
      const sizes = [100, 40, 100];
      let [live, former]: [LiveVersion | null, FormerVersions | null] = [null, null];
      for (const size of sizes) {
        if (live) former = withFormer(former, live);
        const own = guarded ? { guard } : {};
        live = liveVersionOf(check(rowsOf(size, plain)), { at: 1, before: live, ...own });
      }
      if (!live) return [];
      return tableGuardFaults(check(rowsOf(42, plain)), {
        guard: { rows: 0.2 },
        live,
        versions: versionsOf(former, live),
      });
    };
    expect(step(true)).toEqual([]);
    expect(step(false)).toHaveLength(1);
  });
});

describe('limits of columns', () => {
  const before = rowsOf(40, plain);
  it.each<[string, TableGuard['columns'], string, string[]]>([
    ['another order', 'keep', rowsOf(40, (at) => `seen,2026-01-01,${at},1.5`, 'remark,day,id,value'), []],
    ['another spelling', 'keep', rowsOf(40, plain, ' ID,Day,VALUE,Remark'), []],
    ['a new one', 'grow', rowsOf(40, (at) => `${plain(at)},1`, 'id,day,value,remark,more'), []],
    [
      'a new one',
      'keep',
      rowsOf(40, (at) => `${plain(at)},1`, 'id,day,value,remark,more'),
      ['column `more` added (`columns: keep`)'],
    ],
    ['whole numbers', 'keep', rowsOf(40, (at) => `${at},2026-01-01,${at},seen`), []],
    ['a few words', 'keep', rowsOf(40, (at) => (at % 5 ? plain(at) : `${at},2026-01-01,n/a,seen`)), []],
    ['no values', 'keep', rowsOf(40, (at) => `${at},2026-01-01,,seen`), []],
    [
      'dates of another notation',
      'grow',
      rowsOf(40, (at) => `${at},31.01.2026,${at}.5,seen`),
      ['values changed: `day` from date to local date (`columns: grow`)'],
    ],
    [
      'cells one column further',
      'grow',
      rowsOf(40, (at) => `seen,${at},2026-01-01,${at}.5`),
      [
        'values changed: `id` from number to text, `day` from date to number, `value` from number to date, `remark` from text to number (`columns: grow`)',
      ],
    ],
    ['anything', 'any', 'a\n1\n', []],
  ])('%s (%s)', (_, columns = 'any', now, expected) => {
    expect(faults(before, now, { columns })).toEqual(expected);
  });
});

describe('limits of values', () => {
  const filled = (share: number, rows = 40): string =>
    rowsOf(rows, (at) => `${at},2026-01-01,${at}.5,${(at * 7) % 20 < share * 20 ? 'seen' : ''}`);
  it.each([
    ['half of them', filled(1), filled(0.5), 0],
    ['most of them', filled(1), filled(0.4), 1],
    ['all of them, in a small table', filled(1, 4), filled(0, 4), 1],
    ['all of a column that was half empty', filled(0.5), filled(0), 1],
    ['a rare remark', filled(0.05), filled(0), 0],
    ['none', filled(0.5), filled(1), 0],
  ])('%s', (_, before, now, expected) => {
    expect(faults(before, now, { nulls: 0.5 })).toHaveLength(expected);
  });
});
