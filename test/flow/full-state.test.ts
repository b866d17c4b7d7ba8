// A state that takes no more data: every command that needs to write says the one cause that `sluice status` shows.
import { expect, it } from 'vitest';
import { makeRemotePlace } from './support/remote-place.ts';

it('is named by each command in the same words, without a script of ours', async () => {
  const place = makeRemotePlace('http://127.0.0.1:9', {}, 'kept');
  const resources = [{ id: 't', title: 'T', file: place.write('t.csv', 'id\n1\n') }];
  const manifest = place.manifest({ name: 'city', datasets: [{ id: 'd', title: 'D', resources }] });
  expect((await place.run(['run-now', manifest, '--no-wait'])).code).toBe(0);
  const store = place.redis();
  const [runId = ''] = Object.values(await store.hgetall(place.keys.gates)).map((text) => JSON.parse(text).current.id);
  expect((await place.run(['pause', 'local'])).code).toBe(0);
  await store.config('SET', 'maxmemory', '1');
  const cause = "Redis has reached its memory limit: OOM command not allowed when used memory > 'maxmemory'.";
  expect((await place.run(['status'])).out).toContain(cause);
  for (const words of [
    ['run-now', manifest, '--no-wait'],
    ['publish', manifest],
    ['cancel', runId],
    ['pause', 'local', '--reason', 'maintenance'],
    ['resume', 'local'],
  ]) {
    const { out, err, code } = await place.run([...words, '--json']);
    expect([words[0], code, JSON.parse(out)]).toMatchObject([
      words[0],
      3,
      { error: { code: 'state-full', message: cause } },
    ]);
    expect(err).toContain(`sluice: ${cause}\n`);
  }
});
