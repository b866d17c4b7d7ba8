// Hostile files: bombs, names that lead out, endless rows. Each gets a clear error, little memory, and leaves nothing behind.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGzip, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { recipeOf } from '../../../src/sources/gather/dataset-wish.ts';
import { prepareTable } from '../../../src/tables/transform/prepare.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { made } from './support/made.ts';
import { workbookOf } from './support/workbook.ts';
import { zipOf } from './support/zip.ts';

const mb = 1024 * 1024;

/** So many megabytes of a row, gzipped without holding them. */
const gzipped = (megabytes: number): Promise<Buffer> => {
  const row = Buffer.from(`${'0'.repeat(126)},\n`.repeat(mb / 128));
  const rows = function* (): Generator<Buffer> {
    yield Buffer.from('a,b\n');
    for (let i = 0; i < megabytes; i++) yield row;
  };
  return buffer(Readable.from(rows()).pipe(createGzip({ level: 9 })));
};

/** An archive in which a name was changed to another one of the same length behind the library's back. */
const renamed = async (from: string, to: string): Promise<Buffer> => {
  const zip = await zipOf({ [from]: 'a\n1\n' });
  return Buffer.from(zip.toString('latin1').replaceAll(from, to), 'latin1');
};

describe('compression bombs', () => {
  it('of gzip are stopped long before their end, and nothing of them is left', async () => {
    const dir = tempDir();
    const path = join(dir, 'bomb.csv.gz');
    writeFileSync(path, await gzipped(300));
    const recipe = recipeOf({}, { kind: 'file', path, name: 'bomb.csv.gz' }, 'auto');
    if (recipe === null) throw new Error('no recipe');
    const options = {
      path,
      name: 'bomb.csv.gz',
      recipe,
      folder: join(dir, 'prepared'),
      label: 'x',
      manifest: 'city',
      rejects: null,
    };
    await expect(prepareTable({ ...options, tableBytes: 1e12, rowBytes: mb })).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('compression bomb'),
    });
    expect(readdirSync(join(dir, 'prepared'))).toEqual([]);
  });

  it('of archives and workbooks are stopped, too', async () => {
    const zeros = Buffer.alloc(100 * mb, `${'0'.repeat(126)},\n`);
    await expect(
      made('t.zip', await zipOf({ 't.csv': Buffer.concat([Buffer.from('a,b\n'), zeros]) }), {}, { tableBytes: 1e12 }),
    ).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('compression bomb'),
    });
    const rows = `<row><c><v>0</v></c>${' '.repeat(1000)}</row>`.repeat(100_000);
    const sheet = `<worksheet><sheetData>${rows}</sheetData></worksheet>`;
    const book = await workbookOf([['a']], { parts: { 'xl/worksheets/sheet1.xml': sheet } });
    await expect(made('t.xlsx', book, {}, { tableBytes: 1e12 })).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('compression bomb'),
    });
  });

  it('of any kind may not expand beyond the largest table', async () => {
    const text = `a,b\n${'1,2\n'.repeat(50_000)}`;
    const refused = { code: 'table-input', message: expect.stringContaining('more than the limit') };
    await expect(made('t.csv.gz', gzipSync(text), {}, { tableBytes: 100_000 })).rejects.toMatchObject(refused);
    await expect(made('t.zip', await zipOf({ 't.csv': text }), {}, { tableBytes: 100_000 })).rejects.toMatchObject(
      refused,
    );
  });

  it('of all parts of a workbook together are stopped', async () => {
    const part = `<worksheet><sheetData>${'<row/>'.repeat(9_000_000)}</sheetData></worksheet>`;
    const more = { Two: [], Three: [] };
    const parts = { 'xl/worksheets/sheet1.xml': part, 'xl/worksheets/sheet2.xml': part };
    await expect(made('t.xlsx', await workbookOf([], { more, parts }))).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('compression bomb'),
    });
  });

  it.each<[string, () => Promise<Buffer> | string]>([
    [
      't.xlsx',
      () => {
        const names = Array.from({ length: 4000 }, (_, at) => `n${at}`);
        const rows = '<row><c><v>1</v></c><c r="EWV1"><v>1</v></c></row>'.repeat(20_000);
        const header = names.map((name) => `<c t="str"><v>${name}</v></c>`).join('');
        return workbookOf([['a']], {
          parts: {
            'xl/worksheets/sheet1.xml': `<worksheet><sheetData><row>${header}</row>${rows}</sheetData></worksheet>`,
          },
        });
      },
    ],
    [
      't.ndjson',
      () => {
        const keys = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`n${at}`, at]));
        return `${JSON.stringify(keys)}\n${'{"n1":1}\n'.repeat(20_000)}`;
      },
    ],
  ])('of few cells in rows of very many columns are stopped: %s', async (name, content) => {
    await expect(made(name, await content())).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('250 times as large as the file'),
    });
  });

  it('in shared texts of a workbook are stopped', async () => {
    const shared = `<sst>${`<si><t>${'x'.repeat(10_000)}</t></si>`.repeat(14_000)}</sst>`;
    const book = await workbookOf([['a'], ['b']], { parts: { 'xl/sharedStrings.xml': shared } });
    await expect(made('t.xlsx', book, {}, { tableBytes: 1e12 })).rejects.toMatchObject({ code: 'table-input' });
  });
});

describe('archives', () => {
  it.each([
    ['aa/evil.csv', '../evil.csv'],
    ['aa/evil.csv', '/tmp/ev.csv'],
    ['aa/evil.csv', 'C:/evil.csv'],
    ['aa/evil.csv', 'a\\..\\..\\b.c'],
  ])('with a name that leads out are refused: %s as %s', async (from, to) => {
    await expect(made('t.zip', await renamed(from, to))).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('leads out of the archive'),
    });
  });

  it('with two files of one name are refused', async () => {
    const zip = await zipOf({ 'a.csv': 'a\n1\n', 'b.csv': 'a\n2\n' });
    const twice = Buffer.from(zip.toString('latin1').replaceAll('b.csv', 'a.csv'), 'latin1');
    await expect(made('t.zip', twice)).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('holds several files called "a.csv"'),
    });
  });

  it('that are encrypted, damaged or cut off are refused', async () => {
    const zip = await zipOf({ 't.csv': 'a\n1\n'.repeat(1000) });
    const encrypted = Buffer.from(zip);
    encrypted.writeUInt16LE(encrypted.readUInt16LE(6) | 1, 6);
    const central = encrypted.indexOf(Buffer.from('PK\x01\x02', 'latin1'));
    encrypted.writeUInt16LE(encrypted.readUInt16LE(central + 8) | 1, central + 8);
    await expect(made('t.zip', encrypted)).rejects.toMatchObject({ message: expect.stringContaining('is encrypted') });
    const damaged = Buffer.from(zip);
    damaged.fill(0xff, 40, 60);
    await expect(made('t.zip', damaged)).rejects.toMatchObject({ message: expect.stringContaining('is damaged') });
    await expect(made('t.zip', zip.subarray(0, -30))).rejects.toMatchObject({
      message: expect.stringContaining('is damaged'),
    });
  });

  it('that lie about their size are refused', async () => {
    const zip = await zipOf({ 't.csv': 'a\n1\n'.repeat(1000) });
    const central = zip.indexOf(Buffer.from('PK\x01\x02', 'latin1'));
    zip.writeUInt32LE(10, central + 24);
    await expect(made('t.zip', zip)).rejects.toMatchObject({ code: 'table-input' });
  });
});

describe('tables without measure', () => {
  it('of 100,000 columns are refused in every form', async () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `c${index}`);
    const refused = { code: 'table-input', message: expect.stringContaining('100,000 columns') };
    await expect(made('t.csv.gz', gzipSync(`${names.join(',')}\n`))).rejects.toMatchObject(refused);
    const object = Object.fromEntries(names.map((name) => [name, 1]));
    await expect(made('t.json', JSON.stringify([object]), {}, { rowBytes: 10 * mb })).rejects.toMatchObject(refused);
    await expect(made('t.xlsx', await workbookOf([names.map((_, index) => index)]))).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('4,097 columns'),
    });
  });

  it('with a cell of 50 MB are refused in every form', async () => {
    const cell = 'x'.repeat(50 * mb);
    const refused = { code: 'table-oversize' };
    await expect(made('t.csv.gz', gzipSync(`a\n"${cell}"\n`))).rejects.toMatchObject(refused);
    await expect(made('t.ndjson', `{"a":"${cell}"}\n`)).rejects.toMatchObject(refused);
    await expect(made('t.json', `[{"a":"${cell}"}]`)).rejects.toMatchObject(refused);
    const sheet = `<worksheet><sheetData><row r="1"><c t="str"><v>${cell}</v></c></row></sheetData></worksheet>`;
    const book = await workbookOf([['a']], { parts: { 'xl/worksheets/sheet1.xml': sheet } });
    await expect(made('t.xlsx', book)).rejects.toMatchObject({
      message: expect.stringMatching(/too large|larger than|bomb/),
    });
  });

  it('that nest without end are refused', async () => {
    await expect(made('t.json', '['.repeat(500_000))).rejects.toMatchObject({ code: 'table-input' });
    const nested = `[${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}]`;
    await expect(made('t.json', nested, {}, { rowBytes: 10 * mb })).rejects.toMatchObject({ code: 'table-input' });
  });

  it('that list more than can be held are refused, be it nothing each time', async () => {
    // What cannot be compressed, so that this is no bomb by its ratio.
    const ballast = `<!--${randomBytes(400_000).toString('hex')}-->`;
    const parts = {
      'xl/sharedStrings.xml': `<sst>${ballast}${'<si/>'.repeat(17_000_000)}</sst>`,
      'xl/styles.xml': `<styleSheet><cellXfs>${'<xf/>'.repeat(100_001)}</cellXfs></styleSheet>`,
      'xl/workbook.xml': `<workbook><sheets>${'<sheet/>'.repeat(100_001)}</sheets></workbook>`,
    };
    for (const [path, xml] of Object.entries(parts)) {
      const book = await workbookOf([['a']], { parts: { [path]: xml } });
      await expect(made('t.xlsx', book)).rejects.toMatchObject({
        code: 'table-input',
        message: expect.stringMatching(/texts of t\.xlsx holds more than|more than 1(?:00)?,000 sheets or styles/),
      });
    }
  });

  it('whose XML nests without end are refused', async () => {
    for (const path of ['xl/worksheets/sheet1.xml', 'xl/styles.xml', 'xl/sharedStrings.xml']) {
      const book = await workbookOf([['a']], { parts: { [path]: `<x>${'<a>'.repeat(1_000_000)}` } });
      await expect(made('t.xlsx', book)).rejects.toMatchObject({
        code: 'table-input',
        message: expect.stringContaining('more than 200 levels deep'),
      });
    }
  });

  it('whose XML multiplies by entities are refused', async () => {
    const bomb = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><worksheet><sheetData><row><c t="str"><v>&b;</v></c></row></sheetData></worksheet>`;
    const book = await workbookOf([['a']], { parts: { 'xl/worksheets/sheet1.xml': bomb } });
    await expect(made('t.xlsx', book)).rejects.toMatchObject({ code: 'table-input' });
  });
});

describe('a cell that points at a text the workbook does not hold', () => {
  it.each(['2', '-1', '1.5', 'x'])(
    'is a fault with sheet, row and cell, never a row that vanishes: %s',
    async (index) => {
      const rows = `<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2" t="s"><v>${index}</v></c></row>`;
      const sheet = `<worksheet><sheetData>${rows}</sheetData></worksheet>`;
      const book = await workbookOf([['a'], ['b']], { name: 'Data', parts: { 'xl/worksheets/sheet1.xml': sheet } });
      await expect(made('t.xlsx', book)).rejects.toMatchObject({
        code: 'table-input',
        line: 2,
        message: `sheet "Data", row 2, cell A2 points at text "${index}", but the workbook holds 2 shared texts`,
        hint: expect.stringContaining('the workbook is damaged'),
      });
    },
  );
});

describe('rejected rows that nobody wants to see', () => {
  it('leave nothing behind', async () => {
    const dir = tempDir();
    const path = join(dir, 't.csv');
    writeFileSync(path, 'a,b\n1\n1,2\n');
    const recipe = recipeOf({ badRows: 'quarantine', maxBadRows: 1 }, { kind: 'file', path, name: 't.csv' }, 'auto');
    if (recipe === null) throw new Error('no recipe');
    const options = {
      path,
      name: 't.csv',
      recipe,
      folder: join(dir, 'prepared'),
      label: 'x',
      manifest: 'city',
      rejects: null,
    };
    const made = await prepareTable({ ...options, tableBytes: 1e9, rowBytes: mb });
    expect(made).toMatchObject({ rowsOut: 1, rejects: null });
    expect(readdirSync(join(dir, 'prepared'))).toHaveLength(1);
  });
});

describe('an end before the end', () => {
  it('stops the work at once and leaves nothing behind', async () => {
    const dir = tempDir();
    const path = join(dir, 't.csv.gz');
    writeFileSync(path, gzipSync(`a,b\n${'1,2\n'.repeat(1_000_000)}`));
    const recipe = recipeOf({ badRows: 'skip' }, { kind: 'file', path, name: 't.csv.gz' }, 'auto');
    if (recipe === null) throw new Error('no recipe');
    const stop = new AbortController();
    const pending = prepareTable({
      path,
      name: 't.csv.gz',
      recipe,
      folder: join(dir, 'prepared'),
      label: 'x',
      manifest: 'city',
      rejects: null,
      tableBytes: 1e9,
      rowBytes: mb,
      signal: stop.signal,
    });
    setImmediate(() => stop.abort(new Error('stopped')));
    await expect(pending).rejects.toThrow('stopped');
    expect(existsSync(join(dir, 'prepared')) ? readdirSync(join(dir, 'prepared')) : []).toEqual([]);
  });
});
