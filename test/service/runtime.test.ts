import { expect, it } from 'vitest';
import { openPortalPlace } from '../flow/support/portal-place.ts';

it('refuses the state of a release with another layout, says what to do, and leaves it as it is', async () => {
  const { place } = await openPortalPlace();
  const redis = place.redis();
  for (const key of place.keys.otherLayouts) {
    await redis.hset(key, 'm@local', '/m.yaml');
    const { code, err } = await place.run(['status']);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('state of another release') });
    expect(err).toContain('sluice rebuild MANIFEST');
    expect(await redis.hgetall(key)).toEqual({ 'm@local': '/m.yaml' });
    await redis.del(key);
  }
  expect((await place.run(['status'])).code).toBe(0);
});
