// The pages over plain HTTP: what they say, what they do, and what nobody gets past them.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { itemId } from '../../src/model/job.ts';
import { type LedgerEntry, newEntry } from '../../src/model/ledger-entry.ts';
import { reportSchema } from '../../src/model/report.ts';
import { syncSchedules } from '../../src/queue/schedules.ts';
import { itemPage } from '../../src/web/pages/item.ts';
import { actLink } from '../../src/web/pages/layout.ts';
import { webApp } from '../../src/web/server.ts';
import { plainRequest } from '../support/plain-request.ts';
import { waitUntil } from '../support/wait-until.ts';
import {
  type Filled,
  faults,
  fill,
  fillMany,
  itemOf,
  noon,
  startWork,
  writeItems,
  writeRun,
} from './support/filled.ts';
import { openWebPlace, type WebPlace } from './support/web-place.ts';

let place: WebPlace;
let known: Filled;
beforeAll(async () => {
  place = await openWebPlace();
  known = await fill(place.runtime);
});
afterAll(() => place.close());

/** Posts a form as the page at `url` would. */
const post = async (
  at: WebPlace,
  url: string,
  { fields = {}, headers = {} }: { fields?: Record<string, string>; headers?: Record<string, string> } = {},
) =>
  at.send({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://127.0.0.1:4283', ...headers },
    payload: new URLSearchParams(fields).toString(),
  });

const tokenOf = (page: string): string => /name="token" value="([^"]+)"/.exec(page)?.[1] ?? '';

/** Confirms an action as a person does. */
const confirm = async (at: WebPlace, url: string, fields: Record<string, string> = {}) => {
  const page = await at.get(url);
  expect(page.statusCode, page.body).toBe(200);
  return post(at, url, { fields: { token: tokenOf(page.body), ...fields } });
};

it('every page says once why the state takes no more data', async () => {
  const { stateWatch } = place.runtime;
  stateWatch.fault = { code: 'state-full', message: 'Redis cannot write its data to its disk', hint: 'make room' };
  try {
    for (const path of ['/', '/runs/city-finance@city', '/no-such-page', '/?q=budget'])
      expect((await place.get(path)).body.match(/Redis cannot write its data to its disk/g), path).toHaveLength(1);
  } finally {
    stateWatch.fault = null;
  }
  expect((await place.get('/')).body).not.toContain('takes no more data');
});

describe('the first page', () => {
  it('says in one row what is live of a manifest and when it runs next', async () => {
    const { body } = await place.get('/');
    const text = body.replaceAll(/<[^>]+>/g, '');
    expect(text).toContain('16 of 20');
    expect(text).toContain('2 quarantined');
    expect(text).toContain('1 held');
    expect(text).toContain('1 failed');
    expect(body).toMatch(/<td><time datetime="[^"]+">03:15<\/time><\/td>/);
    expect(text).toContain('2 manifests, 22 of 26 items live, 2 need attention');
    expect(body).toContain('aria-label="The last 30 runs: 5 with failures"');
  });

  it('lists what the service serves before its first run, which it can begin', async () => {
    const fresh = await openWebPlace();
    const [byHand, nightly] = ['by-hand', 'nightly'].map((manifest) => {
      return { manifest, portal: 'local', manifestPath: `/srv/${manifest}.yaml` };
    });
    if (!byHand || !nightly) throw new Error('no manifests');
    const schedule = { cron: '15 3 * * *', timezone: 'UTC', jitterMs: 0, window: null, catchUp: 'once' } as const;
    await syncSchedules(fresh.runtime.queues, [
      { request: { ...nightly, ...plainRequest, why: 'schedule', only: null }, schedule },
    ]);
    const app = await webApp(fresh.runtime, () => [byHand, nightly]);
    try {
      const get = async (url: string) => (await app.inject({ url, headers: { host: '127.0.0.1' } })).body;
      const text = (await get('/')).replaceAll(/<[^>]+>/g, '');
      expect(text).toMatch(/by-handnever run⋯Run now/);
      expect(text).toMatch(/nightlynever run03:15 UTC⋯Run now/);
      expect(await get('/act/run-now?target=by-hand%40local')).toContain('/srv/by-hand.yaml');
      expect(await get('/runs/by-hand%40local')).toContain('by-hand@local');
    } finally {
      await app.close();
      await fresh.close();
    }
  });

  it('names what is paused, held, overdue and settling', async () => {
    const { body } = await place.get('/');
    expect(body).toContain('does not answer (connect ECONNREFUSED)');
    expect(body).toContain('would take down 9 of 12 items');
    expect(body).toContain(
      'there has not been anything new for transport@local since 2026-11-19 12:00 UTC; something is expected every',
    );
    expect(body).toContain('lines/boardings-2026-11.csv');
    expect(body).toContain('no rule of the manifest names it');
  });

  it.each([
    ['the key', 'city-open-data/noise-map/table'],
    ['a part of the title', 'noise MAP'],
    ['the file name', 'Noise_map.csv'],
  ])('finds an item by %s', async (_, query) => {
    const { body } = await place.get(`/?${new URLSearchParams({ q: query })}`);
    expect(body).toContain('href="/item/city-open-data/noise-map/table"');
    expect(body).not.toContain('href="/item/city-open-data/budget-2026/table"');
  });
});

describe('what a run has changed', () => {
  it('is counted on the next page that is requested', async () => {
    const counted = async (): Promise<string> => (await place.get('/')).body.replaceAll(/<[^>]+>/g, '');
    const sentence = async (text: string): Promise<string | undefined> =>
      (await counted()).includes(text) ? text : undefined;
    const [entry] = await writeItems(place.runtime, { manifest: 'growing', titles: ['One'] });
    if (!entry) throw new Error('no entry');
    await waitUntil('the manifest', () => sentence('growingall live2 of 2'));
    await new Promise((done) => setTimeout(done, 1100)); // a reading and a view serve for a second
    await writeItems(place.runtime, { manifest: 'growing', titles: ['One', 'Two'] }, { 1: faults.refused });
    await writeRun(
      place.runtime,
      { runId: '20261121-100000-grow1', manifest: 'growing' },
      { items: [itemOf(entry)], at: noon },
    );
    expect(await counted()).toContain('growing1 failed3 of 4');
  });
});

describe('the page of an item', () => {
  it('says why it is not live and what to do', async () => {
    const { body } = await place.get(`/item/${known.faulty}`);
    expect(body).toContain(faults.ragged.message);
    expect(body).toContain(faults.ragged.hint);
    expect(body).toContain('The portal still serves the version before.');
    expect(body).toContain(`/act/retry?key=${encodeURIComponent(known.faulty)}`);
    expect(body).toContain('failed, table-ragged-row');
  });

  it('shows versions, steps and the public address of what is live', async () => {
    const { body } = await place.get(`/item/${known.live}`);
    expect(body).toContain('href="https://data.example.org/dataset/1"');
    expect(body).toContain('19 versions from 2026-11-03 to 2026-11-21: 820 to 1,310 rows');
    expect(body).toContain('<b>import</b>: 1,310 rows');
    expect(body).not.toContain('node 17');
    expect(body).toContain('1.8 s');
  });

  it('says why its portal is paused, as long as it is', async () => {
    const url = `/item/${known.live}`;
    const { body } = await place.get(url);
    expect(body).toContain('Portal local has been paused since');
    expect(body).toContain('does not answer (connect ECONNREFUSED)');
    expect(body).toContain('/act/resume?portal=local');
    const pause = await place.runtime.pauses.resume('local');
    expect((await place.get(url)).body).not.toContain('has been paused');
    if (pause) await place.runtime.pauses.pause('local', pause.reason);
  });

  it('says where its file is, also after it left the spool', async () => {
    const key = 'city-open-data/air-quality/table';
    const entry = await place.runtime.ledger.entry('local', key);
    if (!entry) throw new Error('no entry');
    const source = { bytes: 2, sha256: `0123abcd${'0'.repeat(56)}`, mtimeNs: '0', ctimeNs: '0', ino: '0', hashedAt: 0 };
    const kept = place.place.write('in/.sluice/archive/air-quality/table/20261121T120000000Z-0123abcd.csv', 'a\n1\n');
    const sourcePath = join(place.place.dir, 'in/.sluice/spool/1795262400000-0a1b2c3d/file/air-quality/table.csv');
    await place.runtime.ledger.put('local', { ...entry, source, sourcePath });
    expect((await place.get(`/item/${key}`)).body).toContain(`<th scope="row">Comes from</th><td><bdi>${kept}</bdi>`);
    await place.runtime.ledger.put('local', entry);
  });

  it('of a dataset lists its resources', async () => {
    await place.get('/');
    const { body } = await place.get('/item/city-open-data/parking');
    expect(body).toContain('href="/item/city-open-data/parking/table"');
  });
});

it('the first page links to the portals', async () => {
  const linked = await openWebPlace({ portals: { city: { kind: 'remote', url: 'https://data.example.org/' } } });
  const { body } = await linked.get('/');
  expect(body).toContain('<a href="https://data.example.org/" rel="noreferrer"><bdi>city</bdi></a>');
  await linked.close();
});

describe('the page of what a run publishes for the first time', () => {
  it('is there as soon as its job has begun, with its steps', async () => {
    await place.runtime.ledger.remember({ manifest: 'fresh', portal: 'local' }, '/srv/fresh.yaml');
    const [runId, key] = ['20261121-150000-fresh', 'fresh/one/one'];
    expect((await place.get(`/item/${key}`)).statusCode).toBe(404);
    const gate = JSON.stringify({ current: { id: runId, request: null }, again: null });
    await place.runtime.redis.hset(place.runtime.keys.gates, 'fresh@local', gate);
    const line = '2026-11-21T15:00:00.000Z fetch one.csv: 12 bytes (1 ms)';
    await place.runtime.redis.rpush(place.runtime.keys.log(itemId(runId, key)), line);
    const { body } = await place.get(`/item/${key}`);
    expect(body).toContain('A run is publishing it for the first time.');
    expect(body).toContain('<b>fetch</b> one.csv: 12 bytes');
    await place.runtime.redis.hdel(place.runtime.keys.gates, 'fresh@local');
  });
});

describe('what changed in a table', () => {
  const value = (column: string, text: string) => ({ column, value: text });
  const changes = {
    ...{ added: 412, removed: 1, changed: 1, key: ['id'], before: 1000 },
    columns: { added: ['mail'], removed: [], renamed: [{ from: 'name', to: 'title' }] },
    examples: {
      added: [[value('id', '7'), value('title', '<b>new</b>')]],
      removed: [[value('id', '8'), value('title', 'gone')]],
      changed: [{ key: [value('id', '9')], cells: [{ column: 'title', old: 'then', new: 'now' }] }],
    },
  };
  const bodyOf = (more: Partial<LedgerEntry>): string => {
    const entry = newEntry({ key: 'm/d/t', kind: 'resource', uuid: 'u', title: 'T', changes, ...more });
    const target = { manifest: 'm', portal: 'local', manifestPath: 'm.yaml' };
    const view = { target, entry, versions: [], runId: '', log: [], isRunning: false, comesFrom: null };
    return JSON.stringify(
      itemPage('m/d/t', [view], { resources: [], jobs: [], pauses: [], now: noon, act: actLink }).live,
    );
  };

  it('is a diff: old and new cells side by side, rows that came and went, with their number', () => {
    const body = bodyOf({ live: true });
    expect(body).toContain('<h2>What changed</h2>');
    expect(body).toContain('+412 -1 ~1 by id; columns: +mail, name to title');
    expect(body).toContain('<td><del><bdi>then</bdi></del></td><td><ins><bdi>now</bdi></ins></td>');
    expect(body).toContain('412 rows added, the first 1 of them');
    expect(body).toContain('<ins><bdi>&lt;b&gt;new&lt;/b&gt;</bdi></ins>');
    expect(body).toContain('<del><bdi>gone</bdi></del>');
  });

  it('is nothing where that is not known', () => {
    expect(bodyOf({ changes: null })).not.toContain('What changed');
  });
});

describe('versions of a table', () => {
  const version = (at: number, rows: number) => ({ at: noon + at, rows, bytes: rows, columns: [] });
  const pageWith = (...rows: number[]): string => {
    const target = { manifest: 'city', portal: 'local', manifestPath: '/city.yaml' };
    const entry = newEntry({ key: 'city/a/b', kind: 'resource', uuid: 'u', title: 'B', live: true });
    const versions = rows.map((count, at) => version(at, count)) as never;
    const view = { target, entry, versions, runId: '', log: [], isRunning: false, comesFrom: null };
    return JSON.stringify(
      itemPage('city/a/b', [view], { resources: [], jobs: [], pauses: [], now: noon, act: actLink }).live,
    );
  };

  it.each([
    [
      [1, 2, 3],
      ['4', '3', '2', '1', '0'],
    ],
    [
      [0, 0, 0],
      ['4', '3', '2', '1', '0'],
    ],
    [
      [980, 1010, 1300],
      ['1,500', '1,000', '500', '0'],
    ],
    [
      [5, 90_000, 1_000_000],
      ['1,000,000', '500,000', '0'],
    ],
  ])('%j rows stand over an axis of round numbers', (rows, ticks) => {
    const axis = /class=\\"ticks\\"[^>]*>(.*?)<\/p>/.exec(pageWith(...rows))?.[1] ?? '';
    expect([...axis.matchAll(/<span>([\d,.]+)</g)].map(([, text]) => text)).toEqual(ticks);
  });

  it('that are two are a sentence', () => {
    expect(pageWith(10, 12)).toContain('<p>2 versions from 2026-11-21 to 2026-11-21: 10 to 12 rows</p>');
    expect(pageWith(10, 12)).not.toContain('<svg');
  });
});

describe('forty manifests', () => {
  let many: WebPlace;
  const textOf = async (url: string): Promise<string> => (await many.get(url)).body;
  const namesIn = (page: string): string[] =>
    [...page.matchAll(/<th scope="row"><a [^>]+>([^<]+)/g)].map(([, name = '']) => name);
  beforeAll(async () => {
    many = await openWebPlace();
    await fillMany(many.runtime, 40);
  });
  afterAll(() => many.close());

  it('are a row each in natural order, below a line that sums them up and what is wrong', async () => {
    const page = await textOf('/');
    expect(namesIn(page)).toEqual(Array.from({ length: 40 }, (_, at) => `amt-${at + 1}`));
    expect(page.replaceAll(/<[^>]+>/g, '')).toContain('40 manifests, 196 of 200 items live, 4 need attention');
    expect(page.indexOf('4 manifests need attention')).toBeLessThan(page.indexOf('<h1>Manifests'));
    expect(page).toMatch(/class="soft legend">.*fine<.*with failures<.*held<.*cancelled<.*running</s);
  });

  it('are filtered by state and name', async () => {
    expect(namesIn(await textOf('/?show=attention'))).toEqual(['amt-10', 'amt-20', 'amt-30', 'amt-40']);
    expect(namesIn(await textOf('/?manifest=AMT-3'))).toEqual([
      'amt-3',
      ...Array.from({ length: 10 }, (_, at) => `amt-${30 + at}`),
    ]);
    expect(namesIn(await textOf('/?show=attention&manifest=amt-1'))).toEqual(['amt-10']);
    expect(await textOf('/?show=running')).toContain('No manifest is like that.');
    expect(namesIn(await textOf('/?show=__proto__'))).toHaveLength(40);
  });

  it('show no warning colour but amber for a pause by a person', async () => {
    await many.runtime.pauses.pause('local', { code: 'paused', message: 'paused by the operator', hint: null });
    const page = await textOf('/');
    expect(page).toContain('<section class="note wait" aria-label="Paused portal">');
    expect(page).toContain('<span class="badge wait">paused</span>');
    await many.runtime.pauses.resume('local');
  });
});

describe('the page of a run', () => {
  it('groups what failed by its cause', async () => {
    const { body } = await place.get(`/run/${known.run}`);
    expect(body).toMatch(/<b>16<\/b> updated/);
    expect(body).toMatch(/<b>3<\/b> quarantined/);
    expect(body).not.toMatch(/<b>0<\/b>/);
    expect(body).toContain('2 items: <code>table-ragged-row</code>');
    expect(body).toContain('Retry these 2');
  });

  it('that is held lists what it would remove', async () => {
    const { body } = await place.get(`/run/${known.heldRun}`);
    expect(body).toContain('<h2>It would remove 3 items</h2><ul><li><a href="/item/transport/boardings');
    expect(body).not.toContain('nothing to do');
  });

  it('offers the report in three formats, and all items of a cause', async () => {
    const json = await place.get(`/run/${known.run}/report.json`);
    expect(reportSchema.parse(json.json()).items).toHaveLength(20);
    expect(json.headers['content-disposition']).toBe(`attachment; filename="city-open-data-${known.run}.json"`);
    expect((await place.get(`/run/${known.run}/report.csv`)).body.trim().split('\r\n')).toHaveLength(21);
    expect((await place.get(`/run/${known.run}/report.html`)).body).toContain('city-open-data/noise-map/table');
    const { body } = await place.get(`/run/${known.run}/items?code=table-ragged-row`);
    expect(body.match(/href="\/item\//g)).toHaveLength(2);
  });
});

describe('an action', () => {
  it('says what it will do, does nothing until it is confirmed, then does it once', async () => {
    const url = `/act/discard?run=${known.heldRun}`;
    const { body } = await place.get(url);
    expect(body).toContain('is dropped without changes');
    expect(await place.runtime.plans.held()).toHaveLength(1);
    const done = await confirm(place, url);
    expect([done.statusCode, done.headers.location]).toEqual([303, `/run/${known.heldRun}`]);
    expect(await place.runtime.plans.held()).toEqual([]);
    expect((await post(place, url, { fields: { token: tokenOf(body) } })).statusCode).toBe(404);
  });

  it('pauses and resumes a portal', async () => {
    await place.runtime.pauses.resume('local');
    const paused = await confirm(place, '/act/pause?portal=local', { reason: 'maintenance <b>until</b> 16:00' });
    expect([paused.statusCode, paused.headers.location]).toEqual([303, '/']);
    expect((await place.runtime.pauses.state('local'))?.reason.message).toContain('maintenance');
    expect((await place.get('/')).body).toContain('maintenance &lt;b&gt;until&lt;/b&gt; 16:00');
    await confirm(place, '/act/resume?portal=local');
    expect(await place.runtime.pauses.state('local')).toBeNull();
  });

  it('runs a manifest now, which cancel ends before it begins', async () => {
    const manifest = place.place.manifest('now', { one: 'a\n1\n' });
    await place.runtime.ledger.remember({ manifest: 'now', portal: 'local' }, manifest);
    const begun = await confirm(place, '/act/run-now?target=now@local');
    expect(begun.statusCode).toBe(303);
    const { current } = await place.runtime.gate.state({ manifest: 'now', portal: 'local' });
    expect(begun.headers.location).toBe(`/run/${current}`);
    expect((await place.get(`/run/${current}`)).body).toContain('Waiting to start.');
    const cancelled = await confirm(place, `/act/cancel?run=${current}`);
    expect(cancelled.headers.location).toBe(`/run/${current}`);
    expect(await place.runtime.redis.hexists(place.runtime.keys.cancelled, current ?? '')).toBe(1);
  });

  it('retries one item, limited to it', async () => {
    const manifest = place.place.manifest('again', { one: 'a\n1\n' });
    await place.runtime.ledger.remember({ manifest: 'again', portal: 'local' }, manifest);
    const key = 'again/one/one';
    const begun = await confirm(place, `/act/retry?key=${encodeURIComponent(key)}`);
    expect(begun.statusCode, begun.body).toBe(303);
    const { current } = await place.runtime.gate.state({ manifest: 'again', portal: 'local' });
    const job = await place.runtime.queues.runs.getJob(current ?? '');
    expect(job?.data).toMatchObject({ why: 'retry', only: [key] });
  });

  it.each([
    ['/act/run-now?target=nothing@local', 404],
    ['/act/release?run=20261121-031500-none0', 404],
    ['/act/pause?portal=nowhere', 409],
    ['/act/cancel?run=../../etc', 404],
    ['/act/toString', 409],
  ])('%s is refused', async (url, status) => {
    expect((await place.get(url)).statusCode).toBe(status);
  });
});

describe('a form that another site has sent', () => {
  const url = '/act/pause?portal=local';
  it.each([
    ['without a token', {}, {}],
    ['with a wrong token', { token: 'x'.repeat(43) }, {}],
    ['from another origin', null, { origin: 'https://attacker.example' }],
    ['from no origin', null, { origin: 'null' }],
    ['as a cross-site request', null, { 'sec-fetch-site': 'cross-site' }],
  ])('%s does nothing', async (_, fields, headers) => {
    const token = tokenOf((await place.get(url)).body);
    const reply = await post(place, url, { fields: fields ?? { token }, headers: headers as Record<string, string> });
    expect(reply.statusCode).toBe(403);
    expect(await place.runtime.pauses.state('local')).toBeNull();
  });

  it('is no form: JSON and text are not understood', async () => {
    const payload = JSON.stringify({ token: tokenOf((await place.get(url)).body) });
    for (const type of ['application/json', 'text/plain']) {
      const reply = await place.send({ method: 'POST', url, headers: { 'content-type': type }, payload });
      expect(reply.statusCode).toBeGreaterThanOrEqual(400);
    }
    expect(await place.runtime.pauses.state('local')).toBeNull();
  });
});

describe('what portals, files and addresses say', () => {
  const evil = `"><img src=x onerror=alert(1)>'</script><script>alert(2)</script>`;
  it('never becomes markup or a link that runs', async () => {
    const [entry] = await writeItems(place.runtime, { manifest: 'evil', titles: ['Evil'] });
    if (!entry) throw new Error('no entry');
    const reason = { code: evil, message: `${evil} \`${evil}`, hint: evil };
    const sick = { ...entry, title: evil, url: 'javascript:alert(1)', live: false, reason, identifier: evil };
    await place.runtime.ledger.put('local', { ...sick, sourcePath: evil, syncedAt: Date.now() });
    const runId = '20261121-110000-evil0';
    const items = [itemOf(sick, { reason, warnings: [evil], outcome: 'failed' })];
    await writeRun(place.runtime, { runId, manifest: 'evil' }, { items, at: Date.now(), reason });
    await place.runtime.pauses.pause('local', reason);
    const urls = [
      '/',
      `/?q=${encodeURIComponent(evil)}`,
      `/item/${entry.key}`,
      `/run/${runId}`,
      `/run/${runId}/items`,
      `/run/${runId}/report.html`,
      `/act/retry?run=${runId}&code=${encodeURIComponent(evil)}`,
      `/item/${encodeURIComponent(evil)}`,
      `/runs/${encodeURIComponent(evil)}`,
    ];
    for (const url of urls) {
      const { body } = await place.get(url);
      expect(body, url).not.toContain('<img');
      expect(body, url).not.toContain('<script>');
      expect(body, url).not.toContain('href="javascript:');
    }
    await place.runtime.pauses.resume('local');
  });

  it('never turns the direction of the text after it', async () => {
    const [entry] = await writeItems(place.runtime, { manifest: 'turned', titles: ['Turned \u202eevil\u2067'] });
    const { body } = await place.get(`/item/${entry?.key}`);
    expect(body).toContain('Turned evil');
    expect(body).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  });

  it.each([
    '/item/../../etc/passwd',
    '/item/..%2f..%2fetc%2fpasswd',
    '/item/%00',
    '/item/%E0%A4%A',
    '/run/..%2f..%2fsecret',
    '/run/x:y',
    `/run/${'a'.repeat(300)}`,
    '/runs/__proto__',
    '/assets/../server.ts',
    `/item/${'a/'.repeat(2000)}`,
  ])('%s leads nowhere', async (url) => {
    const { statusCode, body } = await place.get(url);
    expect([400, 404, 414]).toContain(statusCode);
    expect(body).not.toContain('root:');
  });

  it('may be long', async () => {
    expect((await place.get(`/?q=${'x'.repeat(10_000)}`)).statusCode).toBe(200);
    expect((await place.get(`/?${'q=a&'.repeat(2000)}`)).statusCode).toBe(200);
    const reply = await post(place, '/act/pause?portal=local', { fields: { token: 'x'.repeat(70_000) } });
    expect(reply.statusCode).toBe(413);
  });

  it('comes with headers that let nothing else run', async () => {
    for (const url of ['/', '/nowhere', '/assets/refresh.js']) {
      const { headers } = await place.get(url);
      expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
    const { body } = await place.get('/');
    expect(body).not.toMatch(/ style="| on[a-z]+="|<style/);
  });
});

describe('work in progress', () => {
  it('is named with its step, and how far that is', async () => {
    const runId = await startWork(place.runtime);
    await new Promise((done) => setTimeout(done, 1100)); // the last view serves for a second
    const { body } = await place.get('/');
    expect(body).toContain(
      'upload <span class="soft">table</span> <progress max="105000000" value="42000000" aria-label="Bytes"></progress> <span class="soft">40% of 105.0 MB, 6.0 MB/s, 11 s left</span>',
    );
    expect(body).toContain('2 of 6');
    const run = (await place.get(`/run/${runId}`)).body;
    expect(run).toContain('2 of 6 items');
    expect(run).toContain(`/act/cancel?run=${runId}`);
    expect(run).toContain('40% of 105.0 MB, 6.0 MB/s, 11 s left');
  });

  it('has a time left on its page, but not while the portal is paused', async () => {
    const runId = '20261121-160000-eta01';
    await place.runtime.pauses.resume('local');
    await place.runtime.runs.begin(runId, { manifest: 'transport', portal: 'local' });
    const started = Date.now() - 60_000;
    await place.runtime.redis.hset(place.runtime.keys.run(runId), {
      startedAt: started,
      total: 90,
      done: 30,
      failed: 2,
    });
    const text = async (): Promise<string> => (await place.get(`/run/${runId}`)).body.replaceAll(/<[^>]+>/g, '');
    expect(await text()).toMatch(/30 of 90 items, 2 failed for 6\d s, 0\.5\/s, 2 min left/);
    await place.runtime.pauses.pause('local', { code: 'paused', message: 'paused by the operator', hint: null });
    expect(await text()).toMatch(/for 6\d s\s+It waits: portal local is paused/);
    await place.runtime.pauses.resume('local');
  });
});

describe('with a password', () => {
  let closed: WebPlace;
  beforeAll(async () => {
    closed = await openWebPlace(
      { web: { port: 0, username: 'ann', password: { file: 'password' } } },
      { password: 'correct horse' },
    );
  });
  afterAll(() => closed.close());

  const logIn = (username: string, password: string, address = '10.0.0.1', more: Record<string, string> = {}) =>
    closed.send({
      method: 'POST',
      url: '/login',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://127.0.0.1:4283' },
      payload: new URLSearchParams({ username, password, ...more }).toString(),
      remoteAddress: address,
    });

  it('nothing is shown or done before the login, but health and the stylesheet', async () => {
    const pages = ['/', '/item/a/b', '/run/x', '/run/x/report.csv', '/act/pause?portal=local', '/nowhere'];
    for (const url of pages) {
      const reply = await closed.get(url);
      expect([reply.statusCode, reply.headers.location?.split('?', 1)[0]], url).toEqual([303, '/login']);
    }
    expect((await post(closed, '/act/pause?portal=local', { fields: { token: 'x' } })).headers.location).toBe('/login');
    expect(await closed.runtime.pauses.state('local')).toBeNull();
    expect((await closed.get('/healthz')).statusCode).toBe(200);
    expect((await closed.get('/assets/pages.css')).statusCode).toBe(200);
  });

  it('a session begins with the right password, and ends when it is ended', async () => {
    expect((await logIn('ann', 'correct horses')).statusCode).toBe(403);
    expect((await logIn('bob', 'correct horse')).statusCode).toBe(403);
    const reply = await logIn('ann', 'correct horse');
    expect(reply.statusCode).toBe(303);
    const cookie = String(reply.headers['set-cookie']);
    expect(cookie).toMatch(/^sluice-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    const session = { cookie: cookie.split(';', 1)[0] ?? '' };
    const { body, statusCode } = await closed.get('/', session);
    expect(statusCode).toBe(200);
    const out = await post(closed, '/logout', { fields: { token: tokenOf(body) }, headers: session });
    expect(out.statusCode).toBe(303);
    expect((await closed.get('/', session)).statusCode).toBe(303);
  });

  const hiddenPath = (body: string): string | undefined => / name="to" value="([^"]*)"/.exec(body)?.[1];

  it.each(['/item/a/b?x=1&y=%2F%2Fz', '/runs/city%40local', '/?q=a+b', '/act/pause?portal=local', '/run/x/report.csv'])(
    'the login leads to the page that was asked for: %s',
    async (path) => {
      const asked = String((await closed.get(path)).headers.location);
      expect(asked).toBe(`/login?${new URLSearchParams({ to: path })}`);
      const to = (hiddenPath((await closed.get(asked)).body) ?? '').replaceAll('&amp;', '&');
      expect(to).toBe(path);
      const refused = await logIn('ann', 'wrong', '10.0.1.1', { to });
      expect(hiddenPath(refused.body)?.replaceAll('&amp;', '&')).toBe(path);
      const reply = await logIn('ann', 'correct horse', '10.0.1.1', { to });
      expect([reply.statusCode, reply.headers.location]).toEqual([303, path]);
      const session = { cookie: String(reply.headers['set-cookie']).split(';', 1)[0] ?? '' };
      expect((await closed.get(asked, session)).headers.location).toBe(path);
    },
  );

  it.each([
    '',
    'item/a',
    'https://attacker.example/',
    'javascript:alert(1)',
    '//attacker.example',
    '///attacker.example',
    '/\\attacker.example',
    '\\/attacker.example',
    '/\t/attacker.example',
    '/\n/attacker.example',
    ' //attacker.example',
    '/ /attacker.example',
    '/.//attacker.example',
    '/x/..//attacker.example',
    '/%2e//attacker.example',
    '/x/%2e%2e//attacker.example',
    '/%2f%2fattacker.example',
    '/%2Fattacker.example',
    '/%5cattacker.example',
    '/%09/attacker.example',
    '/item/a%0d%0aset-cookie:x',
    '/item/a\r\nset-cookie: x',
    '/item/%00',
    '/item/%ff',
    '/item/%',
    '/item/ä',
    '/item/a\u2028b',
    '/login',
    '/login?to=%2Flogin',
    '/./login',
    '/%6cogin',
    '/LOGIN/',
    '/logout',
    '/assets/pages.css',
    `/item/${'a'.repeat(1000)}`,
  ])('the login leads nowhere else: %j', async (to) => {
    const page = await closed.get(`/login?${new URLSearchParams({ to })}`);
    expect([page.statusCode, hiddenPath(page.body)]).toEqual([200, undefined]);
    const reply = await logIn('ann', 'correct horse', '10.0.1.2', { to });
    expect([reply.statusCode, reply.headers.location]).toEqual([303, '/']);
  });

  it('a login, right or wrong, is logged with its address', async () => {
    const logged = [vi.spyOn(closed.runtime.log, 'info'), vi.spyOn(closed.runtime.log, 'warn')];
    await logIn('ann', 'correct horse', '10.8.8.8');
    await logIn('ann', 'wrong', '10.8.8.9');
    const calls = logged.flatMap((spy) => spy.mock.calls.map(([facts]) => facts));
    for (const spy of logged) spy.mockRestore();
    expect(calls).toEqual([
      { action: 'login', address: '10.8.8.8' },
      { action: 'login', address: '10.8.8.9' },
    ]);
  });

  it('the token of one session is none of another', async () => {
    const cookies = await Promise.all(
      [1, 2].map(
        async () => String((await logIn('ann', 'correct horse')).headers['set-cookie']).split(';', 1)[0] ?? '',
      ),
    );
    const token = tokenOf((await closed.get('/act/pause?portal=local', { cookie: cookies[0] ?? '' })).body);
    const reply = await post(closed, '/act/pause?portal=local', {
      fields: { token },
      headers: { cookie: cookies[1] ?? '' },
    });
    expect(reply.statusCode).toBe(403);
  });

  it('guesses from one address have to wait, also with the right password; others do not', async () => {
    const replies = [];
    for (let guess = 0; guess < 7; guess++) replies.push((await logIn('ann', `wrong ${guess}`, '10.9.9.9')).statusCode);
    expect(replies).toEqual([403, 403, 403, 403, 403, 429, 429]);
    const late = await logIn('ann', 'correct horse', '10.9.9.9');
    expect([late.statusCode, Number(late.headers['retry-after']) > 0]).toEqual([429, true]);
    expect((await logIn('ann', 'correct horse', '10.9.9.8')).statusCode).toBe(303);
  });

  it.each([
    { origin: 'https://attacker.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('a login form of another site is refused: %j', async (headers: Record<string, string>) => {
    const fields = { username: 'ann', password: 'correct horse' };
    const reply = await post(closed, '/login', { fields, headers });
    expect(reply.statusCode).toBe(403);
    expect(reply.headers['set-cookie']).toBeUndefined();
  });
});

describe('with `web.public`', () => {
  const secrets = ['/srv/', 'ECONNREFUSED', 'alice@', 'line 1,204', '3 cells', 'sluice release', 'notes.docx', 'token'];
  let open: WebPlace;
  let inside: Filled;
  let running: string;
  beforeAll(async () => {
    open = await openWebPlace(
      { web: { port: 0, public: true, username: 'ann', password: { file: 'password' } } },
      { password: 'correct horse' },
    );
    inside = await fill(open.runtime);
    running = await startWork(open.runtime);
    const reason = {
      code: 'table-ragged',
      message: 'in /srv/a.csv',
      hint: '/srv',
      file: '/srv/_faulty/a',
    };
    const entry = await open.runtime.ledger.entry('local', inside.faulty);
    if (entry) await open.runtime.ledger.put('local', { ...entry, reason, rejected: { rows: 1, path: '/srv/rows' } });
    open.runtime.stateWatch.fault = { code: 'state-full', message: 'No space left: /srv/state', hint: '/srv' };
  });
  afterAll(() => open.close());

  it('readers without a login see how everything stands, and no message, path, form or action', async () => {
    const pages = ['/', `/item/${inside.faulty}`, `/item/${inside.held}`, '/item/city-open-data/parking'];
    const urls = [...pages, `/run/${inside.run}`, `/run/${inside.heldRun}`, `/run/${running}`, '/runs/transport@local'];
    for (const url of urls) {
      const { statusCode, body } = await open.get(url);
      expect(statusCode, url).toBe(200);
      for (const secret of secrets) expect(body, url).not.toContain(secret);
      expect(body, url).not.toMatch(/<form|<input|<button|href="\/act|report\.csv|<summary aria-label="Actions/);
      expect(body, url).toContain('<a href="/login">Log in</a>');
      expect(body, url).toContain('The state takes no more data');
    }
    expect((await open.get('/login')).body).not.toContain('/srv/');
    expect((await open.get('/item/of/nobody')).body).not.toContain('<form');
    const home = (await open.get('/')).body;
    expect(home).toContain('16 of 20');
    for (const body of [home, (await open.get(`/item/${inside.faulty}`)).body])
      expect(body).toContain('Portal local has been paused');
    for (const url of ['/', `/item/${inside.faulty}`])
      expect((await open.send({ method: 'HEAD', url })).statusCode, url).toBe(200);
    expect((await open.get(`/item/${inside.faulty}`)).body).toContain('quarantined');
    expect((await open.get('/item/city-open-data/street-trees/table')).body).toContain('quarantined');
    expect((await open.get(`/run/${inside.run}`)).body).toContain('<b>16</b> updated');
  });

  it('nothing else is theirs: no action, no report, no search, no measurement, whatever the method', async () => {
    const urls = [
      ...['/act/pause?portal=local', `/act/retry?run=${inside.run}`, `/run/${inside.run}/items`, '/nowhere'],
      ...['csv', 'json', 'html'].map((format) => `/run/${inside.run}/report.${format}`),
      ...[`/run/${inside.run}/..%2f..%2fsecret`, '/%61ct/pause?portal=local', '//act/pause?portal=local'],
    ];
    for (const url of urls) {
      expect((await open.get(url)).headers.location, url).toMatch(/^\/login/);
      const head = await open.send({ method: 'HEAD', url });
      expect([head.statusCode, head.body], url).toEqual([303, '']);
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const) {
      for (const url of ['/', '/act/pause?portal=local', `/act/cancel?run=${running}`, `/drop/${inside.faulty}`]) {
        const payload = new URLSearchParams({ token: 'x', portal: 'local' }).toString();
        const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://127.0.0.1:4283' };
        const { statusCode } = await open.send({ method, url, headers, payload });
        expect([303, 404], `${method} ${url}`).toContain(statusCode);
      }
    }
    expect((await open.runtime.pauses.state('local'))?.reason.code).toBe('portal-unreachable');
    expect(await open.runtime.redis.hexists(open.runtime.keys.cancelled, running)).toBe(0);
    expect((await open.get('/metrics')).statusCode).toBe(401);
    expect((await open.get('/?q=noise')).body).not.toContain('noise-map/table');
    for (const headers of [{ cookie: `sluice-session=${'x'.repeat(43)}` }, { authorization: 'Bearer x' }])
      expect((await open.get('/act/pause?portal=local', headers)).statusCode).toBe(303);
  });
});

it('with an address of https its cookies are secure, and its name is served', async () => {
  const url = 'https://sluice.example.org';
  const config = { web: { port: 0, password: { file: 'password' }, publicUrl: url } };
  const secure = await openWebPlace(config, { password: 'correct horse' });
  try {
    const headers = { host: 'sluice.example.org', origin: url };
    const reply = await post(secure, '/login', {
      fields: { username: 'operator', password: 'correct horse' },
      headers,
    });
    const [cookie = ''] = String(reply.headers['set-cookie']).split(';', 1);
    expect(reply.headers['set-cookie']).toMatch(/^__Host-sluice-session=.*; Path=\/; .*; Secure$/);
    expect(reply.headers['strict-transport-security']).toBe('max-age=31536000');
    expect((await secure.get('/', { ...headers, cookie })).statusCode).toBe(200);
  } finally {
    await secure.close();
  }
});

it('asks for an export again that left something undone', async () => {
  const other = await openWebPlace();
  const runId = '20261121-140000-expor';
  const order = { folder: '/srv/export', files: 'changed' as const, only: null, isPublic: false };
  const reason = { code: 'portal-unreachable', message: 'no answer', hint: null };
  await writeRun(other.runtime, { runId, manifest: 'export-city' }, { items: [], at: noon, reason, order });
  const url = `/act/retry?run=${runId}`;
  expect((await other.get(url)).body).toContain('an export of what <bdi>/srv/export</bdi> lacks of local');
  expect((await confirm(other, url)).statusCode).toBe(303);
  const { current } = await other.runtime.gate.state({ manifest: 'export-city', portal: 'local' });
  const job = await other.runtime.queues.runs.getJob(current ?? '');
  expect(job?.data).toMatchObject({ export: order });
  await other.close();
});

describe('the page of an item that is not published', () => {
  const pageOf = (code: string, file?: string): string => {
    const target = { manifest: 'city', portal: 'local', manifestPath: '/city.yaml' };
    const reason = { code, message: 'why', hint: null, ...(file ? { file } : {}) };
    const entry = newEntry({ key: 'city/a/b', kind: 'resource', uuid: 'u', title: 'B', nid: '7', reason });
    const view = { target, entry, versions: [], runId: '', log: [], isRunning: false, comesFrom: null };
    return JSON.stringify(
      itemPage('city/a/b', [view], { resources: [], jobs: [], pauses: [], now: noon, act: actLink }).live,
    );
  };

  it('offers a decision where a guard holds it, and another try where somebody edited it on the portal', () => {
    expect(pageOf('held')).toContain('No new data arrived in time.');
    expect(pageOf('held')).toMatch(/release.*discard/);
    expect(pageOf('drift')).not.toMatch(/Release|No new data/);
    expect(pageOf('drift')).toContain('Retry');
  });

  it('offers another try only where that can help: a dropped file that was set aside is to be fixed', () => {
    expect(pageOf('table-ragged')).toContain('Retry');
    expect(pageOf('table-ragged', '/in/_faulty/a.csv')).not.toContain('Retry');
    expect(pageOf('table-ragged', '/in/_faulty/a.csv')).toContain('drop it again');
  });
});
