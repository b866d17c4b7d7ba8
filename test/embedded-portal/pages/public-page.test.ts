// The public pages over HTTP: every address that a read of a node shows leads to a page about it.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal, type TestPortal } from '../../support/portal.ts';
import { tempDir } from '../../support/temp-dir.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

const und = (...items: unknown[]): { und: unknown[] } => ({ und: items });

const get = (path: string, caller: Caller = portal.anonymous): Promise<Reply> => caller.send('GET', path);

/** The path of the address that a read of the node shows. */
const addressOf = async (nid: string): Promise<string> => {
  const { path } = await creator.read(nid);
  expect(path).toMatch(`${portal.url}/`);
  return String(path).slice(portal.url.length);
};

const pageOf = async (nid: string, caller?: Caller): Promise<string> => {
  const reply = await get(await addressOf(nid), caller);
  expect(reply.status).toBe(200);
  return reply.text;
};

/** The cells of the table of facts by label. */
const factsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<tr><th scope="row">(.*?)<\/th><td dir="auto">(.*?)<\/td><\/tr>/gs)].map(([, label, value]) => [
      label,
      (value ?? '')
        .replace(/<[^>]*>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
    ]),
  );

const dataset = (title: string, rest: Record<string, unknown> = {}): Promise<string> =>
  creator.create({ type: 'dataset', title, status: 1, ...rest });

const resource = (title: string, rest: Record<string, unknown> = {}): Promise<string> =>
  creator.create({ type: 'resource', title, status: 1, ...rest });

describe('the address of a dataset', () => {
  it('leads to its title, its description as sanitised HTML and its facts', async () => {
    const nid = await dataset('Trees of the city', {
      body: und({ value: '**Every** tree. <script>alert(1)</script>', format: 'html' }),
      field_license: und({ value: 'cc-by' }),
      field_author: und({ value: 'Parks & Gardens' }),
      field_contact_name: und({ value: 'Ann' }),
      field_contact_email: und({ value: 'ann@example.org' }),
      field_frequency: und({ value: 'R/P1W' }),
      field_tags: und({ tid: 'trees' }, { tid: 'parks' }),
      field_temporal_coverage: und({ value: '2026-01-01 00:00:00', value2: '2026-12-31 00:00:00' }),
      field_spatial_geographical_cover: und({ value: 'City area' }),
      field_spatial: und({ wkt: 'POLYGON((13.1 52.3, 13.8 52.3, 13.8 52.7, 13.1 52.7, 13.1 52.3))' }),
      field_landing_page: und({ url: 'https://example.org/trees', title: 'Trees' }),
    });
    expect(await addressOf(nid)).toBe('/dataset/trees-city');
    const text = await pageOf(nid);
    expect(text).toContain('<title>Trees of the city | sluice portal</title>');
    expect(text).toContain('<h1 dir="auto">Trees of the city</h1>');
    expect(text).toContain('<strong>Every</strong> tree.');
    expect(text).not.toContain('<script');
    expect(text).toContain('<a href="mailto:ann@example.org">');
    expect(text).toContain('<a href="https://example.org/trees" rel="nofollow">');
    expect(factsOf(text)).toMatchObject({
      License: 'Creative Commons Attribution',
      Author: 'Parks &amp; Gardens',
      Contact: 'Ann, ann@example.org',
      Updated: 'weekly',
      Tags: 'trees parks',
      'Period covered': '2026-01-01 to 2026-12-31',
      'Area covered': 'City area longitude 13.1 to 13.8, latitude 52.3 to 52.7',
      Homepage: 'Trees',
      Changed: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/),
    });
  });

  it('lists its resources in their order, and follows every change at once', async () => {
    const nid = await dataset('Order of things');
    const ref = { field_dataset_ref: und({ target_id: nid }) };
    const first = await resource('First table', ref);
    await resource('Second table', { ...ref, field_link_remote_file: und({ uri: 'https://example.org/b.csv' }) });
    const hidden = await resource('Hidden table', { ...ref, status: 0 });
    const text = await pageOf(nid);
    const links = [...text.matchAll(/<h3><a href="([^"]*)"><bdi>(.*?)<\/bdi>/g)].map(([, , title]) => title);
    expect(links).toEqual(['First table', 'Second table']);
    expect(text).toContain(`href="${portal.url}${await addressOf(first)}"`);
    expect(text).toContain('https://example.org/b.csv');
    await creator.send('PUT', `/api/dataset/node/${first}`, { body: { title: 'Renamed table' } });
    expect(await pageOf(nid)).toContain('Renamed table');
    expect(await pageOf(nid, creator)).toContain('Hidden table');
    expect(await addressOf(hidden)).toContain('/resource/');
  });

  it('keeps letters of all scripts, and is beside /node/<nid>', async () => {
    const nid = await dataset('Bäume — 樹木');
    const path = await addressOf(nid);
    expect(path).toContain('%');
    const text = await pageOf(nid);
    expect((await get(`/node/${nid}`)).text).toBe(text);
    expect(text).toContain(`<link rel="canonical" href="${portal.url}${path}">`);
  });

  it('shows a description without a format as plain text', async () => {
    const dataDir = tempDir();
    const recorded = await startTestPortal({ dataDir, profile: 'dkan-7.18' });
    const admin = await recorded.as('admin');
    const body = und({ value: 'a <b>\n\nc & d' });
    const nid = await admin.create({ type: 'dataset', title: 'Plain', status: 1, body });
    await recorded.server.close();
    const own = await startTestPortal({ dataDir });
    const { text } = await own.anonymous.send('GET', `/node/${nid}`);
    expect(text).toContain('<p>a &lt;b&gt;</p>\n<p>c &amp; d</p>');
  });
});

describe('the address of a resource', () => {
  it('still leads to it once a dataset lists it, and once that has another title', async () => {
    const nid = await resource('Made before its dataset');
    const first = await addressOf(nid);
    const parent = await dataset('Listed later', { field_resources: und({ target_id: nid }) });
    const second = await addressOf(nid);
    expect(second).not.toBe(first);
    await creator.send('PUT', `/api/dataset/node/${parent}`, { body: { title: 'Renamed' } });
    for (const address of [first, second, await addressOf(nid)]) {
      const { status, text } = await get(address);
      expect([status, text]).toEqual([200, expect.stringContaining('Made before its dataset')]);
    }
    expect((await get(`/dataset/resource/${(await creator.read(parent)).uuid}`)).status).toBe(404);
  });

  const table = `name,amount\n${Array.from({ length: 25 }, (_, index) => `row ${index + 1},${index + 1}.50`).join('\n')}\n`;

  it('leads to file, datastore, the first 20 rows and the addresses for programs', async () => {
    const parent = await dataset('Parent of tables');
    const nid = await resource('The table', {
      field_dataset_ref: und({ target_id: parent }),
      field_format: und({ tid: 'csv' }),
    });
    await creator.attach(nid, { name: 'the table.csv', content: table });
    const text = await pageOf(nid);
    expect(text).toContain(`<a href="${portal.url}${await addressOf(parent)}"><bdi>Parent of tables</bdi></a>`);
    expect(factsOf(text)).toMatchObject({
      File: `the table.csv (${table.length} bytes, text/csv)`,
      Format: 'csv',
      Datastore: 'imported',
      Rows: '25',
    });
    expect(text).toContain('The first 20 of 25 rows, 2 columns.');
    expect(text).toContain('<tr><th scope="col">name</th><th scope="col" class="n">amount</th></tr>');
    expect(text).toContain('<tr><td dir="auto">row 20</td><td class="n">20.50</td></tr>');
    expect(text).not.toContain('row 21');
    const hrefs = [...text.matchAll(/href="([^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
    const file = hrefs.find((href) => href.includes('/sites/default/files/')) ?? '';
    expect((await get(file.slice(portal.url.length))).text).toBe(table);
    const api = hrefs.filter((href) => href.includes('/api/') && !href.endsWith('/node.json'));
    expect(api).toHaveLength(3);
    for (const href of api) {
      expect((await get(href.slice(portal.url.length), creator)).status).toBe(200);
    }
  });

  it('shows all rows page by page, and those that hold every word that is searched for', async () => {
    const nid = await resource('Long table');
    const rows = Array.from(
      { length: 2105 },
      (_, index) => `row ${index + 1},${index % 7},${index % 2 ? 'odd' : 'even'}`,
    );
    await creator.attach(nid, { name: 'long.csv', content: `name,amount,kind\n${rows.join('\n')}\n` });
    const path = await addressOf(nid);
    const names = async (query: string): Promise<string[]> => {
      const { status, text } = await get(`${path}${query}`);
      expect(status).toBe(200);
      return [...text.matchAll(/<tr><td dir="auto">(.*?)<\/td>/g)].map(([, name = '']) => name);
    };
    expect(await names('?page=2')).toEqual(Array.from({ length: 20 }, (_, index) => `row ${index + 21}`));
    expect(await names('?page=106')).toEqual(['row 2101', 'row 2102', 'row 2103', 'row 2104', 'row 2105']);
    expect((await get(`${path}?page=106`)).text).toContain('Rows 2,101 to 2,105 of 2,105 rows, 3 columns.');
    expect((await get(`${path}?page=107`)).status).toBe(404);
    expect((await get(`${path}?page=0`)).status).toBe(404);
    expect(await names('?search=+2105%20%20EVEN+')).toEqual(['row 2105']);
    const { text } = await get(`${path}?search=row+210`);
    expect(text).toContain('8 rows found, 3 columns.');
    expect(text).toContain('value="row 210"');
    expect(factsOf(text).Rows).toBe('2,105');
    expect((await get(`${path}?search=nowhere`)).text).toContain('0 rows found, 3 columns.');
    const second = (await get(`${path}?search=row&page=2&chart=amount`)).text;
    const hrefs = [...second.matchAll(/href="([^"]*)">(First|Previous|Next|Last)</g)].map(([, href = '', word]) => [
      word,
      href,
    ]);
    expect(Object.fromEntries(hrefs)).toEqual({
      Previous: `${portal.url}${path}?search=row&amp;chart=amount#rows`,
      Next: `${portal.url}${path}?search=row&amp;chart=amount&amp;page=3#rows`,
      Last: `${portal.url}${path}?search=row&amp;chart=amount&amp;page=106#rows`,
    });
  });

  it('draws a column of numbers, and any other one that is asked for', async () => {
    const nid = await resource('Charted');
    const content = 'station_id,station,bikes,share\n007,North,10,"1,5"\n008,South,30,"2,5"\n';
    await creator.attach(nid, { name: 'charted.csv', content });
    const text = await pageOf(nid);
    expect(text).toContain('bikes by station. 2 values in 2 rows: smallest 10, largest 30, mean 20.');
    expect(text.match(/<svg/g)).toHaveLength(2);
    const other = (await get(`${await addressOf(nid)}?chart=share`)).text;
    expect(other).toContain('share by station. 2 values in 2 rows: smallest 1.5, largest 2.5, mean 2.');
    const plain = await resource('Texts only');
    await creator.attach(plain, { name: 'plain.csv', content: 'a,b\nx,y\n' });
    expect(await pageOf(plain)).not.toContain('<svg');
  });

  it('says in which line the import failed, and that older rows are shown', async () => {
    const nid = await resource('Ragged');
    await creator.attach(nid, { name: 'a.csv', content: 'a,b\n1,2\n' });
    await creator.attach(nid, { name: 'b.csv', content: 'a,b\n1,2\n3\n' });
    const text = await pageOf(nid);
    expect(factsOf(text).Datastore).toBe(
      'the import of this file failed in line 3; the rows are those of an earlier file',
    );
    expect(factsOf(text).Rows).toBe('1');
  });

  it('leads to a link where the file is elsewhere, without a datastore', async () => {
    const nid = await resource('Elsewhere', { field_link_remote_file: und({ uri: 'https://example.org/x.geojson' }) });
    const text = await pageOf(nid);
    expect(factsOf(text)).toMatchObject({ 'File elsewhere': 'https://example.org/x.geojson' });
    expect(text).not.toContain('Preview');
    expect(factsOf(text)).not.toHaveProperty('Datastore');
  });

  it('stays readable with many columns and long cells', async () => {
    const nid = await resource('Wide');
    const names = Array.from({ length: 60 }, (_, index) => `c${index}`).join(',');
    const cells = Array.from({ length: 60 }, () => 'x'.repeat(1000)).join(',');
    await creator.attach(nid, { name: 'wide.csv', content: `${names}\n${cells}\n` });
    const text = await pageOf(nid);
    expect(text).toContain('1 row, 40 of 60 columns.');
    expect(text.match(/<td dir="auto">x{200}…<\/td>/g)).toHaveLength(40);
  });
});

describe('the front page', () => {
  it('lists published datasets, the newest first, 20 a page', async () => {
    const own = await startTestPortal();
    const ann = await own.as('creator');
    expect((await own.anonymous.send('GET', '/')).text).toContain('Nothing is published here yet.');
    for (let number = 1; number <= 21; number += 1) {
      await ann.create({ type: 'dataset', title: `Number ${number}`, status: 1, created: 1_700_000_000 + number });
    }
    await ann.create({ type: 'dataset', title: 'Hidden', status: 0 });
    await ann.create({ type: 'resource', title: 'A resource', status: 1 });
    const titles = async (path: string): Promise<string[]> => {
      const { status, text } = await own.anonymous.send('GET', path);
      expect(status).toBe(200);
      return [...text.matchAll(/<h2><a href="[^"]*"><bdi>(.*?)<\/bdi>/g)].map(([, title = '']) => title);
    };
    const first = await titles('/');
    expect(first).toHaveLength(20);
    expect(new Set([...first, ...(await titles('/?page=2'))])).toEqual(
      new Set(Array.from({ length: 21 }, (_, index) => `Number ${index + 1}`)),
    );
    expect(first[0]).toBe('Number 21');
    expect(await titles('/?page=2')).toEqual(['Number 1']);
    for (const page of ['0', '3', '-1', 'x', '1e3', '99999999999']) {
      expect((await own.anonymous.send('GET', `/?page=${page}`)).status).toBe(404);
    }
    expect((await own.anonymous.send('GET', '/?page[]=1')).status).toBe(404);
  });
});

describe('the search for datasets', () => {
  it('finds what holds all words in title, description, publisher, tags or titles of resources, in any case', async () => {
    const own = await startTestPortal();
    const admin = await own.as('admin');
    const group = await admin.create({ type: 'group', title: 'Grünflächenamt', status: 1 });
    const html = (value: string) => und({ value, format: 'html' });
    const trees = await admin.create({
      ...{
        type: 'dataset',
        title: 'Bäume',
        status: 1,
        body: html('All <em>street</em> trees'),
        created: 1_700_000_003,
      },
      ...{ og_group_ref: und({ target_id: group }), field_tags: und({ tid: 'nature' }) },
    });
    await admin.create({
      type: 'resource',
      title: 'Cadastre 2026',
      status: 1,
      field_dataset_ref: und({ target_id: trees }),
    });
    await admin.create({ type: 'resource', title: 'Draft', status: 0, field_dataset_ref: und({ target_id: trees }) });
    const other = { type: 'dataset', status: 1, field_author: und({ value: 'Parks & Co' }) };
    await admin.create({ ...other, title: 'Benches', body: html('Near trees'), created: 1_700_000_001 });
    await admin.create({ ...other, title: 'Trees in parks', created: 1_700_000_000 });
    await admin.create({ ...other, title: 'Secret trees', status: 0 });
    const find = async (words: string): Promise<string[]> => {
      const { status, text } = await own.anonymous.send('GET', `/?search=${encodeURIComponent(words)}`);
      expect(status).toBe(200);
      return [...text.matchAll(/<h2><a href="[^"]*"><bdi>(.*?)<\/bdi>/g)].map(([, title = '']) => title);
    };
    for (const words of ['BÄUME', 'grünflächenamt street', 'NATURE', 'cadastre 2026', ' street\ttrees ']) {
      expect(await find(words), words).toEqual(['Bäume']);
    }
    expect(await find('parks & co')).toEqual(['Benches', 'Trees in parks']);
    expect(await find('trees')).toEqual(['Trees in parks', 'Bäume', 'Benches']);
    for (const words of ['draft', 'secret', 'no%such', '_']) expect(await find(words), words).toEqual([]);
    await admin.send('PUT', `/api/dataset/node/${trees}`, { body: { title: 'Oaks' } });
    expect(await find('oaks street')).toEqual(['Oaks']);
    const { text } = await own.anonymous.send('GET', '/?search=no+such');
    expect(text).toContain('0 datasets found.');
    expect((await own.anonymous.send('GET', '/?search[]=x')).status).toBe(404);
    expect((await own.anonymous.send('GET', `/?search=${'long+'.repeat(2000)}`)).status).toBe(200);
  });

  it('leads through its pages', async () => {
    const own = await startTestPortal();
    const ann = await own.as('creator');
    for (let number = 1; number <= 41; number++)
      await ann.create({ type: 'dataset', title: `Number ${number}`, status: 1 });
    await ann.create({ type: 'dataset', title: 'Else', status: 1 });
    const { text } = await own.anonymous.send('GET', '/?search=number&page=3');
    expect(text).toContain('41 datasets found.');
    expect(text).toContain('<span>Page 3 of 3</span>');
    expect(text).toContain(`<a href="${own.url}/?search=number&amp;page=2">Previous</a>`);
    expect(text).toContain(`<a href="${own.url}/?search=number">First</a>`);
    expect(text).not.toContain('Next');
    expect((await own.anonymous.send('GET', '/?search=number&page=4')).status).toBe(404);
  });
});

describe('the publisher', () => {
  it('is the published groups of a dataset, else its author; in lists and on its page', async () => {
    const admin = await portal.as('admin');
    const own = { type: 'dataset', status: 1, created: 4_000_000_000 };
    const group = await admin.create({ type: 'group', title: 'City & Streets', status: 1 });
    const hidden = await admin.create({ type: 'group', title: 'Hidden unit', status: 0 });
    const both = und({ target_id: group }, { target_id: hidden });
    const one = await admin.create({
      ...own,
      title: 'Of a group',
      og_group_ref: both,
      field_author: und({ value: 'Ann' }),
    });
    const two = await admin.create({ ...own, title: 'Of an author', field_author: und({ value: 'Bob' }) });
    const link = `<a href="${portal.url}${await addressOf(group)}"><bdi>City &amp; Streets</bdi></a>`;
    expect(await pageOf(one)).toContain(`Published by ${link}</p>`);
    expect(await pageOf(two)).toContain('Published by <bdi>Bob</bdi></p>');
    const { text } = await get('/');
    expect(text).toContain('<bdi>City &amp; Streets</bdi> · 0 resources');
    expect(text).toContain('<bdi>Bob</bdi> · 0 resources');
    expect(text).not.toContain('Hidden unit');
    expect((await get(await addressOf(group))).text).toContain(`<a href="${portal.url}/?search=City+%26+Streets">`);
  });
});

describe('who sees a page', () => {
  it('of a node that is not published: its author and administrators, nobody else', async () => {
    const nid = await dataset('Secret plan', { status: 0 });
    const path = await addressOf(nid);
    for (const address of [path, `/node/${nid}`]) {
      const refused = await get(address);
      expect(refused.status).toBe(403);
      expect(refused.text).not.toContain('Secret');
      expect((await get(address, await portal.as('creator2'))).status).toBe(403);
    }
    expect(await pageOf(nid, creator)).toContain('Secret plan');
    expect(await pageOf(nid, await portal.as('administrator'))).toContain('Not published');
    expect((await get(path)).status).toBe(403);
    expect((await get('/')).text).not.toContain('Secret');
  });

  it('ends when the node is unpublished or deleted', async () => {
    const nid = await dataset('Short lived');
    const path = await addressOf(nid);
    expect((await get(path)).status).toBe(200);
    const admin = await portal.as('admin');
    await admin.send('PUT', `/api/dataset/node/${nid}`, { body: { status: 0 } });
    expect((await get(path)).status).toBe(403);
    await admin.send('DELETE', `/api/dataset/node/${nid}`);
    expect((await get(path)).status).toBe(404);
    expect((await get(`/node/${nid}`)).status).toBe(404);
  });
});

describe('other paths', () => {
  it('keep the 404 page of the site', async () => {
    const nid = await dataset('Known');
    const paths = [
      '/dataset',
      '/dataset/none',
      '/dataset/%zz',
      '/node',
      '/node/999999',
      '/node/x',
      `/node/${nid}/edit`,
    ];
    for (const path of [...paths, '/index.php']) {
      const reply = await get(path);
      expect(reply.status).toBe(404);
      expect(reply.text).toContain('<title>Page not found');
    }
    expect((await portal.anonymous.send('POST', `/node/${nid}`)).status).toBe(404);
  });

  it('tell a browser that nothing is there and lead it to the start page, wherever they are', async () => {
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const site = ['/none', '/node/999999', '/sites/default/files/none.csv', '/?page=999', '/%zz'];
    for (const path of [...site, '/api/dataset/bogus', '/api/dataset/bogus/1.json', '/api/dataset/user', '/api']) {
      const [page, plain] = [await creator.send('GET', path, { headers }), await get(path)];
      expect([path, page.status, page.headers['content-type']]).toEqual([path, 404, 'text/html; charset=utf-8']);
      expect(page.text).toContain('<h1>Page not found</h1>');
      expect(page.text).toContain(`<a href="${portal.url}/">Start page</a>`);
      expect(page.headers['content-security-policy']).toContain("default-src 'none'");
      expect([page.headers['cache-control'], page.reason]).toEqual(['private, no-store', plain.reason]);
    }
    for (const path of ['/none', '/api/dataset/bogus']) {
      const head = await portal.anonymous.send('HEAD', path, { headers });
      expect([head.status, head.text]).toEqual([404, '']);
    }
  });

  it('answer programs as before: below the API with an empty body, and what is there in their format', async () => {
    for (const accept of ['application/json', '*/*', '']) {
      const reply = await portal.anonymous.send('GET', '/api/dataset/bogus', { headers: { accept } });
      expect([reply.status, reply.reason, reply.text, reply.headers['content-type']]).toEqual([
        404,
        'Not found : Could not find resource bogus.',
        '',
        'text/html; charset=UTF-8',
      ]);
    }
    const headers = { accept: 'text/html,*/*;q=0.8' };
    const posted = await creator.send('POST', '/api/dataset/bogus', { headers, body: {} });
    expect([posted.status, posted.text]).toEqual([404, '']);
    const missing = await portal.anonymous.send('GET', '/api/dataset/node/999999', { headers });
    expect([missing.status, missing.json()]).toEqual([404, ['Node 999999 could not be found']]);
  });

  it('answer HEAD as GET, without a body', async () => {
    const [head, whole] = [await portal.anonymous.send('HEAD', '/'), await get('/')];
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(whole.headers['content-length']);
  });

  it('still redirect the old way to write an address', async () => {
    expect((await get('/?q=api/dataset/node')).status).toBe(301);
  });
});

describe('what a portal hides', () => {
  it('operations that do not exist are not named', async () => {
    const own = await startTestPortal({ expose: { node: ['create'], user: ['login'] } });
    const ann = await own.as('creator');
    const nid = await ann.create({ type: 'resource', title: 'Alone', status: 1 });
    const { status, text } = await own.anonymous.send('GET', `/node/${nid}`);
    expect(status).toBe(200);
    expect(text).not.toContain('/api/dataset/');
  });

  it.each(['dkan-7.18', 'dkan-7.14'] as const)('under profile %s there are no pages', async (profile) => {
    const own = await startTestPortal({ profile });
    const admin = await own.as('admin');
    const nid = await admin.create({ type: 'dataset', title: 'Recorded' });
    const { path } = await admin.read(nid);
    for (const address of ['/', `/node/${nid}`, new URL(String(path)).pathname]) {
      expect((await own.anonymous.send('GET', address)).text).toContain('<title>Page not found | DKAN</title>');
    }
  });
});
