// Every example of jobs/examples, published to one portal in one command, and read back as visitors see it.
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Reader } from '../flow/support/reader.ts';
import { makeRedisPlace, type RedisPlace } from '../flow/support/redis-place.ts';
import { startPortal } from '../flow/support/server.ts';
import { root } from '../support/pages.ts';

const folder = join(root, 'jobs/examples');
const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

interface Item {
  key: string;
  outcome: string;
  live: boolean;
  rows: number | null;
  uuid: string;
  nid: string;
  rejected: { rows: number } | null;
}

let place: RedisPlace;
let visitor: Reader;
const items = new Map<string, Item>();

beforeAll(async () => {
  const portal = await startPortal();
  visitor = await portal.reader();
  place = makeRedisPlace(portal.url);
  const copy = join(place.dir, 'examples');
  cpSync(folder, copy, { recursive: true, filter: (path) => path !== join(folder, 'inbox') });
  mkdirSync(join(copy, 'inbox/bike-counts'), { recursive: true });
  cpSync(join(copy, 'data/bike-counts.csv'), join(copy, 'inbox/bike-counts/june.csv'));
  const { code, out, err } = await place.run(['publish', '--json', ...names.map((name) => join(copy, name))]);
  if (code !== 0) throw new Error(`publish ended with ${code}: ${err}`);
  const { reports } = JSON.parse(out) as { reports: { items: Item[] }[] }; // the report's own form
  for (const item of reports.flatMap((report) => report.items)) items.set(item.key, item);
});

const item = (key: string): Item => {
  const found = items.get(key);
  if (found === undefined) throw new Error(`no item ${key}`);
  return found;
};

const rowsOf = async (key: string): Promise<Record<string, unknown>[]> =>
  (await visitor.records(item(key).uuid)).map(({ entry_id: _, ...row }) => row);

/** What the portal's datastore holds of an example that changes its table on the way. */
const tables: [key: string, rows: Record<string, string>[]][] = [
  [
    'decimal-comma/grants/grants',
    [
      { recipient: 'Choir', amount: '1234.50', day: '2026-01-31' },
      { recipient: 'Rowing club', amount: '980.00', day: '2026-02-15' },
    ],
  ],
  [
    'encoding/streets/streets',
    [
      { name: 'Bäckergasse', since: '1892' },
      { name: 'Mühlenweg', since: '1910' },
    ],
  ],
  [
    'title-rows/waste/waste',
    [
      { district: 'North', tons_per_year: '1840' },
      { district: 'South', tons_per_year: '2210' },
    ],
  ],
  [
    'columns/energy/energy',
    [
      { building: 'Town Hall', kwh: '310000', kwh_per_m2: '73.8', year: '2026' },
      { building: 'School North', kwh: '195000', kwh_per_m2: '75', year: '2026' },
    ],
  ],
  [
    'clean-cells/playgrounds/playgrounds',
    [
      { district: 'North', name: 'Linden Park', swings: '4' },
      { district: 'North', name: 'Mill Lane', swings: '' },
      { district: 'South', name: 'Castle Hill', swings: '' },
      { district: 'South', name: 'River Bank', swings: '2' },
    ],
  ],
  [
    'bad-rows/trees/trees',
    [
      { id: '1', species: 'lime', height: '12.5' },
      { id: '3', species: 'maple', height: '8' },
    ],
  ],
  ['split/schools/schools-south', [{ district: 'South', name: 'Harbour School', pupils: '275' }]],
  [
    'json-lines/sensors/readings',
    [
      { sensor: 'a1', temperature: '21.5', battery: '' },
      { sensor: 'a2', temperature: '19', battery: '87' },
    ],
  ],
  [
    'custom-step/traffic/traffic',
    [
      { day: '2026-06-01', cars: '4600' },
      { day: '2026-06-02', cars: '1150' },
    ],
  ],
];

describe('jobs/examples', () => {
  it('are twenty-one, each with its name and a comment at the top, all of them in the README', () => {
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    expect(names).toHaveLength(21);
    for (const name of names) {
      const text = readFileSync(join(folder, name), 'utf8');
      expect(text).toMatch(/^# \S/);
      expect(text).toContain(`\nname: ${name.replace(/^\d\d-|\.yaml$/g, '')}\n`);
      expect(readme).toContain(`[${name.replace('.yaml', '')}](${name}) | `);
    }
  });

  it('are all published, and live but for the draft', () => {
    expect(new Set([...items.keys()].map((key) => key.split('/')[0])).size).toBe(21);
    expect([...items.values()].filter(({ outcome }) => outcome !== 'done')).toEqual([]);
    const draft = [...items.values()].filter(({ live }) => !live).map(({ key }) => key);
    expect(draft).toEqual(['draft/forecast', 'draft/forecast/forecast']);
  });

  it('show visitors everything but the draft', async () => {
    const shown = new Map((await visitor.list()).map(({ nid, status }) => [nid, status]));
    const hidden = [...items.values()].filter(({ nid }) => shown.get(nid) !== '1').map(({ key }) => key);
    expect(hidden).toEqual(['draft/forecast', 'draft/forecast/forecast']);
  });

  it.each(tables)('%s holds the table that the comment promises', async (key, rows) => {
    expect(await rowsOf(key)).toEqual(rows);
  });

  it('set the bad row aside, take only what the filter lets through, and empty the inbox', () => {
    expect(item('bad-rows/trees/trees').rejected?.rows).toBe(1);
    expect([...items.keys()].filter((key) => key.startsWith('catalogue/'))).toEqual([
      'catalogue/benches',
      expect.stringContaining('catalogue/benches/benches'),
    ]);
    expect(readdirSync(join(place.dir, 'examples/inbox/bike-counts'))).toEqual([]);
  });
});
