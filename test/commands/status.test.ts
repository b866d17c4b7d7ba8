import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { commands as operate } from '../../src/commands/operate.ts';
import { publishCommand } from '../../src/commands/publish.ts';
import { reportCommand, runsCommand } from '../../src/commands/runs.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { NotFoundError } from '../../src/model/errors.ts';
import { spooled } from '../sources/drop/support/spooled.ts';
import { type CommandPlace, commandPlace } from '../support/command-place.ts';
import { faultsIn } from '../support/printed.ts';
import { waitUntil } from '../support/wait-until.ts';

let place: CommandPlace;
beforeAll(async () => {
  place = commandPlace();
  place.manifest('city', { good: 'id\n1\n2\n', bad: 'id,\n1,2\n' });
  expect(await publishCommand(['city.yaml'], place.options, place.io().io)).toBe(3);
});

const status = async (what?: string, more: { json?: boolean } = {}) => {
  const { io, out } = place.io();
  const code = await statusCommand(what, { ...place.options, ...more }, io);
  return { code, out: out() };
};

describe('sluice status', () => {
  it('says whether a key is live, with its address, file and rows', async () => {
    const { code, out } = await status('city/one/good');
    expect(code).toBe(0);
    expect(out).toMatch(/^city\/one\/good \(resource "city good" on local\): live$/m);
    expect(out).toMatch(/^ {2}address http:\/\/127\.0\.0\.1:\d+\/\S+$/m);
    expect(out).toMatch(/^ {2}file city-good\.csv, 7 bytes, 2 rows$/m);
    expect(out).toMatch(/^ {2}as of 20\d\d-.*, run \d{8}-\d{6}-\w+$/m);
  });

  it('says why not, with the place of the fault and what to do', async () => {
    const { code, out } = await status('city/one/bad');
    expect(code).toBe(3);
    expect(out).toContain('not live');
    expect(out).toMatch(/table-header: .*line 1, column 2/);
    expect(out).toContain('-> ');
  });

  it('takes a file for a key, and a dataset for its resources', async () => {
    expect((await status('data/city-good.csv')).out).toContain('city/one/good');
    expect((await status('data/city-bad.csv')).code).toBe(3);
    expect(await status('city.yaml')).toEqual(await status('city'));
    const { code, out } = await status('city/one');
    expect(code).toBe(3);
    expect(out).toContain('city/one/good');
    expect(out).toContain('city/one/bad');
  });

  it('gives an overview, also as JSON', async () => {
    const { code, out } = await status();
    expect(code).toBe(3);
    expect(out).toContain('city@local: 2 live, 1 not live\n');
    expect(out).toContain('last runs:');
    const json = JSON.parse((await status(undefined, { json: true })).out) as Record<string, unknown>;
    expect(Object.keys(json)).toEqual(['items', 'waiting', 'fault', 'targets', 'held', 'overdue', 'runs', 'inboxes']);
    expect(json.targets).toMatchObject([
      { manifest: 'city', portal: 'local', live: 2, notLive: 1, running: null, pause: null },
    ]);
    const one = JSON.parse((await status('city/one/good', { json: true })).out) as Record<string, unknown>;
    const item = { key: 'city/one/good', portal: 'local', state: 'live', live: true, rows: 2 };
    expect(one).toMatchObject({ items: [item], waiting: [] });
    expect([faultsIn('status', json), faultsIn('status', one)]).toEqual([[], []]);
  });

  it('finds by a part of a key, of a title or of a file name, and says which', async () => {
    expect((await status('/goo')).out).toContain('city/one/good');
    expect((await status('CITY GOOD')).out).toContain('city/one/good');
    expect((await status('city-goo')).out).toMatch(/^city\/one\/good .*: live$/m);
  });

  it('groups what is not live by its cause, lists some of each, and the totals last', async () => {
    const many = commandPlace();
    many.manifest('many', Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`t${at}`, 'id,\n1,2\n'])));
    await publishCommand(['many.yaml'], many.options, many.io().io);
    const shown = async (all: boolean) => {
      const { io, out } = many.io();
      await statusCommand(undefined, { ...many.options, all }, io);
      return out();
    };
    const some = await shown(false);
    expect(some).toMatch(/^8 items with table-header:\n {2}many\/one\/t0: not live\n/);
    expect(some.match(/^ {2}many\/one\/t\d: /gm)).toHaveLength(5);
    expect(some.match(/^ +-> /gm)).toHaveLength(1);
    expect(some).toContain('  … and 3 more; `sluice status --all` lists them\n');
    expect(some.trimEnd().split('\n').at(-1)).toBe('many@local: 8 not live');
    expect((await shown(true)).match(/^ {2}many\/one\/t\d: /gm)).toHaveLength(8);
  });

  it('knows nothing of other keys and files', async () => {
    await expect(status('city/two')).rejects.toBeInstanceOf(NotFoundError);
    const hint = expect.stringContaining('a file is known while `manifests:` of the configuration names its manifest');
    const message = 'no key, file or title matches "data/other.csv", and there is no such file';
    await expect(status('data/other.csv')).rejects.toMatchObject({ code: 'not-found', hint, message });
    place.write('data/unnamed.csv', 'id\n');
    const unnamed = expect.stringMatching(/, and no manifest names this file$/);
    await expect(status('data/unnamed.csv')).rejects.toMatchObject({ message: unnamed });
  });

  it('proposes the key that is meant, by its last part', async () => {
    for (const what of ['god', 'city/one/goood', 'inbox/god.csv', 'town/one/good'])
      await expect(status(what), what).rejects.toMatchObject({
        hint: expect.stringMatching(/^did you mean `city\/one\/good`\? /),
      });
    await expect(status('city/one/wood-and-forest')).rejects.toMatchObject({
      hint: expect.not.stringContaining('did you mean'),
    });
  });

  it('names the manifest of what no run has published, and before all else the one that is faulty', async () => {
    const place = commandPlace({ manifests: ['n*.yaml'] });
    const path = place.manifest('never', { a: 'id\n1\n' });
    const statusOf = async (what: string) => {
      const { io, out } = place.io();
      return { code: await statusCommand(what, place.options, io), out: out() };
    };
    for (const what of ['data/never-a.csv', 'never/one/a', 'never/one', 'never', 'never.yaml']) {
      const key = { 'data/never-a.csv': 'never/one/a', 'never.yaml': 'never' }[what] ?? what;
      const why = `not live: no run has published ${key} of ${path}\n-> \`sluice publish ${path}\` publishes it\n`;
      expect(await statusOf(what)).toEqual({ code: 3, out: `${what}: ${why}` });
    }
    place.write('never.yaml', 'name: never\ndatasets: []\ndatsets: []\n');
    await expect(statusOf('data/never-a.csv')).rejects.toMatchObject({
      hint: expect.stringMatching(/^\S+never\.yaml:3:1: datsets: unknown key.*: mend \S+never\.yaml; /),
    });
  });

  it('says of what is live which keys the manifests name beside it', async () => {
    const place = commandPlace({ manifests: ['*.yaml'] });
    const path = place.manifest('city', { a: 'id\n1\n' });
    expect(await publishCommand(['city.yaml'], place.options, place.io().io)).toBe(0);
    place.write('region.yaml', readFileSync(path, 'utf8').replace('"name":"city"', '"name":"region"'));
    place.manifest('city', { a: 'id\n1\n', b: 'id\n1\n', c: 'id\n1\n' });
    const statusOf = async (what: string) => {
      const { io, out } = place.io();
      return { code: await statusCommand(what, place.options, io), out: out() };
    };
    const unpublished = {
      'data/city-a.csv': /^region\/one\/a: not live: no run has published region\/one\/a of \S+region\.yaml\n/m,
      'city/one': /^city\/one\/b: not live: no run has published city\/one\/b and 1 more of \S+city\.yaml\n/m,
      'city.yaml': /^city\/one\/b: not live: no run has published city\/one\/b and 1 more of \S+city\.yaml\n/m,
    };
    for (const [what, told] of Object.entries(unpublished)) {
      const { code, out } = await statusOf(what);
      expect([code, out], what).toEqual([
        3,
        expect.stringContaining('city/one/a (resource "city a" on local): live\n'),
      ]);
      expect(out).toMatch(told);
    }
    expect((await statusOf('city/one/a')).code).toBe(0);
  });

  it('tells of a file that has changed since, and of what keeps its portal waiting', async () => {
    const place = commandPlace();
    const path = place.manifest('city', { a: 'id\n1\n' });
    expect(await publishCommand(['city.yaml'], place.options, place.io().io)).toBe(0);
    const statusOf = async (what: string) => {
      const { io, out } = place.io();
      return { code: await statusCommand(what, place.options, io), out: out() };
    };
    expect((await statusOf('data/city-a.csv')).code).toBe(0);
    place.write('data/city-a.csv', 'id\n2\n');
    await operate.pause.run('local', { ...place.options, reason: 'repairs' }, place.io().io);
    for (const what of ['data/city-a.csv', 'city/one/a']) {
      const { code, out } = await statusOf(what);
      expect([code, out]).toEqual([3, expect.stringContaining('(resource "city a" on local): live\n')]);
      expect(out).toContain(`city/one/a, a newer version: not live yet: the file has changed since it was last read
-> \`sluice publish ${path}\` publishes it
portal local has been paused since `);
      expect(out).toMatch(/paused by the operator: repairs\n {2}-> `sluice resume local` ends the pause/);
    }
  });

  it('says what becomes of a file in an inbox that no service watches', async () => {
    const place = commandPlace({ manifests: ['jobs/*.yaml'] });
    place.write('inbox/trees.csv', 'id\n1\n');
    place.write('inbox/notes.txt', 'read me\n');
    place.write('jobs/city.yaml', 'name: city-drop\ndrop: { folder: ../inbox, files: "*.csv" }\n');
    const statusOf = async (what: string) => {
      const { io, out } = place.io();
      return { code: await statusCommand(what, place.options, io), out: out() };
    };
    const unwatched = `not live yet: waits in the inbox of city-drop, which nobody watches
-> \`sluice start\` takes it, or \`sluice run-now city-drop\` now
`;
    expect(await statusOf('inbox/trees.csv')).toEqual({ code: 3, out: `inbox/trees.csv: ${unwatched}` });
    expect((await statusOf('inbox/notes.txt')).out).toContain('not live: ignored in the inbox: does not match');
    place.write('inbox/.~lock.trees.csv#', 'x');
    place.write('inbox/deep/er/a.csv', 'id\n1\n');
    expect((await statusOf('inbox/.~lock.trees.csv#')).out).toContain(
      'not live: ignored in the inbox: hidden files, locks',
    );
    expect((await statusOf('inbox/deep/er/a.csv')).out).toContain('is deeper than <dataset>/<resource>.csv');
    expect((await statusOf('jobs/city.yaml')).out).toContain('no run has published city-drop of ');
    for (const other of ['inbox/none.csv', 'inbox/deep/er/none.csv'])
      await expect(statusOf(other)).rejects.toMatchObject({ message: expect.stringContaining('matches') });
    // Taken by a run that was interrupted before it had planned anything.
    await spooled(join(place.dir, 'inbox'), 'bikes.csv', 'id\n1\n', Date.now());
    for (const what of ['inbox/bikes.csv', 'city-drop/bikes/bikes'])
      expect((await statusOf(what)).out).toContain(
        'not live yet: taken from the inbox\n-> `sluice runs` shows its run',
      );
    expect(await publishCommand(['jobs/city.yaml'], place.options, place.io().io)).toBe(0);
    place.write('inbox/trees.csv', 'id\n1\n2\n');
    for (const what of ['inbox/trees.csv', 'city-drop/trees/trees'])
      expect((await statusOf(what)).out).toContain(`a newer version: ${unwatched}`);
  });

  it('still answers when the manifest is gone', async () => {
    const [path, aside] = [join(place.dir, 'city.yaml'), join(place.dir, 'city.aside')];
    renameSync(path, aside);
    expect((await status('city/one/good')).code).toBe(0);
    await expect(status('data/other.csv')).rejects.toBeInstanceOf(NotFoundError);
    renameSync(aside, path);
  });

  it('says that nothing has been published yet', async () => {
    const fresh = commandPlace();
    const { io, out } = fresh.io();
    expect(await statusCommand(undefined, fresh.options, io)).toBe(0);
    expect(out()).toContain('nothing has been published yet');
  });
});

describe('status --watch', () => {
  it.each([true, false])('shows it until it is stopped, in place on a terminal (%s)', async (terminal) => {
    const shown = place.io({ terminal });
    const watching = statusCommand(undefined, { ...place.options, watch: true }, shown.io);
    const view = terminal ? shown.err : shown.out;
    await waitUntil('a view', () => view().includes('city@local: 2 live'));
    if (terminal) expect(shown.out()).toBe('');
    await waitUntil('the next view', () => !terminal || view().split('city@local: 2 live').length > 2);
    shown.stop();
    expect(await watching).toBe(0);
    expect(shown.out().split('city@local: 2 live')).toHaveLength(2);
  });

  it('prints JSON each time it differs', async () => {
    const shown = place.io();
    const watching = statusCommand(undefined, { ...place.options, watch: true, json: true }, shown.io);
    await waitUntil('a view', () => shown.out().endsWith('}\n'));
    shown.stop();
    expect(await watching).toBe(0);
    expect(JSON.parse(shown.out()).targets).toHaveLength(1);
  });
});

describe('sluice runs and report', () => {
  it('list the last runs, and print the report of one in each format', async () => {
    const { io, out } = place.io();
    expect(await runsCommand(place.options, io)).toBe(0);
    const [head = '', row = ''] = out().split('\n');
    expect(head).toMatch(/^run +target +started \(UTC\) +took +outcome$/);
    const line = /^(\d{8}-\d{6}-\w+) {2}city@local {2}20\d\d-\d\d-\d\d \d\d:\d\d +\d+\.\d s {2}with failures: (.*)$/;
    const [, runId = '', counts] = line.exec(row) ?? [];
    expect(counts).toBe('2 new, 1 quarantined');
    const report = async (format: 'text' | 'html' | 'csv' | 'md' | 'json') => {
      const shown = place.io();
      expect(await reportCommand(runId, { ...place.options, format }, shown.io)).toBe(0);
      return shown.out();
    };
    expect(await report('text')).toContain(`run ${runId}: city to local, 3 items (2 new, 1 quarantined)`);
    expect(await report('csv')).toMatch(/^key,kind,outcome,.*\ncity\/one,dataset,new,/);
    expect(await report('md')).toMatch(/^\| city\/one\/bad \| quarantined \| {2}\| table-header: line 1, column 2: /m);
    expect(await report('html')).toContain('<td>city/one/bad</td><td>quarantined</td>');
    const json = JSON.parse(await report('json'));
    expect(json).toMatchObject({ runId, items: [{ key: 'city/one' }, {}, {}] });
    expect(faultsIn('report', json)).toEqual([]);
    await expect(reportCommand('20261121-031500-none0', place.options, place.io().io)).rejects.toThrow(NotFoundError);
  });
});
