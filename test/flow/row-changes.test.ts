// Which rows of a table changed: in report, status, history and page, before it goes live where a guard asks, and afterwards.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { workbookOf } from '../tables/transform/support/workbook.ts';
import { openGatedPortal } from './support/gated-portal.ts';
import type { Gateway } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
import { makeRemotePlace } from './support/remote-place.ts';

let gateway: Gateway;
beforeAll(async () => {
  ({ gateway } = await openGatedPortal());
});

const before = 'id,name,n\n1,Ann,10\n2,Bob,20\n3,Cid,30\n4,Dan,40\n';
const after = 'id;name;n\n4;Dan;40\n3;Cid;31\n5;Eve;50\n1;Ann;10\n';

const placeOf = (name: string, more: Record<string, unknown> = {}, guard?: Record<string, unknown>) => {
  const place = makeRemotePlace(gateway.url);
  const resources = [{ id: 't', file: 'data/t.csv', ...more }];
  const manifest = place.manifest({ name, ...(guard && { guard }), datasets: [{ id: 'd', title: 'D', resources }] });
  return { place, manifest, key: `${name}/d/t` };
};

describe('a new version of a table', () => {
  it('is told row by row in report, log, status and history', async () => {
    const { place, manifest, key } = placeOf('told', { key: ['id'] });
    place.write('data/t.csv', before);
    const first = await place.publish(manifest);
    expect(itemOf(first.report, key)).not.toHaveProperty('changes');
    place.write('data/t.csv', after);
    const planned = await place.run(['plan', manifest]);
    expect(planned.out).toContain('rows +1 -1 ~1 by id');
    const { plans } = JSON.parse((await place.run(['plan', manifest, '--json'])).out);
    expect(plans[0].items.find((item: { key: string }) => item.key === key).rows).toMatchObject({ changed: 1 });
    const second = await place.publish(manifest);
    const counts = { added: 1, removed: 1, changed: 1, key: ['id'], before: 4 };
    const changed = [{ key: [{ column: 'id', value: '3' }], cells: [{ column: 'n', old: '30', new: '31' }] }];
    expect(itemOf(second.report, key)).toMatchObject({ live: true, changes: { ...counts, examples: { changed } } });
    expect((await place.run(['report', second.report.runId])).out).toContain('rows +1 -1 ~1 by id');
    for (const [format, told] of [
      ['md', '| 4 (+1 -1 ~1) |'],
      ['csv', "'+1 -1 ~1 by id"],
      ['html', '<td>4 (+1 -1 ~1)</td>'],
    ] as const)
      expect((await place.run(['report', second.report.runId, '--format', format])).out).toContain(told);
    expect((await place.run(['status', key])).out).toContain('rows +1 -1 ~1 by id');
    expect(JSON.parse((await place.run(['status', key, '--json'])).out).items[0].changes).toMatchObject(counts);
    expect((await place.run(['history', key])).out).toMatch(/4 rows +\+1 -1 ~1 +\d+ bytes/);
    const { tables } = JSON.parse((await place.run(['history', key, '--json'])).out);
    expect(tables[0].versions[0].changes).toEqual({ added: 1, removed: 1, changed: 1 });
    expect((await place.run(['log', key])).out).toContain('rows +1 -1 ~1 by id');
    const third = await place.publish(manifest);
    expect(itemOf(third.report, key)).not.toHaveProperty('changes');
    expect((await place.run(['status', key])).out).toContain('rows +1 -1 ~1 by id');
  });

  it.each([['nope'], ['n']])(
    'is compared as whole rows where `key: [%s]` does not tell them apart, which is said',
    async (column) => {
      const { place, manifest, key } = placeOf(`keyless-${column}`, { key: [column] });
      place.write('data/t.csv', before.replace('20', '10'));
      await place.publish(manifest);
      place.write('data/t.csv', before.replace('20', '11'));
      const item = itemOf((await place.publish(manifest)).report, key);
      expect(item).toMatchObject({ live: true, changes: { added: 1, removed: 1, changed: 0, key: null } });
      expect(item.warnings).toEqual([expect.stringContaining(`\`key: [${column}]\` does not tell them apart`)]);
    },
  );

  it('is compared with the one before also where it is made of another file', async () => {
    const { place, manifest, key } = placeOf('made', { file: 'data/t.xlsx' });
    const rows = [
      ['id', 'n'],
      [1, 2],
      [2, 3],
    ];
    place.write('data/t.xlsx', await workbookOf(rows));
    await place.publish(manifest);
    place.write('data/t.xlsx', await workbookOf([['id', 'n'], ...rows.slice(1).reverse(), [3, 4]]));
    const { report } = await place.publish(manifest);
    expect(itemOf(report, key)).toMatchObject({ changes: { added: 1, removed: 0, changed: 0, key: ['id'] } });
  });

  it('that differs in order and line ends only is live, and says that its rows are as before', async () => {
    const { place, manifest, key } = placeOf('same');
    place.write('data/t.csv', before);
    await place.publish(manifest);
    const [head, ...rows] = before.trimEnd().split('\n');
    place.write('data/t.csv', `${[head, ...rows.reverse()].join('\r\n')}\r\n`);
    expect(itemOf((await place.publish(manifest)).report, key)).toMatchObject({ live: true, changes: { changed: 0 } });
    expect((await place.run(['status', key])).out).toContain('rows as before');
  });
});

describe('a host without a copy of the last good file', () => {
  it('compares with the rows of the datastore', async () => {
    const { place, manifest, key } = placeOf('fetched', { key: ['id'] });
    place.write('data/t.csv', before.replace('id,name', 'ID,"First name"'));
    await place.publish(manifest);
    rmSync(join(place.stateDir, 'kept'), { recursive: true });
    place.write('data/t.csv', after.replace('id;name', 'ID;First name'));
    const { report } = await place.publish(manifest);
    expect(itemOf(report, key)).toMatchObject({ live: true, changes: { added: 1, removed: 1, changed: 1 } });
    expect(readdirSync(join(place.stateDir, 'prepared'))).toEqual([]);
  });
});

describe('a guard on changed rows', () => {
  it('holds a table of which too many changed, and says what would; a release lets it pass, a discard forgets it', async () => {
    const { place, manifest, key } = placeOf('guarded', { key: ['id'] }, { maxChangedRows: '50%' });
    place.write('data/t.csv', before);
    await place.publish(manifest);
    place.write('data/t.csv', after);
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(4);
    const why = 'rows +1 -1 ~1, 75% of the 4 before (`maxChangedRows: 50%`)';
    expect(itemOf(report, key)).toMatchObject({
      outcome: 'held',
      reason: { message: expect.stringContaining(why) },
      changes: { added: 1, removed: 1, changed: 1 },
    });
    expect((await place.run(['status', key])).out).toContain(why);
    expect((await place.run(['discard', key])).code).toBe(0);
    expect((await place.run(['status', key])).out).not.toMatch(/^ *rows \+1/m);
    place.write('data/t.csv', after.replace('Eve', 'Eva'));
    expect((await place.publish(manifest)).code).toBe(4);
    expect((await place.run(['release', key])).code).toBe(0);
    expect((await place.run(['history', key])).out).toMatch(/4 rows +\+1 -1 ~1/);
  });

  it('lets others pass, also a first version and a handful of rows', async () => {
    const { place, manifest, key } = placeOf('passes', { guard: { maxChangedRows: '1%' } });
    place.write('data/t.csv', before);
    expect((await place.publish(manifest)).code).toBe(0);
    place.write('data/t.csv', `${before}5,Eve,50\n6,Fay,60\n`);
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(0);
    expect(itemOf(report, key)).toMatchObject({ live: true, changes: { added: 2, key: ['id'] } });
  });
});
