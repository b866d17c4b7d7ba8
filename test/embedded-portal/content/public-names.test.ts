import { expect, it } from 'vitest';
import { aliasOf, slugOf } from '../../../src/embedded-portal/content/public-names.ts';

it.each([
  ['Wisconsin Polling Places', 'wisconsin-polling-places'],
  ['Minimal dataset of a creator', 'minimal-dataset-creator'],
  ['With uid', 'uid'],
  ['of the', 'of-the'],
  ['Grüße 数据 é', 'grüße-数据-é'],
  ['<script>alert(1)</script> & "q"', 'alert1-q'],
  ['', ''],
  ['???', ''],
])('the slug of "%s" is "%s"', (title, slug) => {
  expect(slugOf(title)).toBe(slug);
});

it('a slug is cut between words at 100 characters', () => {
  const slug = slugOf(Array.from({ length: 40 }, (_, index) => `word${index}`).join(' '));
  expect(slug.length).toBeLessThanOrEqual(100);
  expect(slug).toMatch(/word\d+$/);
});

it('a taken alias gets a number', () => {
  const taken = new Set(['dataset/x', 'dataset/x-0']);
  const node = { type: 'dataset', title: 'X', uuid: 'u' };
  expect(aliasOf(node, { parentTitle: null, isTaken: (alias) => taken.has(alias) })).toBe('dataset/x-1');
});

it('a resource has its uuid in the alias, below its dataset where it has one', () => {
  const node = { type: 'resource', title: 'Table', uuid: 'u' };
  const isTaken = () => false;
  expect(aliasOf(node, { parentTitle: null, isTaken })).toBe('dataset/resource/u');
  expect(aliasOf(node, { parentTitle: 'City budget', isTaken })).toBe('dataset/city-budget/resource/u');
});
