import { expect, it } from 'vitest';
import { datasetWish } from '../../../src/sources/gather/dataset-wish.ts';
import type { DatasetSpec } from '../../../src/sources/manifest/schema.ts';

const half = `${'x'.repeat(20)}\ud83d`;
const spec = (end: string): DatasetSpec => ({
  id: 'd',
  title: `T${end}`,
  details: {
    description: `B${end}`,
    tags: [`tag${end}`],
    contact: { name: `N${end}`, email: 'a@example.org' },
    additionalInfo: { [`k${end}`]: `v${end}` },
  },
  resources: [
    {
      id: 'r',
      title: `R${end}`,
      source: { kind: 'link', url: 'https://example.org/' },
      details: { description: `D${end}`, format: `f${end}` },
    },
  ],
});

it('text that is cut inside a character is well-formed in a wish, and the same at every run', () => {
  const wish = datasetWish({ name: 'm' }, spec(half));
  expect(JSON.stringify(wish)).not.toMatch(/\\ud[89a-f]/i); // how lone surrogates are written
  expect(JSON.parse(Buffer.from(JSON.stringify(wish)).toString())).toEqual(wish);
  expect(wish).toEqual(datasetWish({ name: 'm' }, spec(half.toWellFormed())));
  expect(wish.title).toBe(`T${'x'.repeat(20)}\ufffd`);
});
