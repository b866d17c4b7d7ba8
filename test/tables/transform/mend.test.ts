// What `mend: safe` mends on the way, and what it leaves to a person.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { recipeOf } from '../../../src/sources/gather/dataset-wish.ts';
import { encoderOf } from '../../../src/tables/scan/encodings.ts';
import { prepareTable } from '../../../src/tables/transform/prepare.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { faultFixtures } from '../fault-fixtures.ts';
import { made, textOf } from './support/made.ts';
import { zipOf } from './support/zip.ts';

const safe = { mend: 'safe' } as const;
const czech = 'nr;město\n1;Plzeň\n2;České Budějovice\n3;Ústí nad Labem\n4;Hradec Králové\n5;Žďár nad Sázavou\n';

/** Files with one fault each, and what is sent instead. */
const mended: [fault: string, content: string | Buffer, sent: string][] = [
  ['Windows-1250', encoderOf('windows-1250')(czech), czech],
  ['ISO-8859-2', encoderOf('iso-8859-2')(czech), czech],
  ['an encoding of DOS', encoderOf('ibm852')(czech), czech],
  ['UTF-16 with a mark', Buffer.from('\ufeffa\tb\n1\tß\n', 'utf16le'), 'a\tb\n1\tß\n'],
  ['UTF-16 without one', Buffer.from('a,b\n1,x\n2,y\n', 'utf16le'), 'a,b\n1,x\n2,y\n'],
  ['a byte order mark', '\ufeffa;b\n1;2\n', 'a;b\n1;2\n'],
  ['mixed line ends', 'a,b\n1,2\r\n3,4\n', 'a,b\n1,2\n3,4\n'],
  ['line ends of old Macintosh systems', 'a|b\r1|2\r3|4\r', 'a|b\n1|2\n3|4\n'],
  ['blank lines', 'a,b\n1,2\n\n3,4\n\n', 'a,b\n1,2\n3,4\n'],
  ['empty rows at the end', 'a,b\n1,2\n,\n,\n', 'a,b\n1,2\n'],
  ['empty rows at the end, of tabs', 'a\tb\tc\n1\t2\t3\n\t\t\n', 'a\tb\tc\n1\t2\t3\n'],
  ['a title', 'Spending of the city\n\nid,name,amount\n1,Ann,2\n2,Bob,3\n', 'id,name,amount\n1,Ann,2\n2,Bob,3\n'],
  ['a padded title', 'Ausgaben;;\n;;\nid;Name;Betrag\n1;Ann;2\n2;Bob;3\n', 'id;Name;Betrag\n1;Ann;2\n2;Bob;3\n'],
  ['comments', '# made by x, y, z\n# and others\nid,n,m\n1,a,2\n', 'id,n,m\n1,a,2\n'],
  ['the line of Excel', 'sep=;\nid;name\n1;Ann\n', 'id;name\n1;Ann\n'],
  ['blank lines above', '\n\nid,name\n1,Ann\n', 'id,name\n1,Ann\n'],
  ['a delimiter at the end of each line', 'id;name;\n1;Ann;\n2;Bob;\n', 'id;name\n1;Ann\n2;Bob\n'],
  ['empty cells behind the last column', 'id,name\n1,Ann\n2,Bob,,\n', 'id,name\n1,Ann\n2,Bob\n'],
  ['spaces around quotes', 'id,name\n1, "Ann"\n', 'id,name\n1,"Ann"\n'],
  ['spaces around names', 'id, name\n1,Ann\n', 'id,name\n1,Ann\n'],
  ['single quotes', "id,name\n1,'Ann, B.'\n2,'Bob, C.'\n", 'id,name\n1,"Ann, B."\n2,"Bob, C."\n'],
  ['a backslash before quotes', 'id,name\n1,"Ann \\"B\\""\n2,"Bob"\n', 'id,name\n1,"Ann ""B"""\n2,"Bob"\n'],
  ['quotes that are text', 'id\ttitle\n1\t"High" noon\n2\tLow\n', 'id\ttitle\n1\t"""High"" noon"\n2\tLow\n'],
];

describe('`mend: safe`', () => {
  it.each(mended)('mends %s', async (_, content, sent) => {
    const result = await made('t.csv', content, safe);
    expect(result).toMatchObject({ kind: 'table', text: sent, fixes: [expect.any(String)] });
  });

  it('mends the text of gzip and archives and under steps before the table is made', async () => {
    const title = 'Bericht\n\n';
    const content = encoderOf('windows-1250')(title + czech);
    const table = czech.replaceAll(';', ',');
    expect(await textOf('t.csv.gz', gzipSync(content), safe)).toBe(table);
    expect(await textOf('t.zip', await zipOf({ 't.csv': content }), safe)).toBe(table);
    expect(await textOf('t.csv', content, { ...safe, table: [{ rename: { nr: 'no' } }] })).toBe(
      table.replace('nr', 'no'),
    );
    expect(await textOf('t.csv', content, { ...safe, encoding: 'cp1250', skipRows: 2 })).toBe(table);
  });

  it('does several mends at once, and tells each without row contents', async () => {
    const result = await made('t.csv', encoderOf('windows-1250')(`Seznam\r\n\r\n${czech}`), safe);
    expect(result).toMatchObject({ kind: 'table', text: czech, rowsOut: 5 });
    if (result.kind !== 'table') return;
    expect(result.fixes.join()).toMatch(/lines above the header.*lines end with LF.*Windows-1250/);
    expect(result.fixes.join()).not.toMatch(/Plze|Seznam/);
  });

  it('sends a sound file as it is', async () => {
    for (const content of ['a,b\n1,2\n', 'a;b\r\n1;2\r\n', czech])
      expect(await made('t.csv', content, safe)).toEqual({ kind: 'as-is', why: 'nothing to fix' });
  });

  const unsafe = new Set<string>([
    'row-short',
    'row-long',
    'row-split',
    'row-oversize',
    'quote-unclosed',
    'quote-text-after',
    'quote-stray',
    'header-empty',
    'header-unusable',
    'header-duplicate',
    'header-values',
    'layout-unclear',
    'mixed-encoding',
    'cut-character',
    'nul',
    'control',
    'footer',
    'undivided',
    'second-header',
    'joined-files',
    'no-table',
    'not-a-table',
    'empty-file',
  ]);
  it.each(
    faultFixtures.filter(({ kind }) => unsafe.has(kind)).map((fixture) => [fixture.title, fixture.content] as const),
  )('leaves to a person: %s', async (_, content) => {
    expect((await made('t.csv', Buffer.from(content), safe)).kind).toBe('as-is');
  });

  it('leaves an encoding to a person that the letters do not tell', async () => {
    expect((await made('t.csv', encoderOf('windows-1250')('id,name\n1,Plzeň\n2,Brno\n'), safe)).kind).toBe('as-is');
  });

  it('leaves a file alone that turns out to be no table', async () => {
    const dir = tempDir();
    const path = join(dir, 't.csv');
    writeFileSync(path, '%PDF-1.7');
    const recipe = recipeOf(safe, { kind: 'file', path, name: 't.csv' }, 'auto');
    if (recipe === null) throw new Error('no recipe');
    const limits = { rejects: null, tableBytes: 1e6, rowBytes: 1e6 };
    expect(
      await prepareTable({ path, name: 't.pdf', recipe, folder: dir, label: 'l', manifest: 'city', ...limits }),
    ).toMatchObject({
      kind: 'as-is',
    });
  });

  it('touches nothing else beside a fault that it mends', async () => {
    const content = '\ufeffid,name\n1,A\u0007nn\n2,Bob\n';
    expect(await textOf('t.csv', content, safe)).toBe('id,name\n1,A\u0007nn\n2,Bob\n');
  });

  it('leaves out headers between the rows', async () => {
    const repeated = '\ufeffid,name\n1,Ann\n2,Bob\nid,name\n3,Cid\n';
    expect(await textOf('t.csv', repeated, safe)).toBe('id,name\n1,Ann\n2,Bob\n3,Cid\n');
  });

  it('gives equal bytes for an equal source, and nothing with `off`', async () => {
    const content = encoderOf('windows-1250')(czech);
    const [one, other] = [await made('t.csv', content, safe), await made('t.csv', content, safe)];
    expect(one).toEqual(other);
    await expect(made('t.csv', content, { mend: 'off' })).rejects.toThrow('has no recipe');
    await expect(made('t.csv', content, { ...safe, import: 'never' })).rejects.toThrow('has no recipe');
    await expect(made('t.pdf', content, safe)).rejects.toThrow('has no recipe');
    await expect(made('t.csv.gz', gzipSync(content), { mend: 'off' })).rejects.toMatchObject({
      code: 'table-encoding',
    });
  });
});
