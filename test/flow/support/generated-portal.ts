// A portal full of everything that the API has, made through its own calls, and served under any profile.
import type { ProfileName } from '../../../src/embedded-portal/portal.ts';
import { type Caller, startTestPortal, type TestPortal } from '../../support/portal.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { addOddNodes, damage } from './odd-nodes.ts';

/** How much is generated. */
export interface Generated {
  datasets: number;
  /** Resources of them all. */
  resources: number;
  /** The profile it is filled under. */
  profile?: ProfileName;
  /** With the odd nodes of real portals beside them. */
  isOdd?: boolean;
}

/** A store that was filled; `serve` opens it under a profile, instead of the previous one. */
export interface FilledStore {
  serve(profile: ProfileName): Promise<TestPortal>;
}

const und = (...items: Record<string, unknown>[]) => ({ und: items });
const value = (...texts: string[]) => und(...texts.map((text) => ({ value: text })));
const tag = (name: string, vid = '2') => ({ tid: 'autocreate', name, vid, vocabulary_machine_name: 'tags' });

/** Everything that a dataset may say; what `index` decides differs from one to the next. */
const datasetBody = (index: number, groups: string[]): Record<string, unknown> => ({
  type: 'dataset',
  title: index % 29 === 7 ? 'The same title' : `Dataset ${index}: Straßen & "Plätze"`,
  status: index % 17 === 5 ? 0 : 1,
  uid: '1',
  log: `made as number ${index}`,
  body: und({
    value: `**Number** ${index}\nin two lines`,
    ...(index % 3 === 0 ? { summary: 'short' } : {}),
    format: index % 4 === 0 ? 'plain_text' : 'html',
  }),
  field_license: value(['cc-by', 'odc-odbl', 'other-closed', 'notspecified'][index % 4] ?? ''),
  ...(index % 2 === 0 ? { field_frequency: value('R/P1M') } : {}),
  ...(index % 5 === 0 ? { field_public_access_level: value('restricted'), field_rights: value('asked for') } : {}),
  field_contact_name: value('Data office'),
  field_contact_email: value(index % 7 === 0 ? 'not a mail' : 'data@example.org'),
  field_author: value(`Author ${index % 3}`),
  ...(index % 3 === 0
    ? { field_spatial: und({ wkt: 'POINT (13.4 52.5)' }), field_spatial_geographical_cover: value('City') }
    : {}),
  ...(index % 4 === 1
    ? { field_temporal_coverage: und({ value: '2025-01-01 00:00:00', value2: '2025-12-31 00:00:00' }) }
    : {}),
  ...(index % 6 === 0 ? { field_granularity: value('Street'), field_language: value('en', 'de') } : {}),
  ...(index % 2 === 0 ? { og_group_ref: und({ target_id: groups[index % 4 === 0 ? 0 : 1] }) } : {}),
  ...(index % 5 === 1 ? { field_landing_page: und({ url: `https://example.org/${index}` }) } : {}),
  ...(index % 5 === 2
    ? { field_additional_info: und({ first: 'Source', second: 'Ledger' }, { first: '2', second: 'two' }) }
    : {}),
  ...(index % 5 === 3 ? { field_related_content: und({ url: 'https://example.org/r', title: 'Related' }) } : {}),
  ...(index % 5 === 4
    ? { field_data_dictionary: value('https://example.org/columns.csv'), field_data_dictionary_type: value('text/csv') }
    : {}),
  ...(index % 8 === 0
    ? { field_is_part_of: value('City finances'), field_conforms_to: und({ url: 'https://example.org/std' }) }
    : {}),
});

/** What each kind of resource has; the kinds take turns. */
const kinds = ['table', 'link', 'table', 'document', 'unimported', 'link', 'workbook'] as const;

const tableOf = (index: number): string => `id,what,where\n1,row ${index},here\n2,"a, b",there\n3,äöü,"line\nbreak"\n`;

/** Fills a new store. */
export const generatePortal = async ({
  datasets,
  resources,
  profile = 'dkan-7.18',
  isOdd = false,
}: Generated): Promise<FilledStore> => {
  const dataDir = tempDir();
  const portal = await startTestPortal({ dataDir, profile });
  const admin = await portal.as('admin');
  await fill(admin, { datasets, resources });
  const odd = isOdd ? await addOddNodes(admin) : null;
  if (odd) {
    await portal.server.close();
    damage(dataDir, odd);
  }
  let served = portal;
  return {
    serve: async (under) => {
      await served.server.close();
      served = await startTestPortal({ dataDir, profile: under });
      return served;
    },
  };
};

const fill = async (admin: Caller, { datasets, resources }: Generated): Promise<void> => {
  const groups = [
    await admin.create({ type: 'group', title: 'Parks Department' }),
    await admin.create({ type: 'group', title: 'Water, Works & Roads' }),
  ];
  const tids = await termsFor(admin);
  const nids: string[] = [];
  for (let index = 0; index < datasets; index++) {
    const tags = [tids[index % tids.length], tids[(index + 1) % tids.length]].map((tid) => ({ tid }));
    nids.push(
      await admin.create({ ...datasetBody(index, groups), ...(index % 3 === 2 ? {} : { field_tags: und(...tags) }) }),
    );
  }
  for (let index = 0; index < resources; index++) {
    // Some datasets have none.
    const parent = nids[(index * 7) % Math.max(1, Math.floor(datasets * 0.9))] ?? '';
    await addResource(admin, index, parent);
  }
};

const addResource = async (admin: Caller, index: number, parent: string): Promise<void> => {
  const kind = kinds[index % kinds.length];
  const nid = await admin.create({
    type: 'resource',
    title: `Resource ${index}`,
    status: index % 23 === 3 ? 0 : 1,
    uid: '1',
    body: und({ value: `About ${index}`, format: 'html' }),
    field_dataset_ref: und({ target_id: parent }),
    ...(kind === 'link' ? { field_link_api: und({ url: `https://example.org/api/${index}?a=1&b=2` }) } : {}),
  });
  if (kind === 'table' || kind === 'unimported') {
    await attach(admin, nid, { name: `Tabelle ${index % 50}.csv`, content: tableOf(index) });
    if (kind === 'table') await admin.send('POST', `/api/dataset/datastore/${nid}/import`);
  }
  if (kind === 'document') await attach(admin, nid, { name: `paper-${index}.pdf`, content: `%PDF-1.4 ${index}` });
  if (kind === 'workbook') await attach(admin, nid, { name: `places-${index}.json`, content: `{"index": ${index}}` });
};

const attach = async (admin: Caller, nid: string, file: { name: string; content: string }): Promise<void> => {
  const reply = await admin.attach(nid, file);
  if (reply.status !== 200) throw new Error(`attach: ${reply.status} ${reply.text}`);
};

/** Tags that datasets take by number; they are made by one that is removed again. */
const termsFor = async (admin: Caller): Promise<string[]> => {
  const tags = ['harbour', 'Öffentlicher Raum', 'budget', 'with, comma'].map((name) => tag(name));
  const nid = await admin.create({ type: 'dataset', title: 'Terms', uid: '1', field_tags: und(...tags) });
  const node = await admin.read(nid);
  const { und: items } = node.field_tags as { und: { tid: string }[] };
  await admin.send('DELETE', `/api/dataset/node/${nid}`, { headers: { 'content-type': 'application/json' } });
  return items.map(({ tid }) => tid);
};
