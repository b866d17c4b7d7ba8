// `publish` beside a running service.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cases } from '../support/extent.ts';
import { isAlive } from '../support/is-alive.ts';
import { waitUntil } from '../support/wait-until.ts';
import { makePlace, type Place } from './support/place.ts';
import { readEmbedded } from './support/reader.ts';

const count = cases(12, 5);
const manifestOf = (place: Place, name: string, version = 1): string =>
  place.manifest({
    name,
    datasets: Array.from({ length: count }, (_, index) => {
      const file = place.write(`data/${name}-${index}.csv`, `id\n${'1\n'.repeat(version)}`);
      const title = `${name} ${index}`;
      return { id: `d${index}`, title, resources: [{ id: 'table', title: `${title} table`, file }] };
    }),
  });

it('beside a running service it enqueues and waits: it works no jobs and stops neither Redis nor the portal', async () => {
  const place = makePlace({}, 'embedded');
  const manifest = manifestOf(place, 'beside');
  const service = await place.spawnService();
  const redisPid = place.redisPid();
  const { code, report, err } = await place.publish(manifest);
  expect(code, err).toBe(0);
  expect(report.items.filter(({ live }) => live)).toHaveLength(2 * count);
  // The service, which logs every step, did all of them.
  const steps = service
    .out()
    .split('\n')
    .filter((line) => line.includes('"step done"') && line.includes('"attach"'));
  expect(steps).toHaveLength(count);
  expect(place.redisPid()).toBe(redisPid);
  expect(() => process.kill(redisPid, 0)).not.toThrow();
  const reader = await readEmbedded(place.stateDir);
  expect(await reader.titles('dataset')).toHaveLength(count);
  expect((await place.publish(manifest)).report.counts.actions).toEqual({});
  const health = readFileSync(join(place.stateDir, 'health.address'), 'utf8').trim();
  expect(await (await fetch(health)).json()).toEqual({ status: 'ok', redis: 'ok' });
  expect(await service.end('SIGTERM')).toBe(0);
  await waitUntil('Redis to end with its last user', () => !isAlive(redisPid));
});
