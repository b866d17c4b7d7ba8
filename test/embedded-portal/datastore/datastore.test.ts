import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/embedded-portal/refusal.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type OpenDatastore, openDatastore, uniform } from './open-datastore.ts';

const opened: OpenDatastore[] = [];
const open = (dir = tempDir(), options: { attachWaitMs?: number } = {}): OpenDatastore => {
  const made = openDatastore(dir, options);
  opened.push(made);
  return made;
};

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const numbers = (d: OpenDatastore, nid: string) => {
  const status = d.datastore.status(nid);
  return status === null ? null : [status.storage, status.data_import];
};

const columnsOf = async (d: OpenDatastore, nid: string): Promise<string[]> =>
  (await d.datastore.search({ nid, resourceUuid: 'u' })).result.fields.map(({ id }) => id);

describe('a table that is attached', () => {
  it('is imported at once, every value as text', async () => {
    const d = open();
    expect(await d.attach('1', 'name,age\nAnn,007\n"B ""b""\n", 4 \n')).toBe('imported');
    expect(await d.rows('1')).toEqual([
      ['Ann', '007', '1'],
      ['B "b"\n', ' 4 ', '2'],
    ]);
    expect(d.datastore.status('1')).toEqual({
      class: 'Dkan\\Datastore\\Manager\\SimpleImport\\SimpleImport',
      storage: 1,
      data_import: 2,
      configurable_properties: { delimiter: ',', quote: '"', escape: '\\', trailing_delimiter: false },
    });
    expect(d.datastore.fieldStatus('1')).toBe('2');
    expect(d.datastore.failure('1')).toBeNull();
  });

  it('is split at tabs where its name ends with .tsv', async () => {
    const d = open();
    expect(await d.attach('1', 'a\tb\n1,5\t2\n', 'data.tsv')).toBe('imported');
    expect(await d.rows('1')).toEqual([['1,5', '2', '1']]);
    expect(d.datastore.status('1')?.configurable_properties.delimiter).toBe('\t');
  });

  it('may have no rows, and may have backslashes and characters of four bytes', async () => {
    const d = open();
    expect(await d.attach('1', 'a,b')).toBe('imported');
    expect(await d.rows('1')).toEqual([]);
    expect(await d.attach('2', 'a,b\nC:\\dir,"\\"\n😀,日本\n')).toBe('imported');
    expect(await d.rows('2')).toEqual([
      ['C:\\dir', '\\', '1'],
      ['😀', '日本', '2'],
    ]);
  });

  it('gets its columns named as recorded', async () => {
    const d = open();
    await d.attach('1', '\ufeff first name ,Last-Name,2001,select,entry_id,näme\n1,2,3,4,5,6\n');
    expect(await columnsOf(d, '1')).toEqual([
      'first_name',
      'lastname',
      '__num_2001',
      'select_',
      'entry_id_',
      'nme',
      'entry_id',
    ]);
  });

  it('may have 1,999 columns and no more', async () => {
    const d = open();
    const wide = (columns: number) => {
      const names = Array.from({ length: columns }, (_, i) => `c${i}`).join(',');
      return `${names}\n${names}\n`;
    };
    expect(await d.attach('1', wide(1999))).toBe('imported');
    expect((await d.rows('1'))[0]?.[1998]).toBe('c1998');
    expect(await d.attach('2', wide(2000))).toBe('failed');
    expect(d.datastore.failure('2')).toMatchObject({ code: 'table-header', line: 1, column: 2000 });
  });

  it('replaces the table of the file before, whose rows and file go', async () => {
    const d = open();
    await d.attach('1', 'a\n1\n2\n');
    const [old] = d.tables();
    expect(await d.attach('1', 'x,y\n3,4\n')).toBe('imported');
    expect(await d.rows('1')).toEqual([['3', '4', '1']]);
    expect(d.tables()).toHaveLength(1);
    expect(d.tables()).not.toContain(old);
  });

  it('is imported beside many others', async () => {
    const d = open();
    const nids = Array.from({ length: 60 }, (_, i) => String(i + 1));
    const outcomes = await Promise.all(nids.map((nid) => d.attach(nid, uniform(20, nid))));
    expect(new Set(outcomes)).toEqual(new Set(['imported']));
    for (const nid of nids) expect((await d.rows(nid))[19]).toEqual([nid, nid, '20']);
    expect(d.tables()).toHaveLength(60);
  });

  it('has no datastore where it is no CSV or TSV, and ends the one of a table before', async () => {
    const d = open();
    expect(await d.attach('1', '%PDF', 'paper.pdf')).toBeNull();
    expect(d.datastore.status('1')).toBeNull();
    await d.attach('2', 'a\n1\n');
    expect(await d.attach('2', '%PDF', 'paper.pdf')).toBeNull();
    expect(d.datastore.status('2')).toBeNull();
    expect(d.tables()).toEqual([]);
    expect(await d.importNow('2')).toBeNull();
  });

  it('loses its datastore with the transaction that notes a file which is no table', async () => {
    const d = open();
    await d.attach('1', 'a\n1\n');
    const paper = { nid: '1', fid: '2', path: d.file('%PDF'), filename: 'paper.pdf', mime: 'application/pdf' };
    d.db.exec('BEGIN');
    d.datastore.note(paper);
    d.db.exec('ROLLBACK');
    expect(await d.rows('1')).toEqual([['1', '1']]);
    d.db.exec('BEGIN');
    d.datastore.note(paper);
    d.db.exec('COMMIT');
    expect(d.datastore.status('1')).toBeNull();
    expect(await d.attached(paper)).toBeNull();
    expect(d.tables()).toEqual([]);
  });

  it('is imported once where it was noted in the transaction of its file', async () => {
    const d = open();
    await d.attach('1', 'a\nold\n');
    const file = { nid: '1', fid: '2', path: d.file('a\nnew\n'), filename: 'data.csv', mime: 'text/csv' };
    d.db.exec('BEGIN');
    d.datastore.note(file);
    d.db.exec('COMMIT');
    expect(numbers(d, '1')).toEqual([1, 4]);
    expect(await d.rows('1')).toEqual([['old', '1']]);
    expect(await d.attached(file)).toBe('imported');
    expect(await d.rows('1')).toEqual([['new', '1']]);
    expect(d.tables()).toHaveLength(1);
  });

  it('counts by the content type that is given, whatever its name', async () => {
    const d = open();
    const path = d.file('a\n1\n');
    expect(await d.attached({ nid: '1', fid: '1', path, filename: 'export', mime: 'text/csv' })).toBe('imported');
  });
});

describe('a table that is faulty', () => {
  it.each([
    ['a ragged row', 'a,b\n1,2\n3\n', { code: 'table-ragged', line: 3 }],
    ['an empty header cell', 'a,b,\n1,2,\n', { code: 'table-header', line: 1, column: 3 }],
    ['two columns of one name', 'a,A\n1,2\n', { code: 'table-header', line: 1, column: 2 }],
    ['a name that cannot be used', 'a,日本\n1,2\n', { code: 'table-header', line: 1, column: 2 }],
    ['an unclosed quote', 'a,b\n1,"2\n3,4\n', { code: 'table-quote', line: 2, column: 2 }],
    ['Latin-1', Buffer.from('a,b\nM\xfcller,2\n', 'latin1'), { code: 'table-encoding', line: 2, column: 1 }],
    ['no content', '', { code: 'table-empty', line: 1 }],
  ])('(%s) is attached, not imported, and the reason is kept', async (_, content, reason) => {
    const d = open();
    expect(await d.attach('1', content)).toBe('failed');
    expect(numbers(d, '1')).toEqual([0, 7]);
    expect(d.datastore.fieldStatus('1')).toBe('0');
    expect(d.datastore.failure('1')).toMatchObject(reason);
    expect(d.tables()).toEqual([]);
  });

  it('leaves the rows of the file before searchable', async () => {
    const d = open();
    await d.attach('1', uniform(3, 'old'));
    expect(await d.attach('1', `${uniform(5000, 'new')}odd\n`)).toBe('failed');
    expect(numbers(d, '1')).toEqual([1, 7]);
    expect(d.datastore.fieldStatus('1')).toBe('0');
    expect((await d.rows('1')).map(([a]) => a)).toEqual(['old', 'old', 'old']);
    expect(d.tables()).toHaveLength(1);
  });

  it('is told without a path where its bytes are missing', async () => {
    const d = open();
    const path = d.file('a\n1\n');
    rmSync(path);
    expect(await d.attached({ nid: '1', fid: '1', path, filename: 'data.csv', mime: 'text/csv' })).toBe('failed');
    expect(d.datastore.failure('1')?.code).toBe('source-missing');
    expect(JSON.stringify(d.datastore.failure('1'))).not.toContain(path);
  });
});

describe('a table that cannot be written', () => {
  it('is told without a path, and an import call mends it when the folder is back', async () => {
    const dir = tempDir();
    const d = open(dir);
    rmSync(join(dir, 'tables'), { recursive: true });
    expect(await d.attach('1', 'a\n1\n')).toBe('failed');
    expect(d.datastore.failure('1')?.code).toBe('portal-store');
    expect(JSON.stringify(d.datastore.failure('1'))).not.toContain(dir);
    mkdirSync(join(dir, 'tables'));
    expect(await d.importNow('1')).toBe('imported');
    expect(await d.rows('1')).toEqual([['1', '1']]);
  });
});

describe('an import that takes longer than a caller waits', () => {
  it('reads 4 with the old table searchable until the new one is complete', async () => {
    const d = open(tempDir(), { attachWaitMs: 0 });
    await d.attach('1', uniform(2, 'old'));
    await waitUntil('the first import', () => numbers(d, '1')?.[1] === 2);
    expect(await d.attach('1', uniform(200_000, 'new'))).toBe('running');
    expect(numbers(d, '1')).toEqual([1, 4]);
    const growing = await waitUntil('the new table to grow', () => (d.tables().length > 1 ? d.tables() : null));
    expect(growing.filter((name) => !name.endsWith('.sqlite'))).toEqual([]);
    expect(d.datastore.fieldStatus('1')).toBe('0');
    expect((await d.rows('1')).map(([a]) => a)).toEqual(['old', 'old']);
    await waitUntil('the import', () => numbers(d, '1')?.[1] === 2);
    const answer = await d.datastore.search({ nid: '1', resourceUuid: 'u', limit: 1, offset: 199_999 });
    expect(answer.result).toMatchObject({ total: 200_000, records: [{ a: 'new', b: 'new', entry_id: '200000' }] });
  });

  it('gives way to the next file', async () => {
    const d = open(tempDir(), { attachWaitMs: 0 });
    await d.attach('1', uniform(300_000, 'first'));
    await d.attach('1', uniform(2, 'second'));
    await waitUntil('the import', () => numbers(d, '1')?.[1] === 2);
    expect(await d.rows('1')).toHaveLength(2);
    await waitUntil('the half import to go', () => d.tables().length === 1);
    expect((await d.rows('1'))[0]?.[0]).toBe('second');
  });

  it('is joined, not repeated, by an import call', async () => {
    const dir = tempDir();
    const impatient = open(dir, { attachWaitMs: 0 });
    await impatient.attach('1', uniform(100_000, 'x'));
    expect(await impatient.importNow('1')).toBe('running');
    await waitUntil('the import', () => numbers(impatient, '1')?.[1] === 2);
    expect(impatient.tables()).toHaveLength(1);
  });
});

describe('import, removal and configuration', () => {
  it('an import of what is imported changes nothing', async () => {
    const d = open();
    await d.attach('1', 'a\n1\n');
    const before = d.tables();
    expect(await d.importNow('1')).toBe('imported');
    expect(d.tables()).toEqual(before);
  });

  it('an import after a failed one reads the file again', async () => {
    const d = open();
    const path = d.file('a,b\n1\n');
    const file = { nid: '1', fid: '1', path, filename: 'data.csv', mime: 'text/csv' };
    expect(await d.attached(file)).toBe('failed');
    writeFileSync(path, 'a,b\n1,2\n');
    expect(await d.importNow('1')).toBe('imported');
    expect(numbers(d, '1')).toEqual([1, 2]);
  });

  it('a removal takes table and configuration away, also twice, and the file can be imported again', async () => {
    const d = open();
    await d.attach('1', 'a|b\n1|2\n');
    await d.datastore.configure('1', { delimiter: '|' });
    await d.datastore.remove('1');
    expect(d.tables()).toEqual([]);
    expect(numbers(d, '1')).toEqual([0, 2]);
    expect(d.datastore.status('1')?.configurable_properties.delimiter).toBe(',');
    await expect(d.datastore.search({ nid: '1', resourceUuid: 'u' })).rejects.toMatchObject({ status: 404 });
    await d.datastore.remove('1');
    expect(await d.importNow('1')).toBe('imported');
    expect(await columnsOf(d, '1')).toEqual(['ab', 'entry_id']);
  });

  it('a drop keeps the configuration', async () => {
    const d = open();
    await d.attach('1', 'a|b\n1|2\n');
    await d.datastore.configure('1', { delimiter: '|' });
    await d.datastore.drop('1');
    expect(numbers(d, '1')).toEqual([0, 2]);
    expect(await d.importNow('1')).toBe('imported');
    expect(await columnsOf(d, '1')).toEqual(['a', 'b', 'entry_id']);
  });

  it('a removal during an import ends it', async () => {
    const d = open(tempDir(), { attachWaitMs: 0 });
    await d.attach('1', uniform(300_000, 'x'));
    await d.datastore.remove('1');
    await waitUntil('the half import to go', () => d.tables().length === 0);
    expect(numbers(d, '1')).toEqual([0, 2]);
  });

  it('a configuration reads 3 and counts from the next import on', async () => {
    const d = open();
    await d.attach('1', "a;b;\n'x;''y';2;\n");
    await d.datastore.configure('1', { delimiter: ';', quote: "'", trailing_delimiter: '1' });
    expect(numbers(d, '1')).toEqual([1, 3]);
    expect(await columnsOf(d, '1')).toEqual(['ab', 'entry_id']);
    expect(d.datastore.status('1')?.configurable_properties).toEqual({
      delimiter: ';',
      quote: "'",
      escape: '\\',
      trailing_delimiter: true,
    });
    expect(await d.importNow('1')).toBe('imported');
    expect(await d.rows('1')).toEqual([["x;'y", '2', '1']]);
  });

  it('an escape that is configured is honoured', async () => {
    const d = open();
    await d.attach('1', 'a,b\n"x\\"y",2\n');
    expect(numbers(d, '1')).toEqual([0, 7]);
    await d.datastore.configure('1', { escape: '\\' });
    expect(await d.importNow('1')).toBe('imported');
    expect(await d.rows('1')).toEqual([['x"y', '2', '1']]);
  });

  it.each([
    [{ delimiter: 'ab' }],
    [{ delimiter: '' }],
    [{ delimiter: '\n' }],
    [{ delimiter: 7 }],
    [{ delimiter: '"' }],
    [{ escape: ',' }],
    [{ trailing_delimiter: 'perhaps' }],
    [{ colour: 'red' }],
    [{ __proto__: null, constructor: 'x' }],
  ])('a configuration %j is refused and changes nothing', async (properties) => {
    const d = open();
    await d.attach('1', 'a\n1\n');
    const error: unknown = await d.datastore.configure('1', properties).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(Refusal);
    expect(error).toMatchObject({ status: 406 });
    expect(numbers(d, '1')).toEqual([1, 2]);
  });

  it('what has no file has no datastore to import, remove or configure', async () => {
    const d = open();
    expect(await d.importNow('9')).toBeNull();
    await d.datastore.remove('9');
    await d.datastore.drop('9');
    await d.datastore.configure('9', { delimiter: ';' });
    expect(d.datastore.status('9')).toBeNull();
    expect(d.tables()).toEqual([]);
    expect(d.datastore.fieldStatus('9')).toBe('0');
  });
});

describe('a start', () => {
  it('removes what no resource points at and keeps the tables', async () => {
    const dir = tempDir();
    const first = open(dir);
    await first.attach('1', 'a\n1\n');
    await first.close();
    writeFileSync(join(dir, 'tables', '1.dead.sqlite'), 'half');
    writeFileSync(join(dir, 'tables', '1.dead.sqlite-journal'), 'half');
    const second = open(dir);
    expect(await second.datastore.sweep()).toEqual({ unlinked: 2, resumed: 0 });
    expect(await second.rows('1')).toEqual([['1', '1']]);
  });

  it('resumes an import that a stop interrupted', async () => {
    const dir = tempDir();
    const first = open(dir, { attachWaitMs: 0 });
    await first.attach('1', uniform(300_000, 'x'));
    await first.close();
    await first.close();
    const second = open(dir);
    expect(numbers(second, '1')).toEqual([0, 4]);
    expect(await second.datastore.sweep()).toMatchObject({ resumed: 1 });
    await waitUntil('the import', () => numbers(second, '1')?.[1] === 2);
    expect((await second.datastore.search({ nid: '1', resourceUuid: 'u' })).result.total).toBe(300_000);
  });

  it('imports a file that was only noted', async () => {
    const d = open();
    d.datastore.note({ nid: '1', fid: '1', path: d.file('a\n1\n'), filename: 'data.csv', mime: 'text/csv' });
    expect(await d.datastore.sweep()).toEqual({ unlinked: 0, resumed: 1 });
    await waitUntil('the import', () => numbers(d, '1')?.[1] === 2);
  });

  it('imports again where the file of a table is gone', async () => {
    const dir = tempDir();
    const first = open(dir);
    await first.attach('1', 'a\n1\n');
    await first.close();
    for (const name of first.tables()) rmSync(join(dir, 'tables', name));
    const second = open(dir);
    expect(await second.datastore.sweep()).toEqual({ unlinked: 0, resumed: 1 });
    await waitUntil('the import', () => numbers(second, '1')?.[1] === 2);
    expect(await second.rows('1')).toEqual([['1', '1']]);
  });
});
