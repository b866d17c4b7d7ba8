// Portals that were set back, recreated or exchanged use node ids again: what is not ours is never written to, and what is
// ours comes back.
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { itemOf } from './support/items.ts';
import type { Place } from './support/place.ts';
import { doubles, openReader, type Reader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { editor, type PortalProcess, publisher, remoteConfig, startPortalProcess } from './support/server.ts';

/** A portal that can be set back, and an installation that publishes to it. */
interface World {
  portal: PortalProcess;
  place: Place;
  /** Copies the store; the portal is stopped meanwhile. */
  backUp(): Promise<void>;
  /** Puts the store back that was copied last. */
  setBack(): Promise<void>;
  /** Logs in as a person who may edit everything. */
  person(): Promise<Reader>;
}

const openWorld = async (more: string[] = [], config: Record<string, unknown> = {}): Promise<World> => {
  const portal = await startPortalProcess(more);
  const stopped = async (work: () => void): Promise<void> => {
    await portal.command.end('SIGTERM');
    work();
    await portal.restart();
  };
  const backup = `${portal.store}-backup`;
  return {
    portal,
    place: makeRemotePlace(portal.url, config),
    backUp: () => stopped(() => cpSync(portal.store, backup, { recursive: true })),
    setBack: () =>
      stopped(() => {
        rmSync(portal.store, { recursive: true });
        cpSync(backup, portal.store, { recursive: true });
      }),
    person: () => openReader(portal.url, editor.username, publisher.password),
  };
};

/** Writes the manifest `city`: datasets by id, each with one table whose rows depend on `version`. */
const write = (
  place: Place,
  ids: string[],
  { version = 1, tags = [], ...more }: Record<string, unknown> = {},
): string => {
  const datasets = ids.map((id) => {
    const file = place.write(`data/${id}.csv`, `id,value\n1,${id} ${version}\n`);
    const own = (tags as string[]).map((tag) => (tag === 'own' ? `of ${id}` : tag));
    return {
      id,
      title: `City ${id}`,
      description: `Version ${version}`,
      tags: own,
      resources: [{ id: 'table', title: `Table ${id}`, file }],
    };
  });
  return place.manifest({ name: 'city', ...more, datasets });
};

/** Nodes of somebody else, made one after the other: they take the next free numbers. */
const makeForeign = async (person: Reader, count: number): Promise<string[]> => {
  const nids: string[] = [];
  for (let index = 0; index < count; index++) {
    const type = index % 2 === 0 ? 'resource' : 'dataset';
    const nid = await person.create({ type, title: `Foreign ${index}`, log: 'by hand' });
    if (type === 'resource') await person.attach(nid, `foreign-${index}.csv`, `a\n${index}\n`);
    nids.push(nid);
  }
  return nids;
};

/** Everything of some nodes that a write of ours would change. */
const looks = async (person: Reader, nids: string[]): Promise<unknown[]> =>
  Promise.all(
    nids.map(async (nid) => {
      const { title, status, uuid, log, vid } = await person.read(nid);
      return { nid, title, status, uuid, log, vid, file: (await person.file(nid))?.content ?? null };
    }),
  );

/** Runs what happens on a portal that was recreated and holds nodes of others at our numbers; those must stay as they are. */
const onNewPortal = async (
  ids: string[],
  story: (world: World, manifest: string, person: Reader) => Promise<void>,
  more: string[] = [],
): Promise<void> => {
  const world = await openWorld(more);
  await world.backUp();
  const manifest = write(world.place, ids);
  expect((await world.place.publish(manifest)).code).toBe(0);
  await world.setBack();
  const person = await world.person();
  const foreign = await makeForeign(person, ids.length * 2);
  const before = await looks(person, foreign);
  await story(world, manifest, person);
  expect(await looks(person, foreign)).toEqual(before);
  expect(doubles(await person.list())).toEqual([]);
};

const ours = ['City parks', 'City roads'];

describe('a portal that was recreated', () => {
  it('holds a run with changed files, and gets everything when that is decided', () =>
    onNewPortal(['parks', 'roads'], async ({ place }, _manifest, person) => {
      const manifest = write(place, ['parks', 'roads'], { version: 2 });
      const held = await place.publish(manifest);
      expect(held.report.reason).toMatchObject({ code: 'held', hint: expect.stringContaining('--create-missing') });
      expect(await person.titles('dataset')).not.toContain('City parks');
      const run = await place.run(['publish', manifest, '--create-missing']);
      expect(run, run.out).toMatchObject({ code: 0 });
      expect(await person.titles('dataset')).toEqual(expect.arrayContaining(ours));
      expect((await place.publish(manifest)).report.counts).toMatchObject({ actions: {}, resource: { unchanged: 2 } });
    }));

  it('holds a comparison with it, which does not call anything live', () =>
    onNewPortal(['parks', 'roads'], async ({ place }, manifest) => {
      const { code, out } = await place.run(['publish', manifest, '--refresh']);
      expect(code, out).not.toBe(0);
      expect(out).toContain('held');
    }));

  it('is reported by verify, node by node', () =>
    onNewPortal(['parks', 'roads'], async ({ place }, manifest) => {
      const { code, out } = await place.run(['verify', manifest]);
      expect(code).toBe(3);
      expect(out).toMatch(/4 items checked, 4 faults/);
    }));

  it('loses nothing to `remove --how delete`', () =>
    onNewPortal(['parks'], async ({ place }) => {
      const { code, out } = await place.run(['remove', 'city/parks', '--how', 'delete', '--yes']);
      expect(code, out).toBe(0);
    }));

  it('loses nothing to `remove --how unpublish`', () =>
    onNewPortal(['parks'], async ({ place }) => {
      const { code, out } = await place.run(['remove', 'city/parks', '--how', 'unpublish']);
      expect(code, out).toBe(0);
    }));

  it('loses nothing to `onMissing: delete`', () =>
    onNewPortal(['parks', 'roads'], async ({ place }) => {
      const manifest = write(place, ['parks'], { onMissing: 'delete', guard: { maxRemovals: '100%' } });
      const { code } = await place.run(['publish', manifest]);
      expect(code).not.toBe(0);
    }));

  it('gets single resources again without being held', () =>
    onNewPortal(['parks'], async ({ place }, _manifest, person) => {
      const { report } = await place.publish(write(place, ['parks'], { version: 2 }));
      expect(itemOf(report, 'city/parks/table')).toMatchObject({ outcome: 'done', live: true });
      const rows = (await person.list()).filter(({ title }) => title === 'Table parks');
      expect(rows).toHaveLength(1);
      expect((await person.file(rows[0]?.nid ?? ''))?.content).toBe('id,value\n1,parks 2\n');
    }));

  it('that makes its own uuids is not written to either', () =>
    onNewPortal(
      ['parks', 'roads'],
      async ({ place }, _manifest, person) => {
        const manifest = write(place, ['parks', 'roads'], { version: 2 });
        expect((await place.publish(manifest)).report.reason).toMatchObject({ code: 'held' });
        const run = await place.run(['publish', manifest, '--create-missing']);
        expect(run, run.out).toMatchObject({ code: 0 });
        expect(await person.titles('dataset')).toEqual(expect.arrayContaining(ours));
      },
      ['--profile', 'dkan-7.14'],
    ));
});

describe('a portal that was set back to an older backup', () => {
  const ids = ['bikes', 'halls', 'parks', 'roads', 'trams', 'trees'];

  it('gets again what it has lost, beside what others made since', async () => {
    const world = await openWorld();
    const { place } = world;
    expect((await place.publish(write(place, ids.slice(0, 5)))).code).toBe(0);
    await world.backUp();
    expect((await place.publish(write(place, ids))).code).toBe(0);
    await world.setBack();
    const person = await world.person();
    const foreign = await makeForeign(person, 2);
    const before = await looks(person, foreign);
    const { report, code } = await place.publish(write(place, ids, { version: 2 }));
    expect(code, JSON.stringify(report.reason)).toBe(0);
    expect(await looks(person, foreign)).toEqual(before);
    expect(doubles(await person.list())).toEqual([]);
    expect(await person.titles('dataset')).toEqual([...ids.map((id) => `City ${id}`), 'Foreign 1']);
    expect((await place.run(['verify', write(place, ids, { version: 2 })])).out).toContain(
      '12 items checked, 0 faults',
    );
  });

  it('gets again the terms that went with what it has lost, and no other twice', async () => {
    const world = await openWorld(['--profile', 'dkan-7.18']);
    const { place } = world;
    const tags = ['budget', 'own'];
    expect((await place.publish(write(place, ids.slice(0, 4), { tags }))).code).toBe(0);
    await world.backUp();
    expect((await place.publish(write(place, ids, { tags }))).code).toBe(0);
    await world.setBack();
    const all = write(place, ids, { tags: [...tags, 'crane'], version: 2 });
    const { report, code } = await place.publish(all);
    expect(code, JSON.stringify(report.items.map(({ reason }) => reason).filter(Boolean))).toBe(0);
    expect((await place.run(['verify', all])).out).toContain('12 items checked, 0 faults');
    const person = await world.person();
    expect(doubles(await person.list())).toEqual([]);
    const tids = new Set<string>();
    for (const { nid } of (await person.list()).filter(({ type }) => type === 'dataset')) {
      const { field_tags } = await person.read(nid);
      for (const { tid } of (field_tags as { und: { tid: string }[] }).und) tids.add(tid);
    }
    expect(tids.size).toBe(ids.length + 2);
  });

  it('does not let two of ours share a node', async () => {
    const world = await openWorld();
    const { place } = world;
    expect((await place.publish(write(place, ids.slice(0, 4)))).code).toBe(0);
    await world.backUp();
    expect((await place.publish(write(place, ids.slice(0, 5)))).code).toBe(0);
    await world.setBack();
    // The newcomer takes the numbers that the fifth had.
    const other = ids.filter((id) => id !== 'trams');
    expect((await place.publish(write(place, other, { onMissing: 'keep' }))).code).toBe(0);
    const all = write(place, ids, { version: 2 });
    expect((await place.publish(all)).code).toBe(0);
    expect((await place.run(['verify', all])).out).toContain('12 items checked, 0 faults');
    expect((await place.publish(all)).report.counts).toMatchObject({ actions: {}, resource: { unchanged: 6 } });
    expect(doubles(await (await world.person()).list())).toEqual([]);
  });
});

describe('another portal at the address', () => {
  const exchange = (place: Place, url: string): void =>
    writeFileSync(
      join(place.dir, 'config', 'sluice.yaml'),
      JSON.stringify({
        ...remoteConfig(url),
        redis: { url: place.redisUrl() },
        retry: { backoff: '100ms', maxBackoff: '500ms' },
      }),
    );

  it('holds the run and names both; nothing of it is overwritten', async () => {
    const world = await openWorld();
    const { place } = world;
    expect((await place.publish(write(place, ['parks']))).code).toBe(0);
    const other = await openWorld();
    const person = await other.person();
    const foreign = await makeForeign(person, 2);
    const before = await looks(person, foreign);
    exchange(place, other.portal.url);
    const manifest = write(place, ['parks'], { version: 2 });
    const { report } = await place.publish(manifest);
    expect(report.reason?.message).toContain(world.portal.url);
    expect(report.reason?.message).toContain(other.portal.url);
    expect(await looks(person, foreign)).toEqual(before);
    expect((await place.run(['publish', manifest, '--create-missing'])).code).toBe(0);
    expect(await looks(person, foreign)).toEqual(before);
    expect(await person.titles('dataset')).toContain('City parks');
  });

  it('is taken for the same where it holds what was published', async () => {
    const world = await openWorld();
    const { place } = world;
    expect((await place.publish(write(place, ['parks', 'roads']))).code).toBe(0);
    const moved = world.portal.url.replace('127.0.0.1', 'localhost');
    exchange(place, moved);
    const { report, code } = await place.publish(write(place, ['parks', 'roads'], { version: 2 }));
    expect(code, JSON.stringify(report)).toBe(0);
    expect(doubles(await (await world.person()).list())).toEqual([]);
  });
});
