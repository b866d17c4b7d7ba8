// Which changes of a node count as somebody else's.
import { expect, it } from 'vitest';
import { driftedFields } from '../../src/handlers/drift.ts';
import { newEntry } from '../../src/ledger/entry.ts';
import type { PortalNode } from '../../src/portal/client.ts';

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
  expect(driftedFields(entry, sent, node({ log: `sluice ${key} 0123456789ab` }))).toEqual([]);
});
