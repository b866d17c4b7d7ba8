// A table that is beyond the limits of its guard is held: its old rows stay, until somebody releases it or a better one comes.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReportItem } from '../../src/model/report.ts';
import { ledgerIn } from '../../src/state/ledger.ts';
import { cases, isWhole } from '../support/extent.ts';
import { fileAnswer, startSources } from '../support/source-server.ts';
import type { Gateway } from './support/gateway.ts';
import { tableItem } from './support/items.ts';
import { killsIn } from './support/kills-in.ts';
import { withReport } from './support/place.ts';
import { openPortalPlace } from './support/portal-place.ts';
import type { Reader } from './support/reader.ts';
import type { RedisPlace } from './support/redis-place.ts';

let gateway: Gateway;
let reader: Reader;
let place: RedisPlace;
beforeAll(async () => {
  ({ gateway, reader, place } = await openPortalPlace({
    jobs: { lock: '2s', stalledCheck: '250ms' },
    sources: { allow: ['127.0.0.1'], requestsPerSecond: 0 },
    inbox: { settle: '100ms' },
  }));
});

const write = (name: string, content: string, more: Record<string, unknown> = {}): string => {
  place.write(`data/${name}.csv`, content);
  const table = { id: 't', title: `${name} table`, file: `data/${name}.csv`, ...more };
  return place.manifest({
    name,
    guard: { rows: '20%', columns: 'grow' },
    datasets: [{ id: 'one', title: `${name} dataset`, resources: [table] }],
  });
};
const table = (rows: number, word: string): string =>
  `id,word,more\n${Array.from({ length: rows }, (_, row) => `${row},${word},x${row}\n`).join('')}`;
const held = { live: false, stale: true, outcome: 'held', reason: { code: 'held' } } as Partial<ReportItem>;
const attaches = (): string[] => gateway.takeWrites().filter((write) => write.endsWith('/attach_file'));

/** Publishes 100 rows, then 4 of them, which the guard holds. */
const holdOne = async (name: string): Promise<{ manifest: string; key: string; uuid: string; nid: string }> => {
  const manifest = write(name, table(100, 'old'));
  const { uuid, nid } = tableItem((await place.publish(manifest)).report);
  gateway.takeWrites();
  write(name, table(4, 'ruined'));
  const ruined = await place.publish(manifest);
  expect(ruined.code).toBe(4);
  expect(tableItem(ruined.report)).toMatchObject(held);
  expect(gateway.takeWrites()).toEqual([]);
  return { manifest, key: `${name}/one/t`, uuid, nid: nid ?? '' };
};

describe('a ruined version', () => {
  it('is held: the old rows stay, and report, status and history tell why', async () => {
    const { manifest, key, uuid, nid } = await holdOne('ruined');
    expect(await reader.count(uuid)).toBe(100);
    expect(await reader.records(uuid)).toMatchObject([{ word: 'old' }, ...Array(99).fill({})]);
    expect((await reader.file(nid))?.content).toBe(table(100, 'old'));
    const status = await place.run(['status']);
    expect(status.code).toBe(4);
    expect(status.out).toContain(`${key}: HELD by its guard: the portal still serves the previous version`);
    expect(status.out).toContain('4 rows, 96% fewer than the previous 100 (`rows: 20%`)');
    expect(status.out).toContain(`\`sluice release ${key}\` or \`sluice discard ${key}\``);
    const again = await place.publish(manifest);
    expect(again.code).toBe(4);
    expect(tableItem(again.report)).toMatchObject({ ...held, rows: 100, actions: [] });
    expect(gateway.takeWrites()).toEqual([]);
    const history = await place.run(['history', key, '--json']);
    expect(JSON.parse(history.out)).toMatchObject({
      tables: [{ key, versions: [{ rows: 100, columns: [{ name: 'id', kind: 'number' }, {}, {}] }] }],
    });
  });

  it('is published once it is released, and sets the mark', async () => {
    const { manifest, key, uuid } = await holdOne('released');
    const released = await place.run(['release', key]);
    expect(released).toMatchObject({ code: 0 });
    expect(await reader.count(uuid)).toBe(4);
    expect((await place.run(['status', key])).code).toBe(0);
    expect((await place.publish(manifest)).code).toBe(0);
    const history = await place.run(['history', key]);
    expect(history.out).toMatch(/2 versions\n.* 4 rows .*\n.* 100 rows /);
    write('released', table(5, 'more'));
    expect((await place.publish(manifest)).code).toBe(0);
  });

  it('is forgotten once it is discarded; only another one is judged again', async () => {
    const { manifest, key, uuid } = await holdOne('discarded');
    expect((await place.run(['discard', key])).code).toBe(0);
    expect((await place.run(['status', key])).code).toBe(0);
    const again = await place.publish(manifest);
    expect(again.code).toBe(0);
    expect(tableItem(again.report)).toMatchObject({ live: true, stale: false, rows: 100, outcome: 'unchanged' });
    expect(tableItem(again.report).warnings).toMatchObject([expect.stringContaining('was discarded')]);
    expect(gateway.takeWrites()).toEqual([]);
    write('discarded', table(4, 'ruined'), { description: 'Another one' });
    const described = await place.publish(manifest);
    expect(described.code).toBe(0);
    expect(tableItem(described.report)).toMatchObject({ live: true, actions: ['updated'], rows: 100 });
    write('discarded', table(3, 'ruined'));
    expect((await place.publish(manifest)).code).toBe(4);
    write('discarded', table(101, 'sound'));
    const sound = await place.publish(manifest);
    expect(sound.code).toBe(0);
    expect(tableItem(sound.report)).toMatchObject({ live: true, rows: 101, warnings: [] });
    expect(await reader.count(uuid)).toBe(101);
  });

  it('gives way to the old bytes, when they come back, without a write', async () => {
    const { manifest } = await holdOne('restored');
    write('restored', table(100, 'old'));
    const back = await place.publish(manifest);
    expect(back.code).toBe(0);
    expect(tableItem(back.report)).toMatchObject({ live: true, reason: null, rows: 100 });
    expect(attaches()).toEqual([]);
  });

  it('is forgotten with its history once it is taken down', async () => {
    const { key } = await holdOne('removed');
    expect((await place.run(['remove', key])).code).toBe(0);
    expect((await place.run(['status', key])).code).toBe(0);
    expect((await place.run(['history', key])).code).toBe(2);
    expect((await place.run(['release', key])).code).toBe(2);
  });

  it('stays held after verify, rebuild and retry', async () => {
    const { manifest, key, uuid } = await holdOne('verified');
    for (const command of [
      ['verify', manifest],
      ['rebuild', manifest],
      ['retry', key],
    ]) {
      await place.run(command);
      expect(tableItem((await place.publish(manifest)).report), command[0]).toMatchObject({ ...held, rows: 100 });
    }
    expect(attaches()).toEqual([]);
    expect(await reader.count(uuid)).toBe(100);
  });

  it('is judged again when its limits change', async () => {
    const { manifest, uuid } = await holdOne('loosened');
    write('loosened', table(4, 'ruined'), { guard: { rows: '100%' } });
    expect((await place.publish(manifest)).code).toBe(0);
    expect(await reader.count(uuid)).toBe(4);
  });

  it('does not keep a change of its description back', async () => {
    const { manifest, nid } = await holdOne('described');
    write('described', table(4, 'ruined'), { title: 'Another title' });
    const updated = await place.publish(manifest);
    expect(updated.code).toBe(4);
    expect(tableItem(updated.report)).toMatchObject({ ...held, actions: ['updated'] });
    expect((await reader.read(nid)).title).toBe('Another title');
    expect(attaches()).toEqual([]);
  });

  it('leaves the good file on a node that has to be recreated', async () => {
    const { manifest, nid, uuid } = await holdOne('remade');
    await reader.remove(nid);
    const remade = withReport(await place.run(['publish', manifest, '--refresh', '--json']));
    expect(tableItem(remade.report)).toMatchObject({ ...held, rows: 100 });
    expect(await reader.count(uuid)).toBe(100);
  });
});

describe('columns', () => {
  const worse: [what: string, header: string, row: (row: number) => string, why: string][] = [
    ['lost', 'id,more\n', (row: number) => `${row},x\n`, 'column `word` lost'],
    ['renamed', 'id,words,more\n', (row: number) => `${row},old,x\n`, 'renamed: `word` to `words`'],
    ['changed', 'id,word,more\n', (row: number) => `n${row},old,x\n`, '`id` from number to text'],
  ];

  it.each(cases(worse, worse.slice(0, 1)))('that are %s hold the table', async (what, header, row, why) => {
    const name = `columns-${what}`;
    const manifest = write(name, table(100, 'old'));
    const { uuid } = tableItem((await place.publish(manifest)).report);
    write(name, `${header}${Array.from({ length: 100 }, (_, index) => row(index)).join('')}`);
    const ruined = await place.publish(manifest);
    expect(tableItem(ruined.report)).toMatchObject(held);
    expect(tableItem(ruined.report).reason?.message).toContain(why);
    expect(await reader.count(uuid)).toBe(100);
  });

  it('that are new do not, where the table may grow', async () => {
    const manifest = write('columns-new', table(100, 'old'));
    await place.publish(manifest);
    write('columns-new', table(100, 'old,new').replace('more', 'more,newest'));
    expect((await place.publish(manifest)).code).toBe(0);
  });
});

describe('a table that nothing new comes for', () => {
  const outdate = async (key: string): Promise<void> => {
    const ledger = ledgerIn(place.store, place.keys);
    const entry = await ledger.entry('local', key);
    if (!entry?.version) throw new Error(`${key} has no version`);
    await ledger.put('local', { ...entry, version: { ...entry.version, at: entry.version.at - 31 * 24 * 3_600_000 } });
  };

  it('is reported once it is too old, until somebody says that it is right', async () => {
    const manifest = write('late', table(9, 'old'), { guard: { same: '30d' } });
    expect((await place.publish(manifest)).code).toBe(0);
    await outdate('late/one/t');
    gateway.takeWrites();
    for (const attempt of ['first', 'second']) {
      const late = await place.publish(manifest);
      expect(late.code, attempt).toBe(4);
      expect(tableItem(late.report)).toMatchObject({ ...held, rows: 9, actions: [] });
      expect(tableItem(late.report).reason?.message).toMatch(/^nothing new since \d{4}-\d\d-\d\d \(`same: 30d`\)$/);
    }
    expect((await place.run(['status'])).code).toBe(4);
    expect(gateway.takeWrites()).toEqual([]);
    write('late', table(9, 'old'), { guard: { same: '30d' }, description: 'Described' });
    const described = await place.publish(manifest);
    expect(tableItem(described.report)).toMatchObject({ ...held, actions: ['updated'] });
    expect((await place.run(['release', 'late/one/t'])).code).toBe(0);
    const again = await place.publish(manifest);
    expect(again.code).toBe(0);
    expect(tableItem(again.report)).toMatchObject({ live: true, outcome: 'unchanged' });
  });

  it('is live again with its next version', async () => {
    const manifest = write('later', table(9, 'old'), { guard: { same: '30d' } });
    await place.publish(manifest);
    await outdate('later/one/t');
    expect((await place.publish(manifest)).code).toBe(4);
    write('later', table(10, 'new'), { guard: { same: '30d' } });
    const next = await place.publish(manifest);
    expect(next.code).toBe(0);
    expect(tableItem(next.report)).toMatchObject({ live: true, rows: 10, reason: null });
  });

  it('is reported of a watched folder by every run of its manifest', async () => {
    const manifest = place.manifest({
      name: 'late-drops',
      guard: { same: '30d' },
      drop: { folder: 'late-inbox', files: '**/*.csv' },
    });
    place.write('late-inbox/a.csv', table(9, 'old'));
    expect((await place.publish(manifest)).code).toBe(0);
    expect((await place.publish(manifest)).code).toBe(0);
    await outdate('late-drops/a/a');
    const late = await place.publish(manifest);
    expect(late.code).toBe(4);
    expect(late.report.items).toMatchObject([{ key: 'late-drops/a/a', ...held }]);
    expect((await place.run(['release', 'late-drops/a/a'])).code).toBe(0);
    expect((await place.publish(manifest)).code).toBe(0);
  });
});

describe('a dropped file that is held', () => {
  const files = (folder: string): string[] => {
    const path = join(place.dir, 'inbox', folder);
    return existsSync(path)
      ? readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((entry) =>
          entry.isFile() && /\.(?:csv|yaml)$/.test(entry.name) ? [entry.name] : [],
        )
      : [];
  };
  const drop = async (name: string, content: string) => {
    const manifest = place.manifest({
      name: 'drops',
      guard: { rows: '20%' },
      drop: { folder: 'inbox', files: '**/*.csv' },
    });
    place.write(`inbox/${name}.csv`, content);
    return place.publish(manifest);
  };

  it('waits in the spool until it is released', async () => {
    const { uuid } = tableItem((await drop('a', table(100, 'old'))).report);
    expect((await drop('a', table(4, 'ruined'))).code).toBe(4);
    const next = await drop('b', table(3, 'other'));
    expect(next.code).toBe(4);
    expect(files('.sluice/spool')).toEqual(['a.csv']);
    expect(await reader.count(uuid)).toBe(100);
    const status = await place.run(['status', 'inbox/a.csv']);
    expect(status).toMatchObject({ code: 4, out: expect.stringContaining('`sluice release drops/a/a`') });
    expect((await place.run(['release', 'drops/a/a'])).code).toBe(0);
    expect(await reader.count(uuid)).toBe(4);
    expect(files('.sluice/spool')).toEqual([]);
    expect(files('_faulty')).toEqual([]);
  });

  it('is quarantined once it is discarded, also when it is dropped again', async () => {
    const { uuid } = tableItem((await drop('c', table(100, 'old'))).report);
    await drop('c', table(4, 'ruined'));
    expect((await place.run(['discard', 'drops/c/c'])).code).toBe(0);
    expect(files('.sluice/spool')).toEqual([]);
    const kept = files('_faulty').filter((name) => name.startsWith('c-'));
    expect(kept).toHaveLength(2);
    const reason = readFileSync(
      join(place.dir, 'inbox/_faulty/c', kept.find((name) => name.endsWith('.yaml')) ?? ''),
      'utf8',
    );
    expect(reason).toContain('code: discarded');
    expect((await drop('c', table(4, 'ruined'))).code).toBe(0);
    expect(files('.sluice/spool')).toEqual([]);
    expect(await reader.count(uuid)).toBe(100);
  });

  it('gives way to the next one of its name', async () => {
    const { uuid } = tableItem((await drop('d', table(100, 'old'))).report);
    await drop('d', table(4, 'ruined'));
    expect((await drop('d', table(101, 'sound'))).code).toBe(0);
    expect(await reader.count(uuid)).toBe(101);
    expect(files('.sluice/spool')).toEqual([]);
  });

  it('obeys the guard beside it over that of the manifest', async () => {
    await drop('e', table(100, 'old'));
    place.write('inbox/e.yaml', 'guard: { rows: 100% }\n');
    expect((await drop('e', table(4, 'meant'))).code).toBe(0);
  });
});

it('a table from the web is held by the bytes that its address gives, which are fetched once', async () => {
  const source = await startSources();
  source.on('/t.csv', fileAnswer(table(100, 'old'), { etag: '"1"' }));
  const resource = { id: 't', title: 'Web table', url: `${source.url}/t.csv` };
  const manifest = place.manifest({
    name: 'web',
    guard: { rows: '20%' },
    datasets: [{ id: 'one', title: 'Web', resources: [resource] }],
  });
  const { uuid } = tableItem((await place.publish(manifest)).report);
  source.on('/t.csv', fileAnswer(table(4, 'ruined'), { etag: '"2"' }));
  expect((await place.publish(manifest)).code).toBe(4);
  const asked = source.asked.length;
  expect((await place.publish(manifest)).code).toBe(4);
  expect(source.asked.slice(asked).map(({ headers }) => headers['if-none-match'])).toEqual(['"2"']);
  expect(await reader.count(uuid)).toBe(100);
  expect((await place.run(['release', 'web/one/t'])).code).toBe(0);
  expect(await reader.count(uuid)).toBe(4);
});

it.runIf(isWhole).each(['check/end', 'guard/end', 'record/end'])(
  'a kill at %s ends with the table held all the same',
  async (step) => {
    const name = `killed-${step.replace('/', '-')}`;
    const manifest = write(name, table(100, 'old'));
    const { uuid } = tableItem((await place.publish(manifest)).report);
    gateway.takeWrites();
    write(name, table(4, 'ruined'));
    const kills = join(place.dir, name);
    mkdirSync(kills);
    writeFileSync(join(kills, 'one'), `resource/${step}`);
    expect(await place.spawn(['publish', manifest], killsIn(kills)).ended).toBe('SIGKILL');
    const resumed = await place.publish(manifest);
    expect(resumed.code).toBe(4);
    expect(tableItem(resumed.report)).toMatchObject({ ...held, rows: 100 });
    expect(attaches()).toEqual([]);
    expect(await reader.count(uuid)).toBe(100);
  },
);
