// Tables that the importer of deployed portals refuses, cuts short or takes only in part: what the import answers, the state
// that stays, the rows that are there.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal } from '../../support/portal.ts';

const lines = (count: number, line: (row: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${line(index + 1)}\n`).join('');

const plain = (count: number): string => lines(count, (row) => `${row},r${row}`);

/** A faulty row behind 1,499 sound ones, and sound ones behind it. */
const late = (row: string): string => `a,b\n${plain(1499)}${row}\n${plain(100)}`;

const columns = (count: number): string => Array.from({ length: count }, (_, index) => `c${index}`).join(',');

const utf16 = Buffer.from('\ufeffa,b\n1,2\n3,4\n', 'utf16le');

describe.each(['dkan-7.18', 'dkan-7.18.16'] as const)('%s', (profile) => {
  let user: Caller;

  beforeAll(async () => {
    user = await (await startTestPortal({ profile })).as('admin');
  });

  const attached = async (content: string | Buffer): Promise<string> => {
    const nid = await user.create({ type: 'resource', title: 'Table' });
    await user.attach(nid, { name: 'table.csv', content });
    return nid;
  };

  const importOf = (nid: string): Promise<Reply> => user.send('POST', `/api/dataset/datastore/${nid}/import`);

  const stateOf = async (nid: string): Promise<string> => {
    const { storage, data_import } = (await user.send('GET', `/api/dataset/datastore/${nid}`)).json();
    return `${storage}/${data_import}`;
  };

  const searched = async (nid: string, query = 'limit=1') => {
    const { uuid } = await user.read(nid);
    const reply = await user.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}&${query}`);
    return reply.json<{
      success?: boolean;
      error?: object;
      result?: { total: number; fields: { id: string }[]; records: Record<string, string | null>[] };
    }>();
  };

  const rowsOf = async (nid: string): Promise<number | null> => (await searched(nid)).result?.total ?? null;

  /** Imports twice, which comes out the same, and removes the datastore. */
  const twice = async (content: string | Buffer): Promise<[reply: string, state: string, rows: number | null]> => {
    const nid = await attached(content);
    const outcome = async (): Promise<[string, string, number | null]> => {
      const { status, reason, text } = await importOf(nid);
      const shown = text === '' ? `${status} ${reason}` : text;
      return [shown, await stateOf(nid), await rowsOf(nid)];
    };
    const first = await outcome();
    expect(await outcome()).toEqual(first);
    expect((await user.send('DELETE', `/api/dataset/datastore/${nid}`)).json()).toEqual([true]);
    expect([await stateOf(nid), await rowsOf(nid)]).toEqual(['0/2', null]);
    return first;
  };

  const parseFault = expect.stringMatching(
    /^500 Internal Server Error : An error occurred \(0\): Error parsing CSV: \{ +"Message": "Invalid Input OTHER"/,
  );
  const sqlFault = (words: string): string =>
    expect.stringContaining(`500 Internal Server Error : An error occurred (42000): SQLSTATE[42000]: ${words}`);

  it.each<[string, string | Buffer, string, string, number | null]>([
    ['an escaped quote before a quote in the first block', 'a,b\n1,"say \\""hi\\"""\n2,y\n', parseFault, '0/2', null],
    ['the same behind the first block', `a,b\n${plain(20)}1,"say \\""hi\\"""\n`, parseFault, '1/4', 0],
    ['the same in row 1,500', late('1,"say \\""hi\\"""'), parseFault, '1/4', 1000],
    ['a quote that never closes', late('1,"end\\"'), '[true]', '1/6', 1499],
    ['a backslash at the end of a row', late('1,end\\'), '[true]', '1/7', 1000],
    ['a backslash at the end of the file', 'a,b\n1,x\n2,end\\\n', '[true]', '1/6', 1],
    [
      '400 columns',
      `${columns(400)}\n`,
      sqlFault('Syntax error or access violation: 1118 Row size too large'),
      '0/2',
      null,
    ],
    ['200 columns', `${columns(200)}\n${columns(200)}\n`, '[true]', '1/6', 1],
    ['a cell of 70,000 bytes', late(`1,${'x'.repeat(70_000)}`), '[true]', '1/7', 1000],
    ['an emoji', late('1,😀'), '[true]', '1/7', 1000],
    ['a byte of Latin-1', Buffer.from(late('1,ü'), 'latin1'), '[true]', '1/7', 1000],
    ['a row with more cells', late('1,2,3'), '[true]', '1/7', 1000],
    ['a row with fewer cells', late('1'), '[true]', '1/7', 1000],
    ['a short row that ends the file without a line end', 'a,b\n1,2\n3', '[true]', '1/6', 1],
    ['names that differ in case only', `A,a\n${plain(1100)}`, '[true]', '1/7', 0],
    ['names that are equal after 64 characters', `${'x'.repeat(64)}y,${'x'.repeat(64)}z\n1,2\n`, '[true]', '1/7', 0],
    [
      'a column without a name',
      'a,,b\n1,2,3\n',
      sqlFault("Syntax error or access violation: 1166 Incorrect column name ''"),
      '0/2',
      null,
    ],
    [
      'an empty first line',
      '\na,b\n1,2\n',
      sqlFault("Syntax error or access violation: 1166 Incorrect column name ''"),
      '0/2',
      null,
    ],
    [
      'nothing',
      '',
      expect.stringContaining('500 Internal Server Error : An error occurred (0): Unable to get headers from '),
      '0/2',
      null,
    ],
    ['a header without a line end', 'a,b', expect.stringContaining('Unable to get headers from '), '0/2', null],
    ['a header only', 'a,b\n', '[true]', '1/6', 0],
    ['UTF-16', utf16, '[true]', '1/6', 2],
  ])('%s', async (_what, content, reply, state, rows) => {
    expect(await twice(content)).toEqual([reply, state, rows]);
  });

  it('a search without rows is no success', async () => {
    const nid = await attached('a,b\n');
    await importOf(nid);
    expect(await searched(nid)).toMatchObject({ success: false, result: { total: 0, records: [] } });
  });

  it('the cells of UTF-16 have NUL bytes', async () => {
    const nid = await attached(utf16);
    await importOf(nid);
    expect((await searched(nid)).result?.records).toEqual([{ a: '\u00001\u0000', b: '\u00002\u0000', entry_id: '1' }]);
  });

  it('a column entry_id becomes the key', async () => {
    const nid = await attached('entry_id,b\n7,x\n9,y\n');
    expect([(await importOf(nid)).text, await stateOf(nid)]).toEqual(['[true]', '1/6']);
    expect((await searched(nid, 'limit=5')).result?.records).toEqual([
      { entry_id: '7', b: 'x' },
      { entry_id: '9', b: 'y' },
    ]);
  });

  it('a column timestamp is stored and shown by no search', async () => {
    const nid = await attached('a,timestamp\n1,2025\n');
    expect([(await importOf(nid)).text, await stateOf(nid)]).toEqual(['[true]', '1/6']);
    const { result } = await searched(nid);
    expect(result?.fields.map(({ id }) => id)).toEqual(['a', 'entry_id']);
    expect(result?.records).toEqual([{ a: '1', entry_id: '1' }]);
  });

  it('an unreadable header under a table that is there leaves the state at 1/4', async () => {
    const nid = await attached('a\n1\n');
    await importOf(nid);
    await user.attach(nid, { name: 'table.csv', content: '' });
    expect((await importOf(nid)).reason).toContain('Unable to get headers');
    expect(await stateOf(nid)).toBe('1/4');
    expect(await searched(nid)).toHaveProperty('error');
  });

  /** Numbers of the data rows that end in the block of data row 1000·k, behind it. */
  const lostRows = (header: string, rows: string[]): number[] => {
    let at = header.length;
    const ends = rows.map((row) => {
      at += row.length;
      return Math.floor((at - 1) / 32);
    });
    return ends.flatMap((block, index) => {
      const full = Math.floor((index + 1) / 1000) * 1000;
      return index + 1 > full && full > 0 && block === ends[full - 1] ? [index + 1] : [];
    });
  };

  it.each([
    ['short', (row: number) => `${row % 10},\n`],
    ['middle', (row: number) => `${row},${row % 7}\n`],
    ['uneven', (row: number) => `${row},${'x'.repeat((row * 7) % 13)}\n`],
    ['long', (row: number) => `${row},${'x'.repeat(40)}\n`],
  ])('the rows behind every 1000th that end in its 32 bytes are lost (%s rows)', async (_name, line) => {
    const rows = Array.from({ length: 3500 }, (_, index) => line(index + 1));
    const lost = new Set(lostRows('a,b\n', rows));
    const nid = await attached(`a,b\n${rows.join('')}`);
    await importOf(nid);
    const kept = rows.filter((_, index) => !lost.has(index + 1)).map((row) => row.trimEnd());
    const { result } = await searched(nid, 'limit=4000');
    expect(result?.total).toBe(kept.length);
    expect(result?.records.map(({ a, b }) => `${a},${b}`)).toEqual(kept);
  });
});
