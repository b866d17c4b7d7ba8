// What is neither on the portal nor named any more is forgotten: the state and its files do not grow with former items.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { uuidOfKey } from '../../src/model/key.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type GatedPortal, openGatedPortal } from './support/gated-portal.ts';
import { makePlace } from './support/place.ts';
import { makeRemotePlace } from './support/remote-place.ts';

let site: GatedPortal;
beforeAll(async () => {
  site = await openGatedPortal();
});

const datasetOf = (id: string, more: Record<string, unknown> = {}) => ({
  id,
  title: id,
  resources: [{ id: 'table', file: `data/${id}.csv`, ...more }],
});

const placeOf = (keepRuns?: string) => {
  const place = makeRemotePlace(site.gateway.url, keepRuns ? { jobs: { keepRuns } } : {});
  const manifestOf = (name: string, ...datasets: object[]): string =>
    place.manifest({ name, onMissing: 'delete', datasets });
  const keys = async (): Promise<string[]> => {
    const { out } = await place.run(['status', '--all', '--json']);
    const { items } = JSON.parse(out) as { items: { key: string }[] };
    return items.map(({ key }) => key).toSorted();
  };
  place.write('data/stays.csv', 'a,b\n1,2\n');
  return { place, manifestOf, keys };
};

describe('an item that the manifest no longer names', () => {
  it('is forgotten at once where it never was on the portal: `status` is well again', async () => {
    const { place, manifestOf, keys } = placeOf();
    place.write('data/faulty.csv', 'a,b\n1\n');
    const stays = datasetOf('stays');
    expect((await place.publish(manifestOf('never', stays, datasetOf('faulty')))).code).toBe(3);
    expect(await keys()).toEqual(['never/faulty/table', 'never/stays', 'never/stays/table']);
    const manifest = manifestOf('never', stays);
    expect((await place.publish(manifest)).code).toBe(0);
    expect(await keys()).toEqual(['never/stays', 'never/stays/table']);
    expect((await place.run(['status'])).code).toBe(0);
  });

  it('is forgotten with its files where it was deleted longer ago than runs are kept', async () => {
    const { place, manifestOf, keys } = placeOf('1s');
    const stays = datasetOf('stays');
    place.write('data/goes.csv', 'a,b\n1,2\nx,3\n');
    const goes = {
      ...datasetOf('goes', { table: [{ cast: { a: 'integer' } }], badRows: 'quarantine', maxBadRows: 2 }),
      changes: 'publish',
    };
    await place.publish(manifestOf('deleted', stays, goes));
    const rejects = join(place.stateDir, 'rejects/deleted/goes/table');
    const logs = join(place.stateDir, 'change-logs/local');
    const log = `${uuidOfKey('deleted/goes/_change-log')}.csv`;
    expect(readdirSync(rejects)).toHaveLength(1);
    expect(readdirSync(logs)).toEqual([log]);
    const manifest = manifestOf('deleted', stays);
    await place.publish(manifest);
    expect(await keys()).toContain('deleted/goes/table');
    await wait(1100);
    expect((await place.publish(manifest)).report.counts).toMatchObject({ actions: {} });
    expect(await keys()).toEqual(['deleted/stays', 'deleted/stays/table']);
    expect(existsSync(rejects)).toBe(false);
    expect(readdirSync(logs)).toEqual([]);
    await place.publish(manifestOf('deleted', stays, goes));
    expect(await keys()).toContain('deleted/goes/table');
  });

  it('leaves no bad rows under a former name of the file or key', async () => {
    const { place, manifestOf } = placeOf('1s');
    const recipe = { table: [{ cast: { a: 'integer' } }], badRows: 'quarantine', maxBadRows: 2 };
    const rejectsOf = async (id: string, file: string, more: object = {}): Promise<string[]> => {
      place.write(`data/${file}`, `a,b\n1,${file}\nx,3\n`);
      const resource = { id, title: 'Table', file: `data/${file}`, ...recipe, ...more };
      await place.publish(manifestOf('named', { id: 'd', title: 'D', resources: [resource] }));
      const found = readdirSync(join(place.stateDir, 'rejects'), { recursive: true, encoding: 'utf8' });
      return found.filter((name) => name.endsWith('.csv'));
    };
    expect(await rejectsOf('old', 'one.csv')).toEqual(['named/d/old/one.rejects.csv']);
    expect(await rejectsOf('old', 'two.csv')).toEqual(['named/d/old/two.rejects.csv']);
    expect(await rejectsOf('new', 'three.csv', { renamedFrom: 'old' })).toEqual(['named/d/new/three.rejects.csv']);
  });

  it('leaves the bad rows of an item that another portal has', async () => {
    const embedded = { kind: 'embedded' };
    const place = makePlace({ portals: { one: embedded, two: embedded }, jobs: { keepRuns: '1s' } });
    place.write('data/stays.csv', 'a,b\n1,2\n');
    place.write('data/goes.csv', 'a,b\n1,2\nx,3\n');
    const manifestOf = (...datasets: object[]): string =>
      place.manifest({ name: 'shared', portal: undefined, portals: ['one', 'two'], onMissing: 'delete', datasets });
    const recipe = { table: [{ cast: { a: 'integer' } }], badRows: 'quarantine', maxBadRows: 2 };
    const stays = datasetOf('stays');
    expect((await place.run(['publish', manifestOf(stays, datasetOf('goes', recipe))])).code).toBe(0);
    const rejects = join(place.stateDir, 'rejects/shared/goes/table');
    const manifest = manifestOf(stays);
    const publishOn = async (portal: string): Promise<void> => {
      await place.run(['publish', manifest, '--portal', portal]);
      await wait(1100);
      expect((await place.run(['publish', manifest, '--portal', portal])).code).toBe(0);
    };
    await publishOn('one');
    expect(readdirSync(rejects)).toHaveLength(1);
    await publishOn('two');
    expect(existsSync(rejects)).toBe(false);
  });

  it('leaves the change log of an item that goes on with its uuid under a new name', async () => {
    const { place, manifestOf, keys } = placeOf('1s');
    const [stays, goes] = [datasetOf('stays'), { ...datasetOf('stays'), changes: 'publish' }];
    await place.publish(manifestOf('again', stays, { ...goes, id: 'goes' }));
    await place.publish(manifestOf('again', stays));
    const manifest = manifestOf('again', stays, { ...goes, id: 'comes', renamedFrom: 'goes' });
    expect((await place.publish(manifest)).code).toBe(0);
    await wait(1100);
    expect((await place.publish(manifest)).code).toBe(0);
    expect(await keys()).not.toContain('again/goes');
    const logs = join(place.stateDir, 'change-logs/local');
    expect(readdirSync(logs)).toEqual([`${uuidOfKey('again/goes/_change-log')}.csv`]);
  });

  it('does not keep others from being published while its files cannot be removed', async () => {
    const { place, manifestOf, keys } = placeOf();
    place.write('data/faulty.csv', 'a,b\n1\n');
    const stays = datasetOf('stays');
    await place.publish(manifestOf('locked', datasetOf('faulty')));
    const rejects = place.write('state/rejects/locked', 'a folder that is none cannot be entered');
    const { code, report } = await place.publish(manifestOf('locked', stays));
    expect([code, report.counts.actions.created]).toEqual([0, 2]);
    expect((await place.run(['log', report.runId])).out).toContain('locked/faulty/table is not forgotten');
    expect(await keys()).toContain('locked/faulty/table');
    rmSync(rejects);
    await place.publish(manifestOf('locked', stays));
    expect(await keys()).toEqual(['locked/stays', 'locked/stays/table']);
  });

  it('stays known where a create was interrupted, so that it can be removed', async () => {
    const { place, manifestOf, keys } = placeOf();
    const stays = datasetOf('stays');
    place.write('data/lost.csv', 'a,b\n1,2\n');
    await place.publish(manifestOf('lost', stays));
    const publish = place.spawn(['publish', manifestOf('lost', stays, datasetOf('lost', { title: 'Lost' }))]);
    onTestFinished(() => {
      site.gateway.after = () => undefined;
    });
    site.gateway.after = async ({ method, path }) => {
      if (method === 'POST' && path.endsWith('/dataset/node')) await publish.end('SIGKILL');
    };
    expect(await publish.ended).toBe('SIGKILL');
    const runs = JSON.parse((await place.run(['runs', '--json'])).out) as { runs: { runId: string }[] };
    await place.run(['cancel', runs.runs[0]?.runId ?? '']);
    await place.publish(manifestOf('lost', stays));
    expect(await keys()).toEqual(['lost/lost', 'lost/lost/table', 'lost/stays', 'lost/stays/table']);
    expect(await site.reader.titles('resource')).toContain('Lost');
    expect((await place.run(['remove', 'lost/lost', '--how', 'delete', '--yes'])).code).toBe(0);
    expect(await site.reader.titles('resource')).not.toContain('Lost');
    expect((await place.run(['status'])).code).toBe(0);
  });

  it('among many does not keep a process from stopping', async () => {
    const { place, manifestOf } = placeOf();
    place.write('data/faulty.csv', 'a,b\n1\n');
    await place.publish(manifestOf('many', datasetOf('faulty')));
    const redis = place.redis();
    const entries = place.keys.entries({ manifest: 'many', portal: 'local' });
    const [key, text] = ['many/faulty/table', (await redis.hget(entries, 'many/faulty/table')) ?? ''];
    const copies = Array.from({ length: 5000 }, (_, n) => `many/faulty-${n}/table`);
    await redis.hset(entries, ...copies.flatMap((copy) => [copy, text.replaceAll(key, copy)]));
    const publish = place.spawn(['publish', manifestOf('many', datasetOf('stays'))]);
    await waitUntil('it forgets', async () => (await redis.hlen(entries)) < copies.length);
    await publish.end('SIGTERM');
    expect(await redis.hlen(entries)).toBeGreaterThan(1000);
  });
});
