// What deployed portals lose when requests overlap, and keep when they do not.
import { describe, expect, it } from 'vitest';
import type { PortalServerOptions } from '../../../src/embedded-portal/portal-server.ts';
import { type Caller, type Reply, startTestPortal } from '../../support/portal.ts';

const admin = async (options: Partial<PortalServerOptions> = {}): Promise<Caller> =>
  (await startTestPortal({ profile: 'dkan-7.18', races: { seed: 7, pauseMs: 40 }, ...options })).as('admin');

const listOf = async (user: Caller, nid: string): Promise<string[]> => {
  const { field_resources } = await user.read(nid);
  const items = (field_resources as { und?: { target_id: string }[] }).und ?? [];
  return items.map(({ target_id }) => target_id);
};

const resourceBelow = (user: Caller, dataset: string, title: string): Promise<Reply> =>
  user.send('POST', '/api/dataset/node', {
    body: { type: 'resource', title, uid: '1', field_dataset_ref: { und: [{ target_id: dataset }] } },
  });

const madeBelow = async (user: Caller, dataset: string): Promise<string[]> => {
  const replies = await Promise.all([...'abcdefgh'].map((title) => resourceBelow(user, dataset, title)));
  return replies.filter(({ status }) => status === 200).map((reply) => reply.json<{ nid: string }>().nid);
};

describe('saves that overlap', () => {
  it('lose back references: every resource names its dataset, the dataset lists only some', async () => {
    const user = await admin();
    const dataset = await user.create({ type: 'dataset', title: 'City' });
    const made = await madeBelow(user, dataset);
    const listed = await listOf(user, dataset);
    expect(made.length).toBeGreaterThan(2);
    expect(listed.length).toBeLessThan(made.length);
    for (const nid of made) {
      expect((await user.read(nid)).field_dataset_ref).toEqual({ und: [{ target_id: dataset }] });
    }
  });

  it('lose the references made while the dataset itself is updated', async () => {
    const user = await admin({ races: { seed: 3, pauseMs: 40 } });
    const dataset = await user.create({ type: 'dataset', title: 'City' });
    const lost = async (): Promise<boolean> => {
      const [made, updated] = await Promise.all([
        resourceBelow(user, dataset, 'Table'),
        user.send('PUT', `/api/dataset/node/${dataset}`, { body: { title: 'City' } }),
      ]);
      if (made.status !== 200 || updated.status !== 200) return false;
      return !(await listOf(user, dataset)).includes(made.json<{ nid: string }>().nid);
    };
    let times = 0;
    for (let round = 0; round < 12; round += 1) times += (await lost()) ? 1 : 0;
    expect(times).toBeGreaterThan(0);
  });

  it('are refused at times by a database that stores nothing of them and answers an empty 500', async () => {
    const user = await admin();
    const replies = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        user.send('POST', '/api/dataset/node', { body: { type: 'resource', title: `R${index}` } }),
      ),
    );
    const refused = replies.filter(({ status }) => status === 500);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ text }) => text === '')).toBe(true);
    expect(refused.some(({ reason }) => /SQLSTATE\[40001\].* 1213 Deadlock/.test(reason))).toBe(true);
    const list = await user.send('GET', '/api/dataset/node?pagesize=100');
    expect(list.json<unknown[]>()).toHaveLength(replies.length - refused.length);
  });

  it('lose nothing when one comes after the other', async () => {
    const user = await admin();
    const dataset = await user.create({ type: 'dataset', title: 'City' });
    const made: string[] = [];
    for (const title of 'abcdef') made.push((await resourceBelow(user, dataset, title)).json<{ nid: string }>().nid);
    expect(await listOf(user, dataset)).toEqual(made);
  });

  it('lose nothing under spec, nor where races are switched off', async () => {
    for (const options of [{ profile: 'spec' }, { profile: 'dkan-7.18', races: false }] as const) {
      const portal = await startTestPortal(options);
      const user = await portal.as('admin');
      const dataset = await user.create({ type: 'dataset', title: 'City' });
      const made = await madeBelow(user, dataset);
      expect(made).toHaveLength(8);
      expect((await listOf(user, dataset)).toSorted()).toEqual(made.toSorted());
    }
  });

  it('cost nothing where the list of a dataset is written as a whole, and that heals one that lost some', async () => {
    const user = await admin();
    const dataset = await user.create({ type: 'dataset', title: 'City' });
    const made = await madeBelow(user, dataset);
    const und = made.map((target_id) => ({ target_id }));
    await user.send('PUT', `/api/dataset/node/${dataset}`, { body: { field_resources: { und } } });
    expect(await listOf(user, dataset)).toEqual(made);
  });
});

const withFile = async (user: Caller, title: string): Promise<string> => {
  const nid = await user.create({ type: 'resource', title, uid: '1' });
  await user.attach(nid, { name: `${title}.csv`, content: 'a,b\n1,2\n3,4\n' });
  return nid;
};

const importOf = (user: Caller, nid: string): Promise<Reply> =>
  user.send('POST', `/api/dataset/datastore/${nid}/import`, { body: {} });

const stateOf = async (user: Caller, nid: string): Promise<string> => {
  const reply = await user.send('GET', `/api/dataset/datastore/${nid}`);
  const { storage, data_import } = reply.json<{ storage: number; data_import: number }>();
  return `${storage}/${data_import}`;
};

const tables = async (user: Caller): Promise<string[]> => {
  const nids: string[] = [];
  for (const title of 'abcdef') nids.push(await withFile(user, title));
  return nids;
};

describe('imports that overlap', () => {
  it('lose states although every one answers true: rows are there that no state reports', async () => {
    const user = await admin();
    const nids = await tables(user);
    const replies = await Promise.all(nids.map((nid) => importOf(user, nid)));
    const done = nids.filter((_, index) => replies[index]?.status === 200);
    const states = await Promise.all(done.map((nid) => stateOf(user, nid)));
    expect(done.length).toBeGreaterThan(1);
    expect(states.filter((state) => state !== '1/6').length).toBeGreaterThan(0);
    const { uuid } = await user.read(done[states.findIndex((state) => state !== '1/6')] ?? '');
    const rows = await user.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
    expect(rows.json<{ result: { total: number } }>().result.total).toBe(2);
  });

  it('undo what a configuration or a removal beside them has stored', async () => {
    const user = await admin({ races: { seed: 5, pauseMs: 40 } });
    const [first = '', second = ''] = await tables(user);
    await importOf(user, first);
    let lost = 0;
    for (let round = 0; round < 8; round += 1) {
      await Promise.all([importOf(user, second), user.send('DELETE', `/api/dataset/datastore/${first}`, { body: {} })]);
      lost += (await stateOf(user, first)) === '0/2' && (await stateOf(user, second)) === '1/6' ? 0 : 1;
      await importOf(user, first);
    }
    expect(lost).toBeGreaterThan(0);
  });

  it('keep others from the lock of the states at times: an empty 500', async () => {
    const user = await admin({ races: { seed: 2, pauseMs: 60 } });
    const [first = '', second = ''] = await tables(user);
    const importing = importOf(user, first);
    const asked = await Promise.all(
      Array.from({ length: 40 }, () => user.send('GET', `/api/dataset/datastore/${second}`)),
    );
    await importing;
    const locked = asked.filter(({ status }) => status === 500);
    expect(locked.length).toBeGreaterThan(0);
    expect(locked[0]?.text).toBe('');
    expect(locked[0]?.reason).toContain('Failed to get datastore variable lock, wait delay exceeded.');
  });

  it.each([
    ['dkan-7.18', { sql: '', error: { message: expect.stringContaining('variable lock, wait delay exceeded.') } }],
    ['dkan-7.18.16', { error: { message: 'Exception Caught, please check logs for more information' } }],
  ] as const)('keep searches from that lock, too: 200 with an error (%s)', async (profile, fault) => {
    const user = await admin({ profile, races: { seed: 2, pauseMs: 60 } });
    const [first = '', second = ''] = await tables(user);
    await importOf(user, second);
    const { uuid } = await user.read(second);
    const importing = importOf(user, first);
    const asked = await Promise.all(
      Array.from({ length: 40 }, () => user.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`)),
    );
    await importing;
    const answers = asked.map((reply) => reply.json<{ error?: unknown }>());
    const failed = answers.filter(({ error }) => error !== undefined);
    expect(asked.every(({ status }) => status === 200)).toBe(true);
    expect(failed[0]).toEqual(fault);
    expect(failed.length).toBeLessThan(answers.length);
  });

  it('keep every state when one comes after the other', async () => {
    const user = await admin();
    const nids = await tables(user);
    for (const nid of nids) await importOf(user, nid);
    for (const nid of nids) expect(await stateOf(user, nid)).toBe('1/6');
  });
});
