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

  it('parameters[vid] finds the node whose current revision that is, and no former one', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'One' });
    const { vid } = await creator.read(nid);
    const find = async (wanted: unknown): Promise<Row[]> =>
      (await creator.send('GET', `/api/dataset/node?parameters[vid]=${wanted}`)).json<Row[]>();
    expect((await find(vid)).map((row) => row.nid)).toEqual([nid]);
    await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'Two' } });
    expect(await find(vid)).toEqual([]);
    expect((await find((await creator.read(nid)).vid)).map((row) => row.nid)).toEqual([nid]);
  });

  it('lookup by UUID is a list filter, not a path', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'By uuid' });
    const { uuid } = await creator.read(nid);
    expect((await creator.send('GET', `/api/dataset/node/${uuid}`)).status).toBe(404);
    const rows = (await creator.send('GET', `/api/dataset/node?parameters[uuid]=${uuid}`)).json<Row[]>();
    expect(rows.map((row) => row.nid)).toEqual([nid]);
  });
});
