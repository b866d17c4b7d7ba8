// The pages over 100,000 items: complete.
import { expect, it } from 'vitest';
import { writeManyItems } from '../../bench/support/many-items.ts';
import { openWebPlace } from './support/web-place.ts';

const target = { manifest: 'city', portal: 'local' };
const count = 100_000;

it('100,000 items are counted, found and shown', async () => {
  const place = await openWebPlace();
  try {
    await writeManyItems(place.runtime, { ...target, count });
    const text = (await place.get('/')).body.replaceAll(/<[^>]+>/g, '');
    expect(text).toContain('city2,000 quarantined98,000 of 100,000');
    const found = (await place.get('/?q=readings-77777.csv')).body;
    expect(found.match(/href="\/item\/[^"]+"/g)).toEqual(['href="/item/city/d15555/table-2"']);
    expect((await place.get('/?q=station')).body.match(/href="\/item\//g)).toHaveLength(50);
    expect((await place.get('/item/city/d15555')).body.match(/href="\/item\/city\/d15555\//g)).toHaveLength(4);
  } finally {
    await place.close();
  }
});
