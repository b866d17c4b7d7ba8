// A tag is created once: not where the portal has it, nor where the write that creates it fails while other jobs wait for it.
import { expect, it } from 'vitest';
import { openGatedPortal } from './support/gated-portal.ts';
import { isWrite, type Moment, openGateway } from './support/gateway.ts';
import { openReader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { publisher, startPortal } from './support/server.ts';

/** Twenty datasets with one new tag: more than a worker has in work at once. */
const datasets = Array.from({ length: 20 }, (_, at) => ({
  id: `d${at}`,
  title: `Dataset ${at}`,
  tags: ['city'],
  resources: [{ id: 'site', title: 'Site', link: `https://www.example.org/${at}` }],
}));

it.each(['not sent on', 'done, and its reply is lost'])('when the write is %s', { timeout: 120_000 }, async (what) => {
  const portal = await startPortal(['--profile', 'dkan-7.18']);
  const gateway = await openGateway(portal.url);
  const place = makeRemotePlace(gateway.url);
  let isFirst = true;
  const fail: Moment = (passed) => {
    if (!isFirst || !isWrite(passed) || !passed.body.includes('autocreate')) return;
    isFirst = false;
    throw new Error('answered with 502');
  };
  gateway[what === 'not sent on' ? 'before' : 'after'] = fail;
  const { code, report } = await place.publish(place.manifest({ name: 'tagged', datasets }));
  expect({ code, isFirst }).toEqual({ code: 0, isFirst: false });
  const reader = await openReader(portal.url, publisher.username, publisher.password);
  const nids = report.items.flatMap(({ kind, nid }) => (kind === 'dataset' && nid ? [nid] : []));
  const nodes = await Promise.all(nids.map((nid) => reader.read(nid)));
  const tids = new Set(nodes.map((node) => JSON.stringify(node.field_tags)));
  expect(nodes).toHaveLength(20);
  expect([...tids]).toEqual([expect.stringContaining('tid')]);
});

const tag = (name: string) => ({ tid: 'autocreate', name, vid: '2', vocabulary_machine_name: 'tags' });
const tidsOf = (node: Record<string, unknown>): string[] =>
  (node.field_tags as { und: { tid: string | number }[] }).und.map(({ tid }) => String(tid));

it('that the portal has is used, by one request, whatever was published from here before', async () => {
  const { reader, gateway } = await openGatedPortal(['--profile', 'dkan-7.18']);
  const odd = `O'Neil & "Sons"/roads, <ponds>`;
  const nid = await reader.create({
    type: 'dataset',
    title: 'Theirs',
    field_tags: { und: [tag('economy'), tag(odd)] },
  });
  const wanted = tidsOf(await reader.read(nid));
  await reader.remove(nid);
  const publish = async (id: string) => {
    // Nobody else has published from this folder.
    const place = makeRemotePlace(gateway.url);
    const { code, report } = await place.publish(
      place.manifest({ name: id, datasets: [{ id, title: id, tags: ['economy', odd, 'harbour'], resources: [] }] }),
    );
    expect(code).toBe(0);
    return tidsOf(await reader.read(report.items[0]?.nid ?? ''));
  };
  const first = await publish('one');
  expect(first.slice(0, 2)).toEqual(wanted);
  const asked = gateway.requests.filter(({ path }) => path.startsWith('/ctools/autocomplete/taxonomy_term/'));
  expect(asked).toHaveLength(3);
  expect(await publish('two')).toEqual(first);
  expect(gateway.requests.flatMap(({ body }) => body.match(/"tid":"autocreate","name":"[^"]*"/g) ?? [])).toEqual([
    '"tid":"autocreate","name":"harbour"',
  ]);
});

it('that the portal has twice is the same tag, and no edit', async () => {
  const { reader, gateway } = await openGatedPortal(['--profile', 'dkan-7.18']);
  const make = async () =>
    tidsOf(
      await reader.read(await reader.create({ type: 'dataset', title: 'T', field_tags: { und: [tag('parks')] } })),
    )[0];
  const [one, other] = [await make(), await make()];
  const place = makeRemotePlace(gateway.url);
  const manifest = (description: string) =>
    place.manifest({ name: 'twice', datasets: [{ id: 'd', title: 'D', description, tags: ['parks'], resources: [] }] });
  const first = await place.publish(manifest('Old'));
  const nid = first.report.items[0]?.nid ?? '';
  expect(tidsOf(await reader.read(nid))).toEqual([one]);
  await reader.change(nid, { field_tags: { und: [{ tid: other }] } });
  expect((await place.run(['verify', manifest('Old')])).code).toBe(0);
  expect((await place.run(['plan', manifest('Old'), '--refresh'])).out).toContain('no managed field');
  const second = await place.publish(manifest('New'));
  expect([second.code, second.report.items[0]?.outcome]).toEqual([0, 'done']);
  expect(tidsOf(await reader.read(nid))).toEqual([other]);
  // Another tag is an edit, as ever.
  await reader.change(nid, { field_tags: { und: [tag('ponds')] } });
  const third = await place.publish(manifest('Newer'));
  expect([third.code, third.report.items[0]?.outcome]).toEqual([4, 'held']);
});

it('that the portal splits is told, and not sent again', async () => {
  const { reader, gateway } = await openGatedPortal(['--profile', 'dkan-7.14']);
  const place = makeRemotePlace(gateway.url);
  const manifest = (title: string, tags: string[]): string =>
    place.manifest({ name: 'split', datasets: [{ id: 'd', title, tags, resources: [] }] });
  const tags = ['Smith, John', 'two'];
  expect((await place.run(['plan', manifest('D', tags), '--refresh'])).out).toContain(
    'field_tags: the portal splits tags that contain a comma or quotes: split/d',
  );
  const first = await place.publish(manifest('D', tags));
  const warnings = [expect.stringMatching(/it holds .*; the portal splits tags that contain a comma or quotes$/)];
  expect(first.report.items).toMatchObject([{ outcome: 'done', live: true, warnings }]);
  const nid = first.report.items[0]?.nid ?? '';
  const held = tidsOf(await reader.read(nid));
  expect(held).toHaveLength(3);
  gateway.requests.length = 0;
  for (const args of [['publish'], ['plan', '--refresh'], ['verify']]) {
    const { code, out } = await place.run([...args, manifest('D', tags)]);
    expect(code, out).toBe(0);
  }
  expect(gateway.requests.filter(isWrite)).toEqual([]);
  // Another write finds the same tags again, and makes no further ones.
  const renamed = await place.publish(manifest('E', tags));
  expect(renamed.report.items).toMatchObject([{ outcome: 'done', live: true, warnings }]);
  expect(tidsOf(await reader.read(nid)).sort()).toEqual(held.sort());
  expect((await place.publish(manifest('E', tags))).report.counts.actions).toEqual({});
  // Someone else's tag is an edit, as ever.
  await reader.change(nid, { field_tags: { und: { textfield: '', value_field: '""ponds""' } } });
  expect((await place.run(['plan', manifest('E', tags), '--refresh'])).out).toContain('field_tags');
});
