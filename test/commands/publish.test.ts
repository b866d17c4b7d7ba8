import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { publishCommand } from '../../src/commands/publish.ts';
import { InterruptedError, ManifestError, RedisMissingError, UsageError } from '../../src/model/errors.ts';
import { reportSchema } from '../../src/model/report.ts';
import { commandPlace } from '../support/command-place.ts';
import { waitUntil } from '../support/wait-until.ts';

const sound = 'id\n1\n2\n';

describe('sluice publish', () => {
  it('prints one report object for one manifest, a list for several, and nothing else', async () => {
    const place = commandPlace();
    place.manifest('first', { a: sound });
    place.manifest('second', { b: sound });
    const one = place.io();
    expect(await publishCommand(['first.yaml'], { ...place.options, json: true }, one.io)).toBe(0);
    const report = reportSchema.parse(JSON.parse(one.out()));
    expect(report.items.map(({ key, live, rows }) => ({ key, live, rows }))).toEqual([
      { key: 'first/one', live: true, rows: null },
      { key: 'first/one/a', live: true, rows: 2 },
    ]);
    // The password of an account that was made just now is for people, so it goes to standard error.
    expect(one.err()).toMatch(
      /^(?:sluice: starting Redis\n)?portal local: the password of its user admin is \S+ \(shown this once\)\n$/,
    );
    const two = place.io();
    expect(await publishCommand(['first.yaml', 'second.yaml'], { ...place.options, json: true }, two.io)).toBe(0);
    const reports = reportSchema.array().parse(JSON.parse(two.out()));
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
    expect(err()).toMatch(/shown@local: (waiting to begin|planning|\d+\/\d+ items)/);
    expect(err().split('portal local: the password')[0]?.endsWith('\r\x1b[J')).toBe(true);
  });

  it('refuses, before anything is started, two manifests of one name, an unknown portal and a faulty manifest', async () => {
    const place = commandPlace();
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

  it('takes what stands in the inbox of a drop manifest, once it has settled', async () => {
    const place = commandPlace();
    place.write('inbox/a.csv', sound);
    place.write('inbox/bad.csv', 'a,b\n1\n');
    place.write(
      'drop.yaml',
      JSON.stringify({ name: 'drop', portal: 'local', drop: { folder: 'inbox', files: '*.csv' } }),
    );
    const first = place.io();
    expect(await publishCommand(['drop.yaml'], { ...place.options, json: true }, first.io)).toBe(3);
    const items = reportSchema.parse(JSON.parse(first.out())).items;
    expect(items.map(({ key, outcome }) => `${key} ${outcome}`)).toEqual([
      'drop/a done',
      'drop/a/a done',
      'drop/bad done',
      'drop/bad/bad quarantined',
    ]);
    expect(readdirSync(join(place.dir, 'inbox')).filter((name) => name.endsWith('.csv'))).toEqual([]);
    const second = place.io();
    expect(await publishCommand(['drop.yaml'], { ...place.options, json: true }, second.io)).toBe(0);
    expect(reportSchema.parse(JSON.parse(second.out())).items).toEqual([]);
  });

  it('says that a run waits for the one before it', async () => {
    const place = commandPlace();
    place.manifest('twice', Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`t${index}`, sound])));
    const [first, second] = [place.io({ terminal: true }), place.io({ terminal: true })];
    const publishing = publishCommand(['twice.yaml'], place.options, first.io);
    await waitUntil('the first items', () => /twice@local: [1-9]\d*\/201/.test(first.err()));
    const joining = publishCommand(['twice.yaml'], place.options, second.io);
    await waitUntil('the wait', () => second.err().includes('twice@local: waiting to begin | twice/one/'));
    expect(await Promise.all([publishing, joining])).toEqual([0, 0]);
  });

  it('stopped in mid-run says so, and the next publish goes on', async () => {
    const place = commandPlace();
    const tables = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`t${index}`, sound]));
    place.manifest('stopped', tables);
    const first = place.io({ terminal: true });
    const ended = publishCommand(['stopped.yaml'], place.options, first.io).catch((error: unknown) => error);
    await waitUntil('the first items', () => /stopped@local: [1-9]\d*\/201/.test(first.err()));
    first.stop();
    expect(await ended).toBeInstanceOf(InterruptedError);
    const second = place.io();
    expect(await publishCommand(['stopped.yaml'], { ...place.options, json: true }, second.io)).toBe(0);
    expect(reportSchema.parse(JSON.parse(second.out())).items.every(({ live }) => live)).toBe(true);
  });
});
