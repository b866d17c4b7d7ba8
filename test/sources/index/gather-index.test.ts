import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { byPlace, ManifestError, SourceMissingError } from '../../../src/model/errors.ts';
import { sparing } from '../../../src/pipeline/plan/missing.ts';
import type { GatheredList } from '../../../src/sources/gather/dataset-wish.ts';
import { gatherIndex } from '../../../src/sources/index/gather-index.ts';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { problemsOf, writeText } from '../../support/yaml-file.ts';

interface Given {
  /** Keys of the manifest beside name and index. */
  keys?: string;
  index?: string;
  file?: string;
}

const gather = async (text: string | Uint8Array, { keys = '', index, file = 'list.csv' }: Given = {}) => {
  const dir = tempDir();
  writeText(dir, `lists/${file}`, text);
  const path = writeText(dir, 'jobs/m.yaml', `name: m\n${keys}\nindex: ${index ?? `../lists/${file}`}\n`);
  const manifest = await loadManifest(path);
  if (!('index' in manifest)) throw new Error('no index');
  return { dir, ...(await gatherIndex(manifest)) };
};

const faults = ({ skipped }: Pick<GatheredList, 'skipped'>): string[] =>
  skipped
    .flatMap(({ problems }) => problems)
    .sort(byPlace)
    .map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`);

describe('an index', () => {
  it('gives a dataset for each group of rows, a resource for each row, in their order', async () => {
    const { dir, wishes, skipped, remarks } = await gather(
      [
        'dataset,dataset.title,tags,license,contact.name,resource,title,file,link,api,import',
        'budget,City budget,budget; finance ;,cc-by,Finance Office,spending,Spending,spending.csv,,,never',
        'trees,,,,,,,../trees/city-trees.csv,,,',
        'budget,City budget,,,,page,,,https://example.org/page,,',
        'budget,,,,,service,,,,https://example.org/api,',
      ].join('\r\n'),
    );
    expect(skipped).toEqual([]);
    expect(remarks).toEqual([]);
    expect(wishes.map(({ key, title }) => [key, title])).toEqual([
      ['m/budget', 'City budget'],
      ['m/trees', 'Trees'],
    ]);
    expect(
      wishes.flatMap(({ resources }) => resources.map(({ key, title, source }) => ({ key, title, source }))),
    ).toEqual([
      {
        key: 'm/budget/spending',
        title: 'Spending',
        source: { kind: 'file', path: join(dir, 'lists/spending.csv'), name: 'spending.csv' },
      },
      { key: 'm/budget/page', title: 'Page', source: { kind: 'link', url: 'https://example.org/page' } },
      { key: 'm/budget/service', title: 'Service', source: { kind: 'api', url: 'https://example.org/api' } },
      {
        key: 'm/trees/city-trees',
        title: 'City trees',
        source: { kind: 'file', path: join(dir, 'trees/city-trees.csv'), name: 'city-trees.csv' },
      },
    ]);
    expect(wishes[0]?.resources[0]?.import).toBe('never');
    expect(JSON.stringify(wishes[0]?.fields)).toContain('Finance Office');
    expect(JSON.stringify(wishes[0]?.fields)).toContain('finance');
  });

  it.each([';', ',', '\t', '|'])('may begin with the line sep=%s of Excel', async (mark) => {
    const rows = [
      ['dataset', 'title', 'link'],
      ['a', 'Trees', 'https://example.org/a'],
    ].map((row) => row.join(mark));
    const { wishes, skipped } = await gather(`sep=${mark}\r\n${rows.join('\r\n')}\r\n`);
    expect([skipped, wishes.map(({ key }) => key)]).toEqual([[], ['m/a']]);
  });

  it('asks for the same as the datasets written down in a manifest', async () => {
    const dir = tempDir();
    const path = writeText(
      dir,
      'm.yaml',
      `name: m
defaults: { dataset: { license: cc-zero, author: City }, resource: { import: never } }
datasets:
  - { id: a, title: A, tags: [x, y], groups: ["12"], temporal: { from: 2026-01-01, to: 2026-02-01 }, published: false,
      additionalInfo: { Source: Ledger }, resources: [{ id: f, title: F, description: D, file: f.csv }] }
`,
    );
    writeText(
      dir,
      'list.csv',
      'Dataset;Dataset title;Tags;groups;temporal from;Temporal_To;dataset.published;additionalInfo.Source;id;Title;Description;File\n' +
        'a;A;"x;y";12;2026-01-01;2026-02-01;no;Ledger;f;F;D;f.csv\n',
    );
    const written = await loadManifest(path);
    const listed = await loadManifest(
      writeText(
        dir,
        'i.yaml',
        'name: m\nindex: list.csv\ndefaults: { dataset: { license: cc-zero, author: City }, resource: { import: never } }\n',
      ),
    );
    if (!('index' in listed) || !('datasets' in written)) throw new Error('other kinds');
    const { gatherManifest } = await import('../../../src/sources/gather/dataset-wish.ts');
    const { wishes, skipped } = await gatherIndex(listed);
    expect(skipped).toEqual([]);
    expect(wishes).toEqual(await gatherManifest(written));
  });

  it('may be JSON lines, with nested or dotted names', async () => {
    const { wishes, skipped } = await gather(
      [
        '{"dataset":{"id":"budget","title":"City budget","tags":["a","b;c"]},"file":"x.csv","id":2026}',
        '',
        '{"dataset":"budget","title":"Page","link":"https://example.org/","dataset.contact":{"name":"Office"}}',
        '{"dataset.id":"far","url":"https://example.org/data/far%20away.csv?x=1","additionalInfo":{"Source":"Ledger"}}',
      ].join('\n'),
      { file: 'list.jsonl' },
    );
    expect(skipped).toEqual([]);
    expect(wishes.map(({ key, resources }) => [key, resources.map((resource) => resource.key)])).toEqual([
      ['m/budget', ['m/budget/2026', 'm/budget/page']],
      ['m/far', ['m/far/far-20away']],
    ]);
    expect(JSON.stringify(wishes[0]?.fields)).toContain('b;c');
    expect(JSON.stringify(wishes[0]?.fields)).toContain('Office');
    expect(JSON.stringify(wishes[1]?.fields)).toContain('Ledger');
    expect(wishes[1]?.resources[0]?.source).toMatchObject({ kind: 'url' });
  });

  it('takes headings that the manifest names, and reports columns it does not use', async () => {
    const { wishes, remarks } = await gather('Nr.|Name|Datei|Notiz|licence\nA 1|Haushalt|h.csv|x|y\n', {
      index: '{ file: ../lists/list.csv, columns: { dataset: Nr., dataset.title: Name, file: Datei } }',
    });
    expect(wishes.map(({ key, title }) => [key, title])).toEqual([['m/a-1', 'Haushalt']]);
    expect(remarks).toEqual([
      'the column `Notiz` is not used',
      'the column `licence` is not used (did you mean `license`?)',
    ]);
  });

  it('does not take `name` for the file name of a url', async () => {
    const { wishes, remarks } = await gather(
      'dataset,name,file,url,resource.name\na,Anna,a.csv,,\nb,Bob,,https://example.org/x,b.csv\n',
    );
    expect(remarks).toEqual(['the column `name` is not used (did you mean `title`?)']);
    expect(wishes.map(({ resources }) => resources[0]?.source)).toMatchObject([
      { kind: 'file' },
      { kind: 'url', name: 'b.csv' },
    ]);
  });

  it('does not take for keys what no cell can hold', async () => {
    const { wishes, remarks } = await gather('dataset,file,Table,Fields\na,a.csv,Spending,12\n');
    expect(remarks).toEqual([
      expect.stringMatching(/^the column `Table` is not used/),
      expect.stringMatching(/^the column `Fields` is not used/),
    ]);
    expect(wishes).toHaveLength(1);
  });

  it('keeps an identity that was published under another id', async () => {
    const { wishes } = await gather('dataset,dataset.renamedFrom,file,id,renamedFrom\nnew,old,a.csv,two,one\n');
    const before = await gather('dataset,file,id\nold,a.csv,one\n');
    expect(wishes[0]?.uuid).toBe(before.wishes[0]?.uuid);
    expect(wishes[0]?.resources[0]?.uuid).toBe(before.wishes[0]?.resources[0]?.uuid);
  });
});

describe('a faulty row', () => {
  it('skips its dataset with every fault at its line and cell; the others go on', async () => {
    const gathered = await gather(
      [
        'dataset,dataset.title,license,contact.email,file,link,dataset.published',
        'good,Good,cc-by,,a.csv,,',
        'bad,"Bad',
        'one",cc-bye,nobody,b.csv,https://example.org/,perhaps',
        'bad,Other title,,,c.csv,,',
        'bad,,,,,,',
        'odd,Odd,,,b.csv,,',
        'odd,Odd,,,b.csv,,',
        '',
      ].join('\n'),
    );
    expect(gathered.wishes.map(({ key }) => key)).toEqual(['m/good']);
    expect(faults(gathered)).toEqual([
      '3:2 dataset.title: must be one line',
      expect.stringMatching(/^3:3 license: `cc-bye` is not allowed \(did you mean `cc-by`\?\)/),
      '3:4 contact.email: must be an e-mail address',
      expect.stringMatching(/^3:6 link: only one of .*; `file` is set, too$/),
      '3:7 dataset.published: must be true or false, not text',
      '5:2 dataset.title: contradicts line 3 of the same dataset; set it once, or the same on every row',
      '6:1 : the resource has no content: it needs one of `file`, `url`, `link`, `api`',
      expect.stringMatching(/^8:1 id: `b` is already used: the resource on line 7 has this id/),
    ]);
    expect(gathered.skipped.map(({ key, isKnown }) => [key, isKnown])).toEqual([
      ['m/bad', true],
      ['m/odd', true],
    ]);
    expect(gathered.skipped[0]?.reason).toMatchObject({ code: 'entry-fault' });
    expect(gathered.skipped[0]?.reason.message).toContain('list.csv:3:4: contact.email: must be an e-mail address');
    const spares = sparing(gathered, () => false);
    expect(['m/bad', 'm/bad/b', 'm/gone'].map((key) => spares(key))).toEqual(['certain', 'certain', 'none']);
  });

  it('that cannot be told to belong to a dataset spares everything that seems to be missing', async () => {
    const gathered = await gather('dataset,file\n,a.csv\n???,b.csv\nfine,c.csv\nfine,d.csv,e\n');
    expect(gathered.wishes).toEqual([]);
    expect(faults(gathered)).toEqual([
      '2:1 : names no dataset',
      '3:1 dataset: names a dataset without a usable id: `???`',
      '5:1 : has 3 cells, the heading has 2',
    ]);
    expect(gathered.skipped.map(({ key }) => key)).toEqual(['m/entry#2', 'm/entry#3', 'm/fine']);
    expect(sparing(gathered, () => false)('m/anything')).toBe('possible');
    const nameless = await gather('dataset,file\na,???.csv\n');
    expect(faults(nameless)).toEqual([
      '2:1 : cannot derive an id from the file or title of the resource; set one in a column `resource`',
    ]);
    const lines = await gather('{"dataset":"a","file":"a.csv"}\n{"dataset":\n[1]\n', { file: 'l.ndjson' });
    expect(lines.wishes.map(({ key }) => key)).toEqual(['m/a']);
    expect(faults(lines)[0]).toMatch(/^2:1 : is not JSON: /);
    expect(faults(lines)[1]).toBe('3:1 : is not a JSON object');
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const nested = await gather(`{"dataset":"a","file":"a.csv","dataset.fields":{"x":${deep}}}\n`, { file: 'd.jsonl' });
    expect(faults(nested)).toEqual(['1:1 : nests deeper than 100 levels']);
  });

  it('is one that writes a dataset in another way', async () => {
    const gathered = await gather('dataset,file\nCity budget,a.csv\ncity-budget,b.csv\n');
    expect(faults(gathered)).toEqual([
      '3:1 dataset: `city-budget` and `City budget` (line 2) give the same id `city-budget`; use the same spelling',
    ]);
  });
});

describe('an index that cannot be read', () => {
  it('is refused as a whole, so that nothing seems to be missing', async () => {
    const refused = (text: string | Uint8Array, given?: Given): Promise<string[]> => problemsOf(gather(text, given));
    expect(await refused('')).toEqual([expect.stringMatching(/the index is empty/)]);
    expect(await refused('dataset,file\na,"b.csv\n')).toEqual([
      expect.stringMatching(/not valid CSV: Quote Not Closed/),
    ]);
    expect(await refused(Buffer.from('dataset,file\n\xfc,b.csv\n', 'latin1'))).toEqual([
      expect.stringMatching(/not UTF-8: save it as "CSV UTF-8"/),
    ]);
    expect(await refused(Buffer.from('dataset,file\na,b.csv\n', 'utf16le'))).toEqual([
      expect.stringMatching(/not UTF-8: save it as "CSV UTF-8"/),
    ]);
    expect(await refused('name,fil\na,b\n')).toEqual([
      expect.stringMatching(/no column `dataset`/),
      expect.stringMatching(/no column one of `file`, `url`, `link`, `api`/),
    ]);
    expect(await refused('dataset,Dataset,file\na,b,c\n')).toEqual([
      expect.stringMatching(/the columns `dataset` and `Dataset` mean the same/),
    ]);
    expect(
      await refused('dataset,file\na,b\n', { index: '{ file: ../lists/list.csv, columns: { license: Lizenz } }' }),
    ).toEqual([expect.stringMatching(/there is no column `Lizenz`, which `index.columns` names/)]);
    expect(await refused('x', { index: '{ file: x.csv, columns: { licence: L } }' })).toEqual([
      expect.stringMatching(/index.columns.licence: is not a column name; did you mean `license`\?/),
    ]);
  });

  it('or is not there, stops the run', async () => {
    await expect(gather('x', { index: 'gone.csv' })).rejects.toBeInstanceOf(SourceMissingError);
    await expect(gather('x')).rejects.toBeInstanceOf(ManifestError);
    expect(await gather('', { file: 'none.jsonl' })).toMatchObject({ wishes: [], skipped: [] });
  });

  it('is complete where its last line is ended, or names a file that is there', async () => {
    const completeOf = async (text: string, file = 'list.csv') => (await gather(text, { file })).complete;
    expect(await completeOf('dataset,file\na,a.csv\nb,b.csv\n')).toBe(true);
    expect(await completeOf('dataset,file\na,a.csv\nb,b.csv\r')).toBe(true);
    expect(await completeOf('dataset,file\na,list.csv')).toBe(true);
    expect(await completeOf('{"dataset":"a","link":"https://a.example"}', 'l.jsonl')).toBe(true);
    const cutOff = /^the last line of .*list\.csv has no line end, as if it were cut off$/;
    expect(await completeOf('dataset,file\na,a.csv\nb,list.c')).toMatch(cutOff);
    expect(await completeOf('dataset,link\na,https://a.example/list')).toMatch(cutOff);
  });

  it('may be without rows', async () => {
    expect(await gather('dataset,file\n\n')).toMatchObject({ wishes: [], skipped: [] });
  });
});
