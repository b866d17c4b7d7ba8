import { describe, expect, it } from 'vitest';
import { licenseCode } from '../../../src/dataset-api/values.ts';
import { idPattern } from '../../../src/model/key.ts';
import { areaOf, dayOf, spanOf } from '../../../src/sources/catalogue/composed.ts';
import { amended, isWanted } from '../../../src/sources/catalogue/gather-catalogue.ts';
import { addressOf, idOfAddress, idOfIdentifier } from '../../../src/sources/catalogue/values.ts';

describe('days', () => {
  it.each([
    ['2016', '2016-01-01'],
    ['2016-11', '2016-11-01'],
    ['20161115', '2016-11-15'],
    ['2016-11-15', '2016-11-15'],
    ['11/15/2016', '2016-11-15'],
    ['2016-11-15T14:30:48.000Z', '2016-11-15T14:30:48'],
    ['2016-11-15T00:30+02:00', '2016-11-14T22:30:00'],
    ['2016-11-15 14:30', '2016-11-15T14:30:00'],
    ['2016-02-30', null],
    ['2016-11-15Z', '2016-11-15'],
    ['2016-11-15+02:00', '2016-11-15'],
    ['20161115T143048Z', '2016-11-15T14:30:48'],
    ['2016-11-15T99:00', null],
    ['201611151430', null],
    ['R/P1W', null],
    ['soon', null],
  ])('%s', (text, day) => expect(dayOf(text)).toBe(day));

  it.each([
    ['2014-01-01/2015-06-30', { from: '2014-01-01', to: '2015-06-30' }],
    ['2014/2016', { from: '2014-01-01', to: '2016-12-31' }],
    ['2016-02', { from: '2016-02-01', to: '2016-02-29' }],
    ['2014-01-31/P1Y2M', { from: '2014-01-31', to: '2015-03-31' }],
    ['2014-01-01/..', null],
    ['2014-01-01/', null],
    ['../2014-01-01', null],
    ['2014-01-01', { from: '2014-01-01' }],
    ['2015-01-01/2014-01-01', null],
    ['2014/whenever', null],
    ['', null],
  ])('spans: %s', (text, span) => expect(spanOf(text)).toEqual(span));
});

describe('places', () => {
  it.each([
    ['Harbour district', { label: 'Harbour district' }],
    ['-83.5,42.25,-82.5,42.75', { wkt: 'POLYGON ((-83.5 42.25, -82.5 42.25, -82.5 42.75, -83.5 42.75, -83.5 42.25))' }],
    ['13.4, 52.5, 13.4, 52.5', { wkt: 'POINT (13.4 52.5)' }],
    ['1,2,3,400', { label: '1,2,3,400' }],
    ['POINT (13.4 52.5)', { wkt: 'POINT (13.4 52.5)' }],
    ['SRID=4326;POINT(13.4 52.5)', { wkt: 'POINT(13.4 52.5)' }],
    ['POINT ((13.4 52.5)', { label: 'POINT ((13.4 52.5)' }],
    ['POINT (13.4)', { label: 'POINT (13.4)' }],
    ['POINT ()', { label: 'POINT ()' }],
    ['MULTIPOINT ((1 2), (3 4))', { wkt: 'MULTIPOINT ((1 2), (3 4))' }],
    [
      'MULTIPOLYGON (((0 0, 1 1, 1 0, 0 0)), ((5 5, 6 6, 6 5, 5 5)))',
      { wkt: 'MULTIPOLYGON (((0 0, 1 1, 1 0, 0 0)), ((5 5, 6 6, 6 5, 5 5)))' },
    ],
    ['POLYGON (0 0, 1 0)', { label: 'POLYGON (0 0, 1 0)' }],
    ['{"type": "Point", "coordinates": [13.4, 52.5]}', { wkt: 'POINT (13.4 52.5)' }],
    [
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 0],
            [1, 1],
            [0, 0],
          ],
        ],
      },
      { wkt: 'POLYGON ((0 0, 1 0, 1 1, 0 0))' },
    ],
    [
      {
        type: 'envelope',
        coordinates: [
          [-1, 2],
          [1, -2],
        ],
      },
      { wkt: 'POLYGON ((-1 -2, 1 -2, 1 2, -1 2, -1 -2))' },
    ],
    [{ type: 'Point', coordinates: [13.4, 152.5] }, {}],
    [{ type: 'Point', coordinates: [13.4, '52.5'] }, {}],
    [{ type: 'POINT', coordinates: [[13.4, 52.5]] }, {}],
    [{ type: 'Point', coordinates: [13.4, 52.5, 'high'] }, { wkt: 'POINT (13.4 52.5)' }],
    [[{ prefLabel: 'Town' }, { bbox: '0,0,1,1' }], { label: 'Town', wkt: 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))' }],
    ['{"type": "Poi', { label: '{"type": "Poi' }],
    ['POINT (1 2, 3 4)', { label: 'POINT (1 2, 3 4)' }],
    ['POINT (1 2))', { label: 'POINT (1 2))' }],
    ['<http://www.opengis.net/def/crs/POINT> LineString(1 2,3 4)', { wkt: 'LineString(1 2,3 4)' }],
    [{ bbox: [0, 0, 1, 1] }, { wkt: 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))' }],
    [{ geometry: '<gml:Point/>', bbox: '0,0,1,1' }, { wkt: 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))' }],
    [{ geometry: { '@value': 'POINT (1 2)' } }, { wkt: 'POINT (1 2)' }],
  ])('%j', (value, area) => expect(areaOf(value)).toEqual(area));

  it('of any size are places, as well-known text and as GeoJSON', () => {
    const coordinates = [Array.from({ length: 200_000 }, (_, at) => [(at % 360) - 180, (at % 180) - 90])];
    const ring = coordinates[0]?.map((pair) => pair.join(' ')).join(', ');
    const wkt = `POLYGON ((${ring}))`;
    expect(areaOf({ type: 'Polygon', coordinates })).toEqual({ wkt });
    expect(areaOf(JSON.stringify({ type: 'Polygon', coordinates }))).toEqual({ wkt });
    expect(areaOf(`SRID=4326;${wkt}`)).toEqual({ wkt });
    expect(areaOf(`${wkt})`).wkt).toBeUndefined();
  });

  it('nested without end are only words', () => {
    const text = `{"geometry": ${'['.repeat(60_000)}${']'.repeat(60_000)}}`;
    expect(areaOf(text)).toEqual({ label: text });
  });
});

describe('licenses', () => {
  it.each([
    ['https://creativecommons.org/licenses/by/4.0/', 'cc-by'],
    ['http://www.opendefinition.org/licenses/cc-by', 'cc-by'],
    ['https://creativecommons.org/licenses/by-nc-sa/4.0', 'cc-nc'],
    ['https://creativecommons.org/licenses/by-nd/4.0/', null],
    ['https://creativecommons.org/publicdomain/zero/1.0/', 'cc-zero'],
    ['odc-odbl', 'odc-odbl'],
    ['CC-BY-4.0', 'cc-by'],
    ['CC BY-NC-SA 4.0', 'cc-nc'],
    ['CC-BY-ND-4.0', null],
    ['CC BY 4.0 International', 'cc-by'],
    ['CC BY 4.0 NC', null],
    ['CC BY 4.0 (non-commercial)', null],
    ['CC BY 4.0 with restrictions', null],
    ['GFDL-1.3-no-invariants-only', 'gfdl'],
    ['cc0-1.0', 'cc-zero'],
    ['ODbL-1.0', 'odc-odbl'],
    ['OGL-UK-3.0', 'uk-ogl'],
    ['OGL-Canada-2.0', null],
    ['constructor', null],
    ['https://example.org/terms', null],
  ])('%s', (text, code) => expect(licenseCode(text)).toBe(code));
});

describe('addresses', () => {
  it.each([
    ['https://example.org/a.csv', { kind: 'web', url: 'https://example.org/a.csv' }],
    ['https://example.org/a b.csv', { kind: 'web', url: 'https://example.org/a%20b.csv' }],
    ['ftp://example.org/a', { kind: 'other', scheme: 'ftp' }],
    ['hhttps://example.org/a', { kind: 'other', scheme: 'hhttps' }],
    ['//////example.org/', { kind: 'none' }],
    ['https:///', { kind: 'none' }],
    ['example.org', { kind: 'none' }],
    ['see below', { kind: 'none' }],
  ])('%s', (text, address) => expect(addressOf(text)).toEqual(address));
});

describe('ids', () => {
  it('are the identifier where it is an id, else some of its words and its hash', () => {
    expect(idOfIdentifier('cftc-dc1')).toBe('cftc-dc1');
    const ids = [
      'CFTC-DC1',
      'https://example.org/id/1',
      'http://example.org/id/1',
      '日本',
      '..',
      'x'.repeat(500),
      'é',
    ].map(idOfIdentifier);
    for (const id of ids) expect(id).toMatch(idPattern);
    expect(new Set(ids).size).toBe(ids.length);
    expect(idOfIdentifier('https://example.org/id/1')).toBe('example-org-id-1-00b3c67e3274a114');
  });

  it('of addresses never change and always differ', () => {
    expect(idOfAddress('https://example.org/data/Bäume 1.csv')).toMatch(/^baume-1-csv-[0-9a-f]{16}$/);
    expect(idOfAddress('https://example.org/q?a=1')).not.toBe(idOfAddress('https://example.org/q?a=2'));
    expect(idOfAddress('https://example.org/%ff')).toMatch(idPattern);
  });
});

describe('paths into entries', () => {
  const entry = {
    accessLevel: 'public',
    keyword: ['water', 'air'],
    publisher: { name: 'City' },
    distribution: [{ format: 'CSV' }, { format: 'PDF', title: '' }],
  };

  it.each([
    [{ filters: { keyword: ['air', 'fire'] } }, true],
    [{ filters: { keyword: ['fire'] } }, false],
    [{ filters: { 'publisher.name': ['City'], keyword: ['water'] } }, true],
    [{ filters: { 'publisher.name': ['City'], keyword: ['fire'] } }, false],
    [{ filters: { 'keyword.1': ['air'] } }, true],
    [{ filters: { 'keyword.0': ['air'] } }, false],
    [{ filters: { nothing: ['x'] } }, false],
    [{ excludes: { 'distribution.format': ['PDF'] } }, false],
    [{ excludes: { 'distribution.format': ['XLS'], accessLevel: ['private'] } }, true],
  ])('choose entries: %j', (how, isTaken) => {
    expect(isWanted(entry, { filters: {}, excludes: {}, ...how } as Parameters<typeof isWanted>[1])).toBe(isTaken);
  });

  it('put values into items of a list that are empty', () => {
    const entry = { distribution: [{}, {}], contactPoint: [{}], theme: [null] };
    const defaults = { 'distribution.1.format': 'CSV', 'contactPoint.0.fn': 'Office', 'theme.0.name': 'Water' };
    expect(amended(entry, { defaults, overrides: {} })).toEqual({
      distribution: [{}, { format: 'CSV' }],
      contactPoint: [{ fn: 'Office' }],
      theme: [null],
    });
  });

  it('put values where nothing stands, or in the place of what stands, in every item of a list', () => {
    const before = structuredClone(entry);
    const after = amended(entry, {
      defaults: { license: 'cc-by', accessLevel: 'private', 'distribution.title': 'File', 'contactPoint.fn': 'Office' },
      overrides: {
        'publisher.name': 'Town',
        'distribution.0.format': 'TSV',
        'distribution.7.format': 'X',
        'keyword.x': 1,
      },
    });
    expect(after).toEqual({
      accessLevel: 'public',
      license: 'cc-by',
      keyword: ['water', 'air'],
      publisher: { name: 'Town' },
      contactPoint: { fn: 'Office' },
      distribution: [
        { format: 'TSV', title: 'File' },
        { format: 'PDF', title: 'File' },
      ],
    });
    expect(entry).toEqual(before);
  });
});
