import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { kindOfBytes, namedByBytes, namedWithEnding, nameOfFetched } from '../../src/dataset-api/file-types.ts';
import { workbookOf } from '../tables/transform/support/workbook.ts';
import { zipOf } from '../tables/transform/support/zip.ts';

const csv = 'id,name\n1,one\n2,two\n';
const contents: Record<string, Buffer> = {
  csv: Buffer.from(csv),
  'csv of one row': Buffer.from('id;name\r\n1;one'),
  'csv with a cut line and quotes': Buffer.from(`a,b\n"x, y","1\n2"\n${'1,2\n'.repeat(10_000)}`),
  tsv: Buffer.from('id\tname\n1\tone, two\n2\ttwo\n'),
  'csv in UTF-16': Buffer.from(`\ufeff${csv}`, 'utf16le'),
  'csv with a mark': Buffer.from(`\ufeff${csv}`),
  xlsx: await workbookOf([
    ['id', 'name'],
    [1, 'one'],
  ]),
  zip: await zipOf({ 'inside.csv': csv }),
  docx: await zipOf({ '[Content_Types].xml': '<Types/>', 'word/document.xml': '<d/>' }),
  xls: Buffer.from('d0cf11e0a1b11ae100000000', 'hex'),
  'csv.gz': gzipSync(csv),
  gz: gzipSync('hello'),
  json: Buffer.from('[{"id": 1}]'),
  html: Buffer.from('<!DOCTYPE html>\n<p>a, b</p>\n<p>c, d</p>'),
  xml: Buffer.from('<?xml version="1.0"?><a/>'),
  pdf: Buffer.from('%PDF-1.7\n'),
  'one column': Buffer.from('id\n1\n2\n'),
  prose: Buffer.from('Dear all,\nplease see below, or call, if you can.\nBest wishes\n'),
  'one line': Buffer.from('Error, try again'),
  binary: Buffer.from('a,b\n\0,c\n'),
  nothing: Buffer.alloc(0),
};
const kindOf = (content: string): string | null => kindOfBytes(contents[content] ?? Buffer.alloc(0));

describe('the kind of bytes', () => {
  const told = Object.keys(contents).slice(0, -5);
  it.each(told)('%s is told', (content) => {
    expect(kindOf(content)).toBe(content.split(' ')[0]);
  });

  it.each(Object.keys(contents).slice(-5))('%s is not told', (content) => {
    expect(kindOf(content)).toBeNull();
  });
});

/** Names, and what becomes of them by content; of contents that are not listed the name stays. */
const rows: [name: string, becomes: Record<string, string>][] = [
  [
    'data.csv',
    { xlsx: 'data.xlsx', zip: 'data.zip', 'csv.gz': 'data.csv.gz' }, // not json, html, pdf, xls: these are refused
  ],
  ['Data.JSON', { csv: 'Data.csv', tsv: 'Data.tsv', xlsx: 'Data.xlsx', zip: 'Data.zip', 'csv.gz': 'Data.csv.gz' }],
  ['data.xlsx', { csv: 'data.csv', tsv: 'data.tsv', 'csv.gz': 'data.csv.gz' }],
  ['data.zip', { csv: 'data.csv', tsv: 'data.tsv', 'csv.gz': 'data.csv.gz' }],
  [
    'data.xls',
    { csv: 'data.csv', tsv: 'data.tsv', xlsx: 'data.xlsx', zip: 'data.zip', 'csv.gz': 'data.csv.gz' }, // xls stays
  ],
  ['data.csv.gz', { csv: 'data.csv', tsv: 'data.tsv', xlsx: 'data.xlsx', zip: 'data.zip' }],
  ['notes.txt', {}],
  ['report.pdf', {}],
  [
    'export.php',
    Object.fromEntries(
      ['csv', 'tsv', 'xlsx', 'zip', 'xls', 'csv.gz', 'json', 'html', 'pdf'].map((kind) => [kind, `export.php.${kind}`]),
    ),
  ],
];

describe('the name of a file', () => {
  it.each(rows)('%s is that of its bytes', (name, becomes) => {
    for (const kind of ['csv', 'tsv', 'xlsx', 'zip', 'xls', 'csv.gz', 'json', 'html', 'pdf']) {
      const named = namedByBytes(name, kind);
      expect(named, kind).toBe(becomes[kind] ?? name);
      expect(namedByBytes(named, kind), kind).toBe(named);
    }
    expect(namedByBytes(name, null)).toBe(name);
  });
});

describe('the name that people gave a file', () => {
  it.each(['data.csv', 'Data.JSON', 'data.xlsx', 'data.csv.gz', 'notes.txt'])('%s stays', (name) => {
    for (const kind of ['csv', 'xlsx', 'zip', null]) expect(namedWithEnding(name, kind)).toBe(name);
  });

  it('gets the ending of its bytes where it has none', () => {
    expect(namedWithEnding('export', 'xlsx')).toBe('export.xlsx');
    expect(namedWithEnding('export', null)).toBe('export');
  });
});

describe('the name of a fetched file', () => {
  const server = (fileName: string | null, contentType: string | null = null, content = 'one column') => ({
    fileName,
    contentType,
    kind: kindOf(content),
  });
  const octets = 'application/octet-stream';

  it.each([
    ['is the wished one', { name: 'wish.csv', isNamed: true }, server('other.csv'), 'wish.csv'],
    ['is the wished one', { name: 'wish.csv', isNamed: true }, server('a.zip', octets, 'xlsx'), 'wish.xlsx'],
    ['is what the server says', { name: 'export.php' }, server('spending.csv'), 'spending.csv'],
    ['is what the server says', { name: 'export.php' }, server('spending.csv', 'text/csv', 'zip'), 'spending.zip'],
    ['is the end of the address', { name: 'a.csv' }, server('download'), 'a.csv'],
    ['is the end of the address', { name: 'a.json' }, server('download', 'application/json', 'csv'), 'a.csv'],
    ['gets the ending of its type', { name: 'export' }, server('export', 'text/csv'), 'export.csv'],
    ['gets the ending of its type', { name: 'export' }, server('export', 'text/plain'), 'export.txt'],
    ['gets the ending of its bytes', { name: 'export' }, server(null, octets, 'csv'), 'export.csv'],
    ['gets the ending of its bytes', { name: 'export' }, server(null, null, 'tsv'), 'export.tsv'],
    ['gets the ending of its bytes', { name: 'export' }, server(null, 'text/plain', 'csv'), 'export.csv'],
    ['gets the ending of its bytes', { name: 'export' }, server(null, 'text/html', 'csv'), 'export.csv'],
    ['gets the ending of its bytes', { name: 'export' }, server(null, 'application/json', 'csv'), 'export.csv'],
    ['gets the ending of its bytes', { name: 'export' }, server(null, octets, 'xlsx'), 'export.xlsx'],
    ['gets the ending of its bytes', { name: 'export' }, server('get', octets, 'pdf'), 'get.pdf'],
    ['keeps that of a table where JSON came', { name: 'export' }, server(null, 'text/csv', 'json'), 'export.csv'],
    ['stays without ending where nothing tells it', { name: 'export' }, server(null, 'x/y'), 'export'],
  ])('%s: %o, %o', (_title, source, told, name) => {
    expect(nameOfFetched(source, told)).toBe(name);
  });
});
