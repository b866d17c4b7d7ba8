import { describe, expect, it } from 'vitest';
import { nearest } from '../../../src/model/yaml/nearest.ts';

const known = ['title', 'tags', 'license', 'landingPage', 'resources', 'description', 'link', 'file'];

describe('the nearest known word', () => {
  it.each([
    ['titel', 'title'],
    ['licence', 'license'],
    ['landing-page', 'landingPage'],
    ['Landing_Page', 'landingPage'],
    ['keywords', 'tags'],
    ['resource', 'resources'],
    ['desciption', 'description'],
    ['url', 'link'],
  ])('%s means %s', (word, meant) => {
    expect(nearest(word, known)).toBe(meant);
  });

  it.each(['zebra', 'x', 'publisher', ''])('%j means none', (word) => {
    expect(nearest(word, known)).toBeUndefined();
  });
});
