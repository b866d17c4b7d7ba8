// Which changes of a node count as somebody else's, and the list of a dataset's resources.
import { expect, it } from 'vitest';
import { newEntry } from '../../../src/model/ledger-entry.ts';
import { driftedFields, holdsLinks, linkedNids, linksField } from '../../../src/pipeline/compare/node.ts';
import type { PortalNode } from '../../../src/portal-client/client.ts';

const key = 'city/budget';
const entry = { ...newEntry({ key, kind: 'dataset', uuid: 'u', title: 'old' }), nid: '7', vid: '1' };
const sent = { title: 'old', published: true, fields: {} };
const node = (more: Partial<PortalNode>): PortalNode =>
  ({
    nid: '7',
    vid: '2',
    uuid: 'u',
    type: 'dataset',
    title: 'new',
    status: '1',
    log: '',
    changed: '0',
    ...more,
  }) as PortalNode; // as read

it('an edit on the portal is drift', () => {
  expect(driftedFields(entry, sent, node({}))).toEqual(['title']);
  expect(driftedFields(entry, sent, node({ log: 'sluice city/budget-2 123' }))).toEqual(['title']);
});

it('a revision of our own that the ledger never heard of is none: its reply was lost, or Redis lost its last second', () => {
  expect(driftedFields(entry, sent, node({ log: `sluice ${key} 0123456789ab 0a1b2c3d` }))).toEqual([]);
});

it('an edited, an added or a removed term is drift, although a term is sent by name and read by number', () => {
  const tags = {
    field_tags: {
      und: [
        { tid: 'autocreate', name: 'a' },
        { tid: 'autocreate', name: 'b' },
      ],
    },
  };
  const known = { ...entry, baseline: { field_tags: '4,5' } };
  const ours = { ...sent, title: 'new', fields: tags };
  const holding = (...tids: number[]) => node({ field_tags: { und: tids.map((tid) => ({ tid: String(tid) })) } });
  expect(driftedFields(known, ours, holding(5, 4))).toEqual([]);
  for (const edited of [holding(4, 6), holding(4, 5, 6), holding(4)]) {
    expect(driftedFields(known, ours, edited)).toEqual(['field_tags']);
  }
  // Nobody looked when it was proven: then nothing is known.
  expect(driftedFields({ ...known, baseline: null }, ours, holding(4, 6))).toEqual([]);
});

it('an item added to a field of ours is drift, where the portal did not hold it when it was proven', () => {
  const ours = { ...sent, title: 'new', fields: { field_link: { und: [{ url: 'https://a.example' }] } } };
  const links = (...urls: string[]) => node({ field_link: { und: urls.map((url) => ({ url })) } });
  const both = links('https://a.example', 'https://b.example');
  expect(driftedFields({ ...entry, baseline: {} }, ours, links('https://a.example'))).toEqual([]);
  expect(driftedFields({ ...entry, baseline: {} }, ours, both)).toEqual(['field_link']);
  expect(driftedFields({ ...entry, baseline: { field_link: '2 items' } }, ours, both)).toEqual([]);
});

const listing = (field_resources: unknown) => ({ field_resources }) as unknown as PortalNode; // as read

it('the ids of a list are read as text, in order', () => {
  expect(linkedNids(listing({ und: [{ target_id: '7' }, { target_id: 5 }, { other: 1 }] }))).toEqual(['7', '5']);
  expect(linkedNids(listing([]))).toEqual([]);
  expect(linkedNids(listing(undefined))).toEqual([]);
});

it.each([
  [['1', '2'], ['1', '2'], true],
  [['1', '9', '2', '8'], ['1', '2'], true],
  [['1', '2', '1'], ['1', '2'], true],
  [['9'], [], true],
  [[], [], true],
  [['2', '1'], ['1', '2'], false],
  [['2', '1', '2'], ['1', '2'], false],
  [['1'], ['1', '2'], false],
  [[], ['1'], false],
])('a list of %j holds %j: %j', (held, ours, expected) => {
  expect(holdsLinks(held, ours)).toBe(expected);
});

it('what is written is ours in order, then what others linked, each once', () => {
  const ids = (held: string[], ours: string[]) => linkedNids(listing(linksField(held, ours).field_resources));
  expect(ids(['9', '2', '8', '1'], ['1', '2', '3'])).toEqual(['1', '2', '3', '9', '8']);
  expect(ids([], ['1'])).toEqual(['1']);
  expect(ids(['9'], [])).toEqual(['9']);
  expect(holdsLinks(ids(['3', '9', '1'], ['1', '2', '3']), ['1', '2', '3'])).toBe(true);
});
