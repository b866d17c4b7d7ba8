// Specification, section 9: versioning.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal } from '../support/portal.ts';

let creator: Caller;

beforeAll(async () => {
  creator = await (await startTestPortal()).as('creator');
});

interface Row {
  nid: string;
  vid: string;
}

describe('Versioning', () => {
  it('every revision has a vid and a vuuid, and a read returns the current one', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'One' });
    const first = await creator.read(nid);
    await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'Two' } });
    const second = await creator.read(nid);
    expect(second.title).toBe('Two');
    expect([second.vid, second.vuuid]).not.toEqual([first.vid, first.vuuid]);
  });

  it('parameters[vid] finds any revision, as it was', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'One', body: 'first' });
    const first = await creator.read(nid);
    const find = async (query: string): Promise<Row[]> =>
      (await creator.send('GET', `/api/dataset/node?${query}`)).json<Row[]>();
    expect(await find(`parameters[vid]=${first.vid}`)).toMatchObject([first]);
    await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'Two', body: 'second', log: 'again' } });
    const second = await creator.read(nid);
    const { vid, vuuid, title, body, log } = first;
    expect(await find(`parameters[vid]=${vid}`)).toMatchObject([{ nid, vid, vuuid, title, body, log }]);
    expect(await find(`parameters[vid]=${second.vid}`)).toMatchObject([second]);
    const both = await find(`fields=nid,vid,title&parameters[vid]=${vid},${second.vid}&options[orderby][vid]=ASC`);
    expect(both).toEqual([
      { nid, vid, title: 'One' },
      { nid, vid: second.vid, title: 'Two' },
    ]);
    expect(await find(`fields=nid&parameters[title]=One&parameters[vid]=${second.vid}`)).toEqual([]);
  });

  it('a revision is listed where it and its node are published', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'Draft', status: 0 });
    const draft = await creator.read(nid);
    await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { status: 1 } });
    const published = await creator.read(nid);
    const find = async ({ vid }: Record<string, unknown>): Promise<unknown> =>
      (await creator.send('GET', `/api/dataset/node?fields=vid&parameters[vid]=${vid}`)).json();
    expect([await find(draft), await find(published)]).toEqual([[], [{ vid: published.vid }]]);
    await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { status: 0 } });
    expect(await find(published)).toEqual([]);
  });

  it('lookup by UUID is a list filter, not a path', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'By uuid' });
    const { uuid } = await creator.read(nid);
    expect((await creator.send('GET', `/api/dataset/node/${uuid}`)).status).toBe(404);
    const rows = (await creator.send('GET', `/api/dataset/node?parameters[uuid]=${uuid}`)).json<Row[]>();
    expect(rows.map((row) => row.nid)).toEqual([nid]);
  });
});
