// The ledger: entries and pending writes survive as written, and what is not understood counts as unknown.
import { describe, expect, it } from 'vitest';
import { JobLostError } from '../../src/model/errors.ts';
import { manifestOfKey } from '../../src/model/key.ts';
import type { JobWriter } from '../../src/model/lease.ts';
import { redisKeys, targetName } from '../../src/model/redis-keys.ts';
import { entryOf, useLedger } from '../pipeline/handlers/support/job.ts';

const { ledger, redis } = useLedger();
const target = { manifest: 'city', portal: 'p' };
const write = { what: 'create', before: '4', nonce: '0a1b2c3d' } as const;

describe('the ledger', () => {
  it('gives back what was put, by key and portal', async () => {
    const entry = entryOf('city/one/a', { nid: '7', live: true });
    await ledger().put('p', entry);
    expect(await ledger().entry('p', 'city/one/a')).toEqual(entry);
    expect(await ledger().entry('q', 'city/one/a')).toBeNull();
    expect([...(await ledger().entries(target)).keys()]).toEqual(['city/one/a']);
  });

  it('holds a write that began until it is settled with what it led to', async () => {
    const begun = await ledger().begin('p', entryOf('city/one/b'), write);
    expect(begun.pending).toEqual({ ...write, at: expect.any(Number) });
    expect(await ledger().entry('p', 'city/one/b')).toEqual(begun);
    const settled = await ledger().settle('p', { ...begun, nid: '8' });
    expect(settled).toEqual(entryOf('city/one/b', { nid: '8' }));
    expect(await ledger().entry('p', 'city/one/b')).toEqual(settled);
  });

  it('treats an entry of an unknown shape as absent: it can be rebuilt from the portal', async () => {
    const key = redisKeys('test').entries({ manifest: 'old', portal: 'p' });
    await redis().hset(key, 'old/one', '{"key":"old/one","shape":"of another release"}');
    expect(await ledger().entry('p', 'old/one')).toBeNull();
    expect((await ledger().entries({ manifest: 'old', portal: 'p' })).size).toBe(0);
  });

  it('knows when a target was compared with the portal: never, at an unknown time, or when', async () => {
    const asked = { manifest: 'compared', portal: 'p' };
    expect(await ledger().refreshedAt(asked)).toBeNull();
    await ledger().put('p', entryOf('compared/one', { nid: '1', live: true }));
    expect(await ledger().refreshedAt(asked)).toBe(0);
    await ledger().refreshed(asked, 17);
    expect(await ledger().refreshedAt(asked)).toBe(17);
  });

  it('counts what is merely live, and gives everything else', async () => {
    const many = { manifest: 'many', portal: 'p' };
    const reason = { code: 'held', message: '"live":true', hint: null };
    const others = [
      entryOf('many/draft', { nid: '1' }),
      entryOf('many/failed', { nid: '2', reason: { ...reason, code: 'portal-refused' } }),
      entryOf('many/held', { nid: '3', live: true, reason }),
      entryOf('many/left', { nid: '4', live: true, missingSince: 5 }),
      entryOf('many/removed', { nid: '5', live: true, removed: 'unpublish' }),
    ];
    const live = Array.from({ length: 600 }, (_, at) => entryOf(`many/live-${at}`, { nid: `${at}`, live: true }));
    for (const entry of [...others, ...live]) await ledger().put('p', entry);
    const found = await ledger().exceptions(many);
    expect(found.live).toBe(600);
    expect([...found.entries.values()].sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual(others);
    const keys: string[] = [];
    for await (const { key } of ledger().each(many, { start: 'many/live-59' })) keys.push(key);
    expect(new Set(keys).size).toBe(11);
  });

  it('keeps the former versions of a table with its entry, through a rename, until they are forgotten', async () => {
    const columns = [{ name: 'a', kind: 'number' as const }];
    const former = [{ at: 1, rows: 2, bytes: 3, isGuarded: true, columns }];
    const entry = entryOf('city/one/d', { nid: '10' });
    expect(await ledger().formerVersions('p', entry.key)).toBeNull();
    await ledger().settle('p', entry, { former });
    await ledger().settle('p', entry);
    expect(await ledger().formerVersions('p', entry.key)).toEqual(former);
    await ledger().rename('p', entry, 'city/one/e');
    expect(await ledger().formerVersions('p', entry.key)).toBeNull();
    expect(await ledger().formerVersions('p', 'city/one/e')).toEqual(former);
    await ledger().settle('p', entryOf('city/one/e'), { former: null });
    expect(await ledger().formerVersions('p', 'city/one/e')).toBeNull();
  });

  it('knows nothing under the new key of a rename that an earlier item has left there', async () => {
    const sent = { title: 'Gone', published: true, fields: {} };
    await ledger().settle('p', entryOf('city/one/h', { removed: 'delete' }), { sent });
    const entry = entryOf('city/one/i', { nid: '12' }); // adopted, so that nobody knows what was sent
    await ledger().put('p', entry);
    await ledger().rename('p', entry, 'city/one/h');
    expect(await ledger().entry('p', 'city/one/h')).toEqual({ ...entry, key: 'city/one/h' });
    expect(await ledger().sentFor('p', 'city/one/h')).toBeNull();
  });

  it('takes nothing in the name of a job that another worker has', async () => {
    const gone = () => Promise.reject(new JobLostError('gone'));
    const lost = ledger().forJob({ write: gone } as unknown as JobWriter);
    const entry = entryOf('city/one/f', { nid: '11' });
    await ledger().put('p', entry);
    await expect(lost.begin('p', entry, write)).rejects.toThrow('gone');
    await expect(lost.putAll('p', [{ ...entry, missingSince: 1 }])).rejects.toThrow('gone');
    await expect(lost.rename('p', entry, 'city/one/g')).rejects.toThrow('gone');
    const target = { manifest: 'lost', portal: 'p' };
    await expect(lost.setAddress(target, 'http://other')).rejects.toThrow('gone');
    await expect(lost.refreshed(target, 1)).rejects.toThrow('gone');
    expect(await ledger().addressOf(target)).toBeNull();
    expect(await ledger().entry('p', entry.key)).toEqual(entry);
    expect(await ledger().entry('p', 'city/one/g')).toBeNull();
  });

  it('writes any number of entries', async () => {
    const entries = Array.from({ length: 1_001 }, (_, at) =>
      entryOf(`crowd/a${at}`, { nid: `${at}`, missingSince: 1 }),
    );
    await ledger().putAll('p', entries);
    expect((await ledger().entries({ manifest: 'crowd', portal: 'p' })).size).toBe(1_001);
  });

  it('remembers where the manifest of each target is, in the order in which people count', async () => {
    await ledger().remember({ manifest: 'z-10', portal: 'p' }, '/z-10.yaml');
    await ledger().remember({ manifest: 'z-2', portal: 'p' }, '/z-2.yaml');
    await ledger().remember({ manifest: 'a', portal: 'p' }, '/before.yaml');
    await ledger().remember({ manifest: 'a', portal: 'p' }, '/a.yaml');
    expect(await ledger().targets()).toEqual([
      { manifest: 'a', portal: 'p', manifestPath: '/a.yaml' },
      { manifest: 'z-2', portal: 'p', manifestPath: '/z-2.yaml' },
      { manifest: 'z-10', portal: 'p', manifestPath: '/z-10.yaml' },
    ]);
  });
});

describe('names of keys', () => {
  it('begin with the prefix and tell targets apart', () => {
    const names = Object.values(redisKeys('x')).flatMap((name) =>
      typeof name === 'function' ? (name as (of: never) => string)({ manifest: 'm', portal: 'p' } as never) : name,
    );
    expect(names.every((name) => name.startsWith('x.'))).toBe(true);
    expect(new Set(names).size).toBe(names.length);
    expect(targetName({ manifest: 'm', portal: 'p' })).toBe('m@p');
    expect(manifestOfKey('m/dataset/resource')).toBe('m');
  });
});
