// Publishing to each profile of the embedded portal: what real portals of two ages and the specification want differs.
import { describe, expect, it } from 'vitest';
import { cases } from '../support/extent.ts';
import { itemOf } from './support/items.ts';
import { doubles } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { startPortal } from './support/server.ts';

const manifest = (title: string) => ({
  name: 'city',
  datasets: [
    {
      id: 'budget',
      title,
      description: 'What the city spends',
      tags: ['budget', 'finance'],
      license: 'cc-by',
      frequency: 'annually',
      contact: { name: 'Office', email: 'office@city.example' },
      resources: [
        { id: 'spending', title: 'Spending', file: 'data/spending.csv' },
        { id: 'faulty', title: 'Faulty', file: 'data/faulty.csv' },
        { id: 'page', title: 'The page', link: 'https://city.example/budget' },
      ],
    },
  ],
});

describe('publishing', () => {
  // The oldest imports by its own cron and offers no datastore endpoint, so no rows are proven there.
  it.each([
    ['spec', 3],
    ['dkan-7.18', 3],
    ['dkan-7.14', null],
  ] as const)('to the profile %s makes everything live once, then sends nothing', async (profile, rows) => {
    const portal = await startPortal(['--profile', profile]);
    const place = makeRemotePlace(portal.url);
    place.write('data/spending.csv', 'department,euro\nParks,10\nRoads,20\nSchools,30\n');
    place.write('data/faulty.csv', 'a,b\n1,2,3\n');
    const path = place.manifest(manifest('City budget'));
    const first = await place.publish(path);
    expect(first.report.items.map(({ key, outcome, live, rows: got }) => [key, outcome, live, got])).toEqual([
      ['city/budget', 'done', true, null],
      ['city/budget/faulty', 'quarantined', false, null],
      ['city/budget/page', 'done', true, null],
      ['city/budget/spending', 'done', true, rows],
    ]);
    const second = await place.publish(path);
    expect(second.report.counts.actions).toEqual({});
    expect(second.report.items.filter(({ live }) => live)).toHaveLength(3);
    expect(doubles(await (await portal.reader()).list())).toEqual([]);
  });

  it.each(cases(['spec', 'dkan-7.18', 'dkan-7.14'], ['dkan-7.18']))(
    'to the profile %s leaves no empty dataset where every file is faulty; the first sound one brings it',
    async (profile) => {
      const portal = await startPortal(['--profile', profile]);
      const place = makeRemotePlace(portal.url);
      const reader = await portal.reader();
      const resources = ['a', 'b'].map((id) => ({
        id,
        title: id,
        file: place.write(`data/${id}.csv`, 'a,b\n1,2,3\n'),
      }));
      const path = place.manifest({ name: 'bad', datasets: [{ id: 'd', title: 'Bad', resources }] });
      for (const _run of ['first', 'again']) {
        const { code, report } = await place.publish(path);
        expect([code, report.counts.dataset]).toEqual([3, { unchanged: 1 }]);
        expect(itemOf(report, 'bad/d')).toMatchObject({
          ...{ live: false, nid: null, reason: null },
          warnings: ['not created, because none of its resources is published'],
        });
        expect(await reader.list()).toEqual([]);
      }
      expect((await place.run(['publish', path])).out).toMatch(/^ +bad\/d +not live +unchanged$/m);
      expect((await place.run(['status'])).out).toMatch(/: 2 not live\n/);
      place.write('data/b.csv', 'a,b\n1,2\n');
      const { report } = await place.publish(path);
      expect(report.items.map(({ live }) => live)).toEqual([true, false, true]);
      expect(await reader.list()).toHaveLength(2);
    },
  );
});
