// A pause at each write of a run.
import { expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
import { isWrite, openGateway } from './support/gateway.ts';
import { isIdle, reportOf } from './support/place.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { remoteConfig, startPortalProcess } from './support/server.ts';

it('stops within one step, at each write of a run, and after it the run makes the next write', async () => {
  const portal = await startPortalProcess();
  const gateway = await openGateway(portal.url);
  const { portals } = remoteConfig(gateway.url);
  const place = makeRemotePlace(gateway.url, { portals: { local: { ...portals.local, concurrency: 1 } } }, 'kept');
  const manifests = ['calm', 'hectic'].map((name) =>
    place.manifest({
      name,
      datasets: ['one', 'two'].map((id) => {
        const file = place.write(`data/${name}-${id}.csv`, 'id\n1\n');
        return { id, title: `${name} ${id}`, resources: [{ id: 'table', title: `${name} ${id} table`, file }] };
      }),
    }),
  );
  const service = await place.spawnService();
  const writes = () => gateway.takeWrites().map((each) => each.replaceAll(/\d+/g, 'N'));
  expect((await place.publish(manifests[0] ?? '')).code).toBe(0);
  const calm = writes();

  const redis = place.redis();
  const looks = async () => Number(/cmdstat_hkeys:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1]);
  const late: string[] = [];
  let stopped = Promise.resolve();
  gateway.before = async (passed) => {
    if (!isWrite(passed)) return;
    const made = gateway.requests.length;
    await place.run(['pause', 'local']);
    const before = await looks();
    await waitUntil('the worker to see it', async () => (await looks()) > before + 4);
    stopped = (async () => {
      await waitUntil('the job to stop', async () => (await redis.llen('sluice:portal.local:active')) === 0);
      late.push(
        ...gateway.requests
          .slice(made)
          .filter(isWrite)
          .map(({ method, path }) => `${method} ${path}`),
      );
      await place.run(['resume', 'local']);
    })();
  };
  await place.run(['run-now', manifests[1] ?? '', '--no-wait']);
  await waitUntil('the end', () => isIdle(place, redis, 'hectic'));
  await stopped;
  expect(late).toEqual([]);
  expect(writes()).toEqual(calm);
  expect(calm.length).toBeGreaterThan(4);
  const report = await reportOf(place, redis, 'hectic');
  expect(report.items.map(({ outcome, live }) => ({ outcome, live }))).toEqual(
    Array.from({ length: 4 }, () => ({ outcome: 'done', live: true })),
  );
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
});
