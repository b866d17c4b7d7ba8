// How an ambiguous table is read by given options: by `check` and its fixes, and by the steps of a recipe.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type CheckOptions, fixTable, inspectTable } from '../../src/tables/check.ts';
import { encoderOf } from '../../src/tables/scan/encodings.ts';
import { fileOf } from '../support/table-file.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type Details, made, textOf } from './transform/support/made.ts';
import { zipOf } from './transform/support/zip.ts';

/** Files that can be read in two ways: the key for each, and the table it gives; null where it is refused all the same. */
const unclear: [content: string, readings: [Details & CheckOptions, string | null][]][] = [
  [
    'Report\nname;town\nAnn;Bonn\nBob;Ulm\n',
    [
      [{ skipRows: 1 }, 'name,town\nAnn,Bonn\nBob,Ulm\n'],
      [{ skipRows: 0 }, 'Report\nname;town\nAnn;Bonn\nBob;Ulm\n'],
    ],
  ],
  [
    'Rapport\nnom|ville\nAnn|Bonn\nBob|Ulm\n',
    [
      [{ skipRows: 1 }, 'nom,ville\nAnn,Bonn\nBob,Ulm\n'],
      [{ skipRows: 0 }, 'Rapport\nnom|ville\nAnn|Bonn\nBob|Ulm\n'],
    ],
  ],
  [
    'Einwohner;;\nName;Stadt;Land\nAnn;Bonn;DE\n',
    [
      [{ skipRows: 1 }, 'Name,Stadt,Land\nAnn,Bonn,DE\n'],
      [{ skipRows: 0 }, null],
    ],
  ],
  [
    '#a,b,c\nd,e,f\ng,h,i\n',
    [
      [{ skipRows: 1 }, 'd,e,f\ng,h,i\n'],
      [{ skipRows: 0 }, '#a,b,c\nd,e,f\ng,h,i\n'],
    ],
  ],
  [
    'Wert, netto;Wert, brutto\n1,5;2,5\n3,5;4,5\n',
    [
      [{ table: [{ delimiter: ';' }], delimiter: ';' }, '"Wert, netto","Wert, brutto"\n"1,5","2,5"\n"3,5","4,5"\n'],
      [{ table: [{ delimiter: ',' }], delimiter: ',' }, 'Wert, netto;Wert, brutto\n1,5;2,5\n3,5;4,5\n'],
    ],
  ],
];

/** Tables by a delimiter that portals do not understand. */
const foreign: [content: string, delimiter: string, text: string][] = [
  ['id:name:at\n1:Ann:Ulm\n2:Bob:Bonn\n', ':', 'id,name,at\n1,Ann,Ulm\n2,Bob,Bonn\n'],
  ['id name n\n1 Ann 5\n2 Bob 6\n', ' ', 'id,name,n\n1,Ann,5\n2,Bob,6\n'],
  ['a#b\n1#x, y\n', '#', 'a,b\n1,"x, y"\n'],
];

const readings = unclear.flatMap(([content, each]) => each.map(([given, text]) => ({ content, given, text })));

/** Steps that ask for a table and change nothing. */
const steps = { table: [{ replace: { cell: 'never there', with: '' } }] };

describe('a table that can be read in several ways', () => {
  it.each(unclear)('%j is refused with the keys that decide, also where steps transform it', async (content) => {
    const refusal = {
      code: 'table-header',
      hint: expect.stringMatching(/`(?:skipRows|delimiter): .*` or `.*sluice check --/),
    };
    const { findings } = await inspectTable(fileOf(content));
    expect(findings.find(({ kind }) => kind === 'layout-unclear')).toMatchObject(refusal);
    await expect(textOf('t.csv', content, steps)).rejects.toMatchObject(refusal);
    await expect(textOf('t.csv.gz', gzipSync(content))).rejects.toMatchObject(refusal);
    await expect(textOf('t.zip', await zipOf({ 't.csv': content }))).rejects.toMatchObject(refusal);
  });

  it.each(readings)(
    '$content is read as given by $given.skipRows $given.delimiter',
    async ({ content, given, text }) => {
      const { skipRows, delimiter, ...details } = given;
      const { findings } = await inspectTable(fileOf(content), { skipRows, delimiter });
      expect(findings.some(({ kind }) => kind === 'layout-unclear')).toBe(false);
      const keys = { ...details, ...(skipRows === undefined ? {} : { skipRows }) };
      if (text !== null) expect(await textOf('t.csv', content, keys)).toBe(text);
      if (text !== null && skipRows !== undefined)
        expect(await textOf('t.zip', await zipOf({ 't.csv': content }), keys)).toBe(text);
    },
  );
});

describe('a table by a delimiter that portals do not understand', () => {
  it.each(foreign)('%j is made with commas where `delimiter` names it', async (content, delimiter, text) => {
    expect(await textOf('t.csv', content, { table: [{ delimiter }] })).toBe(text);
    expect(await textOf('t.csv', content, { table: [{ delimiter }], mend: 'safe' })).toBe(text);
  });

  it('is made with commas without being told where programs write the delimiter, and `mend` is safe', async () => {
    for (const by of ['^', '~', '\u001f', '\u0001'])
      expect(await textOf('t.csv', `id${by}name\n1${by}Ann, B.\n2${by}Bob\n`, { mend: 'safe' })).toBe(
        'id,name\n1,"Ann, B."\n2,Bob\n',
      );
  });
});

describe('titles above the header', () => {
  it.each([
    ['Spending of the city\n\nid,name,amount\n1,Ann,2\n2,Bob,3\n', 2],
    ['Ausgaben der Stadt;;\nund mehr;;\nid;Name;Betrag\n1;Ann;2\n2;Bob;3\n', 2],
    ['Dépenses\nid\tnom\tmontant\n1\tAnn\t2\n2\tBob\t3\n', 1],
  ])('%j: are refused under steps, with the key that leaves them out', async (content, skipRows) => {
    await expect(textOf('t.csv', content, steps)).rejects.toMatchObject({
      code: 'table-header',
      hint: expect.stringContaining(`\`skipRows: ${skipRows}\``),
    });
    expect(await textOf('t.csv', content, { ...steps, skipRows })).toMatch(/^id,n\w*,\w+\n1,Ann,2\n2,Bob,3\n$/i);
  });
});

describe('lines that are to be skipped', () => {
  const dir = tempDir();
  const lines = ['Bericht "2026', '# x;y', ''];
  it.each(['utf-8', 'windows-1250', 'utf-16le'])('are left out by a fix and listed, in %s', async (encoding) => {
    const text = [...lines, 'město;počet', 'Plzeň;5', 'Brno;6', ''].join('\r\n');
    const path = fileOf(encoderOf(encoding)(encoding === 'utf-16le' ? `\ufeff${text}` : text));
    const given = { skipRows: 3, ...(encoding === 'windows-1250' ? { encoding } : {}) };
    const { findings, headerLine, verdict } = await inspectTable(path, given);
    expect({ headerLine, verdict }).toEqual({ headerLine: 4, verdict: 'mendable' });
    expect(findings.find(({ kind }) => kind === 'title-rows')).toMatchObject({ count: 3, places: [{ line: 1 }] });
    const target = join(dir, `${encoding}.csv`);
    const { rows } = await fixTable(path, target, given);
    expect(readFileSync(target, 'utf8')).toBe('město;počet\r\nPlzeň;5\r\nBrno;6\r\n');
    const above = rows.filter(({ line, after }) => line < 4 && after === null);
    expect(above.map(({ before }) => before.replaceAll('\u0000', ''))).toEqual(lines);
  });

  it('place faults below them in the line and byte of the file', async () => {
    const { findings } = await inspectTable(fileOf('\ufeffx\ny\na;b\n1;2;3\n'), { skipRows: 2 });
    expect(findings.find(({ kind }) => kind === 'row-long')?.places).toMatchObject([{ line: 4, offset: 11 }]);
    await expect(textOf('t.csv', '\ufeffx\ny\na;b\n1;\0\n', { skipRows: 2, ...steps })).rejects.toMatchObject({
      message: expect.stringMatching(/line 4.*byte 14 of the file/),
    });
  });

  it.each([
    ['\r', '\n\nid;n\n1;2\n', 2],
    ['\r\n', '\nid;n\n1;2\n', 2],
    ['\r\n', 'id;n\n1;2\n', 1],
    ['\r', 'id;n\n1;2\n', 1],
    ['\r\r', '\nid;n\n1;2\n', 2],
  ])('end where the file is cut into pieces: %j and %j', async (end, rest, skipRows) => {
    // Files are read in pieces of 256 KB.
    const text = `${'x'.repeat(256 * 1024 - end.length)}${end}${rest}`;
    const { headerLine, columns, rows } = await inspectTable(fileOf(text), { skipRows });
    expect({ headerLine, rows }).toEqual({ headerLine: skipRows + 1, rows: 1 });
    expect(columns.map(({ name }) => name)).toEqual(['id', 'n']);
    expect(await textOf('t.csv', text, { ...steps, skipRows })).toBe('id,n\n1,2\n');
  });
});

describe('text in no known encoding', () => {
  it.each([
    ['Plzeň', 'windows-1250', 'encoding: windows-1250'],
    ['Győr', 'windows-1250', 'encoding: windows-1250'],
    ['İstanbul', 'windows-1254', 'encoding: windows-1254'],
    ['Москва', 'windows-1251', 'encoding: '],
  ])('is refused with the likeliest under steps, in gzip and archives: %s in %s', async (word, encoding, hint) => {
    const content = encoderOf(encoding)(`nr;name\n1;${word}\n2;Brno\n`);
    const refusal = { code: 'table-encoding', hint: expect.stringContaining(hint) };
    await expect(textOf('t.csv', content, steps)).rejects.toMatchObject(refusal);
    await expect(textOf('t.csv.gz', gzipSync(content))).rejects.toMatchObject(refusal);
    await expect(textOf('t.zip', await zipOf({ 't.csv': content }))).rejects.toMatchObject(refusal);
    expect(await textOf('t.zip', await zipOf({ 't.csv': content }), { encoding: encoding as 'windows-1250' })).toBe(
      `nr,name\n1,${word}\n2,Brno\n`,
    );
  });

  it('in an archive of JSON, keys for text are ignored', async () => {
    const details = { encoding: 'windows-1250', skipRows: 2 } as const;
    expect(await textOf('t.zip', await zipOf({ 't.json': '[{"a":1}]' }), details)).toBe('a\n1\n');
  });
});

describe('a table whose header is given', () => {
  it.each([
    ['film,year,note\nAlien,1979,x\nSource: the studio,,\n', 0],
    ['animal,count\ncat,5\n\ntown,people\nUlm,120000\n', 0],
    ['station;temp;wind\n;°C;m/s\nA;1.5;3\n', 0],
    ['Error: no rows were found, try again\n1,2,3\n', 1],
    ['first last\nAnn 5\nBob 6\n', 0],
    ['name\nAnn\n\nBob\n', 0],
    ['id,name,n\n1,"Oak,5\n2,Elm,6\n3,Ash",7\n', 0],
  ])('has records below it, whatever they look like: %j', async (content, skipRows) => {
    expect((await inspectTable(fileOf(content))).verdict).not.toBe('sound');
    const { findings } = await inspectTable(fileOf(content), { skipRows });
    const kinds = findings.filter(({ code }) => code !== null).map(({ kind }) => kind);
    expect(kinds.filter((kind) => !['title-rows', 'header-values'].includes(kind))).toEqual([]);
  });

  it('is what every fault names that it answers', async () => {
    for (const content of ['a,b\n1,x\nNote: all of it,\n', 'a,b\n1,x\n2,y\n\nc,d\n3,z\n', 'a b\n1 2\n3 4\n']) {
      const { findings } = await inspectTable(fileOf(content));
      const hints = findings.filter(({ code }) => code !== null).map(({ hint }) => hint);
      expect(hints.join(' ')).toContain('skipRows');
    }
  });
});

it.each(['b', 'c'])('a row of one cell is left out where bad rows are', async (last) => {
  const content = `film,year,note\nAlien,1979,x\nTerminator: Dark Fate\n${last === 'b' ? 'Heat,1995,y\n' : ''}`;
  expect(await made('t.csv', content, { badRows: 'quarantine', maxBadRows: 5 })).toMatchObject({
    text: content.replace('Terminator: Dark Fate\n', ''),
    rejects: expect.stringContaining('Terminator: Dark Fate'),
  });
});

it('a title with a colon in the last row is a record', async () => {
  const content = 'film,year,note\nAlien,1979,x\nTerminator: Dark Fate,,\n';
  expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
});

it('a note below a table in UTF-16 has no offset, as that in the decoded text is none of the file', async () => {
  const content = encoderOf('utf-16le')('id;name;town\n1;Ann;Ulm\n2;Bob;Bonn\n;;\n* as of 2021;;\n');
  const { findings } = await inspectTable(fileOf(content), { encoding: 'utf-16le' });
  expect(findings.find(({ kind }) => kind === 'footer')?.places).toMatchObject([{ line: 5, offset: null }]);
});
