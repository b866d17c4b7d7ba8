// What is kept of the versions of a table: the last hundred, and what each of them was.
import { describe, expect, it } from 'vitest';
import {
  type CheckedTable,
  type FormerVersions,
  formerVersionsSchema,
  type LiveVersion,
  liveVersionOf,
  versionsOf,
  withFormer,
} from '../../src/model/table-history.ts';

const day = 86_400_000;
const begin = Date.UTC(2026, 0, 1);

const tableOf = (rows: number, more: Partial<CheckedTable> = {}): CheckedTable => ({
  rows,
  bytes: rows * 40,
  sha256: rows.toString(16).padStart(64, '0'),
  contents: [
    { name: 'id', kind: 'code', empty: 0 },
    { name: 'remark', kind: 'text', empty: 3 },
  ],
  ...more,
});

const live = (table: CheckedTable, at = begin, before: LiveVersion | null = null): LiveVersion =>
  liveVersionOf(table, { at, before, guard: { rows: 0.2, nulls: 0.5 } });

describe('the versions of a table', () => {
  it('are given back as they went live, with the columns of each', () => {
    const wide = tableOf(12, { contents: [...tableOf(1).contents, { name: 'day', kind: 'date', empty: 0 }] });
    const [one, two, three] = [live(tableOf(10)), live(tableOf(9), begin + day), live(wide, begin + 3 * day)];
    const former = withFormer(withFormer(null, one), two);
    const narrow = [
      { name: 'id', kind: 'code' },
      { name: 'remark', kind: 'text' },
    ];
    expect(versionsOf(former, three)).toEqual([
      { at: begin, rows: 10, bytes: 400, isGuarded: true, columns: narrow },
      { at: begin + day, rows: 9, bytes: 360, isGuarded: true, columns: narrow },
      {
        at: begin + 3 * day,
        rows: 12,
        bytes: 480,
        isGuarded: true,
        columns: [...narrow, { name: 'day', kind: 'date' }],
      },
    ]);
    expect(three.columns).toEqual(wide.contents);
    expect(former[1]).not.toHaveProperty('columns');
  });

  it('are a hundred at most', () => {
    let former: FormerVersions | null = null;
    let last = live(tableOf(31_000));
    for (let at = 1; at < 150; at++) {
      former = withFormer(former, last);
      last = live(tableOf(31_000 + ((at * 7919) % 97)), begin + at * day + ((at * 31) % 60) * 1000, last);
    }
    const versions = versionsOf(former, last);
    expect(versions).toHaveLength(100);
    expect(versions[0]?.at).toBe(begin + 50 * day + ((50 * 31) % 60) * 1000);
    const text = JSON.stringify(former);
    expect(formerVersionsSchema.parse(JSON.parse(text))).toEqual(former);
  });

  it('keep a thousand columns', () => {
    const contents = Array.from({ length: 1200 }, (_, at) => ({ name: `c${at}`, kind: 'number' as const, empty: 0 }));
    expect(live(tableOf(10, { contents })).columns).toEqual(contents.slice(0, 1000));
  });

  it('remember how empty a column has been', () => {
    const full = tableOf(100, { contents: [{ name: 'id', kind: 'code', empty: 0 }] });
    const bare = tableOf(100, { contents: [{ name: 'id', kind: 'code', empty: 90 }] });
    const again = live(full, begin, live(bare));
    expect(again.sparse).toEqual({ id: 10 });
    expect(live(full, begin, again).sparse).toEqual({ id: 10 });
    expect(liveVersionOf(full, { at: begin, before: live(bare) }).sparse).toEqual({});
  });
});
