// The lines of a change log: each version once, in order, within the bounds, whatever is already there.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TableVersion } from '../../../src/model/table-history.ts';
import { type LoggedTable, type LogLine, withVersions } from '../../../src/pipeline/handlers/change-log.ts';

const version = (at: number, rows: number): TableVersion => ({ at, rows, bytes: 1, isGuarded: false, columns: [] });

const table = (id: string, times: readonly number[], changes: LoggedTable['changes'] = null): LoggedTable => ({
  id,
  versions: times.map((at, index) => version(at, index)),
  changes,
});

const added = (count: number): LoggedTable['changes'] => ({
  ...{ added: count, removed: 0, changed: 0, key: ['id'], before: 0 },
  columns: { added: [], removed: [], renamed: [] },
  examples: {
    added: Array.from({ length: count }, (_, at) => [{ column: 'id', value: `${at}` }]),
    ...{ removed: [], changed: [] },
  },
});

const versionsIn = (lines: readonly LogLine[], id: string): string[] =>
  lines.filter((line) => line[2] === id && line[4] === 'version').map(([number, time]) => `${number} ${time}`);

it('lists every version once, whenever it is brought up to date', () => {
  const steps = fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'c'), isMade: fc.boolean() }), { maxLength: 40 });
  fc.assert(
    fc.property(steps, (list) => {
      const known = new Map<string, number[]>();
      const tables = (): LoggedTable[] => [...known].map(([id, times]) => table(id, times));
      let log: LogLine[] = [];
      for (const [at, { id, isMade }] of list.entries()) {
        known.set(id, [...(known.get(id) ?? []), at + 1]);
        if (isMade) log = withVersions(log, tables());
      }
      log = withVersions(log, tables());
      expect(withVersions(log, tables())).toEqual(log);
      for (const [id, times] of known)
        expect(versionsIn(log, id)).toEqual(times.map((at, index) => `${index + 1} ${new Date(at).toISOString()}`));
    }),
  );
});

it('keeps the newest lines and the last version of each table, which is then not listed again', () => {
  const quiet = table('quiet', [1]);
  let log = withVersions([], [quiet]);
  const times: number[] = [];
  for (let at = 2; at <= 16; at++) {
    times.push(at);
    log = withVersions(log, [quiet, table('busy', times, added(1000))]);
  }
  expect(log).toHaveLength(10_001);
  expect(versionsIn(log, 'quiet')).toEqual([`1 ${new Date(1).toISOString()}`]);
  expect(versionsIn(log, 'busy').at(-1)).toBe(`15 ${new Date(16).toISOString()}`);
  expect(withVersions(log, [quiet, table('busy', times, added(1000))])).toEqual(log);
});

it('lists a version also where the clock was set back, and no rows since one that is not listed', () => {
  const rowsIn = (lines: readonly LogLine[]): number => lines.filter((line) => line[4] === 'added').length;
  const log = withVersions([], [table('a', [5], added(1))]);
  expect(rowsIn(log)).toBe(0);
  const next = withVersions(log, [table('a', [5, 3], added(1))]);
  expect(versionsIn(next, 'a').map((line) => line.slice(0, 1))).toEqual(['1', '2']);
  expect(rowsIn(next)).toBe(1);
  expect(withVersions(next, [table('a', [5, 3], added(1))])).toEqual(next);
  expect(rowsIn(withVersions(log, [table('a', [5, 3, 4], added(1))]))).toBe(0);
});
