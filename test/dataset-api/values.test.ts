import { describe, expect, it } from 'vitest';
import {
  formFrequency,
  frequencies,
  frequencyCode,
  licenseAddress,
  licenseCode,
  licenses,
} from '../../src/dataset-api/values.ts';

describe('frequencies', () => {
  it.each([
    ['annually', 'R/P1Y'],
    ['Yearly', 'R/P1Y'],
    ['R/P1Y', 'R/P1Y'],
    ['daily', 'R/P1D'],
    ['irregular', 'irregular'],
    ['twice a month', 'R/P0.5M'],
    ['three times a year', 'R/P4M'],
  ])('%s is the code %s', (text, code) => {
    expect(frequencyCode(text)).toBe(code);
  });

  it('an unknown frequency has no code', () => {
    expect(frequencyCode('sometimes')).toBeUndefined();
    expect(frequencyCode('r/p1y')).toBeUndefined();
  });

  it('form portals get their integers, and none for what their form lacks', () => {
    expect(formFrequency('R/P1Y')).toBe(3);
    expect(formFrequency('R/P1D')).toBe(0);
    expect(formFrequency('R/PT1H')).toBeNull();
    expect(formFrequency('nonsense')).toBeNull();
  });

  it('every integer of the form, 0 to 18, has a code, and no word has two', () => {
    const integers = new Set(frequencies.flatMap(({ form }) => form ?? []));
    expect([...integers].sort((a, b) => a - b)).toEqual(Array.from({ length: 19 }, (_, i) => i));
    const words = frequencies.flatMap(({ code, words: own }) => [code, ...own]);
    expect(new Set(words).size).toBe(words.length);
  });
});

it.each(Object.keys(licenses) as (keyof typeof licenses)[])('the address of %s is read as its code again', (code) => {
  const address = licenseAddress(code);
  expect(address === undefined ? code : licenseCode(address)).toBe(code);
});
