// The pages over 100,000 items: complete, and flat in memory however often items change.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { writeManyItems } from '../../bench/support/many-items.ts';
import { KnownItems } from '../../src/service/known-items.ts';
import { openWebPlace } from './support/web-place.ts';

const target = { manifest: 'city', portal: 'local' };
const count = 100_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void; // exposed by the flag

it('100,000 items are counted, found and shown', async () => {
  const place = await openWebPlace();
  try {
    await writeManyItems(place.runtime, { ...target, count });
    const text = (await place.get('/')).body.replaceAll(/<[^>]+>/g, '');
    expect(text).toContain('98,000 of 100,000 live, 2,000 quarantined');
    const found = (await place.get('/?q=readings-77777.csv')).body;
    expect(found.match(/href="\/item\/[^"]+"/g)).toEqual(['href="/item/city/d15555/table-2"']);
    expect((await place.get('/?q=station')).body.match(/href="\/item\//g)).toHaveLength(50);
    expect((await place.get('/item/city/d15555')).body.match(/href="\/item\/city\/d15555\//g)).toHaveLength(4);
  } finally {
    await place.close();
  }
});

it('reading them again takes no more memory', async () => {
  const place = await openWebPlace();
  try {
    await writeManyItems(place.runtime, { ...target, count: 20_000 });
    const known = new KnownItems(place.runtime.ledger);
    const heaps: number[] = [];
    vi.useFakeTimers({ toFake: ['Date'] });
    for (let round = 0; round < 6; round++) {
      vi.advanceTimersByTime(3_600_000); // however long the last reading took, another one is due
      await known.of(target, `${round}`);
      collect();
      heaps.push(process.memoryUsage().heapUsed);
    }
    expect(Math.max(...heaps.slice(2))).toBeLessThan((heaps[1] ?? 0) + 4_000_000);
    expect((await known.of(target, '5')).counts).toEqual({ live: 19_600, quarantined: 400 });
  } finally {
    vi.useRealTimers();
    await place.close();
  }
});
