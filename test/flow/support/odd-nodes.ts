// What real portals hold that they should not: made through the portal's calls where it allows that, else in its store.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Caller } from '../../support/portal.ts';
import type { Contents } from './portal-contents.ts';

/** What is to be done to the store of a portal when it does not run. */
export interface Damage {
  /** References of datasets to resources that are lost. */
  unlisted: { dataset: string; resource: string }[];
  /** Names of files that are lost. */
  files: string[];
}

type Values = Record<string, unknown>;

const und = (...items: Values[]) => ({ und: items });
const table = (text: string): string => `id,what\n1,${text}\n2,"a, b"\n`;
const twin = (number: number): string => `${number}0000000-0000-4000-8000-000000000000`;

/** Adds the odd nodes; what is returned is to be done to the store by {@link damage}. */
export const addOddNodes = async (admin: Caller): Promise<Damage> => {
  const dataset = (title: string, more: Values = {}): Promise<string> =>
    admin.create({ type: 'dataset', title, uid: '1', ...more });
  const resource = async (
    parent: string | null,
    title: string,
    { file, isImported = true, ...more }: Values & { file?: [string, string | Buffer]; isImported?: boolean } = {},
  ): Promise<{ nid: string; stored: string }> => {
    const ref = parent === null ? {} : { field_dataset_ref: und({ target_id: parent }) };
    const nid = await admin.create({ type: 'resource', title, uid: '1', ...ref, ...more });
    if (!file) return { nid, stored: '' };
    const reply = await admin.attach(nid, { name: file[0], content: file[1] });
    if (reply.status !== 200) throw new Error(`attach ${file[0]}: ${reply.status} ${reply.text}`);
    if (file[0].toLowerCase().endsWith('.csv') && isImported)
      await admin.send('POST', `/api/dataset/datastore/${nid}/import`);
    const { field_upload } = (await admin.read(nid)) as { field_upload?: { und?: { uri: string }[] } };
    return { nid, stored: field_upload?.und?.[0]?.uri.replace('public://', '') ?? '' };
  };
  const link = (url: string): Values => ({ field_link_api: und({ url }) });

  for (const name of ['misplaced', 'lost word'])
    await dataset(`Odd tags: ${name}`, {
      field_tags: und({ tid: 'autocreate', name, vid: '4', vocabulary_machine_name: 'tags' }),
    });

  const lists = await dataset('Odd list');
  const listed = [];
  for (const name of ['one', 'two', 'three', 'four'])
    listed.push(await resource(lists, `Listed ${name}`, { file: [`listed-${name}.csv`, table(name)] }));
  const first = await dataset('Odd: first of two');
  const second = await dataset('Odd: second of two');
  const shared = await resource(first, 'Of both', { file: ['of-both.csv', table('both')] });
  await admin.send('PUT', `/api/dataset/node/${second}`, { body: { field_resources: und({ target_id: shared.nid }) } });

  const twins = await dataset('Odd twins', { uuid: twin(1) });
  await dataset('Odd twins too', { uuid: twin(1) });
  for (const name of ['a', 'b', 'c'])
    await resource(twins, `Twin ${name}`, { uuid: twin(2), file: [`twin-${name}.csv`, table(name)] });

  const losses = await dataset('Odd files');
  const gone = [
    await resource(losses, 'Gone, with rows', { file: ['with-rows.csv', table('rows')] }),
    await resource(losses, 'Gone', { file: ['without-rows.csv', table('x')], isImported: false }),
    await resource(losses, 'Gone document', { file: ['gone.pdf', '%PDF-1.4'] }),
  ];
  await resource(losses, 'Empty file', { file: ['empty.csv', ''], isImported: false });
  await resource(losses, 'Header only', { file: ['header.csv', 'a,b\n'] });
  await resource(losses, 'Old encoding', {
    file: ['latin.csv', Buffer.from('id,ort\n1,Köln\n', 'latin1')],
    isImported: false,
  });
  await resource(losses, 'Semicolons', { file: ['semicolons.csv', 'a;b\n1;2\n'] });
  await resource(losses, 'Uneven', { file: ['uneven.csv', 'a,b\n1\n1,2,3\n'], isImported: false });
  await resource(losses, 'Neither file nor link');

  const draft = await dataset('Odd draft', { status: 0 });
  await resource(draft, 'Published in a draft', { file: ['in-draft.csv', table('draft')] });
  const open = await dataset('Odd: with a draft in it');
  await resource(open, 'Draft in it', { status: 0, file: ['draft.csv', table('secret')] });
  await resource(open, 'Draft link in it', { status: 0, ...link('https://example.org/draft') });

  await resource(null, 'Orphan', { file: ['orphan.csv', table('orphan')] });
  await resource(null, 'Orphan link', link('https://example.org/orphan'));
  await resource(null, 'Orphan draft', { status: 0, file: ['orphan-draft.csv', table('orphan')] });

  const long = await dataset('x'.repeat(255));
  await resource(long, 'ü'.repeat(255), link('https://example.org/long'));
  for (const title of [
    '../x',
    '../../etc/passwd',
    'CON',
    'Case twin',
    'case TWIN',
    '   around   ',
    'a\tb',
    '&lt;b&gt; <b>bold</b>',
    '///',
  ])
    await dataset(title);
  for (const format of ['full_html', 'plain_text', 'html', null, 'unknown_format'])
    await dataset(`Odd format ${format}`, {
      body: und({
        value: '<p>one</p>\r\n\r\n<script>two</script>  ',
        summary: '',
        ...(format === null ? {} : { format }),
      }),
    });
  await dataset('');

  const names = await dataset('Odd names');
  for (let index = 0; index < 20; index++)
    await resource(names, 'Data', { file: ['data.csv', table(`number ${index}`)] });
  for (const name of [
    '../x.csv',
    'CON.csv',
    'DATA.csv',
    'Data.CSV',
    `${'n'.repeat(230)}.csv`,
    'a b (1) & c.csv',
    'ü.csv',
    'ü.csv',
    'a%20b.csv',
    "o'hara.csv",
  ])
    await resource(names, `Named ${name.slice(0, 20)}`, { file: [name, table(name.slice(0, 10))] });
  const links = await dataset('Odd links', {
    field_additional_info: und(
      ...Array.from({ length: 12 }, (_, at) => ({ first: `Fact ${at % 10}`, second: `${at}` })),
    ),
  });
  for (const url of [
    'http://example.org/%C3%A4?c=d#e',
    'https://user:pass@example.org/x',
    'https://example.org/../up',
    'https://example.org/a|b?c[]=1&d=100%',
    'ftp://example.org/file.csv',
  ])
    await resource(links, `To ${url}`, link(url));
  return {
    unlisted: listed.slice(1, 3).map(({ nid }) => ({ dataset: lists, resource: nid })),
    files: gone.map(({ stored }) => stored),
  };
};

/** Damages the store of a portal that does not run. */
export const damage = (dataDir: string, { unlisted, files }: Damage): void => {
  const db = new DatabaseSync(join(dataDir, 'portal.db'));
  for (const { dataset, resource } of unlisted)
    db.prepare('DELETE FROM reference WHERE nid = ? AND target = ?').run(dataset, resource);
  for (const name of files) {
    const file = db.prepare('SELECT uuid FROM file WHERE name = ?').get(name);
    rmSync(join(dataDir, 'files', String(file?.uuid)));
  }
  db.close();
};

/** What no manifest takes along, by title: see the findings `manifest-lacks` and `file-gone`. */
const leftOut = /^(?:Gone|Gone document|Neither file nor link|To ftp:.*)$/;

/** Tables whose rows cannot be compared: the portal tells them by a uuid that several have, or read another delimiter. */
const otherRows = /^(?:Twin .|Semicolons)$/;

/** How the contents of a portal with the odd nodes stand on one that they were published to, where it holds all fields. */
export const asPublished = (contents: Contents[]): Contents[] =>
  contents.map((dataset) => {
    const [, misplaced] = /^Odd tags: (.*)$/.exec(dataset.title) ?? [];
    const tags = misplaced === undefined ? {} : { tags: [misplaced] };
    return {
      ...dataset,
      title: titleOf(dataset),
      fields: { ...dataset.fields, ...tags },
      resources: (dataset.resources ?? []).flatMap((resource) => {
        const { title, file, rows } = resource;
        const isLost = file?.content.startsWith('status ') === true;
        if (leftOut.test(title) || (isLost && rows === null)) return [];
        const ofRows = isLost ? { file: { name: file.name, content: csvOf(rows as Values[]) } } : {}; // as tested above
        return [{ ...resource, ...ofRows, ...(otherRows.test(title) ? { rows: null } : {}) }];
      }),
    };
  });

const titleOf = ({ title }: Contents): string =>
  title
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/^(?:Untitled \d+)?$/, 'Untitled');

const csvOf = (rows: Values[]): string => {
  const [columns = []] = rows.map((row) => Object.keys(row).filter((name) => name !== 'entry_id'));
  const line = (cells: unknown[]): string =>
    `${cells.map((cell) => (/[",]/.test(String(cell)) ? `"${cell}"` : cell)).join(',')}\n`;
  return [columns, ...rows.map((row) => columns.map((name) => row[name]))].map(line).join('');
};
