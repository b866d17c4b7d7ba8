// Catalogues of governments, as they were published. They lie beside the repository and are no part of it: without them
// this suite is left out and says so; test/flow/catalogue.test.ts has small ones of our own.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { uuidOfKey } from '../../src/model/key.ts';
import { idOfIdentifier } from '../../src/sources/catalogue/values.ts';
import { fileAnswer, startSources } from '../support/source-server.ts';
import type { Gateway } from './support/gateway.ts';
import { openPortalPlace } from './support/portal-place.ts';
import { doubles, type Reader } from './support/reader.ts';
import type { RedisPlace } from './support/redis-place.ts';

const folder = join(import.meta.dirname, '../../../shared/data/catalogues');
const isThere = existsSync(folder);
const why = isThere ? '' : ' (left out: there is no ../shared/data/catalogues)';

interface Distribution {
  title?: string;
  downloadURL?: string;
  accessURL?: string;
}
interface Entry {
  identifier: string;
  title: string;
  distribution?: Distribution[];
}
const entriesOf = (name: string): Entry[] => JSON.parse(readFileSync(join(folder, name), 'utf8')).dataset;

describe.skipIf(!isThere)(`catalogues of governments${why}`, () => {
  let gateway: Gateway;
  let reader: Reader;
  let place: RedisPlace;
  beforeAll(async () => {
    ({ gateway, reader, place } = await openPortalPlace({ sources: { allow: ['127.0.0.1'] } }));
  });

  it('of 402 datasets and 2,841 distributions: all of it is on the portal by identifier, and the second run sends nothing', async () => {
    const entries = entriesOf('dcatus_with_none.json');
    const manifest = place.manifest({
      name: 'city',
      catalogue: { from: join(folder, 'dcatus_with_none.json'), files: 'link' },
    });
    const { code, report } = await place.publish(manifest);
    expect([code, report.counts]).toMatchObject([0, { dataset: { done: 402 }, resource: { done: 2841 } }]);

    const rows = await reader.list();
    expect([rows.length, doubles(rows).filter((name) => /^[0-9a-f-]{36}$/.test(name))]).toEqual([402 + 2841, []]);
    const byUuid = new Map(rows.map((row) => [row.uuid, row]));
    for (const { identifier, title, distribution = [] } of entries) {
      const row = byUuid.get(uuidOfKey(`city/${idOfIdentifier(identifier)}`));
      expect(row, identifier).toMatchObject({ type: 'dataset', title, status: '1' });
      const node = (await reader.read(row?.nid ?? '')) as unknown as Node;
      expect(node.field_additional_info.und).toContainEqual(
        expect.objectContaining({ first: 'Identifier', second: identifier }),
      );
      const resources = await Promise.all(
        (node.field_resources.und ?? []).map(async ({ target_id: nid }) => (await reader.read(nid)) as unknown as Node),
      );
      expect(resources.map(shown), identifier).toEqual(distribution.map(wanted));
    }

    gateway.takeWrites();
    const second = await place.publish(manifest);
    expect([second.code, second.report.counts]).toMatchObject([
      0,
      { dataset: { unchanged: 402 }, resource: { unchanged: 2841 } },
    ]);
    expect(gateway.takeWrites()).toEqual([]);
  });

  it('the same one on the web is the same catalogue: one request, then one conditional request, nothing sent', async () => {
    const server = await startSources();
    const text = readFileSync(join(folder, 'dcatus_with_none.json'));
    server.on('/data.json', fileAnswer(text, { etag: '"402"', type: 'application/json' }));
    const manifest = place.manifest({ name: 'city', catalogue: `${server.url}/data.json` });
    gateway.takeWrites();
    for (const condition of [undefined, '"402"', '"402"']) {
      server.asked.length = 0;
      const { code, report } = await place.publish(manifest);
      expect([code, report.counts]).toMatchObject([0, { dataset: { unchanged: 402 }, resource: { unchanged: 2841 } }]);
      expect(server.asked.map(({ headers }) => headers['if-none-match'])).toEqual([condition]);
    }
    expect(gateway.takeWrites()).toEqual([]);
  });

  it.each<[string, number, string[]]>([
    ['dcatus.json', 7, []],
    ['dcatus_same_title.json', 2, []],
    ['dcatus_long_description.json', 1, []],
    ['dcatus3_0_with_services.json', 3, []],
    ['dcatus3_0.json', 4, []],
    ['missing_title.json', 0, ['entry 1 "null-spatial"']],
    ['dcatus_no_identifier.json', 0, ['entry 1 "Commitment of Traders"']],
    [
      'dcatus_multiple_invalid.json',
      1,
      ['entry 1 "https://www.arcgis.com/home/item.html?id=99731bb0369848169d98f31ce83fb0e2"'],
    ],
  ])('%s: %d sound datasets are published, exactly the faulty ones are told', async (name, sound, faulty) => {
    const manifest = place.manifest({
      name: name.replace('.json', '').replaceAll('_', '-'),
      catalogue: join(folder, name),
    });
    const { code, report } = await place.publish(manifest);
    expect([code, report.counts.dataset.done ?? 0]).toEqual([faulty.length > 0 ? 3 : 0, sound]);
    const told = report.items.flatMap(({ reason }) =>
      reason ? [reason.message.slice(0, reason.message.indexOf(' (line'))] : [],
    );
    expect(told).toEqual(faulty);
    const rows = (await reader.list()).map(({ uuid }) => uuid);
    expect(report.items.filter(({ reason, uuid }) => !reason && !rows.includes(uuid))).toEqual([]);
  });

  it('that keep an identifier under the same title change that one dataset', async () => {
    const manifest = place.manifest({ name: 'steps', catalogue: join(folder, 'dcatus_same_title.json') });
    const first = (await place.publish(manifest)).report;
    place.manifest({ name: 'steps', catalogue: join(folder, 'dcatus_same_title_step_2.json') });
    const { report } = await place.publish(manifest);
    expect(report.items.filter(({ actions }) => actions.length > 0).map(({ key, actions }) => [key, actions])).toEqual([
      ['steps/cftc-dc2', ['updated']],
    ]);
    expect(report.items.map(({ nid }) => nid)).toEqual(first.items.map(({ nid }) => nid));
  });
});

/** A node as far as this suite reads it. */
interface Node {
  title: string;
  field_additional_info: { und: { first: string; second: string }[] };
  field_resources: { und?: { target_id: string }[] };
  field_link_api: { und?: { url: string }[] };
  body: { und?: { value: string }[] };
}

const shown = ({ title, field_link_api: link, body }: Node): string =>
  `${title} ${link.und?.[0]?.url ?? body.und?.[0]?.value.replace('Address: ', '')}`;

const wanted = ({ title, downloadURL, accessURL }: Distribution): string =>
  `${title?.trim()} ${downloadURL ?? accessURL}`;
