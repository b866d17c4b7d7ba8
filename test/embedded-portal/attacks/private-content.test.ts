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

const put = (caller: Caller, nid: string, body: object): Promise<Reply> =>
  caller.send('PUT', `/api/dataset/node/${nid}`, { body });

const to = (...nids: string[]) => ({ und: nids.map((target_id) => ({ target_id })) });

describe("Somebody else's node", () => {
  it('gets no reference by a create or update on the other side', async () => {
    const dataset = await editor.create({ type: 'dataset', title: 'Of the editor' });
    const body = { type: 'resource', title: 'Smuggled', field_dataset_ref: to(dataset) };
    const refused = await other.send('POST', '/api/dataset/node', { body });
    expect(refused.status).toBe(403);
    expect(refused.json()).toEqual([
      `This would change the references of the dataset ${dataset}, which is not allowed for user creator2`,
    ]);
    const own = await other.create({ type: 'resource', title: 'Own' });
    expect((await put(other, own, { field_dataset_ref: to(dataset) })).status).toBe(403);
    expect((await editor.read(dataset)).field_resources).toEqual([]);
    expect((await other.read(own)).field_dataset_ref).toEqual([]);
  });

  it('loses no reference by an update on the other side, and may be kept there', async () => {
    const dataset = await editor.create({ type: 'dataset', title: 'Of the editor' });
    const resource = await other.create({ type: 'resource', title: 'Own' });
    expect((await put(editor, dataset, { field_resources: to(resource) })).status).toBe(200);
    expect((await put(other, resource, { field_dataset_ref: [] })).status).toBe(403);
    expect((await put(other, resource, { title: 'New', field_dataset_ref: to(dataset) })).status).toBe(200);
    expect((await editor.read(dataset)).field_resources).toEqual(to(resource));
  });

  it('that is not published is not told to exist, neither by number nor by title', async () => {
    const hidden = await owner.create({ type: 'dataset', title: 'Secret merger', status: 0 });
    const referring = (target_id: string) =>
      other.send('POST', '/api/dataset/node', {
        body: { type: 'resource', title: 'x', field_dataset_ref: { und: [{ target_id }] } },
      });
    const words = async (target: string): Promise<string> => (await referring(target)).text.replaceAll(target, 'N');
    expect(await words(hidden)).toBe(await words('999999'));
    expect(await words('Secret merger')).toBe(await words('No such title'));
  });

  it('is written from the other side by whoever may edit both, and on deployed releases by anybody', async () => {
    const dataset = await owner.create({ type: 'dataset', title: 'Of the creator' });
    const resource = await editor.create({ type: 'resource', title: 'x', field_dataset_ref: to(dataset) });
    expect((await owner.read(dataset)).field_resources).toEqual(to(resource));
    const deployed = await startTestPortal({ profile: 'dkan-7.18', races: false });
    const admin = await deployed.as('admin');
    const creator = await deployed.as('creator');
    const foreign = await admin.create({ type: 'dataset', title: 'Of the admin', uid: 1 });
    await creator.create({ type: 'resource', title: 'x', uid: 3, field_dataset_ref: to(foreign) });
    expect((await admin.read(foreign)).field_resources).not.toEqual([]);
  });
});
