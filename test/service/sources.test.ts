// Dropped files that go to several portals: src/service/sources.ts on a real spool and a real Redis.
import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../src/model/redis-keys.ts';
import type { Reason } from '../../src/model/report.ts';
import {
  gatherManifestSources,
  gatherSources,
  leaveDrops,
  settleDrops,
  waitingPortals,
} from '../../src/service/sources.ts';
import { foldersOf, listClaims } from '../../src/sources/drop/spool.ts';
import { loadManifest } from '../../src/sources/manifest/load.ts';
import { type DropManifest, isDropManifest } from '../../src/sources/manifest/schema.ts';
import type { SourceTools } from '../../src/sources/source-kinds.ts';
import { ledgerIn } from '../../src/state/ledger.ts';
import { spooled } from '../sources/drop/support/spooled.ts';
import { openTestRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { writeText } from '../support/yaml-file.ts';

const { redis } = openTestRedis();
const keys = redisKeys('s');

const refused: Reason = { code: 'portal-refused', message: 'portal city: no such group', hint: 'mend it' };
const cancelled: Reason = { code: 'cancelled', message: 'the run was cancelled', hint: null };
const down: Reason = { code: 'portal-unreachable', message: 'no answer', hint: null };

const place = async (portals = 'portals: [city, county]') => {
  const dir = tempDir();
  const manifestPath = writeText(dir, 'm.yaml', `name: m\n${portals}\ndrop: { folder: inbox }\n`);
  const inbox = join(dir, 'inbox');
  const claim = await spooled(inbox, 'a.csv', 'a\n', Date.now());
  const manifest = await loadManifest(manifestPath);
  if (!isDropManifest(manifest)) throw new Error('not a drop manifest');
  const settle = (portal: string, reason: Reason | null): Promise<void> =>
    settleDrops({ manifestPath, portal }, [{ claim: claim.id, reason }], { keep: 5, redis, keys });
  const left = (): string[] =>
    readdirSync(inbox, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.name.startsWith('a') && entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const inSpool = async (): Promise<boolean> => (await listClaims(foldersOf(inbox).spool)).length > 0;
  return { inbox, claim, manifest: manifest as DropManifest, settle, left, inSpool };
};

describe('a dropped file for several portals', () => {
  it('is archived only when every portal has it', async () => {
    const { inbox, claim, manifest, settle, inSpool } = await place();
    expect(await waitingPortals(manifest, { redis, keys, ledger: ledgerIn(redis, keys) })).toEqual(['city', 'county']);
    await settle('county', null);
    expect(await inSpool()).toBe(true);
    expect(await waitingPortals(manifest, { redis, keys, ledger: ledgerIn(redis, keys) })).toEqual(['city']);
    await settle('county', null); // the run was killed before it could close
    expect(await inSpool()).toBe(true);
    await settle('city', null);
    expect(await inSpool()).toBe(false);
    expect(readdirSync(join(foldersOf(inbox).archive, 'a/a'))).toHaveLength(1);
    expect(await redis.exists(keys.verdicts(claim.id))).toBe(0);
    expect(await waitingPortals(manifest, { redis, keys, ledger: ledgerIn(redis, keys) })).toEqual([]);
  });

  it('is no matter of a portal that has had it, unless somebody asks for it again', async () => {
    const { manifest, settle } = await place();
    const tools = {} as SourceTools; // a drop fetches nothing
    const keysFor = async (portal: string, why: 'drop' | 'retry' = 'drop'): Promise<string[]> => {
      const request = { manifestPath: manifest.path, portal, why, refresh: false };
      return (await (await gatherSources(request, tools, { redis, keys })).wishes.all()).map(({ key }) => key);
    };
    expect(await keysFor('city')).toEqual(['m/a']);
    await settle('city', refused);
    expect(await keysFor('city')).toEqual([]);
    expect(await keysFor('city', 'retry')).toEqual(['m/a']);
    expect(await keysFor('county')).toEqual(['m/a']);
    expect(await keysFor('elsewhere')).toEqual(['m/a']);
  });

  it('is moved once by portals that are done at the same time', async () => {
    const { inbox, settle, inSpool } = await place();
    await Promise.all([settle('city', null), settle('county', null)]);
    expect(await inSpool()).toBe(false);
    expect(readdirSync(join(foldersOf(inbox).archive, 'a/a'))).toHaveLength(1);
  });

  it('leaves nothing in the spool where a kill came between its move and its record', async () => {
    const { inbox, claim, settle } = await place('portal: city');
    const { spool } = foldersOf(inbox);
    rmSync(claim.path);
    await settle('city', null);
    expect(readdirSync(spool)).toEqual([]);
  });

  it('is quarantined when one refuses it, once the others have had it', async () => {
    const { settle, left, inSpool } = await place();
    await settle('city', refused);
    expect(await inSpool()).toBe(true);
    await settle('county', null);
    expect(await inSpool()).toBe(false);
    const reason = left().find((path) => path.endsWith('.reason.yaml'));
    expect(readFileSync(reason ?? '', 'utf8')).toMatch(/message: city: no such group|message: "city: no such group/);
  });

  it.each([null, refused])(
    'that cannot be moved is asked for again by the portal that was the last (%o)',
    async (reason) => {
      const { inbox, manifest, settle, inSpool } = await place();
      const { archive, faulty } = foldersOf(inbox);
      const store = { redis, keys, ledger: ledgerIn(redis, keys) };
      await settle('city', reason);
      for (const path of [archive, faulty]) writeFileSync(path, 'not a folder');
      await expect(settle('county', null)).rejects.toThrow(/EEXIST|ENOTDIR/);
      expect(await inSpool()).toBe(true);
      expect(await waitingPortals(manifest, store)).toEqual(['county']);
      for (const path of [archive, faulty]) rmSync(path);
      await settle('county', null);
      expect(await inSpool()).toBe(false);
      expect(await waitingPortals(manifest, store)).toEqual([]);
    },
  );

  it('waits for a portal that is down', async () => {
    const { manifest, settle, inSpool } = await place();
    await settle('city', null);
    await settle('county', down);
    expect(await inSpool()).toBe(true);
    expect(await waitingPortals(manifest, { redis, keys, ledger: ledgerIn(redis, keys) })).toEqual(['county']);
  });

  it('that was published to a portal which the manifest does not name is done with', async () => {
    const { settle, inSpool } = await place();
    await settle('elsewhere', null);
    expect(await inSpool()).toBe(false);
  });

  it.each(['portals: [city, county]', 'portals: [city]'])(
    'whose run was cancelled is left alone until it is dropped again or somebody asks for it (%s)',
    async (portals) => {
      const { inbox, manifest, claim, settle, inSpool } = await place(portals);
      const ledger = ledgerIn(redis, keys);
      const isWaiting = async (): Promise<boolean> =>
        (await waitingPortals(manifest, { redis, keys, ledger })).includes('city');
      const claims = async (why: 'drop' | 'command' | 'retry'): Promise<(string | undefined)[]> => {
        const request = { manifestPath: manifest.path, portal: 'city', why, refresh: false };
        const wishes = await (await gatherSources(request, {} as SourceTools, { redis, keys })).wishes.all();
        return wishes.flatMap(({ resources }) =>
          resources.map(({ source }) => (source.kind === 'file' ? source.claim : undefined)),
        );
      };
      expect(await isWaiting()).toBe(true);
      await settle('city', cancelled);
      expect(await inSpool()).toBe(true);
      expect(await isWaiting()).toBe(false);
      expect(await claims('drop')).toEqual([]);
      expect(await claims('command')).toEqual([claim.id]);
      expect(await claims('retry')).toEqual([claim.id]);
      await settle('city', down); // somebody asked, and it could not be done yet
      expect(await isWaiting()).toBe(true);

      await leaveDrops({ manifestPath: `${manifest.path}.gone`, portal: 'city' }, cancelled, { redis, keys });
      await leaveDrops({ manifestPath: manifest.path, portal: 'city' }, cancelled, { redis, keys });
      expect(await isWaiting()).toBe(false);
      const again = await spooled(inbox, 'a.csv', 'a\n1\n', Date.now());
      expect(await isWaiting()).toBe(true);
      expect(await claims('drop')).toEqual([again.id]);
    },
  );

  it('of a manifest with one portal is done with at once', async () => {
    const { manifest, claim, settle, inSpool } = await place('portals: [city]');
    expect(manifest.portals).toBeUndefined();
    await settle('city', null);
    expect(await inSpool()).toBe(false);
    expect(await redis.exists(keys.verdicts(claim.id))).toBe(0);
  });
});

it('a catalogue that breaks off leaves no file open', async () => {
  const dir = tempDir();
  const entry = (at: number): string =>
    JSON.stringify({ identifier: `d${at}`, title: `Dataset ${at}`, description: 'One.' });
  writeText(dir, 'data.json', `{"dataset":[${Array.from({ length: 6000 }, (_, at) => entry(at)).join(',')}`);
  const manifest = await loadManifest(writeText(dir, 'm.yaml', 'name: m\ncatalogue: { from: data.json }\n'));
  const fetcher = { policy: { maxBytes: 1e9 } } as SourceTools['fetcher']; // nothing is fetched
  const tools = { fetcher, stateDir: join(dir, 'state'), signal: new AbortController().signal } as SourceTools;
  await expect(gatherManifestSources(manifest, tools)).rejects.toMatchObject({ code: 'catalogue-fault' });
  const open = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ''; // closed meanwhile
    }
  });
  expect(open.filter((path) => path.startsWith(dir))).toEqual([]);
});
