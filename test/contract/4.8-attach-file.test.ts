// Specification, sections 4.8, 2.6 and 3: attach a file to a resource.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, multipart, type Reply, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal({ limits: { fileBytes: 100_000 } });
  creator = await portal.as('creator');
});

const table = 'name,age\nAnn,30\nBob,41\n';

/** Everything that lies in the folder of files. */
const stored = (): string[] => readdirSync(join(portal.server.dataDir, 'files')).toSorted();

const newResource = (): Promise<string> => creator.create({ type: 'resource', title: 'With file' });

interface FileItem {
  fid: string;
  filename: string;
  uri: string;
  filesize: string;
  filemime: string;
}

const uploadOf = async (nid: string): Promise<FileItem[]> => {
  const { field_upload } = await creator.read(nid);
  return Array.isArray(field_upload) ? [] : (field_upload as { und: FileItem[] }).und;
};

const attachParts = (nid: string, parts: Parameters<typeof multipart>[0]): Promise<Reply> =>
  creator.send('POST', `/api/dataset/node/${nid}/attach_file`, multipart(parts));

describe('Attach a file', () => {
  it('answers fid and uri, and the resource shows the file', async () => {
    const nid = await newResource();
    const reply = await creator.attach(nid, { name: 'people.csv', content: table });
    const { fid } = reply.json<{ fid: string }>();
    expect([reply.status, reply.json()]).toEqual([200, { fid, uri: `${portal.url}/api/dataset/file/${fid}` }]);
    const node = await creator.read(nid);
    expect(node.field_upload).toMatchObject({
      und: [
        {
          alt: '',
          delimiter: null,
          embed: null,
          fid,
          filemime: 'text/csv',
          filename: 'people.csv',
          filesize: String(table.length),
          graph: null,
          grid: null,
          map: null,
          metadata: [],
          service_id: null,
          status: '1',
          timestamp: expect.stringMatching(/^\d+$/),
          title: '',
          type: 'undefined',
          uid: '3',
          uri: 'public://people.csv',
          uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        },
      ],
    });
  });

  it('imports a valid CSV into the datastore immediately', async () => {
    const nid = await newResource();
    await creator.attach(nid, { name: 'now.csv', content: table });
    const node = await creator.read(nid);
    expect(node.field_datastore_status).toEqual({ und: [{ value: '2' }] });
    const search = await portal.anonymous.send('GET', `/api/action/datastore/search.json?resource_id=${node.uuid}`);
    expect(search.json()).toMatchObject({ success: true, result: { total: 2 } });
  });

  it('makes no new revision', async () => {
    const nid = await newResource();
    const before = await creator.read(nid);
    await creator.attach(nid, { name: 'norev.csv', content: table });
    expect((await creator.read(nid)).vid).toBe(before.vid);
  });

  it('attach 0 replaces the file, and the old one is gone', async () => {
    const nid = await newResource();
    await creator.attach(nid, { name: 'old.csv', content: table });
    await creator.attach(nid, { name: 'new.csv', content: 'x\n1\n' });
    expect((await uploadOf(nid)).map((file) => file.filename)).toEqual(['new.csv']);
    expect((await portal.anonymous.send('GET', '/sites/default/files/old.csv')).status).toBe(404);
    expect((await portal.anonymous.send('GET', '/sites/default/files/new.csv')).text).toBe('x\n1\n');
  });

  it('attach 1 is accepted when the field is empty and rejected when it has a file', async () => {
    const nid = await newResource();
    expect((await creator.attach(nid, { name: 'one.csv', content: table, attach: '1' })).status).toBe(200);
    const reply = await creator.attach(nid, { name: 'two.csv', content: table, attach: '1' });
    expect([reply.status, reply.json()]).toEqual([406, ['You cannot upload so many files.']]);
    expect((await uploadOf(nid)).map((file) => file.filename)).toEqual(['one.csv']);
  });

  it('lets only one of two simultaneous attaches with attach 1 through', async () => {
    const nid = await newResource();
    const files = ['left.csv', 'right.csv'].map((name) => ({ name, content: table, attach: '1' }));
    const replies = await Promise.all(files.map((file) => creator.attach(nid, file)));
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 406]);
    expect(await uploadOf(nid)).toHaveLength(1);
  });

  it.each([
    [
      'no field_name',
      [{ name: 'files[1]', value: table, filename: 'a.csv' }],
      401,
      'Missing required argument field_name',
    ],
    [
      'an unknown field',
      [
        { name: 'field_name', value: 'field_x' },
        { name: 'files[1]', value: table, filename: 'a.csv' },
      ],
      406,
      "Field name 'field_x' not found on node type 'resource'",
    ],
    [
      'no file',
      [{ name: 'field_name', value: 'field_upload' }],
      406,
      'No file was sent: the part files[1] is missing.',
    ],
    [
      'a file field without a file',
      [
        { name: 'field_name', value: 'field_upload' },
        { name: 'files[1]', value: '', filename: '' },
      ],
      406,
      'Failed to upload file. 1',
    ],
    [
      'two files',
      [
        { name: 'field_name', value: 'field_upload' },
        { name: 'files[1]', value: table, filename: 'a.csv' },
        { name: 'files[2]', value: table, filename: 'b.csv' },
      ],
      406,
      'You cannot upload so many files.',
    ],
  ])('%s is refused', async (_name, parts, status, words) => {
    const nid = await newResource();
    const reply = await attachParts(nid, parts);
    expect([reply.status, reply.json()]).toEqual([status, [words]]);
    expect(await uploadOf(nid)).toEqual([]);
  });

  it('a dataset has no such field', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'No upload' });
    const reply = await creator.attach(nid, { name: 'a.csv', content: table });
    expect(reply.json()).toEqual(["Field name 'field_upload' not found on node type 'dataset'"]);
  });

  it.each(['script.php', 'noextension', '.csv', `${'x'.repeat(250)}.csv`, 'a.csv.exe', 'x.svg'])(
    'a file named %s is refused',
    async (name) => {
      const reply = await creator.attach(await newResource(), { name, content: table });
      expect([reply.status, reply.json()]).toEqual([406, ['Failed to upload file. 1']]);
    },
  );

  it.each([
    ['../../etc/passwd.csv', 'passwd.csv'],
    ['C:\\\\temp\\\\win.csv', 'win.csv'],
    ['evil.php.csv', 'evil.php_.csv'],
    ['spaced name.csv', 'spaced name.csv'],
    ['UPPER.CSV', 'UPPER.CSV'],
    ['ünïcode 数据.csv', 'ünïcode 数据.csv'],
  ])('the name %j becomes %j', async (sent, kept) => {
    const nid = await newResource();
    await creator.attach(nid, { name: sent, content: table });
    const [file] = await uploadOf(nid);
    expect(file?.filename).toBe(kept);
    const reply = await portal.anonymous.send('GET', `/sites/default/files/${encodeURIComponent(kept)}`);
    expect([reply.status, reply.text]).toEqual([200, table]);
  });

  it('a name that is taken gets a number', async () => {
    const uris: (string | undefined)[] = [];
    for (let count = 0; count < 3; count += 1) {
      const nid = await newResource();
      await creator.attach(nid, { name: 'same.csv', content: table });
      uris.push((await uploadOf(nid))[0]?.uri);
    }
    expect(uris).toEqual(['public://same.csv', 'public://same_0.csv', 'public://same_1.csv']);
  });

  it('the content type comes from the extension, not from the client', async () => {
    const nid = await newResource();
    await attachParts(nid, [
      { name: 'field_name', value: 'field_upload' },
      { name: 'files[1]', value: '%PDF', filename: 'a.pdf', type: 'text/html' },
    ]);
    expect((await uploadOf(nid))[0]?.filemime).toBe('application/pdf');
  });

  it('a file larger than the limit is 413 and leaves nothing behind', async () => {
    const before = stored();
    const nid = await newResource();
    const reply = await creator.attach(nid, { name: 'large.csv', content: `a\n${'1\n'.repeat(60_000)}` });
    expect(reply.status).toBe(413);
    expect(await uploadOf(nid)).toEqual([]);
    expect(stored()).toEqual(before);
  });

  it('a body that is cut short is refused and leaves nothing behind', async () => {
    const before = stored();
    const nid = await newResource();
    const { body, headers } = multipart([
      { name: 'field_name', value: 'field_upload' },
      { name: 'files[1]', value: table, filename: 'cut.csv' },
    ]);
    const reply = await creator.send('POST', `/api/dataset/node/${nid}/attach_file`, {
      body: body.subarray(0, -30),
      headers,
    });
    expect(reply.status).toBe(400);
    expect(await uploadOf(nid)).toEqual([]);
    expect(stored()).toEqual(before);
  });

  it('is for those who may update the node; others leave no bytes behind', async () => {
    const before = stored();
    const nid = await newResource();
    const file = { name: 'denied.csv', content: table };
    expect((await portal.anonymous.attach(nid, file)).status).toBe(403);
    expect((await (await portal.as('plain')).attach(nid, file)).status).toBe(403);
    expect((await (await portal.as('creator2')).attach(nid, file)).status).toBe(403);
    expect(stored()).toEqual(before);
    expect((await (await portal.as('editor')).attach(nid, file)).status).toBe(200);
    expect((await creator.attach('9999', file)).json()).toEqual(['Node 9999 could not be found']);
  });
});

describe('The uri of an attached file', () => {
  it('gives the metadata, and the bytes with file_contents=1', async () => {
    const nid = await newResource();
    const { fid } = (await creator.attach(nid, { name: 'bytes.csv', content: table })).json<{ fid: string }>();
    const meta = await portal.anonymous.send('GET', `/api/dataset/file/${fid}`);
    expect(meta.json()).toMatchObject({ fid, filename: 'bytes.csv', filesize: String(table.length) });
    const bytes = await portal.anonymous.send('GET', `/api/dataset/file/${fid}?file_contents=1`);
    expect(bytes.text).toBe(table);
    expect(bytes.headers).toMatchObject({
      'content-type': 'text/csv',
      'content-length': String(table.length),
      'x-content-type-options': 'nosniff',
    });
    expect(bytes.headers['content-disposition']).toContain('filename="bytes.csv"');
  });

  it('never serves bytes as something a browser would run', async () => {
    const nid = await newResource();
    await creator.attach(nid, { name: 'page.html', content: '<script>alert(1)</script>' });
    const reply = await portal.anonymous.send('GET', '/sites/default/files/page.html');
    expect(reply.headers['content-type']).toBe('application/octet-stream');
    expect(reply.headers['content-disposition']).toMatch(/^attachment;/);
  });

  it('is closed to those who may not read the node', async () => {
    const nid = await creator.create({ type: 'resource', title: 'Hidden', status: 0 });
    const { fid } = (await creator.attach(nid, { name: 'hidden.csv', content: table })).json<{ fid: string }>();
    expect((await portal.anonymous.send('GET', `/api/dataset/file/${fid}`)).status).toBe(403);
    expect((await portal.anonymous.send('GET', '/sites/default/files/hidden.csv')).status).toBe(403);
    expect((await creator.send('GET', `/api/dataset/file/${fid}`)).status).toBe(200);
    expect((await creator.send('GET', '/api/dataset/file/9999')).status).toBe(404);
  });

  it('tells nothing about files outside the portal', async () => {
    for (const name of ['../portal.db', '..%2fportal.db', '%2e%2e%2fportal.db', 'a/b.csv']) {
      expect((await portal.anonymous.send('GET', `/sites/default/files/${name}`)).status).toBe(404);
    }
  });

  it('a file that replaces one of the same name keeps its public address', async () => {
    const keepers = await Promise.all(['First', 'Second'].map((title) => creator.create({ type: 'resource', title })));
    const uris: unknown[] = [];
    for (const nid of [...keepers, ...keepers]) {
      await creator.attach(nid, { name: 'kept.csv', content: `a\n${uris.length}\n` });
      const { field_upload } = await creator.read(nid);
      uris.push((field_upload as { und: [{ uri: string }] }).und[0].uri);
    }
    expect(uris).toEqual(['public://kept.csv', 'public://kept_0.csv', 'public://kept.csv', 'public://kept_0.csv']);
  });
});
