// What changed between two versions of a table: exactly what was edited, whatever else differs between their files.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changesText, mostExamples, type RowChanges } from '../../../src/model/table-history.ts';
import { rowChanges } from '../../../src/tables/changes/changes.ts';
import { encoderOf } from '../../../src/tables/scan/encodings.ts';
import { tempDir } from '../../support/temp-dir.ts';

type Text = string | Buffer;

interface Reading {
  key?: string[] | undefined;
  rows?: number;
}

/** The changes between files with these contents. */
const changesOf = (before: Text, after: Text, { key, rows = 1 }: Reading = {}): Promise<RowChanges> => {
  const dir = tempDir();
  const [old, now] = [join(dir, 'before.csv'), join(dir, 'after.csv')];
  writeFileSync(old, before);
  writeFileSync(now, after);
  const how = { key: key ?? null, rowBytes: 1e6, examples: mostExamples };
  return rowChanges({ before: { path: old, rows }, after: { path: now, rows }, ...how });
};

const people = 'id,name,n\n1,Ann,10\n2,Bob,20\n3,Cid,30\n';

describe('the rows of two versions', () => {
  it('are the same by the key; others were added, removed or changed, with examples', async () => {
    const changes = await changesOf(people, 'id,name,n\n1,Ann,10\n3,Cid,31\n4,"Dora, ""D""",40\n', { key: ['id'] });
    expect(changes).toEqual({
      ...{ added: 1, removed: 1, changed: 1, key: ['id'], before: 3 },
      columns: { added: [], removed: [], renamed: [] },
      examples: {
        added: [
          [
            { column: 'id', value: '4' },
            { column: 'name', value: 'Dora, "D"' },
            { column: 'n', value: '40' },
          ],
        ],
        removed: [
          [
            { column: 'id', value: '2' },
            { column: 'name', value: 'Bob' },
            { column: 'n', value: '20' },
          ],
        ],
        changed: [{ key: [{ column: 'id', value: '3' }], cells: [{ column: 'n', old: '30', new: '31' }] }],
      },
    });
    expect(changesText(changes)).toBe('+1 -1 ~1 by id');
  });

  it.each<[string, Text]>([
    ['order', 'id,name,n\n3,Cid,30\n1,Ann,10\n2,Bob,20\n'],
    ['order of the columns', 'n,id,name\n10,1,Ann\n20,2,Bob\n30,3,Cid\n'],
    ['line ends', people.replaceAll('\n', '\r\n')],
    ['a missing last line end', people.trimEnd()],
    ['quotes', 'id,"name",n\n"1","Ann",10\n2,Bob,"20"\n3,Cid,30\n'],
    ['delimiters', people.replaceAll(',', ';')],
    ['a byte order mark', `\ufeff${people}`],
    ['encoding', encoderOf('utf-16le')(`\ufeff${people}`)],
    ['capitals and spaces in the header', people.replace('name', ' NAME ')],
  ])('do not differ by %s', async (_, other) => {
    for (const key of [undefined, ['id']]) {
      const [there, back] = [await changesOf(people, other, { key }), await changesOf(other, people, { key })];
      const nothing = { added: 0, removed: 0, changed: 0, columns: { added: [], removed: [], renamed: [] } };
      expect([there, back]).toMatchObject([nothing, nothing]);
    }
  });

  it.each<[string, string, string, string[] | null]>([
    ['the first column without a value twice', people, people, ['id']],
    ['a code behind a measurement', 'amount,code\n1.5,a\n2.5,b\n', 'amount,code\n1.5,a\n2.5,b\n', ['code']],
    ['no count', 'city,people\nA,10\nA,20\n', 'city,people\nA,10\nA,20\n', null],
    ['no column that has a value twice in the new version', 'a,b\n1,x\n2,y\n', 'a,b\n1,x\n1,y\n', ['b']],
    ['no column with an empty cell', 'a,b\n,x\n2,y\n', 'a,b\n,x\n2,y\n', ['b']],
  ])('are told apart without a key by %s', async (_, before, after, key) => {
    expect((await changesOf(before, after)).key).toEqual(key);
  });

  it('are compared as a whole where nothing tells them apart, also where the key does not', async () => {
    const [before, after] = ['a,b\nx,1\nx,1\nx,2\n', 'a,b\nx,1\nx,2\nx,2\nx,3\n'];
    for (const key of [undefined, ['a'], ['a', 'b'], ['gone']]) {
      const changes = await changesOf(before, after, { key });
      expect(changes).toMatchObject({ key: null, added: 2, removed: 1, changed: 0 });
    }
  });

  it('may have a key of several columns, by their names before or now', async () => {
    const [before, after] = ['y,m,n\n1,1,5\n1,2,6\n', 'y,month,n\n1,1,5\n1,2,7\n'];
    for (const key of [
      ['y', 'm'],
      ['month', 'y'],
    ])
      expect(await changesOf(before, after, { key })).toMatchObject({ changed: 1 });
  });

  it('are all new or gone in a table that was or becomes empty', async () => {
    expect(await changesOf('id,n\n', 'id,n\n1,2\n3,4\n')).toMatchObject({ added: 2, removed: 0, before: 0 });
    expect(await changesOf('id,n\n1,2\n3,4\n', 'id,n\n')).toMatchObject({ added: 0, removed: 2, before: 2 });
  });

  it('of large tables are shown by their first examples, wherever in the file they are', async () => {
    const rows = Array.from({ length: 20_000 }, (_, at) => `${at},"name\n${at}",${'x'.repeat(at % 50)}`);
    const now = rows.flatMap((row, at) => (at % 100 === 7 ? [] : at % 100 === 9 ? [`${row}!`] : [row]));
    const text = (all: string[]): string => `id,name,text\n${all.join('\n')}\n`;
    const changes = await changesOf(text(rows), text(now.toReversed()), { key: ['id'] });
    expect(changes).toMatchObject({ added: 0, removed: 200, changed: 200, before: 20_000 });
    const { removed, changed } = changes.examples;
    expect(removed.map(([id]) => id?.value)).toEqual(
      Array.from({ length: mostExamples }, (_, at) => `${at * 100 + 7}`),
    );
    expect(changed).toHaveLength(mostExamples);
    expect(changed[0]).toEqual({
      key: [{ column: 'id', value: '19909' }],
      cells: [{ column: 'text', old: 'x'.repeat(9), new: `${'x'.repeat(9)}!` }],
    });
  });
});

describe('the columns of two versions', () => {
  it.each<[string, string, string, Partial<RowChanges['columns']>]>([
    ['added', 'id,n\n1,2\n', 'id,note,n\n1,x,2\n', { added: ['note'] }],
    ['removed', 'id,note,n\n1,x,2\n', 'id,n\n1,2\n', { removed: ['note'] }],
    [
      'renamed in their place',
      'id,name,n\n1,x,2\n',
      'id,title,n\n1,x,2\n',
      { renamed: [{ from: 'name', to: 'title' }] },
    ],
    [
      'replaced by one of another kind',
      'id,name\n1,x\n',
      'id,born\n1,2001-02-03\n',
      { added: ['born'], removed: ['name'] },
    ],
    ['in other places', 'id,a,n\n1,x,2\n', 'id,n,b\n1,2,x\n', { added: ['b'], removed: ['a'] }],
  ])('may be %s, which changes no row', async (_, before, after, columns) => {
    const changes = await changesOf(before, after, { key: ['id'] });
    expect(changes).toMatchObject({ added: 0, removed: 0, changed: 0 });
    expect(changes.columns).toEqual({ added: [], removed: [], renamed: [], ...columns });
  });
});

const cell = fc.string({ maxLength: 6, unit: fc.constantFrom('a', 'b', '1', ',', '"', '\n', 'ü', ' ', '€') });
const table = fc.uniqueArray(fc.tuple(fc.nat(500), cell, cell), { selector: ([id]) => id, maxLength: 40 });
const csv = (rows: readonly (readonly unknown[])[], quoteAll: boolean): string =>
  [['id', 'a', 'b'], ...rows]
    .map((row) =>
      row
        .map((each) =>
          quoteAll || /[",\n]/.test(`${each}`) || each === '' ? `"${`${each}`.replaceAll('"', '""')}"` : each,
        )
        .join(','),
    )
    .join(quoteAll ? '\r\n' : '\n');

describe('any two versions', () => {
  it('differ by exactly what was edited, with a key', async () => {
    await fc.assert(
      fc.asyncProperty(table, table, fc.infiniteStream(fc.nat(3)), fc.boolean(), async (all, more, draws, isSorted) => {
        const draw = (): number => draws.next().value;
        const [keep, drop, edit] = [all.filter(() => draw() > 0), [] as typeof all, [] as typeof all];
        const known = new Set(all.map(([id]) => id));
        const added = more.filter(([id]) => !known.has(id));
        const now = keep.map((row): (typeof all)[number] => {
          if (draw() > 0) return row;
          edit.push(row);
          return [row[0], `${row[1]}!`, row[2]];
        });
        drop.push(...all.filter((row) => !keep.includes(row)));
        const after = [...now, ...added];
        if (isSorted) after.sort(([a], [b]) => b - a);
        const changes = await changesOf(csv(all, isSorted), csv(after, !isSorted), { key: ['id'], rows: all.length });
        expect(changes).toMatchObject({ added: added.length, removed: drop.length, changed: edit.length });
        const ids = (rows: readonly (readonly { value: string }[])[]) => rows.map(([id]) => Number(id?.value)).sort();
        const most = <T>(rows: T[]): T[] => rows.slice(0, mostExamples);
        if (added.length <= mostExamples) expect(ids(changes.examples.added)).toEqual(added.map(([id]) => id).sort());
        expect(ids(changes.examples.removed)).toEqual(most(drop.map(([id]) => id)).sort());
        const shown = changes.examples.changed.map(({ key, cells }) => [Number(key[0]?.value), cells]);
        for (const [id, cells] of shown) {
          const [, old] = edit.find(([each]) => each === id) ?? [];
          expect(cells).toEqual([{ column: 'a', old, new: `${old}!` }]);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('differ by as little as can be, without one', async () => {
    const few = fc.array(fc.tuple(fc.constantFrom('x', 'y'), fc.constantFrom('', 'p', 'q'), fc.nat(2)), {
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(few, few, async (before, after) => {
        const changes = await changesOf(csv(before, false), csv(after, true), { rows: before.length });
        if (changes.key !== null) return;
        const left = before.map((row) => row.join('\0'));
        const added = after.filter((row) => {
          const at = left.indexOf(row.join('\0'));
          if (at >= 0) left.splice(at, 1);
          return at < 0;
        });
        expect(changes).toMatchObject({ added: added.length, removed: left.length, changed: 0 });
      }),
      { numRuns: 150 },
    );
  });
});
