// Rows that a stray quote swallowed are reported; cells that hold several lines are not.
import { describe, expect, it } from 'vitest';
import { checkTable, inspectTable } from '../../../src/tables/check.ts';
import { fileOf } from '../../support/table-file.ts';

const others = (from: number, count: number): string =>
  Array.from({ length: count }, (_, at) => `${from + at},Fir,${at}\n`).join('');

const swallowing: [title: string, content: string, line: number, column: number][] = [
  ['all rows of the table', 'id,name,n\n1,"Oak,5\n2,Elm,6\n3,Ash",7\n', 2, 2],
  ['one whole row among others', `id,name,n\n1,"Oak,5\n2,Elm,6\n3,Ash",7\n${others(4, 5)}`, 2, 2],
  ['rows at the end', `id,name,n\n${others(1, 5)}6,"Oak,5\n7,Elm,6\n8,Ash",7`, 7, 2],
  ['two halves of rows', `id,name,n\n${others(1, 5)}6,"Oak,5\n7,Elm",6\n`, 7, 2],
  ['from the first cell on', 'name,n\n"Oak,5\nElm,6\nAsh,7\nFir",8\nYew,9\n', 2, 1],
  ['up to the last cell', 'id,name\n1,"Oak\n2,Elm\n3,Ash"\n4,Fir\n', 2, 2],
  ['between semicolons', 'id;name;n\r\n1;"Oak;5,5\r\n2;Elm;6,5\r\n3;Ash";7,5\r\n', 2, 2],
  ['between tabs', 'id\tname\tn\n1\t"Oak\t5\n2\tElm\t6\n3\tAsh"\t7\n', 2, 2],
  ['with dates', 'day,place,text\n2026-01-01,Ulm,"a\n2026-01-02,Bonn,b\n2026-01-03,Kiel,c"\n2026-01-04,Rom,d\n', 2, 3],
  ['with empty cells', 'id,name,n\n1,"Oak,\n2,,6\n3,Elm,5\n4,Ash",7\n5,Fir,8\n', 2, 2],
  ['with inches', `id,size,n\n1,"wide,5\n2,small,6\n3,12",7\n${others(4, 4)}`, 2, 2],
  ['many rows', `id,name,n\n1,"Oak,5\n${others(2, 200)}202,Ash",7\n`, 2, 2],
  [
    'beside cells in quotes of the same column',
    `id,name,n\n1,"Oak,5\n2,Elm,6\n3,Ash",7\n4,"Fir, red",8\n5,"Yew, old",9\n`,
    2,
    2,
  ],
  ['twice', `id,name,n\n1,"Oak,5\n2,Elm,6\n3,Ash",7\n4,Fir,8\n5,"Oak,5\n6,Elm,6\n7,Ash",7\n`, 2, 2],
  [
    'below many cells that are no proof',
    `k,a,n\n${'ka,"p,q\nr,s",t\n'.repeat(12)}1,"Oak,1\n2,Elm,2\n3,Fir,3\n4,Yew,4\n5,Ash",5\n`,
    26,
    2,
  ],
  ['with a line end of old systems', 'id,name,n\r1,"Oak,5\r2,Elm,6\r3,Ash",7\r4,Fir,8\r', 2, 2],
];

const legitimate: [title: string, content: string][] = [
  ['addresses', 'id,address,n\n1,"12 Main St\nSpringfield, IL 62701",5\n2,"4 Oak Ave, Apt 3\nBonn, 53111",6\n'],
  ['addresses without spaces', 'id,address,n\n1,"Oak street,5\n10115,Berlin",3\n2,"Elm street,6\n10117,Berlin",4\n'],
  ['one address in a small table', 'id,address,n\n1,"Oak street,5\n10115,Berlin",3\n'],
  ['a note with a decimal comma', 'id,note\n1,fine\n2,"broken\n2,5 m below"\n3,fine\n4,fine\n'],
  ['HTML', 'id,html,n\n1,"<p>a, b</p>\n<p>c, d, e</p>\n<p>f, g</p>",5\n2,"<b>x</b>",6\n'],
  ['JSON', 'id,json,n\n1,"{""a"": 1,\n""b"": 2, ""c"": 3,\n""d"": [4, 5]}",5\n2,{},6\n'],
  ['JSON of numbers', 'id,json,n\n1,"[[1,2],\n[3,4],\n[5,6]]",5\n2,[],6\n'],
  ['a poem', 'id,poem,n\n1,"Rose, oh pure,\ncontradiction, delight,\nof being, no one\'s",5\n2,none,6\n'],
  ['a text of CSV', 'id,sample,n\n1,"a,b,c\n1,2,3\n4,5,6",5\n2,"a,b\n1,2\n3,4",6\n'],
  ['a text of CSV with as many cells', 'id,sample,n\n"1","id,name,n\n1,Oak,5\n2,Elm,6",3\n"2","none","4"\n'],
  ['semicolons in a text', 'id;text;n\n1;"a; b\nc; d; e\nf; g";5\n2;x;6\n'],
  ['tabs in a text', 'id\ttext\tn\n1\t"a\tb\nc\td\te\nf\tg"\t5\n2\tx\t6\n'],
  ['coordinates', 'id,line,n\n1,"9.1,48.1\n9.2,48.2\n9.3,48.3",5\n2,"9.4,48.4\n9.5,48.5",6\n'],
  ['a dated log', 'id,log\n1,ok\n2,none\n17,"called\n2026-01-05,visited\n2026-01-09,closed"\n18,ok\n'],
  [
    'points with three coordinates in every row',
    `id,year,line,a,b\n${[1, 2, 3, 4].map((id) => `${id},2020,"9.1,48.1,100\n9.2,48.2,101",5,6\n`).join('')}`,
  ],
  ['a list of amounts', 'id,list\n1,"Items:\n2,Apples\n3,Pears"\n2,"Items:\n5,Plums\n6,Figs"\n'],
  ['lines of a table of texts', 'name,text\nAnn,"one\ntwo, three\nfour, five"\nBob,"six, seven\neight"\n'],
];

describe('rows that a stray quote swallowed are reported', () => {
  it.each(swallowing)('%s', async (_, content, line, column) => {
    const { findings } = await inspectTable(fileOf(content));
    const places = findings.filter(({ kind }) => kind === 'quote-unclosed').flatMap(({ places: all }) => all);
    expect(places[0]).toMatchObject({ line, column });
    await expect(checkTable(fileOf(content))).rejects.toThrow('lines between look like rows of the table');
  });

  it('with both quotes, and how to publish what is one cell', async () => {
    const { findings } = await inspectTable(fileOf('id,name,n\n1,"Oak,5\n2,Elm,6\n3,Ash",7\n4,Fir,8\n'));
    expect(findings.find(({ kind }) => kind === 'quote-unclosed')).toMatchObject({
      message: 'this quote is closed only in line 4: the lines between look like rows of the table',
      hint: expect.stringMatching(
        /^remove this quote and the one in line 4, .*; if it is one cell of several lines, keep it, and set `skipRows`/,
      ),
    });
  });

  it('unless the first row is given, so that all others are records', async () => {
    const content = 'id,name,n\n1,"Oak,5\n2,Elm,6\n3,Ash",7\n';
    expect(await checkTable(fileOf(content), { skipRows: 0 })).toMatchObject({ rows: 1 });
  });
});

describe('cells of several lines are accepted', () => {
  it.each(legitimate)('%s', async (_, content) => {
    await checkTable(fileOf(content));
  });
});
