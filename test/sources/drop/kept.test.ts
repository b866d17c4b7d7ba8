// The store of last good files: one for each resource, within its bounds, whole or not at all.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fingerprintFile } from '../../../src/sources/drop/fingerprint.ts';
import { type KeptFor, type KeptSettings, keptFiles } from '../../../src/sources/drop/kept.ts';
import { tempDir } from '../../support/temp-dir.ts';

const open = (limits: Partial<KeptSettings> = {}) => {
  const dir = tempDir();
  const settings = { dir: join(dir, 'kept'), totalBytes: 1000, fileBytes: 500, ...limits };
  const kept = keptFiles(settings);
  const keep = async (
    owner: KeptFor,
    content: string,
    former: string | null = null,
  ): Promise<{ path: string; sha256: string; done: boolean }> => {
    const path = join(dir, `${owner.uuid}.csv`);
    writeFileSync(path, content);
    const facts = await fingerprintFile(path, null);
    const { sha256 } = facts;
    return { path, sha256, done: await kept.keep(owner, { path, sha256, facts }, former) };
  };
  return { kept, keep, settings };
};
const one: KeptFor = { portal: 'city', uuid: 'one' };
const two: KeptFor = { portal: 'city', uuid: 'two' };
const three: KeptFor = { portal: 'city', uuid: 'three' };

describe('kept files', () => {
  it('keeps what a file held, whatever is written into it afterwards', async () => {
    const { kept, keep, settings } = open();
    const { path, sha256, done } = await keep(one, 'old');
    writeFileSync(path, 'new');
    expect(done).toBe(true);
    const found = await kept.find(one, sha256);
    expect(found).toBe(join(settings.dir, 'city', `one.${sha256}`));
    expect(readFileSync(found ?? '', 'utf8')).toBe('old');
  });

  it('are closed to others, in a new folder and in one that was open', async () => {
    const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    const { keep, settings } = open();
    await keep(one, 'content');
    expect([modeOf(settings.dir), modeOf(join(settings.dir, 'city'))]).toEqual(['700', '700']);
    const dir = join(tempDir(), 'kept');
    mkdirSync(dir);
    chmodSync(dir, 0o755);
    keptFiles({ ...settings, dir });
    expect(modeOf(dir)).toBe('700');
  });

  it('keeps one file for each resource: the last', async () => {
    const { kept, keep, settings } = open();
    const first = await keep(one, 'first');
    const other = await keep(two, 'other');
    const second = await keep(one, 'second', first.sha256);
    expect(await kept.find(one, first.sha256)).toBeNull();
    expect(await kept.find(one, second.sha256)).not.toBeNull();
    expect(await kept.find(two, other.sha256)).not.toBeNull();
    expect(readdirSync(join(settings.dir, 'city'))).toHaveLength(2);
  });

  it('lets the longest kept go when all together are too large', async () => {
    const { kept, keep } = open({ totalBytes: 250 });
    const files = [
      await keep(one, '1'.repeat(100)),
      await keep(two, '2'.repeat(100)),
      await keep(three, '3'.repeat(100)),
    ];
    expect(files.map(({ done }) => done)).toEqual([true, true, true]);
    expect(await kept.find(one, files[0]?.sha256 ?? '')).toBeNull();
    expect(await kept.find(two, files[1]?.sha256 ?? '')).not.toBeNull();
    expect(await kept.find(three, files[2]?.sha256 ?? '')).not.toBeNull();
  });

  it('is not read again for each file once it is full', async () => {
    const { keep, settings } = open({ totalBytes: 250 });
    await keep(one, '0'.repeat(100));
    const foreign = join(settings.dir, 'city', 'foreign');
    writeFileSync(foreign, 'f'.repeat(200)); // a scan would find it, and leave room for one
    for (let at = 0; at < 10; at++) await keep({ portal: 'city', uuid: `${at}` }, `${at}`.repeat(100));
    expect(readdirSync(join(settings.dir, 'city'))).toHaveLength(3);
  });

  it('writes over what a kill left of the same copy', async () => {
    const { keep, settings } = open();
    const first = await keep(one, 'first');
    const path = join(settings.dir, 'city', readdirSync(join(settings.dir, 'city'))[0] ?? '');
    renameSync(path, `${path}.part`);
    expect(await keep(one, 'first')).toMatchObject({ done: true, sha256: first.sha256 });
    expect(readdirSync(join(settings.dir, 'city'))).toEqual([`${one.uuid}.${first.sha256}`]);
  });

  it('counts what earlier processes kept, and sweeps what a kill left half copied', async () => {
    const { keep, settings } = open({ totalBytes: 250 });
    const first = await keep(one, '1'.repeat(100));
    await keep(two, '2'.repeat(100));
    const part = join(settings.dir, 'city', 'four.0.1.part');
    writeFileSync(part, 'half');
    utimesSync(part, 1, 1);
    const later = keptFiles(settings);
    const path = join(settings.dir, '..', 'three.csv');
    writeFileSync(path, '3'.repeat(100));
    const facts = await fingerprintFile(path, null);
    expect(await later.keep(three, { path, sha256: facts.sha256, facts }, null)).toBe(true);
    expect(await later.find(one, first.sha256)).toBeNull();
    expect(() => statSync(part)).toThrow('ENOENT');
  });

  it.each([
    ['a file beyond its limit', { fileBytes: 2 }],
    ['anything when its total is 0', { totalBytes: 0 }],
    ['anything when its largest file is 0', { fileBytes: 0 }],
  ])('does not keep %s, nor the version before', async (_what, limits) => {
    const { keep, settings } = open();
    const small = await keep(one, 'ok');
    const strict = keptFiles({ ...settings, ...limits });
    const facts = await fingerprintFile((await keep(two, 'larger')).path, null);
    const path = join(settings.dir, '..', 'two.csv');
    expect(await strict.keep(one, { path, sha256: facts.sha256, facts }, small.sha256)).toBe(false);
    expect(await strict.find(one, small.sha256)).toBeNull();
  });

  it('does not keep a file that has moved since its content was known', async () => {
    const { kept, settings, keep } = open();
    const { path } = await keep(one, 'as published');
    const facts = await fingerprintFile(path, null);
    writeFileSync(path, 'written over since');
    expect(await kept.keep(two, { path, sha256: facts.sha256, facts }, null)).toBe(false);
    expect(readdirSync(join(settings.dir, 'city'))).toHaveLength(1);
  });
});
