import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { legacyEncodings } from '../../src/model/recipe/encodings.ts';
import { fixTable, inspectTable } from '../../src/tables/check.ts';
import { decoderOf, encoderOf, encodingNamed } from '../../src/tables/scan/encodings.ts';
import { cases, draws } from '../support/extent.ts';
import { fileOf } from '../support/table-file.ts';
import { tempDir } from '../support/temp-dir.ts';
import { languageTexts } from './language-texts.ts';

const dir = tempDir();
let targets = 0;

/** Encodings that tables are found in, by which they are written here. */
const written = [...legacyEncodings, 'utf-8', 'utf-16le', 'utf-16be'];

const mended = async (content: Buffer, encoding?: string): Promise<string> => {
  const target = join(dir, `mended-${targets++}.csv`);
  await fixTable(fileOf(content), target, { encoding });
  return readFileSync(target, 'utf8');
};

/** Below the header, whose names a mend may have to change. */
const rowsOf = (text: string): string => text.slice(text.indexOf('\n'));

/** Texts as they are in the encodings that are made for them. */
const texts = Object.entries(languageTexts).flatMap(([language, text]) =>
  written.flatMap((encoding) => {
    const bytes = encoderOf(encoding)(text);
    const stood = decoderOf(encoding).decode(bytes);
    return stood.split('?').length > text.length / 50 ? [] : [{ language, encoding, bytes, stood }];
  }),
);

const tried = cases(
  texts,
  texts.filter((_, at) => at % 4 === 1),
);

/** How a file is judged, and whether its rows are read as they stood. */
const judged = async (bytes: Buffer, stood: string): Promise<'unknown' | 'right' | 'wrong'> => {
  const { verdict } = await inspectTable(fileOf(bytes));
  if (verdict === 'faulty') return 'unknown';
  const read = verdict === 'sound' ? bytes.toString('utf8') : await mended(bytes);
  return rowsOf(read) === rowsOf(stood) ? 'right' : 'wrong';
};

describe('the encoding of a table', () => {
  it(`is never told wrongly, in ${written.length} encodings and ${Object.keys(languageTexts).length} languages`, async () => {
    const seen: Record<string, string[]> = { right: [], unknown: [], wrong: [] };
    for (const { language, encoding, bytes, stood } of tried) {
      seen[await judged(bytes, stood)]?.push(`${language} in ${encoding}`);
    }
    expect(seen.wrong).toEqual([]);
    expect(seen.right?.length).toBeGreaterThan(4 * (seen.unknown?.length ?? 0));
  });

  it('is never detected wrongly from a few words either', async () => {
    const seen: Record<string, string[]> = { right: [], unknown: [], wrong: [] };
    for (const [at, { language, encoding, stood }] of tried.entries()) {
      const words = stood.split(/[;,\n ]/).filter((word) => /[^\0-\x7f]/.test(word));
      const few = `a;b\n1;${words[at % words.length]}\n2;${words[(at + 5) % words.length]}\n`;
      seen[await judged(encoderOf(encoding)(few), few)]?.push(`${language} in ${encoding}: ${few}`);
    }
    expect(seen.wrong).toEqual([]);
    expect(seen.right?.length).toBeGreaterThan(draws(60));
  });

  it.each([
    ['Plzeň', 'windows-1250'],
    ['Győr', 'windows-1250'],
    ['İstanbul', 'windows-1254'],
  ])(
    'is not told by one word: %s has its encoding among the candidates, with what it reads like',
    async (word, encoding) => {
      const { findings, verdict } = await inspectTable(fileOf(encoderOf(encoding)(`nr;name\n1;${word}\n2;Brno\n`)));
      const [finding] = findings.filter(({ kind }) => kind === 'other-encoding');
      expect(verdict).toBe('faulty');
      expect(finding?.candidates).toContainEqual({ key: `encoding: ${encoding}`, reads: word });
      expect(finding?.hint).toContain('`encoding: ');
    },
  );

  it.each([
    [
      'Russian',
      'johab',
      '2eA73q/e0d7j3tbe3d7X3t/e397t3tsg3uHe5d7f3tze5DvesN7h3tre497R3t/e2t7WCjE73qPe1t7i3ufe397x3vEg3rPe0d7d3tXe0Tvest7W3t7e4N7f3uQg3tze4t7g3tPe3d7aIN7V3tbe5N7j3tze4N7U3uAg3uPe0d7V3tEKMjvept7d3tbe6Dvesd7g3uPe5N7R3tPe3N7RIN7q3tze4N7d3u7e397g3tsg3t7e1t7S3tbe3d7aCjM73rve197d3tze4N7T3uA73rXe0t7g3uLe3N7RIN7j3t/e1t7U3tEg3uMg3uTe4t7g3uTe5d7R3uLe4N7TCg==',
    ],
    [
      'French',
      'cp863',
      'Tm87Q29tbXVuZTtEgnBhcnRlbWVudDtJbnRpdHVsggoxO1NhaW50LZB0aWVubmUtZHUtR3KKcztCb3VjaGVzLWR1LVJok25lO1KCZmVjdGlvbiBkZSBsYSBjaGF1c3OCZQoyO0Nog3RlbGxlcmF1bHQ7Vmllbm5lO5Bjb2xlIIJsgm1lbnRhaXJlCjM7VoJsaXp5O6hsZS1kZS1GcmFuY2U7TYJkaWF0aIpxdWUghSBygm5vdmVyCjQ7QWyKcztHYXJkO0NyimNoZSBkZXMgVGlsbGV1bHMK',
    ],
    [
      'Ukrainian',
      'cp1125',
      '/DuD4K6soKSgO46vqOEKMTuBpeCkqOf3ojuQpayureIgr66q4Peiq/cgpKji7+euo64g4aCkqqAKMjv4p6T3oqqgO4/gqKShoK2t7yDoqver7K2o5SCspaGr96IKMzuZqOCl5uw7j+CooajgoK2t7yDhrfej4yCnIOLgruLjoOD3ogo0O5/gpaznpTuOp6Wrpa2lra3vIK+g4KrjLCCvpeDoqKkgpeKgrwo1O4rgpaylraXm7DuPruGr46OoIKcgoqiipaelra3vIOGs9+Li7wo=',
    ],
    [
      'German',
      'iso2022_jp_2',
      'TnI7U3RyYRskKEQpThsoQmU7T3J0O0ZsGyQoRCsjGyhCY2hlIGluIG0bJChDKXcbKEIKMTtIGyQoRCsjGyhCbmRlbHN0cmEbJChEKU4bKEJlIDQ7SxskKEQrUxsoQmxuLU0bJChEK2QbKEJsaGVpbTsxMjAKMjtBbSBGbBskKEQrUylOGyhCZXJncmFiZW47R3IbJChEKyMbKEJmZWxmaW5nOzg4Cg==',
    ],
    [
      'French',
      'iso2022_jp_3',
      'Tm87Q29tbXVuZTtEGyQoTylfGyhCcGFydGVtZW50O0ludGl0dWwbJChPKV8bKEIKMTtTYWludC0bJChPKUAbKEJ0aWVubmUtZHUtR3IbJChPKV4bKEJzO0JvdWNoZXMtZHUtUmgbJChPKWobKEJuZTtSGyQoTylfGyhCZmVjdGlvbiBkZSBsYSBjaGF1c3MbJChPKV8bKEJlCjI7Q2gbJChPKVgbKEJ0ZWxsZXJhdWx0O1ZpZW5uZTsbJChPKUAbKEJjb2xlIBskKE8pXxsoQmwbJChPKV8bKEJtZW50YWlyZQo=',
    ],
    [
      'Polish',
      'iso2022_jp_1',
      'THA7TWllanNjb3dvGyQoRCtcKysbKEI7T3BpcwoxO1obJChEKygbKEJia293aWNlIBskKEQqXBsoQmwbJChEKygbKEJza2llO1JlbW9udCAbJChEK1wbKEJ3aWV0bGljeSB3aWVqc2tpZWoKMjsbJChEKncbKEJ5d2llYztCdWRvd2EgGyQoRCtcGyhCY2llGyQoRCt3GyhCa2kgcm93ZXJvd2VqCg==',
    ],
    [
      'Japanese',
      'hz',
      'fns3LDpFfn0sfntKUG4uNGV+fSx+e0RaSF1+fQoxLH57SiJ+fT9+e0pQfn0sfntQIVEnUCMkTk5dOHkkclBeQG0kOSRrOSRKQn59CjIsfntLST0tSlB+fSw/Pz9+eyROMT5FbyROfn0/fntIa359Cg==',
    ],
  ])('is unknown where nothing here can read it: %s in %s', async (_, _encoding, bytes) => {
    expect((await inspectTable(fileOf(Buffer.from(bytes, 'base64')))).verdict).toBe('faulty');
  });

  it.each(['gb18030', 'euc-jp', 'shift_jis', 'ibm866'])(
    'of plain %s is not mistaken for joined files',
    async (encoding) => {
      const text =
        languageTexts[encoding === 'ibm866' ? 'Russian' : encoding === 'gb18030' ? 'Chinese' : 'Japanese'] ?? '';
      const { findings } = await inspectTable(fileOf(encoderOf(encoding)(text)));
      expect(findings.map(({ kind }) => kind)).not.toContain('mixed-encoding');
    },
  );

  it.each([
    ['German', 'windows-1252'],
    ['Czech', 'windows-1250'],
    ['Russian', 'koi8-r'],
  ])('changes in the middle of joined files: %s in UTF-8 and %s', async (language, encoding) => {
    const text = languageTexts[language] ?? '';
    const bytes = Buffer.concat([Buffer.from(`${text}\n`), encoderOf(encoding)(text)]);
    const { findings } = await inspectTable(fileOf(bytes));
    expect(findings.map(({ kind }) => kind)).toContain('mixed-encoding');
  });

  it('that switches between character sets is recognised', async () => {
    const japanese = Buffer.from('id,name\n1,\x1b$B;3ED\x1b(B\n', 'latin1');
    expect(await mended(japanese)).toBe('id,name\n1,山田\n');
    const korean = Buffer.from('\x1b$)Cid,name\n1,\x0e0!3*\x0f\n', 'latin1');
    const { findings, verdict } = await inspectTable(fileOf(korean));
    expect(verdict).toBe('faulty');
    expect(findings[0]).toMatchObject({ kind: 'other-encoding', message: 'the file is ISO-2022-KR, not UTF-8' });
  });

  it('is detected from bytes anywhere in the file, not only from the first of them', async () => {
    const [german, czech] = ['1;Müller\n'.repeat(9000), '2;Plzeň\n'];
    const bytes = Buffer.concat([Buffer.from(`nr;name\n${german}`, 'latin1'), encoderOf('windows-1250')(czech)]);
    expect((await inspectTable(fileOf(bytes))).verdict).toBe('faulty');
  });

  it.each(['cp1250', 'Latin1', 'CP852', 'mac-ce', 'Shift_JIS'])('can be named %s', (name) => {
    expect(encodingNamed(name)).not.toBeNull();
  });

  it('can be given, also one of DOS', async () => {
    expect(await mended(encoderOf('cp852')('nr;name\n1;Plzeň\n'), 'cp852')).toBe('nr;name\n1;Plzeň\n');
  });
});

/** Rows without a letter beyond ASCII, as English, German and other tables hold them. */
const signTexts = [
  'item,cost\nChair,£0.50\nTable,£12.50\nLamp,£3.25\n',
  'station,temp °C,area m²\nS0,0.5,12\nS1,1.5,14\n',
  'meeting,day\nTuesday Night Men’s Meeting,Tue\nNoon Group,Wed\n',
  'title,n\nThe council’s plan – phase two,1\nPeople’s Park,2\n',
  'title,n\n“Open data” for all,1\nWhat is it?,2\n',
  'fee,n\n€5 entry fee,1\n€7 evening fee,2\n€12 a day,3\n',
  'span,n\n1990–1995,1\n1996–2001,2\n',
];

/** Words that some encoding writes as such signs: `país` on an old Macintosh has the byte of an apostrophe. */
const letterTexts = [
  'Nombre,n\nMenor país de la zona,1\nOtro,2\n',
  'País,n\nChile,1\nPerú,2\n',
  'zona,n\nel país,1\nlos demás países,2\n',
  'dato,n\ndías de lluvia,1\nmás días,2\n',
  'Ort,n\nKöln,1\nUlm,2\n',
  'Pays,n\nl’île,1\nQuébec,2\n',
  'note,n\nTodavía,1\nsí,2\n',
  'Ort,n\nSCHÜLER,1\nDÜSSELDORF,2\nNÜRNBERG,3\n',
];

describe('bytes that an encoding does not have', () => {
  const wide = (text: string): Buffer => Buffer.from(text, 'utf16le');
  const marked = wide('\ufeffid,name\n1,a\n2,');
  /** The encoding that is given, or undefined; the bytes before them, they, and the bytes behind. */
  const cases: [given: string | undefined, before: Buffer, bad: number[], behind: Buffer][] = [
    ['euc-jp', Buffer.from('id,name\n1,\xa4\xa2\n2,', 'latin1'), [0xff], Buffer.from('x\n')],
    ['shift_jis', Buffer.from('id,name\n1,\x82\xa0\n2,', 'latin1'), [0xa0], Buffer.from('x\n')],
    ['gb18030', Buffer.from('id,name\n1,\xb0\xa1\n2,', 'latin1'), [0xff], Buffer.from('x\n')],
    ['utf-16le', wide('id,name\n1,a\n2,'), [0x3d, 0xd8], wide('x\n')],
    [undefined, marked, [0x3d, 0xd8], wide('x\n')],
    [undefined, Buffer.from(marked).swap16(), [0xdc, 0x3d], wide('x\n').swap16()],
  ];

  it.each(cases)('%s: are never replaced without a word', async (encoding, before, bad, behind) => {
    const sound = await inspectTable(fileOf(Buffer.concat([before, behind])), { encoding });
    expect(sound.verdict).toBe('mendable');
    const faulty = await inspectTable(fileOf(Buffer.concat([before, Buffer.from(bad), behind])), { encoding });
    expect(faulty).toMatchObject({ verdict: 'faulty', encoding: 'unknown' });
    const hint = expect.stringContaining('bytes that are invalid in it (the first in line 3)');
    expect(faulty.findings[0]).toMatchObject({ code: 'table-encoding', mend: null, hint });
    // An earlier conversion has not lost what this one has.
    expect(faulty.findings.map(({ kind }) => kind)).not.toContain('replaced');
  });

  it('are told from a character that was lost before', async () => {
    const { verdict } = await inspectTable(fileOf(wide('\ufeffid,name\n1,\ufffd\n')));
    expect(verdict).toBe('mendable');
  });
});

describe('signs beyond ASCII without letters', () => {
  it.each(signTexts)('are Windows-1252 where they stand as such: %j', async (text) => {
    expect(await mended(encoderOf('windows-1252')(text))).toBe(text);
  });

  it('are never read wrongly, whatever the encoding', async () => {
    for (const [nth, text] of [...signTexts, ...letterTexts].entries())
      for (const [at, encoding] of written.entries()) {
        if ((nth + at) % cases(1, 4) !== 0) continue;
        const bytes = encoderOf(encoding)(text);
        if (decoderOf(encoding).decode(bytes).split('?').length > text.split('?').length) continue;
        expect([text, encoding, await judged(bytes, text)]).not.toContain('wrong');
      }
  });
});

describe('the report of a fix', () => {
  it('shows every row that another encoding changes, as it was and as it reads', async () => {
    const names = Array.from({ length: 300 }, (_, at) => `${at};Müller, Straße`);
    const target = join(dir, 'shown.csv');
    const { rows, changed } = await fixTable(fileOf(Buffer.from(`nr;name\n${names.join('\n')}\n`, 'latin1')), target);
    expect(changed).toBe(300);
    expect(rows).toHaveLength(300);
    expect(rows[0]).toEqual({ line: 2, column: null, before: '0;M\\xFCller, Stra\\xDFe', after: '0;Müller, Straße' });
  });

  it('shows each changed cell of a long row', async () => {
    const long = 'x'.repeat(900);
    const { rows } = await fixTable(fileOf(`a,b,c\n5" p,${long},6" p\n`), join(dir, 'cells.csv'));
    expect(rows).toEqual([
      { line: 2, column: 1, before: '5" p', after: '"5"" p"' },
      { line: 2, column: 3, before: '6" p', after: '"6"" p"' },
    ]);
  });
});

describe('a row that is the same as the header', () => {
  const repeats = async (content: string) => {
    const target = join(dir, `repeats-${targets++}.csv`);
    await fixTable(fileOf(content), target);
    return readFileSync(target, 'utf8');
  };

  it.each([['a,b\na,b\na,b\nc,d\n'], ['yes\nyes\nno\nyes\n'], [`a\tb\n${'a\tb\n'.repeat(29)}`]])(
    'stays where it may be a row: %j',
    async (content) => {
      expect(await repeats(content)).toBe(content);
    },
  );

  it.each([
    ['id,name\n1,x\n2,y\nid,name\n3,z\n', 'id,name\n1,x\n2,y\n3,z\n'],
    ['id;name\n1;x\n2;y\n\nid;name\n3;z\n', 'id;name\n1;x\n2;y\n3;z\n'],
    ['Jahr\tOrt\n2020\tx\n2021\ty\nJahr\tOrt\n2022\tz\nJahr\tOrt\n', 'Jahr\tOrt\n2020\tx\n2021\ty\n2022\tz\n'],
  ])('goes where its column holds numbers: %j', async (content, expected) => {
    expect(await repeats(content)).toBe(expected);
  });
});

describe('a header that is repeated among texts', () => {
  const text = 'name;town\nx;y\nname;town\nz;w\n';

  it('is a fault that nothing fixes, unless all rows are records', async () => {
    const { verdict, findings } = await inspectTable(fileOf(text));
    expect({ verdict, message: findings[0]?.message }).toEqual({
      verdict: 'faulty',
      message: 'the row is the same as the header',
    });
    expect((await inspectTable(fileOf(text), { skipRows: 0 })).verdict).toBe('sound');
  });
});

describe('names that are given twice', () => {
  it('are made unique in linear time', async () => {
    const { mends } = await fixTable(fileOf(`${'name,'.repeat(15_999)}name\n`), join(dir, 'wide.csv'));
    expect(mends[0]).toMatchObject({ kind: 'header-duplicate', count: 15_999 });
  });

  it.each([['a,,,\n1,2,3,4\n'], ['Einwohner;;\n1;2;3\n'], ['x\t\t\t\ty\n1\t2\t3\t4\t5\n']])(
    'are not invented where most cells of the header are empty: %j',
    async (content) => {
      expect((await inspectTable(fileOf(content))).verdict).toBe('faulty');
    },
  );
});

describe('spaces around quotes', () => {
  it.each([
    ['a,b\n1, "x, y"\n', 'a,b\n1,"x, y"\n'],
    ['a;b\n"x; y" ;2\n', 'a;b\n"x; y";2\n'],
    ['a\tb\n 1\t  "x ""y"""  \n', 'a\tb\n 1\t"x ""y"""\n'],
    ['a,b\n"x\ny"  ,2\n3,4', 'a,b\n"x\ny",2\n3,4'],
  ])('are none of the cell: %j', async (content, expected) => {
    expect(await mended(Buffer.from(content))).toBe(expected);
  });
});
