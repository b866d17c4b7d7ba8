// Why a datastore says "access denied" (403), and what it says of a node that is not there.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal, type TestPortal, withoutDatastores } from '../../support/portal.ts';

const csv = { name: 'a.csv', content: 'a,b\n1,2\n' };
const yaml = (text: string): string => `---\n- ${text}\n`;

/** What GET, import and DELETE answer. */
const asked = async (caller: Caller, nid: string): Promise<[number, string, string][]> => {
  const path = `/api/dataset/datastore/${nid}`;
  const replies: Reply[] = [
    await caller.send('GET', path, { headers: { accept: '*/*' } }),
    await caller.send('POST', `${path}/import`),
    await caller.send('DELETE', path),
  ];
  return replies.map(({ status, reason, text }) => [status, reason, text]);
};

const denied = (name: string): [number, string, string][] => {
  const message = `Access denied for user ${name}`;
  const json = JSON.stringify([message]);
  return [
    [403, `: ${message}`, yaml(message)],
    [403, `: ${message}`, json],
    [403, `: ${message}`, json],
  ];
};

describe.each(['dkan-7.18', 'dkan-7.18.16'] as const)('a datastore of %s', (profile) => {
  let portal: TestPortal;
  let creator: Caller;
  let admin: Caller;

  beforeAll(async () => {
    portal = await startTestPortal({ profile });
    [creator, admin] = [await portal.as('creator'), await portal.as('admin')];
  });

  const resource = async (file: { name: string; content: string } | null, more: object = {}): Promise<string> => {
    const nid = await creator.create({ type: 'resource', title: 'Table', uid: '3', ...more });
    if (file !== null) expect((await creator.attach(nid, file)).status).toBe(200);
    return nid;
  };

  it('is refused to an account without manage datastore, which attaches and searches all the same', async () => {
    const other = await startTestPortal({ profile, roles: withoutDatastores });
    const caller = await other.as('creator');
    const nid = await caller.create({ type: 'resource', title: 'Table', uid: '3' });
    expect((await caller.attach(nid, csv)).status).toBe(200);
    expect(await caller.read(nid)).toMatchObject({ field_upload: { und: [{ filemime: 'text/csv' }] } });
    expect(await asked(caller, nid)).toEqual(denied('creator'));
    const { uuid } = await caller.read(nid);
    expect((await caller.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`)).status).toBe(200);
    expect((await asked(await other.as('editor'), nid)).map(([status]) => status)).toEqual([200, 200, 200]);
  });

  it("is refused to others than its author, but not to who edits everybody's content", async () => {
    const nid = await resource(csv);
    expect(await asked(await portal.as('creator2'), nid)).toEqual(denied('creator2'));
    expect(await asked(portal.anonymous, nid)).toEqual(denied('anonymous'));
    expect((await asked(await portal.as('editor'), nid)).map(([status]) => status)).toEqual([200, 200, 200]);
  });

  it('is refused to everybody where the node has no table, whatever its bytes are', async () => {
    const dataset = await creator.create({ type: 'dataset', title: 'City', uid: '3' });
    const link = { field_link_api: { und: [{ url: 'http://example.org/a.csv' }] } };
    const nids = [
      dataset,
      await resource(null),
      await resource(null, link),
      await resource({ ...csv, name: 'table.txt' }),
      await resource({ ...csv, name: 'table.tab' }),
    ];
    for (const nid of nids) {
      expect(await asked(creator, nid)).toEqual(denied('creator'));
      expect(await asked(admin, nid)).toEqual(denied('admin'));
    }
    expect((await asked(creator, await resource({ ...csv, name: 'a.tsv' })))[1]?.[0]).toBe(200);
  });

  it('of a number that no node has is not found', async () => {
    const message = 'Node 999999 could not be found';
    for (const [status, reason, text] of await asked(creator, '999999')) {
      expect([status, reason]).toEqual([404, `Not found : ${message}`]);
      expect([yaml(message), JSON.stringify([message])]).toContain(text);
    }
  });
});

it('an account has the permission back once the portal is started without those roles', async () => {
  const first = await startTestPortal({ profile: 'dkan-7.18', roles: withoutDatastores });
  const creator = await first.as('creator');
  const nid = await creator.create({ type: 'resource', title: 'Table', uid: '3' });
  await creator.attach(nid, csv);
  await first.server.close();
  const second = await startTestPortal({ profile: 'dkan-7.18', dataDir: first.server.dataDir });
  expect((await (await second.as('creator')).send('POST', `/api/dataset/datastore/${nid}/import`)).json()).toEqual([
    true,
  ]);
});
