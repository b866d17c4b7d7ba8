// The catalogues of an export: valid, and harvested into an empty portal they are the datasets that they were made of.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { defined } from '../../src/util/json.ts';
import { cases, sampled } from '../support/extent.ts';
import { startTestPortal } from '../support/portal.ts';
import { type CkanDataset, openCkan } from './support/ckan.ts';
import { generatePortal } from './support/generated-portal.ts';
import { makePlace, type Place, withReport } from './support/place.ts';
import { isCatalogue, isDcatUs3 } from './support/published-schemas.ts';
import { remoteConfig, writePassword } from './support/server.ts';

type Node = Record<string, unknown>;

const size = cases({ datasets: 24, resources: 50 }, { datasets: 14, resources: 30 });
const source = await (await generatePortal(size)).serve('dkan-7.18');
const targets = {
  'catalogue.json': await startTestPortal({ profile: 'dkan-7.18', races: false }),
  'dcat-us-3.json': await startTestPortal({ profile: 'dkan-7.18', races: false }),
  'dcat-ap.jsonld': await startTestPortal({ profile: 'dkan-7.18', races: false }),
};
const files = Object.keys(targets) as (keyof typeof targets)[];
const portalOf = (url: string) => remoteConfig(url, { username: 'admin' }).portals.local;
const place: Place = makePlace({
  portals: {
    source: portalOf(source.url),
    ...Object.fromEntries(files.map((file) => [file.replace(/\..*/, ''), portalOf(targets[file].url)])),
  },
  jobs: {},
  sources: { allow: ['127.0.0.1'], requestsPerSecond: 0 },
});
writePassword(place.dir, 'pass');
const jsonIn = <T>(name: string): T => JSON.parse(readFileSync(join(place.dir, 'out', name), 'utf8'));

/** What a field says, without what each portal computes itself. */
const itemsOf = (node: Node, field: string, ...keys: string[]): unknown[] =>
  ((node[field] as { und?: Node[] } | undefined)?.und ?? []).map((item) => keys.map((key) => item[key] ?? null));

const comparedFields = (node: Node) => ({
  title: node.title,
  body: itemsOf(node, 'body', 'value'),
  frequency: itemsOf(node, 'field_frequency', 'value'),
  contact: [itemsOf(node, 'field_contact_name', 'value'), itemsOf(node, 'field_contact_email', 'value')],
  access: itemsOf(node, 'field_public_access_level', 'value'),
  rights: itemsOf(node, 'field_rights', 'value'),
  license: itemsOf(node, 'field_license', 'value'),
  area: [itemsOf(node, 'field_spatial', 'wkt'), itemsOf(node, 'field_spatial_geographical_cover', 'value')],
  temporal: itemsOf(node, 'field_temporal_coverage', 'value', 'value2'),
  language: itemsOf(node, 'field_language', 'value'),
  conformsTo: itemsOf(node, 'field_conforms_to', 'url'),
  isPartOf: itemsOf(node, 'field_is_part_of', 'value'),
  related: itemsOf(node, 'field_related_content', 'url', 'title'),
  dictionary: [itemsOf(node, 'field_data_dictionary', 'value'), itemsOf(node, 'field_data_dictionary_type', 'value')],
});
type Compared = ReturnType<typeof comparedFields>;

/** What a catalogue cannot hold of a dataset, as `findings.json` says. */
const without = (lacks: string, fields: Compared): Compared => ({
  ...fields,
  access: fields.access.length === 0 ? [['public']] : fields.access,
  ...(/license/.test(lacks) && { license: [['notspecified']] }), // what portals fill in
  ...(/spatial\.label/.test(lacks) && { area: [fields.area[0] ?? [], []] }),
  ...(/titles/.test(lacks) && {
    related: fields.related.map((item) => [(item as string[])[0], (item as string[])[0]]),
  }),
  ...(/dataDictionary/.test(lacks) && { dictionary: [[], []] }),
  ...(/field_contact_email/.test(lacks) && {
    // DCAT-US wants an address in any case.
    contact: [fields.contact[0] ?? [], lacks.includes('dcat-ap') ? [] : [['unknown@example.org']]],
  }),
});

describe('catalogues of an export', () => {
  beforeAll(async () => {
    expect(await place.run(['export', 'source', '-o', 'out'])).toMatchObject({ code: 0 });
  });

  it('are valid', () => {
    const [us1, us3] = [jsonIn('catalogue.json'), jsonIn('dcat-us-3.json')];
    expect({ isValid: isCatalogue(us1), errors: isCatalogue.errors }).toEqual({ isValid: true, errors: null });
    expect({ isValid: isDcatUs3(us3), errors: isDcatUs3.errors }).toEqual({ isValid: true, errors: null });
  });

  it('have size and checksum of every file that is here', async () => {
    type Files = { dataset: { distribution?: { downloadURL?: string; byteSize?: string; checksum?: unknown }[] }[] };
    const all = jsonIn<Files>('dcat-us-3.json').dataset.flatMap(({ distribution = [] }) => distribution);
    const [own] = all.filter(({ downloadURL }) => downloadURL !== undefined);
    const bytes = Buffer.from(await (await fetch(own?.downloadURL ?? '')).arrayBuffer());
    expect(own).toMatchObject({
      byteSize: String(bytes.length),
      checksum: { '@type': 'Checksum', algorithm: 'sha256', checksumValue: hash('sha256', bytes) },
    });
  });

  it.each(sampled(files, 2))('%s is the same datasets in an empty portal', async (file) => {
    const catalogue = { from: `${place.dir}/out/${file}`, files: 'link' };
    const manifest = place.manifest({ name: file.replace(/\..*/, ''), portal: file.replace(/\..*/, ''), catalogue });
    const { code, report } = withReport(await place.run(['publish', manifest, '--json']));
    expect([code, report.items.flatMap(({ reason }) => reason ?? [])]).toEqual([0, []]);

    const admin = await targets[file].as('admin');
    const found = new Map<unknown, Node>();
    for (const { nid } of report.items.filter(({ kind }) => kind === 'dataset')) {
      const node: Node = await admin.read(nid ?? '');
      const [, identifier] = itemsOf(node, 'field_additional_info', 'first', 'second').find(
        (pair) => (pair as string[])[0] === 'Identifier',
      ) as string[];
      found.set(identifier, node);
    }
    const lacks = jsonIn<{ code: string; dataset: string; message: string }[]>('findings.json').filter(
      ({ code: each }) => each === 'catalogue-lacks',
    );
    let compared = 0;
    for (const folder of await readdir(join(place.dir, 'out', 'datasets'))) {
      const { sluice } = jsonIn<{ sluice: { node: Node } }>(`datasets/${folder}/datapackage.json`);
      if (sluice.node.status !== '1') continue;
      const [what = ''] = lacks.filter(({ dataset }) => dataset === folder).map(({ message }) => message);
      const own = what.split('; ').find((part) => part.includes(`${file} lacks`)) ?? '';
      expect({ folder, ...comparedFields(found.get(sluice.node.uuid) ?? {}) }).toEqual({
        folder,
        ...without(own, comparedFields(sluice.node)),
      });
      compared += 1;
    }
    expect(compared).toBe(found.size);
  });

  it('load into CKAN with all files, twice without doubles', async () => {
    const ckan = await openCkan();
    const lines = readFileSync(join(place.dir, 'out', 'ckan-batch.jsonl'), 'utf8')
      .trimEnd()
      .split('\n');
    const load = async (): Promise<string[]> => {
      const replies: string[] = [];
      for (const line of lines) replies.push(await sent(ckan.url, JSON.parse(line)));
      return replies.filter((reply) => reply !== '');
    };
    expect(await load()).toEqual([]);
    const first = structuredClone([...ckan.datasets.values()]);
    expect([first.length, ckan.uploads.size]).toEqual([
      size.datasets,
      lines.filter((line) => line.includes('"upload"')).length,
    ]);
    // Again: what is there is not created, and files are the same.
    expect((await load()).every((each) => /already|exists/.test(each))).toBe(true);
    expect([...ckan.datasets.values()]).toEqual(first);

    for (const folder of await readdir(join(place.dir, 'out', 'datasets'))) {
      type Stored = { name: string; node: Node; file: { path: string; sha256: string } | null };
      const { sluice } = jsonIn<{ sluice: { node: Node; groups: Record<string, string>; resources: Stored[] } }>(
        `datasets/${folder}/datapackage.json`,
      );
      const held = ckan.datasets.get(String(sluice.node.uuid));
      expect(inCkan(held)).toMatchObject(defined(wantedOf(sluice.node)));
      expect([held?.private, ckan.organizations.get(String(held?.owner_org))?.title]).toEqual([
        sluice.node.status !== '1',
        Object.values(sluice.groups)[0] ?? 'source',
      ]);
      const open = sluice.resources.filter(({ node }) => node.status === '1');
      expect(held?.resources.map(({ id, name }) => [id, name])).toEqual(
        open.map(({ node }) => [node.uuid, node.title]),
      );
      for (const { node, file } of open) {
        const upload = ckan.uploads.get(String(node.uuid));
        expect(upload && hash('sha256', upload.content)).toBe(file?.sha256);
      }
    }
    ckan.close();
  });
});

type Action = { action: string; data: Record<string, unknown>; files?: { upload: string } };

/** Sends an action as ckanapi does; what CKAN has against it, '' for nothing. */
const sent = async (url: string, { action, data, files }: Action): Promise<string> => {
  const form = new FormData();
  for (const [key, value] of Object.entries(files ? data : {})) form.set(key, String(value));
  if (files) form.set('upload', new Blob([readFileSync(join(place.dir, 'out', files.upload))]), files.upload);
  const headers: Record<string, string> = files ? {} : { 'content-type': 'application/json' };
  const body = files ? form : JSON.stringify(data);
  const reply = await fetch(`${url}/api/action/${action}`, { method: 'POST', body, headers });
  return reply.ok ? '' : `${action}: ${await reply.text()}`;
};

const firstOf = (node: Node, field: string, key = 'value'): unknown => (itemsOf(node, field, key)[0] as unknown[])?.[0];

/** What CKAN is to hold of a dataset: what it has no place for under `extras`. */
const wantedOf = (node: Node) => ({
  title: node.title,
  notes: firstOf(node, 'body'),
  author: firstOf(node, 'field_author'),
  maintainer: firstOf(node, 'field_contact_name'),
  license_id: firstOf(node, 'field_license'),
  url: firstOf(node, 'field_landing_page', 'url'),
  tags: itemsOf(node, 'field_tags', 'tid').length,
  frequency: firstOf(node, 'field_frequency'),
  rights: firstOf(node, 'field_rights'),
  spatial_wkt: firstOf(node, 'field_spatial', 'wkt'),
  spatial_text: firstOf(node, 'field_spatial_geographical_cover'),
  granularity: firstOf(node, 'field_granularity'),
  is_part_of: firstOf(node, 'field_is_part_of'),
  conforms_to: firstOf(node, 'field_conforms_to', 'url'),
  data_dictionary: firstOf(node, 'field_data_dictionary'),
  ...Object.fromEntries(itemsOf(node, 'field_additional_info', 'first', 'second') as [string, string][]),
});

const inCkan = ({ extras = [], tags = [], ...dataset }: Partial<CkanDataset> = {}) => {
  const more = Object.fromEntries(extras.map(({ key, value }) => [key, value]));
  const odd = JSON.parse(String(more.tags_of_portal ?? '[]')) as unknown[];
  return { ...dataset, ...more, tags: tags.length + odd.length };
};
