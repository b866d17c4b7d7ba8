// `publish` beside another `publish`, and after it was killed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
import { isIdle, makePlace, type Place } from './support/place.ts';
import { doubles, readEmbedded } from './support/reader.ts';

const count = 12;
const manifestOf = (place: Place, name: string, version = 1): string =>
  place.manifest({
    name,
    datasets: Array.from({ length: count }, (_, index) => {
      const file = place.write(`data/${name}-${index}.csv`, `id\n${'1\n'.repeat(version)}`);
      const title = `${name} ${index}`;
      return { id: `d${index}`, title, resources: [{ id: 'table', title: `${title} table`, file }] };
    }),
  });

it('killed and started again, and two at the same time, it makes each node once and both end well', async () => {
  const place = makePlace();
  const manifest = manifestOf(place, 'twice');
  const first = place.spawn(['publish', manifest]);
  await waitUntil('the work to begin', () => first.hasEnded() || portalHasNodes(place));
  expect(await first.end('SIGKILL')).toBe('SIGKILL');

  const [one, two] = await Promise.all([place.publish(manifest), place.publish(manifest)]);
  expect([one.code, two.code], one.err + two.err).toEqual([0, 0]);
  for (const { report } of [one, two]) expect(report.items.every(({ live }) => live)).toBe(true);

  // Changed meanwhile: whoever comes later has the new version on the portal when it ends.
  const [before] = await Promise.all([place.publish(manifest), place.publish(manifest)]);
  expect(before.code).toBe(0);
  manifestOf(place, 'twice', 2);
  const [three, four] = await Promise.all([place.publish(manifest), place.publish(manifest)]);
  expect([three.code, four.code]).toEqual([0, 0]);
  const attached = [three, four].map(({ report }) => report.counts.actions.attached ?? 0);
  expect(attached.sort()).toEqual(three.report.runId === four.report.runId ? [count, count] : [0, count]);

  const service = await place.spawnService();
  const redis = place.redis();
  expect(await isIdle(place, redis, 'twice')).toBe(true);
  redis.disconnect();
  const reader = await readEmbedded(place.stateDir);
  const rows = await reader.list();
  expect(doubles(rows)).toEqual([]);
  expect(rows).toHaveLength(2 * count);
  for (const { type, uuid } of rows) if (type === 'resource') expect(await reader.count(uuid)).toBe(2);
  expect(await service.end('SIGTERM')).toBe(0);
});

/** True once the embedded portal serves and holds some nodes, asked without a login. */
const portalHasNodes = async (place: Place): Promise<boolean> => {
  try {
    const url = readFileSync(join(place.stateDir, 'portal', 'local', 'address'), 'utf8').trim();
    const reply = await fetch(`${url}/api/dataset/node?pagesize=5`, { headers: { accept: 'application/json' } });
    return reply.ok && ((await reply.json()) as unknown[]).length >= 5;
  } catch {
    return false;
  }
};
