// What is done about a node that is on the portal, and why.
import { describe, expect, it } from 'vitest';
import { shownField } from '../../../src/dataset-api/compare.ts';
import { type LedgerEntry, newEntry } from '../../../src/model/ledger-entry.ts';
import {
  changesOf,
  decideUpdate,
  editedFields,
  type NodeFacts,
  type NodeWish,
  sentOf,
  type UpdateDecision,
} from '../../../src/pipeline/compare/node.ts';
import type { PortalNode } from '../../../src/portal-client/client.ts';

const key = 'city/budget';
const text = (value: string) => ({ und: [{ value }] });
const wish: NodeWish = {
  key,
  type: 'dataset',
  uuid: 'u',
  title: 'New',
  published: true,
  fields: { body: text('new') },
  fingerprint: 'f'.repeat(64),
};
const sent = { title: 'Old', published: true, fields: { body: text('old') } };
const entry: LedgerEntry = {
  ...newEntry({ key, kind: 'dataset', uuid: 'u', title: 'Old' }),
  nid: '7',
  vid: '1',
  fieldNames: ['body'],
  metadataFingerprint: 'e'.repeat(64),
};
const node = (more: Record<string, unknown> = {}): PortalNode =>
  ({
    ...{ nid: '7', vid: '1', uuid: 'u', type: 'dataset', title: 'Old', status: '1', log: '', changed: '0' },
    body: text('old'),
    ...more,
  }) as unknown as PortalNode; // as read

const asWanted = node({ title: 'New', body: text('new') });
const edited = node({ vid: '2', title: 'By hand' });
const facts: NodeFacts = { entry, node: node(), sent, onDrift: 'overwrite', lacksTerms: false, also: null };
const list = { field_resources: { und: [{ target_id: '9' }] } };

describe('an update', () => {
  it.each<[string, Partial<NodeFacts>, Partial<UpdateDecision>]>([
    ['of a node that holds all', { node: asWanted }, { do: 'nothing', why: 'node 7 already has the metadata' }],
    ['of one that differs', {}, { do: 'send', why: 'node 7 differs in title, body', kept: [], sendsMetadata: true }],
    ['of one whose list alone differs', { node: asWanted, also: list }, { do: 'send', sendsMetadata: false }],
    [
      'of one that holds a field which is wanted no more',
      { node: asWanted, entry: { ...entry, fieldNames: ['body', 'field_author'] } },
      { do: 'nothing' },
    ],
    [
      'of one that still shows such a field',
      {
        node: node({ title: 'New', body: text('new'), field_author: text('me') }),
        entry: { ...entry, fieldNames: ['body', 'field_author'] },
      },
      { do: 'send', why: 'node 7 differs in field_author', emptied: ['field_author'] },
    ],
    ['of one whose terms may be others', { node: asWanted, lacksTerms: true }, { do: 'send', sendsMetadata: true }],
    [
      'of one with a known difference',
      {
        node: node({ title: 'New', body: text('cut') }),
        entry: { ...entry, notHeld: { body: shownField(node({ body: text('cut') }), 'body') } },
      },
      { do: 'nothing' },
    ],
    [
      'of one that was edited, where edits are overwritten',
      { node: edited },
      { do: 'send', kept: [], why: expect.stringMatching(/edited on the portal.*\(title\): overwriting them/) },
    ],
    [
      'of one that was edited, where edits hold it',
      { node: edited, onDrift: 'hold' },
      { do: 'hold', fields: ['title'] },
    ],
    [
      'of one that was edited in one of two fields, where edits stay',
      { node: edited, onDrift: 'keep' },
      { do: 'send', kept: ['title'], why: expect.stringContaining('left as they are') },
    ],
    [
      'of one that differs by edits alone, where edits stay',
      { node: node({ vid: '2', title: 'By hand', body: text('new') }), onDrift: 'keep' },
      { do: 'keep', kept: ['title'] },
    ],
    [
      'of one whose edit the wish agrees with',
      { node: node({ ...asWanted, vid: '2' }), onDrift: 'hold' },
      { do: 'nothing' },
    ],
    [
      'of one that was removed, and is wanted again',
      { node: node({ vid: '2', status: '0' }), entry: { ...entry, removed: 'orphan' }, onDrift: 'hold' },
      { do: 'send' },
    ],
    ['of one of which nothing is known', { node: edited, sent: null, onDrift: 'hold' }, { do: 'send' }],
  ])('%s', (_what, more, expected) => {
    expect(decideUpdate(wish, { ...facts, ...more })).toMatchObject(expected);
  });

  const send: Extract<UpdateDecision, { do: 'send' }> = {
    do: 'send',
    why: '',
    kept: [],
    emptied: [],
    sendsMetadata: true,
  };

  it.each<[string, Partial<NodeFacts>, Partial<Extract<UpdateDecision, { do: 'send' }>>, object]>([
    ['everything', {}, {}, { title: 'New', status: 1, fields: { body: text('new') } }],
    ['only the list', { also: list }, { sendsMetadata: false }, { fields: list }],
    ['not what stays as edited', {}, { kept: ['title', 'body'] }, { status: 1, fields: {} }],
    [
      'fields that are emptied',
      {},
      { emptied: ['field_author'], sendsMetadata: false },
      { fields: { field_author: [] } },
    ],
    [
      'that it is no orphan any more',
      { entry: { ...entry, removed: 'orphan' } },
      { sendsMetadata: false },
      { fields: { field_orphan: { und: [{ value: '0' }] } } },
    ],
  ])('sends %s', (_what, more, decision, expected) => {
    expect(changesOf(wish, { ...facts, ...more }, { ...send, ...decision }, wish.fields)).toEqual(expected);
  });

  it('counts as sent, but for what stays as edited: that was sent before', () => {
    const { title, published, fields } = wish;
    expect(sentOf(wish)).toEqual({ title, published, fields });
    expect(sentOf(wish, ['title'], sent)).toEqual({ title: 'Old', published, fields, kept: ['title'] });
    expect(sentOf(wish, ['body'], sent)).toEqual({ title, published, fields: sent.fields, kept: ['body'] });
  });
});

it('terms that the wish changed since, to as many as the portal holds, are taken over', () => {
  const tagged = (...names: string[]) => ({ field_tags: { und: names.map((name) => ({ tid: 'autocreate', name })) } });
  const known = { ...entry, title: 'old', baseline: { field_tags: '4' } };
  const now = node({ vid: '2', title: 'new', field_tags: { und: [{ tid: '4' }, { tid: '9' }] } });
  const parts = {
    entry: known,
    sent: { ...sent, title: 'new', fields: tagged('a') },
    node: now,
    onDrift: 'hold' as const,
    ...{ lacksTerms: false, also: null },
  };
  expect(editedFields({ ...wish, title: 'new', fields: tagged('a') }, parts)).toEqual(['field_tags']);
  expect(editedFields({ ...wish, title: 'new', fields: tagged('a', 'b') }, parts)).toEqual([]);
  expect(editedFields({ ...wish, title: 'new', fields: tagged('a', 'b', 'c') }, parts)).toEqual(['field_tags']);
});
