// Imports of deployed portals that are cut by a time limit, killed, doubled, or disturbed while they run.
import { request } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { siteSchema } from '../../../src/embedded-portal/site.ts';
import { type Caller, logIn, type Reply, startTestPortal, type TestPortal, testUsers } from '../../support/portal.ts';
import { type PortalChild, startPortalChild } from '../../support/portal-process.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Rows wider than a block, so that none is lost. */
const wide = (count: number, mark = 'x'): string =>
  `a,b\n${Array.from({ length: count }, (_, index) => `${index + 1},${mark.repeat(40)}\n`).join('')}`;

/** Rows of two to a block: behind every 1000th one or two are lost. */
const narrow = (count: number): string =>
  `a,b\n${Array.from({ length: count }, (_, index) => `${String(index + 1).padStart(8, '0')},xy\n`).join('')}`;

let portal: TestPortal;
let user: Caller;

beforeEach(async () => {
  portal = await startTestPortal({ profile: 'dkan-7.18', races: false });
  user = await portal.as('admin');
});

const attached = async (content: string): Promise<string> => {
  const nid = await user.create({ type: 'resource', title: 'Table' });
  await user.attach(nid, { name: 'table.csv', content });
  return nid;
};

const importOf = (nid: string): Promise<Reply> => user.send('POST', `/api/dataset/datastore/${nid}/import`);

const remove = (nid: string): Promise<Reply> => user.send('DELETE', `/api/dataset/datastore/${nid}`);

const stateOf = async (nid: string, caller = user): Promise<string> => {
  const { storage, data_import } = (await caller.send('GET', `/api/dataset/datastore/${nid}`)).json();
  return `${storage}/${data_import}`;
};

const searched = async (nid: string, query: string, caller = user) => {
  const { uuid } = await caller.read(nid);
  const reply = await caller.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}&${query}`);
  return reply.json<{ result?: { total: number; records: Record<string, string>[] } }>().result;
};

const rowsOf = async (nid: string, caller = user): Promise<number | null> =>
  (await searched(nid, 'limit=1', caller))?.total ?? null;

const seen = async (nid: string, reply: Promise<Reply>): Promise<[string, string, number | null]> => {
  const { status, reason, text } = await reply;
  return [text === '' ? `${status} ${reason}` : text, await stateOf(nid), await rowsOf(nid)];
};

/** Starts an import and waits until it is under way; its reply comes at `end`. */
const begun = async (nid: string): Promise<{ end: Promise<Reply> }> => {
  const end = importOf(nid);
  await waitUntil('the import to begin', async () => (await stateOf(nid)) === '1/4');
  return { end };
};

/** Imports that begin from now on take no time. */
const hurry = (): void => {
  portal.server.site.batchDelay = 0;
};

const timeout = '500 Internal Server Error';

describe('an import with a time limit', () => {
  it('is cut with an empty 500, stays at 1/4, and goes on at the next row each time, to the end', async () => {
    portal.server.site.maxExecutionRows = 6000;
    const nid = await attached(wide(5000));
    const outcomes = [];
    for (let round = 0; round < 5; round += 1) outcomes.push(await seen(nid, importOf(nid)));
    expect(outcomes).toEqual([
      [timeout, '1/4', 3000],
      [timeout, '1/4', 4000],
      [timeout, '1/4', 5000], // all rows, but the state was not written any more
      ['[true]', '1/6', 5000],
      ['[true]', '1/6', 5000],
    ]);
    const keys = (await searched(nid, 'limit=9999'))?.records.map(({ a }) => a);
    expect(keys).toEqual(Array.from({ length: 5000 }, (_, index) => String(index + 1)));
  });

  it('gains less each time and in the end nothing, as it reads the file from its start', async () => {
    portal.server.site.maxExecutionRows = 6000;
    const nid = await attached(wide(9000));
    const rows = [];
    for (let round = 0; round < 5; round += 1) rows.push((await seen(nid, importOf(nid)))[2]);
    expect(rows).toEqual([3000, 4000, 5000, 5000, 5000]);
    portal.server.site.maxExecutionRows = null;
    expect(await seen(nid, importOf(nid))).toEqual(['[true]', '1/6', 9000]);
  });

  it('starts from zero after a removal', async () => {
    portal.server.site.maxExecutionRows = 6000;
    const nid = await attached(wide(5000));
    await importOf(nid);
    await importOf(nid);
    await remove(nid);
    expect(await seen(nid, importOf(nid))).toEqual([timeout, '1/4', 3000]);
  });

  it('doubles rows where some were lost before it goes on', async () => {
    portal.server.site.maxExecutionRows = 6000;
    const nid = await attached(narrow(5500));
    const [, , first] = await seen(nid, importOf(nid));
    const lost = 3000 - (first ?? 0);
    expect(lost).toBeGreaterThan(0);
    portal.server.site.maxExecutionRows = null;
    const [reply, state, total] = await seen(nid, importOf(nid));
    expect([reply, state]).toEqual(['[true]', '1/6']);
    const keys = (await searched(nid, 'limit=9999'))?.records.map(({ a }) => a) ?? [];
    expect([keys.length, new Set(keys).size]).toEqual([total, (total ?? 0) - lost]);
  });

  it('is switched on from a file of faults', () => {
    expect(siteSchema.parse({ maxExecutionRows: 6000, batchDelay: '2s' })).toMatchObject({
      maxExecutionRows: 6000,
      batchDelay: 2000,
    });
  });
});

describe('beside a running import', () => {
  beforeEach(() => {
    portal.server.site.batchDelay = 1000;
  });

  it('the number of rows grows by thousands at 1/4', async () => {
    const nid = await attached(wide(2500));
    const { end } = await begun(nid);
    const totals = new Set<number | null>();
    await waitUntil('all rows', async () => totals.add(await rowsOf(nid)).has(2500));
    expect([0, 1000, 2000, 2500]).toEqual(expect.arrayContaining([...totals]));
    expect(totals.size).toBeGreaterThan(1);
    expect((await end).json()).toEqual([true]);
  });

  it('another one of the same table doubles its rows; both are done, a third changes nothing, a removal heals', async () => {
    const nid = await attached(wide(2500));
    const both = await Promise.all([importOf(nid), importOf(nid)]);
    expect(both.map(({ text }) => text)).toEqual(['[true]', '[true]']);
    expect([await stateOf(nid), await rowsOf(nid)]).toEqual(['1/6', 5000]);
    hurry();
    expect(await seen(nid, importOf(nid))).toEqual(['[true]', '1/6', 5000]);
    await remove(nid);
    expect(await seen(nid, importOf(nid))).toEqual(['[true]', '1/6', 2500]);
  });

  it('a removal takes its table away: 1/7, also after another import, until the next removal', async () => {
    const nid = await attached(wide(2500));
    const { end } = await begun(nid);
    expect((await remove(nid)).json()).toEqual([true]);
    expect((await end).json()).toEqual([true]);
    expect([await stateOf(nid), await rowsOf(nid)]).toEqual(['1/7', null]);
    hurry();
    expect(await seen(nid, importOf(nid))).toEqual(['[true]', '1/7', null]);
    await remove(nid);
    expect(await seen(nid, importOf(nid))).toEqual(['[true]', '1/6', 2500]);
  });

  it('an attached file is not seen by it', async () => {
    const nid = await attached(wide(1500));
    const { end } = await begun(nid);
    await user.attach(nid, { name: 'table.csv', content: wide(1200, 'n') });
    expect((await end).json()).toEqual([true]);
    expect([await stateOf(nid), await rowsOf(nid)]).toEqual(['1/6', 1500]);
    const cells = (await searched(nid, 'limit=9999'))?.records.map(({ b }) => b?.slice(0, 1));
    expect(new Set(cells)).toEqual(new Set(['x']));
  });

  it('a client that hangs up does not end it', async () => {
    const nid = await attached(wide(1500));
    const call = request(`${portal.url}/api/dataset/datastore/${nid}/import`, {
      method: 'POST',
      headers: { cookie: user.cookie, 'x-csrf-token': user.token },
    });
    call.on('error', () => undefined);
    call.end();
    await waitUntil('the import to begin', async () => (await stateOf(nid)) === '1/4');
    call.destroy();
    await waitUntil('the import to end', async () => (await stateOf(nid)) === '1/6');
    expect(await rowsOf(nid)).toBe(1500);
  });
});

describe('a new file without a removal', () => {
  it('is imported from behind the number of old rows', async () => {
    const nid = await attached(wide(1500, 'o'));
    await importOf(nid);
    await user.attach(nid, { name: 'table.csv', content: wide(2500, 'n') });
    expect([await stateOf(nid), await rowsOf(nid)]).toEqual(['1/6', 1500]);
    expect(await seen(nid, importOf(nid))).toEqual(['[true]', '1/6', 2500]);
    const marks = (await searched(nid, 'limit=9999'))?.records.map(({ b }) => b?.slice(0, 1)).join('');
    expect(marks).toBe('o'.repeat(1500) + 'n'.repeat(1000));
  });

  it('with other columns adds nothing: 1/6 where it is shorter, 1/7 where it has rows to add', async () => {
    const nid = await attached(wide(100));
    await importOf(nid);
    await user.attach(nid, { name: 'table.csv', content: 'c,d\n1,2\n' });
    expect(await seen(nid, importOf(nid))).toEqual(['[true]', '1/6', 100]);
    await user.attach(nid, { name: 'table.csv', content: wide(200).replace('a,b', 'c,d') });
    expect(await seen(nid, importOf(nid))).toEqual(['[true]', '1/7', 100]);
  });
});

describe('a killed server', () => {
  it('leaves 1/4 and the full batches, and the next import goes on from there', async () => {
    const dataDir = tempDir();
    const options = { users: testUsers, profile: 'dkan-7.18', races: false } as const;
    const portals: PortalChild[] = [];
    const start = async (site: object): Promise<Caller> => {
      const child = await startPortalChild(dataDir, { ...options, site });
      portals.push(child);
      return logIn(child.url, 'admin');
    };
    try {
      const caller = await start({ batchDelay: 1000 });
      const nid = await caller.create({ type: 'resource', title: 'Table' });
      await caller.attach(nid, { name: 'table.csv', content: wide(4500) });
      const broken = caller.send('POST', `/api/dataset/datastore/${nid}/import`).catch((error: unknown) => error);
      await waitUntil('two batches', async () => ((await rowsOf(nid, caller)) ?? 0) >= 2000);
      portals[0]?.child.kill('SIGKILL');
      expect(await broken).toBeInstanceOf(Error);
      await portals[0]?.exited;
      const again = await start({});
      const stored = await rowsOf(nid, again);
      expect(await stateOf(nid, again)).toBe('1/4');
      expect([2000, 3000, 4000]).toContain(stored);
      expect((await again.send('POST', `/api/dataset/datastore/${nid}/import`)).json()).toEqual([true]);
      expect([await stateOf(nid, again), await rowsOf(nid, again)]).toEqual(['1/6', 4500]);
    } finally {
      for (const { child } of portals) child.kill('SIGKILL');
    }
  });
});
