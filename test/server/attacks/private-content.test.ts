// What is not published stays with its owner, whichever way somebody else refers to it.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal, type TestPortal } from '../../support/portal.ts';

let portal: TestPortal;
let owner: Caller;
let other: Caller;
let editor: Caller;

beforeAll(async () => {
  portal = await startTestPortal({ xmlrpc: true });
  owner = await portal.as('creator');
  other = await portal.as('creator2');
  editor = await portal.as('editor');
});

const secret = 'name,salary\nAnn,12345\n';

const privateFile = async (by: Caller = owner): Promise<{ nid: string; fid: string }> => {
  const nid = await by.create({ type: 'resource', title: 'Draft', status: 0 });
  const reply = await by.attach(nid, { name: 'draft.csv', content: secret });
  return { nid, fid: String(reply.json().fid) };
};

const using = (caller: Caller, fid: string): Promise<Reply> =>
  caller.send('POST', '/api/dataset/node', {
    body: { type: 'resource', title: 'Mine', status: 1, field_upload: { und: [{ fid }] } },
  });

describe("Somebody else's private file", () => {
  it('is taken by no create, and its rows and bytes stay closed', async () => {
    const { fid } = await privateFile();
    const reply = await using(other, fid);
    expect(reply.status).toBe(406);
    expect((await portal.anonymous.send('GET', `/api/dataset/file/${fid}`)).status).toBe(403);
    expect((await other.send('GET', `/api/dataset/file/${fid}?file_contents=1`)).status).toBe(403);
  });

  it('is refused in the words for a file that does not exist', async () => {
    const { fid } = await privateFile();
    const words = ({ text }: Reply, id: string): string => text.replaceAll(id, 'N');
    expect(words(await using(other, fid), fid)).toBe(words(await using(other, '999999'), '999999'));
  });

  it('is taken by no update, in whichever shape it is named', async () => {
    const { fid } = await privateFile();
    const nid = await other.create({ type: 'resource', title: 'Mine' });
    for (const upload of [{ und: [{ fid }] }, { und: { fid } }, { und: fid }, [{ fid }], { fid }, fid]) {
      const reply = await other.send('PUT', `/api/dataset/node/${nid}`, { body: { field_upload: upload } });
      expect([reply.status, upload]).toEqual([406, upload]);
    }
    expect((await other.read(nid)).field_upload).toEqual([]);
  });

  it('is taken by no XML-RPC call', async () => {
    const { fid } = await privateFile();
    const member = (name: string, value: string): string =>
      `<member><name>${name}</name><value>${value}</value></member>`;
    const item = `<struct>${member('fid', `<string>${fid}</string>`)}</struct>`;
    const upload = `<struct>${member('und', `<array><data><value>${item}</value></data></array>`)}</struct>`;
    const node = `<struct>${member('type', 'resource')}${member('title', 'Mine')}${member('field_upload', upload)}</struct>`;
    const body = `<?xml version="1.0"?><methodCall><methodName>node.create</methodName><params><param><value>${node}</value></param></params></methodCall>`;
    const reply = await other.send('POST', '/api/xmlrpc', { body, headers: { 'content-type': 'text/xml' } });
    expect(reply.text).toContain('faultCode');
    expect((await portal.anonymous.send('GET', `/api/dataset/file/${fid}`)).status).toBe(403);
  });
});

describe('A file', () => {
  it('may be named again by its own node, by who uploaded it, and where it is published', async () => {
    const { nid, fid } = await privateFile();
    const again = { body: { title: 'Draft 2', field_upload: { und: [{ fid }] } } };
    expect((await owner.send('PUT', `/api/dataset/node/${nid}`, again)).status).toBe(200);
    expect((await editor.send('PUT', `/api/dataset/node/${nid}`, again)).status).toBe(200);
    expect((await using(owner, fid)).status).toBe(200);
    expect((await using(other, fid)).status).toBe(200);
  });
});
