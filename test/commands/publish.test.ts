import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { planCommand } from '../../src/commands/plan.ts';
import { publishCommand } from '../../src/commands/publish.ts';
import { commands, reportCommand, runsCommand } from '../../src/commands/runs.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { InterruptedError, ManifestError, RedisMissingError, UsageError } from '../../src/model/errors.ts';
import { openGateway, type Passed } from '../flow/support/gateway.ts';
import { publisher, startPortal } from '../flow/support/server.ts';
import { type CommandPlace, commandPlace } from '../support/command-place.ts';
import { reportIn, reportsIn } from '../support/printed.ts';
import { waitUntil } from '../support/wait-until.ts';

const sound = 'id\n1\n2\n';

/** A place whose portal takes no file until it is released. */
const slowPlace = async () => {
  const portal = await startPortal();
  const gateway = await openGateway(portal.url);
  const released = Promise.withResolvers<void>();
  const isAttach = ({ path }: Passed): boolean => path.endsWith('/attach_file');
  gateway.before = (passed) => (isAttach(passed) ? released.promise : undefined);
  const local = { kind: 'remote', url: gateway.url, username: publisher.username, password: { file: 'password' } };
  const place = commandPlace({ portals: { local } });
  chmodSync(place.write('password', publisher.password), 0o600);
  return {
    place,
    io: () => place.io({ terminal: true }),
    attaching: () => waitUntil('an upload', () => gateway.requests.some(isAttach)),
    release: () => released.resolve(),
  };
};

describe('sluice publish', () => {
  it('prints one report object for one manifest, a list for several, and nothing else', async () => {
    const place = commandPlace();
    place.manifest('first', { a: sound });
    place.manifest('second', { b: sound });
    const one = place.io();
    expect(await publishCommand(['first.yaml'], { ...place.options, json: true }, one.io)).toBe(0);
    const report = reportIn(one.out());
    expect(report.items.map(({ key, live, rows }) => ({ key, live, rows }))).toEqual([
      { key: 'first/one', live: true, rows: null },
      { key: 'first/one/a', live: true, rows: 2 },
    ]);
    // The password of an account that was made just now is for people, so it goes to standard error.
    expect(one.err()).toMatch(/^portal local: the password of its user admin is \S+ \(shown this once\)\n$/);
    const two = place.io();
    expect(await publishCommand(['first.yaml', 'second.yaml'], { ...place.options, json: true }, two.io)).toBe(0);
    const reports = reportsIn(two.out());
    expect(reports.map(({ manifest }) => manifest)).toEqual(['first', 'second']);
    expect(reports.map(({ counts }) => counts.actions)).toEqual([{}, { created: 2, attached: 1, imported: 1 }]);
  });

  it('shows progress on a terminal, on standard error, and leaves no trace of it', async () => {
    const place = commandPlace();
    place.manifest('shown', { a: sound });
    const { io, out, err } = place.io({ terminal: true });
    expect(await publishCommand(['shown.yaml'], place.options, io)).toBe(0);
    expect(out()).toContain('shown/one/a');
    expect(out()).not.toContain('\r');
    expect(err()).toMatch(/shown@local: (waiting to start|planning|\d+\/\d+ items)/);
    expect(err().split('portal local: the password')[0]?.endsWith('\r\x1b[J')).toBe(true);
  });

  it('refuses, before anything is started, two manifests of one name, an unknown portal and a faulty manifest', async () => {
    const place = commandPlace({}, 'embedded');
    place.manifest('twin', { a: sound });
    place.write('copy.yaml', JSON.stringify({ name: 'twin', portal: 'local', datasets: [] }));
    const { io } = place.io();
    await expect(publishCommand(['twin.yaml', 'copy.yaml'], place.options, io)).rejects.toBeInstanceOf(UsageError);
    await expect(publishCommand(['none.yaml'], place.options, io)).rejects.toBeInstanceOf(ManifestError);
    place.write('bad.yaml', 'name: [\n');
    await expect(publishCommand(['bad.yaml'], place.options, io)).rejects.toBeInstanceOf(ManifestError);
    expect(existsSync(join(place.dir, 'state'))).toBe(false);
    place.write('lost.yaml', JSON.stringify({ name: 'lost', portal: 'elsewhere', datasets: [] }));
    const failure = await publishCommand(['lost.yaml'], place.options, io).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect((failure as UsageError).hint).toContain('local');
  });

  it('needs a Redis and says how to get one', async () => {
    const place = commandPlace({ redis: { fetch: false } });
    place.manifest('none', { a: sound });
    const { io } = place.io({ env: { PATH: '/nowhere', REDIS_SERVER_BIN: undefined } });
    await expect(publishCommand(['none.yaml'], place.options, io)).rejects.toBeInstanceOf(RedisMissingError);
  });

  it('takes what is in the inbox of a drop manifest, once it has settled', async () => {
    const place = commandPlace();
    place.write('inbox/a.csv', sound);
    place.write('inbox/bad.csv', 'a,b\n1\n');
    place.write(
      'drop.yaml',
      JSON.stringify({ name: 'drop', portal: 'local', drop: { folder: 'inbox', files: '*.csv' } }),
    );
    const first = place.io();
    place.write('inbox/old.xls', 'x');
    place.write('inbox/new\nportal local: forged', 'x');
    expect(await publishCommand(['drop.yaml'], { ...place.options, json: true }, first.io)).toBe(3);
    expect(first.err()).toContain('ignored new portal local: forged: ');
    expect(first.err()).toContain('ignored old.xls: does not match the files of this inbox (*.csv): save it as one of');
    const items = reportIn(first.out()).items;
    expect(items.map(({ key, outcome }) => `${key} ${outcome}`)).toEqual([
      'drop/a done',
      'drop/a/a done',
      'drop/bad unchanged',
      'drop/bad/bad quarantined',
    ]);
    expect(readdirSync(join(place.dir, 'inbox')).filter((name) => name.endsWith('.csv'))).toEqual([]);
    const second = place.io();
    expect(await publishCommand(['drop.yaml'], { ...place.options, json: true }, second.io)).toBe(0);
    expect(reportIn(second.out()).items).toEqual([]);
  });

  it('says that a run waits for the previous one', async () => {
    const { place, io, attaching, release } = await slowPlace();
    place.manifest('twice', { a: sound });
    const second = io();
    const publishing = publishCommand(['twice.yaml'], place.options, io().io);
    await attaching();
    const joining = publishCommand(['twice.yaml'], place.options, second.io);
    await waitUntil('the wait', () => /twice@local: waiting to start \|.* twice\/one\/a/.test(second.err()));
    const runs = io();
    await runsCommand(place.options, runs.io);
    expect(runs.out()).toMatch(/^run .*\n\S+ +twice@local +queued\n\S+ +twice@local .* running: 0\/2 items\n$/);
    const log = io();
    expect(await commands.log.run(/\d{8}-\d{6}-\w+/.exec(runs.out())?.[0] ?? '', place.options, log.io)).toBe(0);
    expect(log.err()).toContain('nothing yet');
    release();
    expect(await Promise.all([publishing, joining])).toEqual([0, 0]);
  });

  it('stopped in mid-run says so, and the next publish continues', async () => {
    const { place, io, attaching, release } = await slowPlace();
    place.manifest('stopped', { a: sound, b: sound, c: sound });
    const first = io();
    const ended = publishCommand(['stopped.yaml'], place.options, first.io).catch((error: unknown) => error);
    await attaching();
    const said = async (): Promise<string[]> => {
      const [runs, status] = [io(), io()];
      await runsCommand(place.options, runs.io);
      await statusCommand(undefined, place.options, status.io);
      return [runs.out(), status.out()];
    };
    const [running = ''] = await said();
    for (const out of await said()) expect(out).toContain('running: 0/');
    const runId = /\d{8}-\d{6}-\w+/.exec(running)?.[0] ?? '';
    const report = (): Promise<unknown> =>
      reportCommand(runId, place.options, io().io).catch((error: unknown) => error);
    const message = expect.stringMatching(
      `^run ${runId} of stopped@local has no report before it ends \\(running: \\d/4 items\\)$`,
    );
    expect(await report()).toMatchObject({ message, hint: expect.stringContaining(`sluice log ${runId} --follow`) });
    first.stop();
    release();
    expect(await ended).toBeInstanceOf(InterruptedError);
    const [runs, status] = await said();
    for (const out of [runs, status])
      expect(out).toMatch(/waits for the next `sluice publish` or `sluice start`: \d\/4/);
    expect(status).toMatch(/^stopped@local: .*run \S+ waits for a worker$/m);
    for (const what of ['stopped/one/a', 'data/stopped-a.csv']) {
      const item = io();
      expect(await statusCommand(what, place.options, item.io)).toBe(3);
      expect(item.out()).toContain(
        `not live yet: run ${runId} waits for the next \`sluice publish\` or \`sluice start\``,
      );
    }
    expect(await report()).toMatchObject({
      message: expect.stringContaining('waits for the next `sluice publish`'),
      hint: expect.stringContaining('either resumes it'),
    });
    const second = io();
    expect(await publishCommand(['stopped.yaml'], { ...place.options, json: true }, second.io)).toBe(0);
    expect(reportIn(second.out()).items.every(({ live }) => live)).toBe(true);
    expect(second.err()).toMatch(`ended first: run ${runId}: stopped to local, 4 items (4 new) in`);
  });
});

describe('sluice publish without a manifest', () => {
  /** Milliseconds in which also a busy machine has made a first attempt. */
  const long = 5000;

  const publish = async (place: CommandPlace, path: string, more: object = {}) => {
    const { io, out } = place.io();
    return { code: await publishCommand([path], { ...place.options, ...more }, io), out: out() };
  };

  it('publishes a table as a dataset of its name, shows the manifest, and where it is live', async () => {
    const place = commandPlace();
    place.write('Rad-Zählung 2026.csv', 'day,count\n2026-06-01,240\n');
    const { code, out } = await publish(place, 'Rad-Zählung 2026.csv');
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}rad-zahlung-2026\/rad-zahlung-2026\/rad-zahlung-2026 +live +1 row/m);
    expect(out).toContain('has no manifest; `--save` writes this one:');
    expect(out).toMatch(/^ {4}- id: rad-zahlung-2026\n {6}title: "Rad Zählung 2026"$/m);
    expect(out).toMatch(/^live: 1 dataset on the embedded portal local, which ends with this command$/m);
    expect(out).toMatch(/^next: sluice portal /m);
    expect(out).not.toContain('http:');
  });

  it('says that the embedded portal ends with it also where nothing is live', async () => {
    const place = commandPlace();
    place.write('a.csv', 'id,\n1,2\n');
    const { code, out } = await publish(place, 'a.csv');
    expect(code).toBe(3);
    expect(out).toMatch(
      /^the embedded portal local ends with this command\nnext: sluice status .*\nnext: sluice portal .* serves it to be/m,
    );
  });

  it('leaves out what editors keep beside an open file', async () => {
    const place = commandPlace();
    place.write('open/a.csv', 'id\n1\n');
    place.write('open/~$b.xlsx', 'x');
    place.write('open/.~lock.a.csv#', 'x');
    expect(await publish(place, 'open')).toMatchObject({ code: 0, out: expect.stringContaining('2 items (2 new)') });
  });

  it('has the files of a folder in the order in which people count', async () => {
    const place = commandPlace();
    for (const id of ['amt-10', 'amt-2', 'amt-1']) place.write(`offices/${id}.csv`, sound);
    const { out } = await publish(place, 'offices');
    const [manifest, report] = [/- \{ id: "(.*?)"/g, /^ {2}offices\/offices\/(\S+)/gm];
    for (const listed of [manifest, report])
      expect([...out.matchAll(listed)].map(([, id]) => id)).toEqual(['amt-1', 'amt-2', 'amt-10']);
  });

  it('publishes a folder as one dataset; --save writes a manifest that continues under the same keys', async () => {
    const place = commandPlace();
    place.write('budget/income.csv', 'id\n1\n');
    place.write('budget/spending.csv', 'id\n1\n2\n');
    expect((await publish(place, 'budget/')).out).toMatch(/budget\/budget\/income .*\n.*budget\/budget\/spending /);
    expect((await publish(place, 'budget', { save: true })).out).toMatch(
      /saved the manifest of budget: .*budget\.yaml/,
    );
    expect(readFileSync(join(place.dir, 'budget.yaml'), 'utf8')).toContain('file: "budget/income.csv"');
    const again = await publish(place, 'budget.yaml');
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('3 items (3 unchanged)')]);
    // Saved twice it is the same; once edited, it is kept, and the way on is said.
    expect((await publish(place, 'budget', { save: true })).code).toBe(0);
    place.write('budget.yaml', `${readFileSync(join(place.dir, 'budget.yaml'), 'utf8')}# ours\n`);
    const refused = await publish(place, 'budget', { save: true }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UsageError);
    expect(String(refused)).not.toContain('EEXIST');
    expect((refused as UsageError).hint).toContain(`sluice publish ${join(place.dir, 'budget.yaml')}`);
  });

  it.each(['budget', 'budget/spending.csv'])(
    'plan of %s and --dry-run show what it would do, and do nothing',
    async (path) => {
      const place = commandPlace();
      place.write('budget/income.csv', 'id\n1\n');
      place.write('budget/spending.csv', 'id\n1\n2\n');
      const { io, out } = place.io();
      expect(await planCommand([path], place.options, io)).toBe(0);
      expect(out()).toMatch(/^ {2}create\+attach\+import +\w+\/\w+\/spending {2}\(not on the portal yet/m);
      expect(await publish(place, path, { dryRun: true, save: true })).toEqual({ code: 0, out: out() });
      expect(readdirSync(place.dir).filter((name) => name.endsWith('.yaml'))).toEqual(['sluice.yaml']);
      const status = place.io();
      expect(await statusCommand(undefined, place.options, status.io)).toBe(0);
      expect(status.out()).toContain('nothing has been published yet');
    },
  );

  it('names the commands as they were typed: by npx', async () => {
    const place = commandPlace();
    place.write('a.csv', 'id,\n1,2\n');
    const { io, out } = place.io({ env: { npm_command: 'exec' } });
    expect(await publishCommand(['a.csv'], place.options, io)).toBe(3);
    expect(out()).toMatch(/^next: npx sluice status /m);
    const status = place.io({ env: { npm_command: 'exec' } });
    await expect(statusCommand('nothing/here', place.options, status.io)).rejects.toThrow();
    await statusCommand(undefined, { ...place.options, json: true }, status.io);
    expect(status.out()).not.toContain('npx');
  });

  it.each([
    ['an address where nothing listens', 'check that the portal runs, and the port in its url', 'http://127.0.0.1:9'],
    ['a portal that only fails', "the portal's error log has details", null],
  ])('to %s gives the advice of that fault: %s', async (_what, advice, address) => {
    const server = createServer((_request, response) => response.writeHead(500).end('["down"]'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo; // it listens on a port
    const url = address ?? `http://127.0.0.1:${port}`;
    const portals = { local: { kind: 'remote', url, username: 'a', password: { file: 'pw' } } };
    const place = commandPlace({ portals, retry: { backoff: '1m', maxBackoff: '1m', attempts: 3 } });
    chmodSync(place.write('pw', 'b'), 0o600);
    place.write('a.csv', sound);
    const failed = publish(place, 'a.csv', { wait: long });
    await expect(failed).rejects.toMatchObject({ code: 'unfinished', hint: expect.stringContaining(advice) });
  });

  it('that waits for a source gives no advice about the portal, which has failed before', async () => {
    // However slow the machine is, the portal is not paused: it answers the probe, and refuses the login only.
    const server = createServer(({ method, url }, response) => {
      if (url === '/data.json') response.writeHead(503).end();
      else if (method === 'GET') response.setHeader('content-type', 'application/json').end('[]');
      else response.writeHead(500).end('["down"]');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo; // it listens on a port
    const url = `http://127.0.0.1:${port}`;
    const local = { kind: 'remote', url, username: 'a', password: { file: 'pw' } };
    const retry = { backoff: '1m', maxBackoff: '1m', attempts: 3 };
    const place = commandPlace({ portals: { local }, retry, sources: { allow: ['127.0.0.1'] } });
    chmodSync(place.write('pw', 'b'), 0o600);
    place.write('a.csv', sound);
    await expect(publish(place, 'a.csv', { wait: long })).rejects.toMatchObject({
      hint: expect.stringContaining('portal'),
    });
    place.write('all.yaml', JSON.stringify({ name: 'all', portal: 'local', catalogue: `${url}/data.json` }));
    await expect(publish(place, 'all.yaml', { wait: long })).rejects.toMatchObject({
      message: expect.stringContaining('503'),
      hint: expect.stringMatching(/^the run stays queued/),
    });
  });

  it('says of a draft that visitors do not see it', async () => {
    const place = commandPlace();
    place.manifest('city', { a: sound }, { published: false });
    const { io, out } = place.io();
    await publishCommand(['city.yaml'], place.options, io);
    expect(out()).toMatch(/^ {2}city\/one +draft +new$/m);
    expect(out()).toContain('a draft is on the portal, but visitors do not see it: `published: false`');
  });

  it('refuses data whose name is taken by other data, and a folder without any', async () => {
    const place = commandPlace();
    place.write('one/a.csv', 'id\n1\n');
    place.write('two/a.csv', 'id\n2\n');
    expect((await publish(place, 'one/a.csv')).code).toBe(0);
    await expect(publish(place, 'two/a.csv')).rejects.toThrow('other data of this name was published');
    place.write('none/notes.yaml', '');
    const hint = 'manifests are named one by one: `sluice publish none/notes.yaml`';
    const message = expect.stringContaining('contains no file of a type that portals accept');
    await expect(publish(place, 'none')).rejects.toMatchObject({ message, hint });
    place.write('twins/a.csv', 'id\n1\n');
    place.write('twins/A.csv', 'id\n1\n');
    await expect(publish(place, 'twins')).rejects.toThrow(
      /: (A\.csv and a|a\.csv and A)\.csv would get the same id "a"$/,
    );
  });
});

it('names what the manifest no longer does and the portal still shows, in plan, publish and status', async () => {
  const place = commandPlace();
  place.manifest('city', { stays: sound, goes: sound });
  expect(await publishCommand(['city.yaml'], place.options, place.io().io)).toBe(0);
  place.manifest('city', { stays: sound });
  const left =
    /no longer in the manifest, but still on the portal: 1 item\n +city\/one\/goes +-> sluice remove city\/one\/goes\n/;
  const said = [];
  for (const command of [planCommand, publishCommand, publishCommand]) {
    const { io, out } = place.io();
    await command(['city.yaml'], place.options, io);
    said.push(out());
  }
  const { io, out } = place.io();
  await statusCommand(undefined, place.options, io);
  for (const text of [...said, out()]) expect(text).toMatch(left);
});
