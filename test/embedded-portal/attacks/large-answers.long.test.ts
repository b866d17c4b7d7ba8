// Answers are bounded by their bytes: a wide table ends nobody's process.
import { beforeAll, describe, expect, it } from 'vitest';
import { answerLength, takeWithin } from '../../../src/embedded-portal/datastore/query.ts';
import { type Caller, type Reply, startTestPortal } from '../../support/portal.ts';

const rows = 30;
const cell = 'x'.repeat(900_000);

interface Found {
  result: { limit: number; total: number; records: { entry_id: string }[] };
}

describe.each(['spec', 'dkan-7.18'] as const)('Under %s a search over rows of a megabyte', (profile) => {
  let anonymous: Caller;
  let uuid: string;

  beforeAll(async () => {
    const portal = await startTestPortal({ profile });
    anonymous = portal.anonymous;
    const admin = await portal.as('admin');
    const nid = await admin.create({ type: 'resource', title: 'Wide', status: 1 });
    // The recorded importer takes 65,535 characters a cell.
    const line = profile === 'spec' ? cell : Array.from({ length: 14 }, () => cell.slice(0, 64_000)).join(',');
    const header = line.split(',').map((_, index) => `c${index}`);
    await admin.attach(nid, { name: 'wide.csv', content: `${header}\n${`${line}\n`.repeat(rows)}` });
    await admin.send('POST', `/api/dataset/datastore/${nid}/import`);
    uuid = String((await admin.read(nid)).uuid);
  });

  const search = (query: string): Promise<Reply> =>
    anonymous.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}&${query}`);

  it('answers with the rows that fit, and with how many there are', async () => {
    const reply = await search('limit=0');
    expect(reply.text.length).toBeLessThan(answerLength + 100_000);
    const { result } = reply.json<Found>();
    expect(result.total).toBeGreaterThanOrEqual(rows - 1);
    expect(result.records.length).toBeGreaterThan(0);
    expect(result.records.length).toBeLessThan(result.total);
  });

  it('lets a client go on behind the rows that came', async () => {
    const first = (await search('limit=0')).json<Found>().result;
    const next = (await search(`limit=0&offset=${first.records.length}`)).json<Found>().result;
    expect(Number(next.records[0]?.entry_id)).toBe(Number(first.records.at(-1)?.entry_id) + 1);
  });

  it('is bounded in a body of many searches, too', async () => {
    const body = Array.from({ length: 20 }, () => ({ resource_id: uuid, limit: 20, sort: { c0: 'asc' } }));
    const reply = await anonymous.send('POST', '/api/action/datastore/search.json', { body });
    expect(reply.text.length).toBeLessThan(answerLength + 20_000_000);
    const many = Array.from({ length: 101 }, () => ({ resource_id: uuid }));
    expect((await anonymous.send('POST', '/api/action/datastore/search.json', { body: many })).status).toBe(413);
  });
});

describe('A budget', () => {
  it('takes one record at least, so that every row can be read', () => {
    const record = { a: 'x'.repeat(100) };
    expect(takeWithin([record, record], 10)).toMatchObject({ records: [record], isCut: true });
    expect(takeWithin([record, record], 1000)).toMatchObject({ records: [record, record], isCut: false });
  });
});
