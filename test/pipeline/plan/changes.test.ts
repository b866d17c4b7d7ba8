// An update, field by field.
import { expect, it } from 'vitest';
import { nodeChanges } from '../../../src/pipeline/plan/plan.ts';

const text = (value: string) => ({ und: [{ value }] });
const sent = { title: 'Old', published: true, fields: { body: text('x'), field_license: text('cc-by') } };

it('nothing changed: no change', () => {
  expect(nodeChanges(sent, sent)).toEqual([]);
});

it('title, status and fields are told plainly, also those that leave', () => {
  const wish = {
    title: 'New',
    published: false,
    fields: { body: text('y'), field_tags: { und: [{ name: 'a' }, { name: 'b' }] } },
  };
  expect(nodeChanges(sent, wish)).toEqual([
    { field: 'title', from: 'Old', to: 'New' },
    { field: 'status', from: 1, to: 0 },
    { field: 'body', from: 'x', to: 'y' },
    { field: 'field_license', from: 'cc-by', to: null },
    { field: 'field_tags', from: null, to: ['a', 'b'] },
  ]);
});

it('where nobody knows what was sent, the wish is told whole, without a former value', () => {
  expect(nodeChanges(null, { title: 'New', published: true, fields: { body: text('y') } })).toEqual([
    { field: 'title', to: 'New' },
    { field: 'body', to: 'y' },
  ]);
});

it('the reference to the dataset is ours alone and no change', () => {
  const field_dataset_ref = { und: [{ target_id: '7' }] };
  expect(nodeChanges({ ...sent, fields: { ...sent.fields, field_dataset_ref } }, sent)).toEqual([]);
});
