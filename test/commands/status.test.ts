import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { publishCommand } from '../../src/commands/publish.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { NotFoundError } from '../../src/model/errors.ts';
import { type CommandPlace, commandPlace } from '../support/command-place.ts';

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
    const { code, out } = await status('city/one');
    expect(code).toBe(3);
    expect(out).toContain('city/one/good');
    expect(out).toContain('city/one/bad');
  });

  it('gives an overview, also as JSON', async () => {
    const { code, out } = await status();
    expect(code).toBe(3);
    expect(out).toContain('city@local: 2 live, 0 stale, 1 not live');
    expect(out).toContain('last runs:');
    const json = JSON.parse((await status(undefined, { json: true })).out) as Record<string, unknown>;
    expect(Object.keys(json)).toEqual(['targets', 'held', 'overdue', 'runs', 'inboxes', 'keys']);
    expect(json.targets).toMatchObject([{ target: 'city@local', live: 2, notLive: 1, running: null, pause: null }]);
    const one = JSON.parse((await status('city/one/good', { json: true })).out) as Record<string, unknown>;
    expect(one).toMatchObject({ key: 'city/one/good', portal: 'local', live: true, rows: 2 });
  });

  it('knows nothing of other keys and files', async () => {
    await expect(status('city/two')).rejects.toBeInstanceOf(NotFoundError);
    await expect(status('data/other.csv')).rejects.toBeInstanceOf(NotFoundError);
  });

  it('still answers when the manifest is gone', async () => {
    const [path, aside] = [join(place.dir, 'city.yaml'), join(place.dir, 'city.aside')];
    renameSync(path, aside);
    expect((await status('city/one/good')).code).toBe(0);
    await expect(status('data/other.csv')).rejects.toBeInstanceOf(NotFoundError);
    renameSync(aside, path);
  });

  it('says that nothing was published yet', async () => {
    const fresh = commandPlace();
    const { io, out } = fresh.io();
    expect(await statusCommand(undefined, fresh.options, io)).toBe(0);
    expect(out()).toContain('nothing was published yet');
  });
});
