import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { describe, expect, it } from 'vitest';
import { fixTable, inspectTable } from '../../src/tables/check.ts';
import { encoderOf } from '../../src/tables/scan/encodings.ts';
import { draws, fc } from '../support/extent.ts';
import { fileOf } from '../support/table-file.ts';
import { tempDir } from '../support/temp-dir.ts';
import { made } from './transform/support/made.ts';

const dir = tempDir();
let targets = 0;

/** The table that is read from a file, mended where it has to be; null where it is refused. */
const readOf = async (content: string | Buffer): Promise<string[][] | null> => {
  const path = fileOf(content);
  const { verdict } = await inspectTable(path);
  if (verdict === 'faulty') return null;
  const target = join(dir, `read-${targets++}.csv`);
  await fixTable(path, target, { separator: ',' });
  return parse(readFileSync(target), { skip_empty_lines: true });
};

const rows = (...lines: string[]): string[][] => lines.map((line) => line.split(' '));

describe('titles above the header are left out', () => {
  const numbers = rows('Jahr Zahl', '2020 5', '2021 6');
  it.each([
    ['Bericht\nJahr;Zahl\n2020;5\n2021;6\n', numbers],
    ['Bericht\nJahr\tZahl\n2020\t5\n2021\t6\n', numbers],
    ['Bericht 1|2\nJahr\tZahl\n2020\t5\n2021\t6\n', numbers],
    ['\nBericht\n\nJahr|Zahl\n2020|5\n2021|6\n', numbers],
    ['Einwohner;\nJahr;Zahl\n2020;5\n2021;6\n', numbers],
    ['Population,\n,\nby year,\nJahr,Zahl\n2020,5\n2021,6\n', numbers],
    ['Habitants\t\t\n\t\t\nAn\t2000\t2001\nFR\t5\t6\n', rows('An 2000 2001', 'FR 5 6')],
    ['Population;;\nby town;;\nYear;2000;2001\nDE;5;6\nFR;7;8\n', rows('Year 2000 2001', 'DE 5 6', 'FR 7 8')],
    [
      'Tabelle 1\n;;\nPegel;;\nOrt;Fluss;cm\nUlm;Donau;5\nBonn;Rhein;7\nTrier;Mosel;9\n',
      rows('Ort Fluss cm', 'Ulm Donau 5', 'Bonn Rhein 7', 'Trier Mosel 9'),
    ],
    ['# made by x, y, z\n# and others\nid,n,m\n1,a,2\n', rows('id n m', '1 a 2')],
    ['# a "b"\nid;n\n1;a\n2;b\n', rows('id n', '1 a', '2 b')],
    ['#id\tn\tm\n1\ta\t2\n2\tb\t3\n', rows('#id n m', '1 a 2', '2 b 3')],
  ])('%j', async (content, table) => {
    expect(await readOf(content)).toEqual(table);
  });
});

describe('a table that looks odd at a glance is read all the same', () => {
  it.each([
    ['page,visits,bounces\nPage 1,100,5\nPage 2,,\nPage 3,20,1\n'],
    ['PAR1,PAR2\n1,2\n3,4\n'],
    ['diff pressure,n\n1.5,2\n2.5,3\n'],
    ['town,n=100\nUlm,5\nBonn,7\n'],
    ['page,source\nhttp://a.org/1,http://b.org/1\nhttp://a.org/2,http://b.org/2\n'],
    ['name,book,year\nAnn,One,2001\n,Two,\n,Two,\n,Two,\n'],
    ['name,visits\nAnn,5\nBob,7\n,3\n,9\n,4\n'],
    ['town,n\nUlm,5\nn,7\ntown,9\n'],
    ['id,tags\n1,"{""ImportId"":""QID1""}"\n2,"{""ImportId"":""QID2""}"\n'],
  ])('%j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('rows that are not titles stay', () => {
  it.each([
    [
      'id\tjson\n1\t{"a":1,"b":2}\n2\t{"a":3,"b":4}\n',
      [
        ['id', 'json'],
        ['1', '{"a":1,"b":2}'],
        ['2', '{"a":3,"b":4}'],
      ],
    ],
    [
      'id;json\n1;{"a":1,"b":2}\n2;{"a":3}\n',
      [
        ['id', 'json'],
        ['1', '{"a":1,"b":2}'],
        ['2', '{"a":3}'],
      ],
    ],
    [
      'a\tb\nx "y", z\t5\np "q", r\t6\n',
      [
        ['a', 'b'],
        ['x "y", z', '5'],
        ['p "q", r', '6'],
      ],
    ],
    [
      'id\ttitle\n1\t"Hoch" hinaus\n2\tLow\n',
      [
        ['id', 'title'],
        ['1', '"Hoch" hinaus'],
        ['2', 'Low'],
      ],
    ],
    [
      "town,n\n's-Gravenhage,5\n't Harde,6\n",
      [
        ['town', 'n'],
        ["'s-Gravenhage", '5'],
        ["'t Harde", '6'],
      ],
    ],
    [
      "n;plaats\n5;'s-Hertogenbosch\n6;'t Zand\n7;Ede\n",
      [
        ['n', 'plaats'],
        ['5', "'s-Hertogenbosch"],
        ['6', "'t Zand"],
        ['7', 'Ede'],
      ],
    ],
    ['Year,2000,2001\nDE,5,6\n', rows('Year 2000 2001', 'DE 5 6')],
    ['Stunde;1;2;3\nMo;5;6;7\n', rows('Stunde 1 2 3', 'Mo 5 6 7')],
    ['Land;2020-01-31;2020-02-29\nDE;5;6\n', rows('Land 2020-01-31 2020-02-29', 'DE 5 6')],
  ])('%j', async (content, table) => {
    expect(await readOf(content)).toEqual(table);
  });
});

describe('an ambiguous layout is refused', () => {
  it.each([
    ['Report\nname;town\nAnn;Bonn\nBob;Ulm\n', ['skipRows: 1', 'skipRows: 0']],
    ['Rapport\nnom|ville\nAnn|Bonn\nBob|Ulm\n', ['skipRows: 1', 'skipRows: 0']],
    ['Einwohner;;\nName;Stadt;Land\nAnn;Bonn;DE\n', ['skipRows: 1', 'skipRows: 0']],
    ['Wert, netto;Wert, brutto\n1,5;2,5\n3,5;4,5\n', ['delimiter: ","', 'delimiter: ";"']],
    ['#a,b,c\nd,e,f\ng,h,i\n', ['skipRows: 0', 'skipRows: 1']],
    ['Station,Ulm\nHeight,478\nOwner,City\n\nday,temp\n2026-01-01,5\n', ['skipRows: 0', 'skipRows: 4']],
  ])('with the keys that decide: %j', async (content, keys) => {
    const { verdict, findings } = await inspectTable(fileOf(content));
    expect(verdict).toBe('faulty');
    expect(findings.flatMap(({ candidates = [] }) => candidates.map(({ key }) => key))).toEqual(keys);
  });

  it.each([
    '2026-01-31,Ann,1.5\n2026-02-01,Bob,2.5\n',
    'Ann;5\nBob;6\nCid;7\n',
    '12\tx\n7\ty\n',
    'a|1987\nb|1990\nc|1955\n',
  ])('as a file without a header: %j', async (content) => {
    const { verdict, findings } = await inspectTable(fileOf(content));
    expect(verdict).toBe('faulty');
    expect(findings.map(({ kind }) => kind)).toContain('header-values');
  });
});

describe('what stands between cells beside a delimiter', () => {
  const table = ['id name town', '1 Ann Ulm', '2 Bob Bonn'];
  const by = (sign: string): string => table.map((row) => `${row.replaceAll(' ', sign)}\n`).join('');

  it.each(['~|~', '^|^', '@|@', '[|]', '#,#', ';\t', '::', '§', '，', '；', '¦', 'Ç', '␟', '\u00a0', '\u2003'])(
    'keeps a table from being published: %j',
    async (sign) => {
      const { findings, verdict } = await inspectTable(fileOf(by(sign)));
      expect([verdict, findings.find(({ code }) => code !== null)?.kind]).toEqual(['faulty', 'undivided']);
    },
  );

  it.each([
    by(', '),
    by(','),
    'a,b\n(1),(2)\n',
    '(a),(b)\n(1),(2)\n',
    '<b>,<i>\n<u>,<s>\n',
    'von–bis\n1–5\n2–6\n',
    'share %,n\n5%,7\n6%,8\n',
    'a%,b%\n5%,6%\n',
  ])('is left to the values where it is not around all of them: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });

  it('is left to the values where somebody says so', async () => {
    expect((await inspectTable(fileOf(by('~|~')), { skipRows: 0 })).verdict).toBe('sound');
  });
});

describe('a delimiter that stands within brackets in every row', () => {
  it.each([
    'print(a, b)\nprint(c, d)\nprint(e, f)\n',
    "{'a': 1, 'b': 'x'}\n{'a': 2, 'b': 'y'}\n",
    'Row(id=1, name=Ann)\nRow(id=2, name=Bob)\n',
    'a { b; c }\nd { e; f }\ng { h; i }\n',
    "INSERT INTO t (id,name) VALUES\n(1,'Ann'),\n(2,'Bob');\n",
  ])('divides no table: %j', async (content) => {
    const { findings, verdict } = await inspectTable(fileOf(content));
    expect(findings.find(({ kind }) => kind === 'undivided')?.message).toMatch(/within brackets/);
    expect(verdict).toBe('faulty');
  });

  it.each([
    'name (last,n)\nLee,5\nRay,6\n',
    'low,high\n[5,6]\n[7,8]\n',
    'place (town),size (km)\nUlm (BW),5\nBonn (NW),7\n',
    'face,n\n:(,5\n:[,6\n',
    'text (cut,n\n"a (b, c",5\n"d",6\n',
  ])('may divide one: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('a row of types below the header', () => {
  it.each([
    'town,state,n\ntext,text,number\nUlm,BW,5\nBonn,NW,8\n',
    'town,state,n\nvarchar(20),varchar(20),int(11)\nUlm,BW,5\nBonn,NW,8\n',
    'town,people\n#adm1+name,#affected\nUlm,5\nBonn,8\n',
  ])('is found where a column has values to prove it: %j', async (content) => {
    const { findings } = await inspectTable(fileOf(content));
    expect(findings.map(({ kind }) => kind)).toContain('second-header');
  });

  it.each([
    'name,type\nstring,text\nint,number\nfloat,number\n',
    'column,type,size\nid,integer,4\nname,string,20\n',
    'name,type,size\ntext,string,\nnumber,float,8\n',
    'tag,n\n#oak,5\n#elm,8\n',
  ])('may be a record of a table of types: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('a row that says what the columns hold, among texts only', () => {
  it.each([
    'town,note\n<chr>,<chr>\nUlm,old\nBonn,new\n',
    'code,town,note\nVARCHAR(20),VARCHAR(20),TEXT\nA,Ulm,old\nB,Bonn,new\n',
    'site\tcd\n15s\t10s\nUlm\tP\nBonn\tA\n',
    'town,river\nobject,object\nUlm,Donau\nBonn,Rhein\n',
  ])('is found by types that no record has: %j', async (content) => {
    const { findings } = await inspectTable(fileOf(content));
    expect(findings.find(({ kind }) => kind === 'second-header')?.places[0]).toMatchObject({ line: 2 });
  });

  it.each([
    'kind,medium\ntext,text\nphoto,image\nvideo,video\n',
    'column,type\nid,int\nname,string\nscore,float\n',
    'sql,java\nINTEGER,Integer\nVARCHAR(20),String\nDATE,Date\n',
    'type,alias,size\nint,integer,\nfloat,real,8\n',
    'start,stop\n5s,10s\n6s,12s\n7s,15s\n',
  ])('may be a record of a table of types: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('a row of units below the header', () => {
  it.each([
    'station,mass,height\n-,kg,m\nUlm,5,2\nBonn,6,3\n',
    'town,area,mayor\n-,km²,-\nUlm,5,Lee\nBonn,6,Ray\n',
    'town,speed,note\n,m/s,\nUlm,5,x\nBonn,6,y\n',
    'id,name,mail\nrequired,optional,optional\n1,Ann,a@x.org\n2,Bob,b@x.org\n',
  ])('is found where one column has values: %j', async (content) => {
    const { findings } = await inspectTable(fileOf(content));
    expect(findings.map(({ kind }) => kind)).toContain('second-header');
  });

  it.each([
    'symbol,unit\nm,metre\nkg,kilogram\ns,second\n',
    'from,to,factor\nkm,m,1000\nm,cm,100\nkg,g,1000\n',
    'sex,group,n\nm,A,5\nf,B,6\nm,C,7\n',
    'station,temp,rain\nUlm,n/a,n/a\nBonn,5,6\nKiel,6,7\n',
    'town,n,m\n-,-,-\nUlm,5,6\nBonn,6,7\n',
  ])('may be a record: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('a row that stands for others', () => {
  it.each([
    ['id,name\n1,Ann\n2,Bob\n...,...\n99,Yan\n', 4],
    ['name,town\nAnn,Ulm\n…,…\nZoe,Bonn\n', 3],
    ['id,name,n\n1,Ann,5\n⋮,⋮,⋮\n9,Zoe,6\n', 3],
    ['id,name,n\n1,Ann,5\n...,,\n9,Yan,7\n', 3],
    ['id,name\n1,Ann\n[...],[...]\n9,Zoe\n', 3],
    ['id,name\n1,Ann\n-----,-----\n2,Bob\n', 3],
  ])('is found: %j', async (content, line) => {
    const finding = (await inspectTable(fileOf(content))).findings.find(({ kind }) => kind === 'second-header');
    expect(finding?.places[0]).toMatchObject({ line });
    expect(finding?.hint).toMatch(/^export the table in full/);
  });

  it.each([
    'who,said\nAnn,...\nBob,Hello\nAnn,…\n',
    'sign,name\n…,ellipsis\n...,three dots\n---,line\n',
    'land,2019,2020\nDE,5,6\nSO,..,..\nFR,7,8\n',
    'a,b\n5,6\n..,..\n7,8\n---,9\n8,---\n',
    'lowest,highest\n---,---\n5,6\n7,8\n',
    `who,said\n${'Ann,hm\n...,...\n'.repeat(5)}`,
    'word\nUlm\n...\nBonn\n',
  ])('may be a record: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('the names of the header in another order', () => {
  it.each([
    ['name,city,land\nAnn,Ulm,BW\nBob,Bonn,NW\ncity,name,land\nKiel,Cid,SH\n', 4],
    ['id,name\n1,Ann\n2,Bob\n"name","id"\n"Cid","3"\n', 4],
    ['Name;Ort;Jahr\nAnn;Ulm;2001\nORT;NAME;JAHR\nKiel;Cid;2003\n', 3],
    ['id,name,city\n1,Ann,Ulm\ncity,name,zip\nKiel,Cid,2\n', 3],
    ['name,city\nAnn,Ulm\ncity,name\nKiel,Cid\n', 3],
  ])('begin another table: %j', async (content, line) => {
    const { findings } = await inspectTable(fileOf(content));
    expect(findings.find(({ kind }) => kind === 'second-header')?.places[0]).toMatchObject({ line });
  });

  it.each([
    'key,value\nname,city\ncity,name\nvalue,zip\n',
    'variable,description,type\nid,number,integer\nvariable,description,text\ntype,kind,text\n',
    'a,b,c\nb,c,a\nc,a,b\na,c,b\n',
    'source,target,n\ntarget,source,5\nUlm,Bonn,6\n',
    'first,last\nLast,First\nAnn,Lee\n',
  ])('may be a record: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('what is no table, whatever divides its lines', () => {
  it.each([
    ['+----+------+\n| id | name |\n+----+------+\n|  1 | Ulm  |\n+----+------+\n', 'drawn for people'],
    ['┌────┬──────┐\n│ id │ name │\n├────┼──────┤\n│  1 │ Ulm  │\n└────┴──────┘\n', 'drawn for people'],
    ['| id | name |\n|----|:-----|\n| 1 | Ulm |\n', 'markup of a wiki'],
    ['{| class="wikitable"\n! id !! name\n|-\n| 1 || Ulm\n|}\n', 'markup of a wiki'],
    ['|| id || name ||\n| 1 | Ulm |\n', 'markup of a wiki'],
    ['name, first & n \\\\ \\hline\nLee, Ann & 5 \\\\\n', 'LaTeX'],
    ['\\begin{tabular}{ll}\n\\hline\ntown & n \\\\\n', 'LaTeX'],
    ['# A tibble: 2 × 2\n  name      n\n  <chr> <dbl>\n1 Ann       5\n', 'R or Python'],
    ['shape: (2, 2),\na,b\n1,x\n2,y\n', 'R or Python'],
    ['      n        \n Min.   :5.0  \n Median :6.0  \n', 'R or Python'],
    ['[2026-01-01 00:00:01] INFO: a, b\n[2026-01-01 00:00:02] INFO: c, d\n', 'a log'],
    ['1: id,name\n2: 1,Ann\n3: 2,Bob\n', 'numbers'],
    ['a.csv:1,Ann\na.csv:2,Bob\n', 'files'],
    ['p{color:red}\na{color:blue}\n', 'style sheet'],
    ['enum A {\n  one,\n  two,\n}\n', 'program'],
    ['import java.util.List;\nimport java.util.Map;\n', 'program'],
    ['"TOA5","site","CR1000"\n"TIMESTAMP","RECORD","T"\n"TS","RN","Deg C"\n', 'logger'],
  ])('is told: %j', async (content, what) => {
    const finding = (await inspectTable(fileOf(content))).findings.find(({ kind }) => kind === 'not-a-table');
    expect(finding?.message).toContain(what);
  });

  it.each([
    'firm & co,town\nSmith & Co,Ulm\nA & B,Kiel\n',
    'latex,sign\n\\alpha,α\n\\hline,line\n',
    'tag,use\n<html>,root\n{x},name\n',
    'name {x}\nAnn {y}\nBob {z}\n',
    'import;export\n5;6\n7;8\n',
    'a.csv: rows,b.csv: rows\n5,6\n7,8\n',
    '1: first,2: second\nx,y\nz,w\n',
  ])('is not seen in a table: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('a note that delimiters fill up to a row', () => {
  it.each([
    'id,name\n1,Ann\n2,Bob\n\nThe figures are estimates,\n',
    'id,name\n1,Ann\n2,Bob\n,\nThe figures are estimates,\n',
    'id,name\n1,Ann\n2,Bob\n(2 rows affected),\n',
    'id,name\n1,Ann\n2,Bob\n2 rows selected.,\n',
    'id,name\n1,Ann\n2,Bob\n[2 rows x 2 columns],\n',
    'id,name\n1,Ann\n2,Bob\n# … with 97 more rows,\n',
    'id,name,n\n1,Ann,5\n2,Bob,6\nGrand Totals (2 records),,\nCopyright (c) 2026 the town,,\n',
  ])('is found: %j', async (content) => {
    const { findings } = await inspectTable(fileOf(content));
    expect(findings.map(({ kind }) => kind)).toContain('footer');
  });

  it.each([
    'name,n\nUlm,1\n\nBonn,\n',
    'name,n\nThe town of Ulm and others,1\nThe town of Bonn and others,\n',
    'name,n\n2 rows of trees,1\n3 rows of trees,\n',
  ])('may be a record: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('an error message below the last row', () => {
  it.each([
    'id,name,n\n1,Ann,5\n2,Bob,6\nWarning: Division by zero in /srv/export.php on line 12,,\n',
    'id,name\n1,Ann\n2,Bob\nFatal error: Allowed memory size of 64 bytes exhausted, aborting\n',
    'id,name\n1,Ann\n2,Bob\njava.lang.RuntimeException: closed,\n',
    'id,name\n1,Ann\n2,Bob\nORA-01555: snapshot too old,\n',
  ])('is found, whatever its cells: %j', async (content) => {
    const { findings } = await inspectTable(fileOf(content));
    expect(findings.map(({ kind, hint }) => [kind, /export the table again/.test(hint ?? '')])).toContainEqual([
      'footer',
      true,
    ]);
  });

  it.each([
    'message,n\nOK,5\nError: no route,2\n',
    'warning,n\nice,5\nWarning: snow,\n',
    'message,time\nError: disk full,5\nError: no route,6\nError: disk full again,\n',
  ])('may be a record: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('a row that is the header in other capitals, spaces or quotes', () => {
  it.each(['code,n\nCode,N\nA1,5\nA2,6\n', 'code,n\nA1,5\nA2,6\n"code", "n"\nA3,7\nA4,8\n'])(
    'is another header where it stands among values: %j',
    async (content) => {
      const { findings } = await inspectTable(fileOf(content));
      expect(findings.map(({ kind }) => kind)).toContain('second-header');
    },
  );

  it.each(['country,capital\nCountry,Capital\nFrance,Paris\nPeru,Lima\n', 'city\nCity\nUlm\nBonn\n'])(
    'is a record where no column has values to prove it: %j',
    async (content) => {
      expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
    },
  );
});

describe('what is no second header', () => {
  it.each([
    'tmax,tmin\n--,--\n5,3\n4,1\n',
    'key,value\nname,Ulm\ncolor,red\n2020,5\n2021,6\n',
    'word,other\nfoo,bar\nyear,Jahr\n2000,2000\n',
    '"Name\n(first)",city\nAnn,Ulm\nBob,Bonn\n',
    'name,city\n"Ann\nLee",Ulm\nfirst,last\n5,6\n',
  ])('leaves the table sound: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('a row that numbers the columns', () => {
  it.each([['town;people;area\n1;2;3\nUlm;5;48\nBonn;8;139\nKiel;6;60\n', 2]])(
    'is found: %j',
    async (content, line) => {
      const { findings } = await inspectTable(fileOf(content));
      expect(findings.find(({ kind }) => kind === 'second-header')?.places[0]).toMatchObject({ line });
    },
  );

  it.each([
    'id,parent,level\n1,2,3\n2,5,1\n3,2,4\n4,1,2\n',
    'line,stops,n\n1,2,3\n2,5,8\nN3,6,9\n4,7,1\n',
    'name,rank\n1,2\nUlm,5\nBonn,8\nKiel,6\n',
    'item,n,rank\none,1,1\ntwo,2,2\nthree,3,3\n',
    'room,seats,floor\n1,2,4\nHall,90,1\nLobby,20,1\nAttic,8,3\n',
    'pos,points\nwithdrawn,banned\nbanned,withdrawn\n1,90\n2,80\n',
    'day,people\nSaturday,closed\nSunday,closed\nMonday,5\nTuesday,8\nWednesday,6\n',
    'key,value\nname,Ulm\ncolor,red\n2020,5\n2021,6\n',
    'code,town\nA,Ulm\nB,Bonn\n\nC,Kiel\nD,Trier\n',
    'status,town\nstatus,Ulm\nopen,Bonn\nopen,town\n',
    'code,town,n\nA,Ulm,5\n,,\nB,Bonn,8\n,,\nC,Kiel,6\n',
    'A,B,C\n1.5,2,x\n2.5,3,y\n3.5,4,z\n',
  ])('is not assumed where it may be a record: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).not.toBe('faulty');
  });
});

describe('a row of names below a gap', () => {
  it.each([
    ['code,town,n\nA,Ulm,5\nB,Bonn,8\n,,\nCode,Meaning,\nA,approved,\nB,blocked,\n', 5],
    ['town,county,river\nUlm,Bay,Donau\nBonn,Rhein,Rhein\n\nriver,length,mouth\nDonau,2850,Sulina\n', 5],
  ])('begins another table where it names a column of the header: %j', async (content, line) => {
    const { findings } = await inspectTable(fileOf(content));
    expect(findings.find(({ kind }) => kind === 'second-header')?.places[0]).toMatchObject({ line });
  });

  it.each([
    'code,town\nA,Ulm\nB,Bonn\n\nC,Kiel\nD,Trier\n',
    'status,town\nstatus,Ulm\nopen,Bonn\nopen,town\n',
    'code,town,n\nA,Ulm,5\n,,\nB,Bonn,8\n,,\nC,Kiel,6\n',
    'pos,points\nwithdrawn,banned\nbanned,withdrawn\n1,90\n2,80\n',
  ])('may be a record otherwise: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).not.toBe('faulty');
  });
});

describe('a last row with one cell, which is not the first', () => {
  it.each(['town,n,year\nUlm,3,2020\nBonn,5,2021\n,Source: the ministry,\n', 'town,n\nUlm,3\n,* estimated\n'])(
    'may be a note: %j',
    async (content) => {
      const footer = (await inspectTable(fileOf(content))).findings.find(({ kind }) => kind === 'footer');
      expect(footer).toMatchObject({ mend: null });
      expect((await inspectTable(fileOf(content), { skipRows: 0 })).verdict).toBe('sound');
    },
  );

  it.each([
    'title,author,year\nAtlas,Ann,1990\n,Note: with Bob,\nHerbal,Eve,1995\n,Note: with Lee,\n',
    'id,note,n\n1,Source: a visit,5\n2,Note: see map,6\n3,* estimated,7\n',
    'town,n,note\nUlm,3,\n,,open again\n',
    'plant,height,remark\nOak,20,\nElm,18,\nAsh,15,Note: cut down\n',
  ])('is a record where it does not read like one, or others begin so: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('a first row of values above a proven header', () => {
  it.each([
    'HDR,20260101,ACME\nid,name,amount\n1,Ann,5.00\n2,Bob,6.50\nTRL,2,11.50\n',
    'x;1.5;y\nday;town;people\n2026-06-01;Ulm;5\n2026-06-02;Bonn;8\n',
  ])('may be no header: %j', async (content) => {
    const { findings } = await inspectTable(fileOf(content));
    const unclear = findings.find(({ kind }) => kind === 'layout-unclear');
    expect(unclear?.candidates?.map(({ key }) => key)).toEqual(['skipRows: 0', 'skipRows: 1']);
    expect((await inspectTable(fileOf(content), { skipRows: 1 })).headerLine).toBe(2);
  });

  it.each([
    'item,100,200\nsoap,n/a,n/a\nsalt,5,8\nflour,6,9\n',
    'station,2020,2021\nUlm,closed,closed\nBonn,5,8\n',
    'name,5\nUlm,Bonn\nKiel,Trier\n',
    'country,1,2,3\nChad,5,6,7\nCuba,8,9,1\n',
  ])('is the header where that is not proven: %j', async (content) => {
    expect((await inspectTable(fileOf(content))).verdict).toBe('sound');
  });
});

describe('notes below the table, with delimiters,', () => {
  const table = rows('id n m', '1 a 2', '3 b 4');
  it.each([
    ['id,n,m\n1,a,2\n3,b,4\n,,\nas of the last day of May,,\n', table],
    ['id;n;m\n1;a;2\n3;b;4\nQuelle: das Amt;;\n* vorläufige Zahlen;;\n', table],
    ['id\tn\tm\n1\ta\t2\n3\tb\t4\nSource: la mairie\t\t\nmis à jour hier\n', table],
  ])('are left out: %j', async (content, expected) => {
    expect(await readOf(content)).toEqual(expected);
  });

  it.each(['id,n,m\n1,a,2\nfirst one,,\n', 'n;m;o\na;1;2\nBad Ems;;\n', 'n\tm\to\na\t1\t2\nb c\t\t\n'])(
    'are not assumed where it may be a row: %j',
    async (content) => {
      expect((await readOf(content))?.length).toBe(3);
    },
  );
});

/** Tables as people write them, of columns with kinds and a header of words. */
const words = [
  'Ort',
  'Straße',
  'Größe',
  'Übersicht',
  'Jahr',
  'Name',
  'Müller',
  'Köln',
  'x, y',
  'a; b',
  '5" Rohr',
  "d'Orléans",
  'a|b',
  'p\tq',
  '1\n2',
];
const column = fc.constantFrom<fc.Arbitrary<string>>(
  fc.constantFrom(...words),
  fc.integer({ min: 0, max: 9999 }).map(String),
  fc.integer({ min: 10, max: 28 }).map((day) => `2026-01-${day}`),
  fc.integer({ min: 1, max: 999 }).map((n) => `${n}.5`),
  fc.constantFrom('', 'yes', 'Bad Ems', 'Ulm'),
);
const header = fc.uniqueArray(
  fc.constantFrom('Nr', 'Ort', 'Betrag', 'Datum', 'Wert in Euro', 'Notiz', 'Menge', 'Typ'),
  { minLength: 2, maxLength: 6 },
);
const tables = header.chain((names) =>
  fc
    .tuple(...names.map(() => column))
    .chain((kinds) => fc.array(fc.tuple(...kinds), { minLength: 2, maxLength: 8 }))
    .filter((body) => body.every((row) => row.filter((cell) => cell !== '').length > 1))
    .map((body) => [names, ...body]),
);
const dialects = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  style: fc.constantFrom(
    { quote: '"', escape: '"' },
    { quote: '"', escape: '"' },
    { quote: '"', escape: '\\' },
    { quote: "'", escape: "'" },
  ),
  quoted: fc.boolean(),
  end: fc.constantFrom('\n', '\r\n'),
});
const above = fc.constantFrom<string[][]>(
  [],
  [],
  ['Einwohner'],
  ['Bericht 2026'],
  ['Bericht', ''],
  ['Bericht 2026', 'der Stadt Köln', ''],
  ['# made by hand'],
  ['# a', '# b, c'],
);
const below = fc.constantFrom<string[][]>(
  [],
  [],
  ['Quelle: Stadt Köln'],
  ['', 'Stand gestern, vorläufig'],
  ['Hinweis: ohne Gewähr; siehe dort'],
);
const encodings = fc.constantFrom(
  'utf-8',
  'utf-8',
  'windows-1252',
  'windows-1250',
  'macintosh',
  'ibm850',
  'utf-16le',
  'utf-16be',
);

describe('a table in any dialect, with titles and notes, in any encoding', () => {
  it('is read back as it was written, or refused', async () => {
    let [read, refused] = [0, 0];
    const cases = fc.record({ table: tables, how: dialects, above, below, padded: fc.boolean(), encoding: encodings });
    await fc.assert(
      fc.asyncProperty(cases, async ({ table, how, padded, encoding, ...lines }) => {
        const { delimiter, style, end } = how;
        const quoted = how.quoted || style.quote !== style.escape || style.quote === "'";
        const text = stringify(table, {
          delimiter,
          ...style,
          quoted,
          quoted_empty: quoted,
          quoted_match: /[,;\t|"'\r\n]/,
          record_delimiter: end,
        });
        const pad = padded ? delimiter.repeat((table[0]?.length ?? 1) - 1) : '';
        const block = (some: string[]): string => some.map((line) => `${line}${pad}${end}`).join('');
        const bytes = encoderOf(encoding)(`${block(lines.above)}${text}${block(lines.below)}`);
        const onTheWay = await made('t.csv', bytes, { mend: 'safe' });
        if (onTheWay.kind === 'table') expect(await readOf(onTheWay.text)).toEqual(table);
        const found = await readOf(bytes);
        if (found === null) refused += 1;
        else {
          read += 1;
          expect(found).toEqual(table);
        }
      }),
      { numRuns: draws(400) },
    );
    expect(read).toBeGreaterThan(refused);
  });
});
