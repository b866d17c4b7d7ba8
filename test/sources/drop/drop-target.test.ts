import { describe, expect, it } from 'vitest';
import { slugOf } from '../../../src/dataset-api/names.ts';
import { placeRule } from '../../../src/sources/drop/drop-target.ts';

const placed = placeRule({ files: ['**/*.csv', '**/*.tsv'], marker: '.done' });

describe('slugOf', () => {
  it.each([
    ['city-budget', 'city-budget'],
    ['City Budget 2026', 'city-budget-2026'],
    ['Zürich (Straßen)', 'zurich-strassen'],
    ['_x_', 'x'],
    ['Ñandú & Łódź', 'nandu-lodz'],
    ['v1.2', 'v1.2'],
  ])('makes of %s the id %s', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });

  it.each(['数据', '---', '', 'x'.repeat(65)])('makes no id of %s', (name) => {
    expect(slugOf(name)).toBeNull();
  });
});

describe('placeRule', () => {
  it('takes a file below a folder as resource of that dataset', () => {
    expect(placed('City Budget/Ward 1.csv')).toEqual({
      kind: 'file',
      place: { dataset: 'city-budget', resource: 'ward-1', datasetName: 'City Budget' },
    });
  });

  it('takes a root file as dataset and resource of the same name, whatever the case of its ending', () => {
    expect(placed('Parks.TSV')).toMatchObject({ kind: 'file', place: { dataset: 'parks', resource: 'parks' } });
  });

  it('cuts only the last ending off a name', () => {
    expect(placed('a/2026.01.csv')).toMatchObject({ place: { resource: '2026.01' } });
  });

  it.each([
    'a.csv.part',
    'x/a.csv.tmp',
    'x/A.CSV.TMP',
    '.a.csv',
    '.git/a.csv',
    '~$a.csv',
    'a.csv~',
    '~x/a.csv',
    '_faulty/x/a.csv',
  ])('ignores %s', (path) => {
    expect(placed(path)).toEqual({ kind: 'ignored' });
  });

  it('knows the marker of a file, but not of what is no file here', () => {
    expect(placed('x/a.csv.done')).toEqual({ kind: 'marker', of: 'x/a.csv' });
    expect(placed('x/a.xlsx.done').kind).toBe('left');
    expect(placed('x/.a.csv.done').kind).toBe('ignored');
  });

  it('knows sidecars, but leaves a datapackage.json that describes no dataset', () => {
    expect(placed('x/dataset.yaml')).toEqual({ kind: 'sidecar' });
    expect(placed('x/a.yaml')).toEqual({ kind: 'sidecar' });
    expect(placed('a.yaml')).toEqual({ kind: 'sidecar' });
    expect(placed('dataset.yaml')).toEqual({ kind: 'sidecar' }); // for all that is dropped
    expect(placed('x/datapackage.json')).toEqual({ kind: 'sidecar' });
    expect(placed('datapackage.json').kind).toBe('left');
  });

  it.each([
    ['x/y/a.csv', 'deeper than <dataset>/<resource>.csv: move it up'],
    ['x/a.xls', 'does not match the files of this inbox (**/*.csv, **/*.tsv): save it as one of these'],
    ['数据/a.csv', 'cannot derive an id from `数据`'],
    ['../a.csv', 'leads out of the inbox'],
  ])('leaves %s with the reason', (path, reason) => {
    expect(placed(path)).toMatchObject({ kind: 'left', reason: expect.stringContaining(reason) });
  });
});

describe('placeRule with listed folders', () => {
  const listed = placeRule({ files: ['**/*.csv'], folders: { Transport: {}, 'Transport/Rail': {}, parks: {} } });

  it('takes what lies in them as it takes what lies in the inbox, under an id that begins with theirs', () => {
    expect(listed('Transport/Bike Counts/June.csv')).toEqual({
      kind: 'file',
      place: {
        dataset: 'transport.bike-counts',
        resource: 'june',
        datasetName: 'Transport/Bike Counts',
      },
    });
    expect(listed('parks/trees.csv')).toMatchObject({ place: { dataset: 'parks.trees', resource: 'trees' } });
    expect(listed('Transport/Rail/delays/may.csv')).toMatchObject({ place: { dataset: 'transport.rail.delays' } });
    expect(listed('other/x.csv')).toMatchObject({ place: { dataset: 'other', resource: 'x' } });
    expect(listed('x.csv')).toMatchObject({ place: { dataset: 'x', resource: 'x' } });
  });

  it('knows the sidecars and markers in them', () => {
    expect(listed('parks/dataset.yaml')).toEqual({ kind: 'sidecar' });
    expect(listed('parks/trees/datapackage.json')).toEqual({ kind: 'sidecar' });
    expect(listed('parks/datapackage.json').kind).toBe('left');
    expect(listed('parks/trees/a.csv.done')).toEqual({ kind: 'marker', of: 'parks/trees/a.csv' });
  });

  it.each(['parks/trees/old/a.csv', 'other/x/a.csv', 'transport/x/a.csv', 'Transport/Rail/a/b/c.csv'])(
    'leaves %s, which lies too deep',
    (path) => {
      expect(listed(path)).toMatchObject({ kind: 'left', reason: expect.stringContaining('`folders`') });
    },
  );
});
