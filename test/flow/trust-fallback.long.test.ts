// A worker killed at every moment of the way back to the last good file, which the portal could import.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openGateway } from './support/gateway.ts';
import { killsIn } from './support/kills-in.ts';
import { makeRedisPlace } from './support/redis-place.ts';
import { remoteConfig, startPortalProcess } from './support/server.ts';

const good = 'id,word\n1,old\n2,old\n3,old\n';
/** Sound by RFC 4180, but this release takes a backslash for an escape; it fails there and says that all went well. */
const bad = 'id,word\n1,says\n"2\\","no"\n';

it('a worker killed at every moment of the way back continues from there', async () => {
  const portal = await startPortalProcess(['--profile', 'dkan-7.18']);
  const reader = await portal.reader();
  const gateway = await openGateway(portal.url);
  const place = makeRedisPlace(gateway.url, {
    ...remoteConfig(gateway.url, { importTimeout: '1s', concurrency: 1 }),
    retry: { attempts: 2, backoff: '50ms', maxBackoff: '100ms' },
    breaker: { failures: 50 },
    jobs: { lock: '3s', stalledCheck: '250ms' },
  });
  const attaches = (): number => gateway.takeWrites().filter((path) => path.endsWith('/attach_file')).length;
  const windows = ['attach', 'import', 'verify', 'record'].flatMap((step) => [`${step}/begin`, `${step}/end`]);
  const ids = windows.map((window) => `kill-${window.replace('/', '-')}`);
  const writeAll = (content: string): string =>
    place.manifest({
      name: 'kills',
      datasets: ids.map((id) => {
        place.write(`data/${id}.csv`, content);
        return { id, title: id, resources: [{ id: 't', title: `${id} table`, file: `data/${id}.csv` }] };
      }),
    });
  const manifest = writeAll(good);
  await place.publish(manifest);
  writeAll(bad);
  const killDir = join(place.dir, 'kills');
  mkdirSync(killDir);
  // The moments are those of the way back: it begins when the bad file has failed.
  const armed = new Set<string>();
  const arm = (body: string, isBegin: boolean): void => {
    const id = /filename="(kill-[^"]+)\.csv"/.exec(body)?.[1] ?? '';
    const window = windows[ids.indexOf(id)];
    if (!window || (window === 'attach/begin') !== isBegin || armed.has(id)) return;
    armed.add(id);
    writeFileSync(join(killDir, id), `resource/${window}`);
  };
  gateway.after = ({ path, body }) => {
    if (path.endsWith('/attach_file') && body.includes('says')) arm(body, true);
  };
  gateway.before = ({ path, body }) => {
    if (path.endsWith('/attach_file') && body.includes('old')) arm(body, false);
  };
  attaches();
  let kills = 0;
  let worker = place.spawn(['publish', manifest], killsIn(killDir));
  while ((await worker.ended) === 'SIGKILL') {
    kills += 1;
    worker = place.spawn(['publish', manifest], killsIn(killDir));
  }
  gateway.after = () => undefined;
  gateway.before = () => undefined;
  expect(await worker.ended, worker.out() + worker.err()).toBe(3);
  expect(readdirSync(killDir)).toEqual([]);
  expect(kills).toBe(windows.length);
  const rows = (await reader.list()).filter(({ title, type }) => title.startsWith('kill-') && type === 'resource');
  expect(rows).toHaveLength(windows.length);
  for (const { uuid, nid, title } of rows) {
    expect((await reader.file(nid))?.content, title).toBe(good);
    expect(await reader.count(uuid), title).toBe(3);
  }
  // Each bad file went out once, each good one came back once.
  expect(attaches()).toBe(2 * windows.length);
  expect((await place.publish(manifest)).code).toBe(3);
  expect(gateway.takeWrites()).toEqual([]);
});
