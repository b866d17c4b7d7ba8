// `docs/how-to/recover.md` and `plan-and-review.md`: every command of the pages is run, in the trouble that its section is about.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksOf, root } from '../support/pages.ts';
import { openReader, type Reader } from './support/reader.ts';
import { makeRedisPlace, type RedisPlace } from './support/redis-place.ts';
import { editor, publisher, startPortalProcess } from './support/server.ts';

let place: RedisPlace;
let person: Reader;
beforeAll(async () => {
  const portal = await startPortalProcess();
  person = await openReader(portal.url, editor.username, publisher.password);
  place = makeRedisPlace(portal.url);
  mkdirSync(join(place.dir, 'bin'));
  const sluice = join(place.dir, 'bin', 'sluice');
  writeFileSync(sluice, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'src/cli.ts')}' "$@"\n`);
  chmodSync(sluice, 0o755);
});

/** The blocks of a page that are commands, each to be run once. */
const commandsOf = (path: string) => {
  const left = blocksOf(path).filter(({ language }) => language === 'sh');
  return {
    left,
    /** Runs the next block, which must hold `part`. */
    next: async (part: string, values: Record<string, string> = {}): Promise<{ code: number | null; out: string }> => {
      const block = left.shift();
      if (!block?.text.includes(part))
        throw new Error(`${block?.place ?? path}: the next commands do not hold ${part}`);
      const text = Object.entries(values).reduce((all, [name, value]) => all.replaceAll(name, value), block.text);
      const env = {
        PATH: `${join(place.dir, 'bin')}${delimiter}${process.env.PATH ?? ''}`,
        HOME: place.dir,
      };
      const child = spawn('bash', ['-c', text], { cwd: place.dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
      let out = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (words: string) => {
          out += words;
        });
      }
      const [code] = await once(child, 'close');
      return { code, out };
    },
  };
};

const write = (ids: string[], more: Record<string, unknown> = {}): void => {
  const datasets = ids.map((id) => {
    const file = place.write(`data/${id}.csv`, `id,value\n1,${id}\n`);
    return { id, title: `City ${id}`, resources: [{ id: 'table', title: `Table ${id}`, file }] };
  });
  place.write(
    'jobs/city.yaml',
    JSON.stringify({ name: 'city', portal: 'local', onMissing: 'unpublish', ...more, datasets }),
  );
};
const ids = ['parks', 'roads', 'water', 'trees', 'bikes', 'pools', 'halls', 'trams'];
const nidOf = async (title: string): Promise<string> => {
  const row = (await person.list()).find((each) => each.title === title);
  if (!row) throw new Error(`no node "${title}"`);
  return row.nid;
};
const heldRun = (out: string): string => /release (\S+?)`/.exec(out)?.[1] ?? '';

describe('docs/how-to/recover.md', () => {
  const { left, next } = commandsOf('docs/how-to/recover.md');
  afterAll(() => {
    expect(
      left.map(({ place: at }) => at),
      'commands that no test runs',
    ).toEqual([]);
  });

  it('after a crash', async () => {
    write(ids);
    const begun = place.spawn(['publish', 'jobs/city.yaml', '--state', '.sluice']);
    await place.store.ping();
    await begun.end('SIGKILL');
    expect(await next('sluice status')).toMatchObject({ code: 0, out: expect.stringContaining('16 live') });
  });

  it('items failed', async () => {
    place.write('data/roads.csv', 'id,value\n1\n');
    expect((await place.run(['publish', 'jobs/city.yaml'])).code).toBe(3);
    place.write('data/roads.csv', 'id,value\n1,fixed\n');
    expect(await next('sluice retry')).toMatchObject({ code: 0, out: expect.stringContaining('updated') });
  });

  it('Redis was lost', async () => {
    await place.store.flushdb();
    const { code, out } = await next('sluice rebuild');
    expect(code, out).toBe(0);
    expect(out).toContain('16 items: 16 restored and verified');
    expect(out).toContain('16 unchanged');
  });

  it('the portal was changed', async () => {
    await person.change(await nidOf('City parks'), { title: 'By a person' });
    await person.remove(await nidOf('Table roads'));
    expect(await next('sluice verify')).toMatchObject({
      code: 3,
      out: expect.stringContaining('16 items checked, 2 faults'),
    });
    expect((await next('sluice plan')).out).toMatch(/edited on the portal by user \d+ at .*: title/);
    const held = await next('--refresh');
    expect(held).toMatchObject({ code: 4, out: expect.stringContaining('drift') });
    expect(await nidOf('Table roads')).not.toBe('');
    expect(await nidOf('By a person')).not.toBe('');
    expect((await next('--on-drift overwrite')).code).toBe(0);
    expect(await nidOf('City parks')).not.toBe('');
  });

  it('the portal was reset', async () => {
    expect((await next('--create-missing')).code).toBe(0);
  });

  it('stop a run, or a portal', async () => {
    write(ids.slice(0, 4));
    const held = await place.run(['publish', 'jobs/city.yaml']);
    const { code, out } = await next('sluice cancel', { '20261121-031500-k3x9a': heldRun(held.out) });
    expect(code, out).toBe(0);
    expect(await next('sluice pause', { city: 'local' })).toMatchObject({
      code: 0,
      out: expect.stringContaining('maintenance until 16:00'),
    });
    write(ids);
    expect((await place.run(['publish', 'jobs/city.yaml'])).code).toBe(0);
  });

  it('a run is held', async () => {
    const publish = () => place.run(['publish', 'jobs/city.yaml']);
    write(ids.slice(0, 4));
    expect((await publish()).code).toBe(4);
    const status = await next('sluice status');
    expect(status.out).toContain('HELD');
    expect(await next('sluice release', { RUN: heldRun(status.out) })).toMatchObject({
      code: 0,
      out: expect.stringContaining('8 removed'),
    });
    write([], { guard: { min: 0 } });
    const again = await publish();
    expect((await next('sluice discard', { RUN: heldRun(again.out) })).code).toBe(0);
    write(ids);
    expect((await publish()).code).toBe(0);
    expect((await person.list()).filter(({ status: shown }) => shown === '0')).toEqual([]);
  });

  it('remove something', async () => {
    expect((await next('sluice remove')).code).toBe(0);
    const hidden = (await person.list()).filter(({ status }) => status === '0').map(({ title }) => title);
    expect(hidden.sort()).toEqual(['City roads', 'Table roads']);
  });

  it('the portal is already full', async () => {
    const twins = [];
    for (let count = 0; count < 2; count++) twins.push(await person.create({ type: 'dataset', title: 'City twin' }));
    const clear = await person.create({ type: 'dataset', title: 'City clear' });
    write([...ids, 'twin', 'clear']);
    const first = await next('sluice adopt');
    expect(first.code).toBe(3);
    expect(first.out).toContain(`city/clear: node ${clear} by title`);
    const [mapping] = blocksOf('docs/how-to/recover.md').filter(({ language }) => language === 'csv');
    place.write('known.csv', (mapping?.text ?? '').replace('17', twins[1] ?? ''));
    const before = (await person.list()).filter(({ type }) => type === 'dataset').length;
    expect(await next('--mapping known.csv')).toMatchObject({ code: 0 });
    expect((await person.list()).filter(({ type }) => type === 'dataset')).toHaveLength(before);
    const linked = await place.run(['status', 'city/twin', '--json']);
    expect(JSON.parse(linked.out).items).toMatchObject([{ nid: twins[1], live: true }, { live: true }]);
  });
});

describe('docs/how-to/plan-and-review.md', () => {
  const page = 'docs/how-to/plan-and-review.md';
  const { left, next } = commandsOf(page);
  afterAll(() => {
    expect(
      left.map(({ place: at }) => at),
      'commands that no test runs',
    ).toEqual([]);
  });

  it('plans, shows what it says it shows, and applies', async () => {
    const written = (title: string, table: string): void => {
      place.write('data/table.csv', table);
      const resources = [{ id: 'table', title: 'Table of roads', file: '../data/table.csv' }];
      const water = { id: 'water', title: 'Water' };
      const datasets = [{ id: 'parks', title }, { id: 'roads', title: 'Roads', resources }, water];
      place.write('jobs/city.yaml', JSON.stringify({ name: 'city', portal: 'local', datasets }));
    };
    await place.store.flushdb();
    written('Parks', 'id,value\n1,a\n');
    expect((await place.run(['publish', 'jobs/city.yaml'])).code).toBe(0);
    written('Parks and gardens', 'id,value\n1,a\n2,more\n');
    const shown = blocksOf(page).find(({ language }) => language === 'text')?.text;
    expect((await next('sluice plan')).out).toBe(shown);
    expect((await next('--refresh')).out).toContain('compared with the portal');
    expect(await next('sluice apply')).toMatchObject({ code: 0, out: expect.stringContaining('2 updated') });
    expect(await next('--strict')).toMatchObject({ code: 0 });
    expect(await nidOf('Parks and gardens')).not.toBe('');
  });
});
