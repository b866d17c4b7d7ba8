// A table that is replaced stays readable: by the old rows until the new ones are all there, and for good when they are refused.
import { beforeAll, expect, it } from 'vitest';
import { cases } from '../support/extent.ts';
import type { Gateway } from './support/gateway.ts';
import { tableItem } from './support/items.ts';
import { openPortalPlace } from './support/portal-place.ts';
import type { Reader } from './support/reader.ts';
import type { RedisPlace } from './support/redis-place.ts';

let gateway: Gateway;
let reader: Reader;
let place: RedisPlace;
beforeAll(async () => {
  ({ gateway, reader, place } = await openPortalPlace());
});

const write = (name: string, content: string): string => {
  place.write(`data/${name}.csv`, content);
  const table = { id: 't', title: `${name} table`, file: `data/${name}.csv` };
  return place.manifest({ name, datasets: [{ id: 'one', title: `${name} dataset`, resources: [table] }] });
};
const table = (rows: number, word: string): string =>
  `id,word,more\n${Array.from({ length: rows }, (_, row) => `${row},${word},some more text in row ${row}\n`).join('')}`;

/** Rows enough for their import to be seen. */
const many = cases(300_000, 40_000);

it('the old rows can be read during the whole import of the new file', async () => {
  const manifest = write('large', table(1000, 'old'));
  const { uuid, nid } = tableItem((await place.publish(manifest)).report);
  write('large', table(many, 'new'));
  let [begun, over] = [false, false];
  gateway.before = ({ path }) => {
    if (path.endsWith('/attach_file')) begun = true;
  };
  const publishing = place.publish(manifest).finally(() => {
    over = true;
  });
  const seen: (number | null)[] = [];
  const words = new Set<unknown>();
  let duringImport = 0;
  while (!over) {
    const count = await reader.count(uuid);
    seen.push(count);
    words.add((await reader.records(uuid))[0]?.word);
    if (begun && count === 1000) duringImport += 1;
  }
  const { code, report } = await publishing;
  gateway.before = () => undefined;
  expect(code).toBe(0);
  expect(tableItem(report)).toMatchObject({ nid, live: true, rows: many });
  expect([...new Set(seen)].sort()).toEqual(expect.arrayContaining([1000]));
  expect(seen.filter((count) => count !== 1000 && count !== many)).toEqual([]);
  expect([...words].filter((word) => word !== 'old' && word !== 'new')).toEqual([]);
  expect(duringImport).toBeGreaterThan(0);
  expect(await reader.count(uuid)).toBe(many);
});

it('a file that the portal cannot import leaves the old rows, and status says so until a better one comes', async () => {
  const manifest = write('wide', table(3, 'old'));
  const { uuid } = tableItem((await place.publish(manifest)).report);
  // Sound as a table, but more columns than the portal's database has.
  const columns = Array.from({ length: 2500 }, (_, index) => `c${index}`).join(',');
  write('wide', `${columns}\n${columns}\n`);
  gateway.takeWrites();
  for (const attempt of ['first', 'second']) {
    const failed = await place.publish(manifest);
    expect(failed.code, attempt).toBe(3);
    expect(tableItem(failed.report)).toMatchObject({ live: false, stale: true, reason: { code: 'portal-refused' } });
    expect(tableItem(failed.report).reason?.message).toContain('the header has 2500 columns');
    expect(tableItem(failed.report).reason?.message).toContain('the previous good file wide.csv (3 rows) was restored');
    expect(await reader.count(uuid)).toBe(3);
    // The bad file, then the good one; the second run sends neither.
    const attaches = gateway.takeWrites().filter((write) => write.endsWith('/attach_file'));
    expect(attaches, attempt).toHaveLength(attempt === 'first' ? 2 : 0);
  }
  expect(await reader.records(uuid)).toMatchObject([{ word: 'old' }, { word: 'old' }, { word: 'old' }]);
  const status = await place.run(['status']);
  expect(status).toMatchObject({ code: 3, out: expect.stringContaining('the portal still serves an older version') });
  write('wide', table(4, 'new'));
  const mended = await place.publish(manifest);
  expect(mended.code).toBe(0);
  expect(tableItem(mended.report)).toMatchObject({ live: true, stale: false, rows: 4 });
  expect(await reader.count(uuid)).toBe(4);
});
