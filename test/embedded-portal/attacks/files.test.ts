// Uploaded files: their names lead nowhere, their bytes run nowhere.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { usualExtensions } from '../../../src/dataset-api/file-types.ts';
import { cleanFileName } from '../../../src/embedded-portal/content/public-names.ts';
import { type Caller, startTestPortal, type TestPortal } from '../../support/portal.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

const attach = async (name: string, content = 'a\n1\n') => {
  const nid = await creator.create({ type: 'resource', title: name });
  const reply = await creator.attach(nid, { name, content });
  const { field_upload: upload } = (await creator.read(nid)) as {
    field_upload: { und?: { filename: string; uri: string }[] };
  };
  return { status: reply.status, fid: String(reply.json().fid), item: upload.und?.[0] };
};

describe('The name of a file', () => {
  it.each([
    ['../../../etc/passwd.csv', 'passwd.csv'],
    ['..\\..\\boot.csv', 'boot.csv'],
    ['/etc/cron.csv', 'cron.csv'],
    ['C:\\temp\\x.csv', 'x.csv'],
    ['con.csv', 'con_.csv'],
    ['NUL.csv', 'NUL_.csv'],
    ['lpt1.csv', 'lpt1_.csv'],
    ['evil.php.csv', 'evil.php_.csv'],
    [' spaced.csv ', 'spaced.csv'],
    ['a\u0000b\u0007.csv', 'ab.csv'],
    ['x\u202evsc.csv', 'xvsc.csv'],
    ['a\r\nset-cookie: b.csv', 'aset-cookie: b.csv'],
  ])('%j becomes %j', (sent, name) => {
    expect(cleanFileName(sent, usualExtensions)).toBe(name);
  });

  it.each(['', '.', '..', '.csv', 'x', 'x.', 'x.php', 'x.csv.exe', '.htaccess', 'a/..', `${'x'.repeat(300)}.csv`])(
    '%j may not be attached',
    (sent) => {
      expect(cleanFileName(sent, usualExtensions)).toBeNull();
    },
  );

  it('never becomes a path: the bytes lie under a random name in the files folder, readable by their owner only', async () => {
    const { status, item } = await attach('../../outside.csv');
    expect([status, item?.uri]).toEqual([200, 'public://outside.csv']);
    for (const name of readdirSync(join(portal.server.dataDir, 'files'))) expect(name).toMatch(/^[0-9a-f-]{36}$/);
    expect(readdirSync(portal.server.dataDir)).not.toContain('outside.csv');
  });
});

describe('A path below the files', () => {
  it.each([
    '../portal.db',
    '..%2fportal.db',
    '..%5cportal.db',
    '%2e%2e/portal.db',
    '....//portal.db',
    '%00',
    '%',
    '..%252fportal.db',
    '/etc/passwd',
  ])('such as %s leads nowhere', async (path) => {
    const reply = await creator.send('GET', `/sites/default/files/${path}`);
    expect(reply.status).toBe(404);
    expect(reply.text).not.toContain('SQLite');
  });
});

describe('The bytes of a file', () => {
  it.each([
    ['page.html', 'attachment', 'application/octet-stream'],
    ['page.xml', 'attachment', 'application/octet-stream'],
    ['table.csv', 'inline', 'text/csv'],
    ['picture.png', 'inline', 'image/png'],
  ])('of %s come as %s of type %s, sandboxed and not sniffed', async (name, disposition, type) => {
    const { fid } = await attach(name, '<script>alert(1)</script>');
    for (const path of [`/api/dataset/file/${fid}?file_contents=1`, `/sites/default/files/${name}`]) {
      const { headers } = await creator.send('GET', path);
      expect(headers).toMatchObject({
        'content-type': type,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "sandbox; default-src 'none'",
      });
      expect(String(headers['content-disposition']).split(';')[0]).toBe(disposition);
    }
  });

  it('whose name has quotes or other letters stay in one well-formed header', async () => {
    const { fid } = await attach("we'ird; näme.csv");
    const { headers } = await creator.send('GET', `/api/dataset/file/${fid}?file_contents=1`);
    expect(headers['content-disposition']).toBe(
      "inline; filename=\"we'ird; n_me.csv\"; filename*=UTF-8''we'ird%3B%20n%C3%A4me.csv",
    );
  });
});
