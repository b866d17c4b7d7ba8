// When a node that was read back counts as different from what was sent.
import { describe, expect, it } from 'vitest';
import { baselineOf, missingFields, shownField } from '../../src/dataset-api/compare.ts';

const holds = (sent: object[], got: unknown): boolean => missingFields({ f: { und: sent } }, { f: got }).length === 0;

describe('a geometry', () => {
  const sent = [{ wkt: 'POLYGON ((13.0 52.50, 13.1 52.5, 13.0 52.50))' }];

  it.each([
    'POLYGON ((13 52.5, 13.1 52.5, 13 52.5))',
    'POLYGON((13 52.5,13.1 52.5,13 52.5))',
    'polygon (( 13.000 5.25e1 , 13.1 52.5, 13 52.5 ))',
  ])('is held as %s', (wkt) => {
    expect(holds(sent, { und: [{ wkt }] })).toBe(true);
  });

  it.each([
    'POLYGON ((13 52.5, 13.1 52.5, 13.1 52.5))',
    'POLYGON ((-13 52.5, 13.1 52.5, 13 52.5))',
    'MULTIPOINT ((13 52.5, 13.1 52.5, 13 52.5))',
    'POLYGON ((13 52.5, 13.1 52.5))',
    '',
  ])('is not held as "%s"', (wkt) => {
    expect(holds(sent, { und: [{ wkt }] })).toBe(false);
  });

  it.each([
    ['POINT (-0.0 52.5 30.0)', 'POINT (0 52.5 30)'],
    ['MULTIPOINT ((1 2), (3 4.0))', 'MULTIPOINT(1 2,3 4)'],
    ['GEOMETRYCOLLECTION (POINT (1.0 2))', 'geometrycollection(point(1 2))'],
  ])('sent as %s is held as %s', (wkt, got) => {
    expect(holds([{ wkt }], { und: [{ wkt: got }] })).toBe(true);
  });

  it.each([
    ['POINT (13.0 52.5 30)', 'POINT (13 52.5 31)'],
    ['GEOMETRYCOLLECTION (MULTIPOINT (1.0 2, 3 4))', 'GEOMETRYCOLLECTION (LINESTRING (1 2, 3 4))'],
    [
      'MULTIPOLYGON (((0.0 0, 4 0, 0 4, 0 0), (1 1, 2 1, 1 2, 1 1)))',
      'MULTIPOLYGON (((0 0, 4 0, 0 4, 0 0)), ((1 1, 2 1, 1 2, 1 1)))',
    ],
  ])('sent as %s is not held as %s', (wkt, got) => {
    expect(holds([{ wkt }], { und: [{ wkt: got }] })).toBe(false);
  });

  it('is no other text whose numbers are alike', () => {
    expect(holds([{ value: 'Version 13.0' }], { und: [{ value: 'Version 13' }] })).toBe(false);
  });
});

describe('terms', () => {
  const held = (...tids: (number | string)[]) => ({ und: tids.map((tid) => ({ tid })) });

  it('are held in any order, as numbers or text', () => {
    expect(holds([{ tid: '4' }, { tid: '5' }], held(5, 4))).toBe(true);
  });

  it('that were sent twice may be held once', () => {
    expect(holds([{ tid: '4' }, { tid: 4 }], held('4'))).toBe(true);
  });

  it.each([[['4']], [['4', '6']], [['4', '5', '6']], [[]]])('4 and 5 are not held as %j', (tids) => {
    expect(holds([{ tid: '4' }, { tid: '5' }], held(...tids))).toBe(false);
  });

  it('whose id is not known are compared by their number', () => {
    const sent = [{ tid: '4' }, { tid: 'autocreate', name: 'budget' }];
    expect(holds(sent, held('9', '4'))).toBe(true);
    expect(holds(sent, held('9', '8'))).toBe(false);
    expect(holds(sent, held('4', '8', '9'))).toBe(false);
    expect(holds([{ tid: 'autocreate', name: 'budget' }], [])).toBe(false);
  });

  it('are part of the baseline by id, in a fixed order', () => {
    const fields = { f: { und: [{ tid: 'autocreate', name: 'a' }] } };
    expect(baselineOf(fields, { f: held(9, 10) })).toEqual({ f: '10,9' });
  });
});

describe('what a field holds, in short', () => {
  it.each([
    [{ und: [{ value: 'Green', format: 'html' }] }, 'Green'],
    [{ und: [{ url: 'https://a.example', title: 'A' }] }, 'https://a.example'],
    [{ und: [{ tid: '4' }, { tid: '5' }] }, '4, 5'],
    [{ und: [{ value: '2024-01-01', value2: '2024-12-31' }] }, '2024-01-01 2024-12-31'],
    ['As it is', '"As it is"'],
    [[], 'nothing'],
    [{ und: [{ value: '' }] }, 'nothing'],
    [undefined, 'nothing'],
    [null, 'nothing'],
  ])('%j is shown as %s', (value, shown) => {
    expect(shownField({ f: value }, 'f')).toBe(shown);
  });

  it('is cut where it is long', () => {
    expect(shownField({ f: { und: [{ value: 'x'.repeat(300) }] } }, 'f')).toMatch(
      /^x{100}… \(300 characters, [0-9a-f]{8}\)$/,
    );
  });
});
