import { expect, it } from 'vitest';
import { readWkt } from '../../../src/embedded-portal/content/geometry.ts';

it.each([
  ['POINT (1 2)', { geo_type: 'point', lon: '1', lat: '2', left: '1', right: '1', top: '2', bottom: '2' }],
  ['point(10.1234567 -20.9876543)', { geo_type: 'point', lon: '10.1235', lat: '-20.9877' }],
  ['LINESTRING (0 0, 4 0)', { geo_type: 'linestring', lon: '2', lat: '0', right: '4' }],
  ['POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))', { geo_type: 'polygon', lon: '2', lat: '2', top: '4', bottom: '0' }],
  ['MULTIPOINT ((0 0), (2 2))', { geo_type: 'multipoint', lon: '1', lat: '1' }],
  ['MULTIPOLYGON (((0 0, 1 0, 1 1, 0 1, 0 0)), ((2 0, 3 0, 3 1, 2 1, 2 0)))', { geo_type: 'multipolygon', lon: '1.5' }],
  ['GEOMETRYCOLLECTION (POINT (0 0), POINT (2 4))', { geo_type: 'geometrycollection', lon: '1', lat: '2' }],
  ['  POINT\t(+1. .5e1 7)\n', { geo_type: 'point', lon: '1', lat: '5' }],
  ['SRID=4326;POINT (1 2)', { geo_type: 'point', lon: '1' }],
])('reads %s', (wkt, facts) => {
  expect(readWkt(wkt)).toMatchObject(facts);
});

it.each([
  '',
  'NOT WKT',
  'POINT',
  'POINT ()',
  'POINT (1)',
  'POINT (a b)',
  'POLYGON ((0 0, 1 1)',
  'CIRCLE (1 2)',
  '{"type":"Point"}',
  'POINT (1e999 2)',
  'POINT (0x10 2)',
  'POINT (1_000 2)',
  'POINT (Infinity 2)',
  'POINT (1 2 3 4 5)',
  'POINT (1 2) x',
  'POLYGON ((0 0, 1 1),)',
  'LINESTRING (0 0 1 1,)',
  'POINT (1-2)',
])('finds nothing in "%s"', (text) => {
  expect(readWkt(text)).toBeNull();
});

it('reads a large geometry and gives up on a deep one', () => {
  const many = Array.from({ length: 100_000 }, (_, index) => `${index % 100} ${index % 80}`).join(', ');
  expect(readWkt(`LINESTRING (${many})`)).toMatchObject({ left: '0', right: '99' });
  expect(readWkt(`${'GEOMETRYCOLLECTION ('.repeat(200)}POINT (1 2)${')'.repeat(200)}`)).toBeNull();
});

// Runs against the test's own time limit: a reader that backtracks takes minutes here.
it.each([
  ['leading blanks', `${' '.repeat(900_000)}x`],
  ['blanks behind the type', `POINT${' '.repeat(900_000)}x`],
  ['blanks between numbers', `POINT (1${' '.repeat(900_000)}x`],
  ['blanks behind the end', `POINT (1 2)${' '.repeat(900_000)}x`],
  ['open brackets', `POLYGON ${'('.repeat(900_000)}`],
  ['letters', 'A'.repeat(900_000)],
  ['digits', `POINT (${'1'.repeat(900_000)}`],
  ['an SRID without end', `SRID=${'1'.repeat(900_000)}`],
])(
  'comes to an end with %s',
  (_name, text) => {
    expect(readWkt(text)).toBeNull();
  },
  5000,
);

it('does not look at a text of more than a million characters', () => {
  expect(readWkt(`POINT (1 2)${' '.repeat(1_000_000 - 11)}`)).not.toBeNull();
  expect(readWkt(`POINT (1 2)${' '.repeat(1_000_000 - 10)}`)).toBeNull();
});
