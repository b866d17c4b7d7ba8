// `log`, `retry` and `status` around real runs: what they show while a run is open, and after it is closed.
import { beforeAll, expect, it } from 'vitest';
import { reportIn } from '../support/printed.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Gateway, openGateway } from './support/gateway.ts';
import type { Place } from './support/place.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { publisher, type RunningPortal, startPortal } from './support/server.ts';

let portal: RunningPortal;
let gateway: Gateway;
beforeAll(async () => {
  portal = await startPortal();
  gateway = await openGateway(portal.url);
});

const openPlace = (): Place => makeRemotePlace(gateway.url, { log: { level: 'debug' } });

const cell = 'cell-value-4711';

const manifestOf = (place: Place, name: string): string => {
  place.write('data/sound.csv', `id,secret\n1,${cell}\n`);
  place.write('data/faulty.csv', `id,secret\n1,${cell},2\n`);
  const resources = ['sound', 'faulty'].map((id) => ({ id, title: `${name} ${id}`, file: `data/${id}.csv` }));
  return place.manifest({ name, datasets: [{ id: 'one', title: `${name} one`, resources }] });
};

it('log says why a file is sent again', async () => {
  const place = openPlace();
  const manifest = manifestOf(place, 'again');
  await place.publish(manifest);
  place.write('data/sound.csv', 'id,secret\n1,other\n');
  await place.publish(manifest);
  const { out } = await place.run(['log', 'again/one/sound']);
  expect(out).toMatch(/ planned: its file changed\n/);
  const ofDataset = (await place.run(['log', 'again/one'])).out;
  expect(ofDataset.match(/ planned: /g)).toHaveLength(1);
});

it('log shows a job, a run and a key after the run is closed; retry repeats only what failed', async () => {
  const place = openPlace();
  const manifest = manifestOf(place, 'told');
  const first = await place.publish(manifest);
  expect(first.code).toBe(3);
  const { runId, items } = first.report;
  const sound = items.find(({ key }) => key === 'told/one/sound');
  const faulty = items.find(({ key }) => key === 'told/one/faulty');

  const byKey = await place.run(['log', 'told/one/sound']);
  expect(byKey.code).toBe(0);
  const steps = ['planned:', 'fetch', 'check', 'create', 'attach', 'import', 'verify', 'record', 'confirm'];
  expect(
    byKey.out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[1]),
  ).toEqual(steps);
  expect(byKey.out).toContain('planned: not on the portal yet');
  expect((await place.run(['log', sound?.jobId ?? ''])).out).toBe(byKey.out);
  const ofFaulty = await place.run(['log', faulty?.jobId ?? '']);
  expect(ofFaulty.out).toContain('failed for good: table-ragged: line 2');
  const byRun = await place.run(['log', runId]);
  expect(byRun.out).toContain('plan told');
  expect(byRun.out).toContain('ended: ');
  const lines = byKey.out.trimEnd().split('\n');
  for (const follow of [[], ['--follow']]) {
    const json = await place.run(['log', 'told/one/sound', '--json', ...follow]);
    expect(JSON.parse(json.out)).toEqual({ runId, lines });
  }
  for (const unknown of ['told/nothing', '20200101-000000-aaaaa']) {
    const { code, err } = await place.run(['log', unknown]);
    expect(code).toBe(2);
    expect(err).toContain(unknown);
  }

  // retry of a run: only the faulty one, and it fails again.
  gateway.takeWrites();
  const again = await place.run(['retry', runId, '--json']);
  expect(again.code).toBe(3);
  const report = reportIn(again.out);
  expect(report.items.map(({ key }) => key).filter((key) => key.split('/').length > 2)).toEqual(['told/one/faulty']);
  expect(gateway.takeWrites()).toEqual([]);
  place.write('data/faulty.csv', 'id,secret\n1,2\n');
  const mended = await place.run(['retry', report.runId]);
  expect(mended.code, mended.out).toBe(0);
  expect(gateway.takeWrites()).toHaveLength(3);
  const status = await place.run(['status', 'told/one/faulty']);
  expect(status.code).toBe(0);
  expect(status.out).toContain(': live');
  // retry of a key that is fine sends nothing.
  expect((await place.run(['retry', 'told/one/sound'])).code).toBe(0);
  expect(gateway.takeWrites()).toEqual([]);
  const unknown = await place.run(['retry', 'told/nothing/at-all', '--json']);
  expect(unknown.code, unknown.out).toBe(2);
});

it('log -f follows a job until its run ends; no log holds a password, a token or a cell', async () => {
  const place = openPlace();
  const manifest = manifestOf(place, 'followed');
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isHeld = false;
  gateway.before = async ({ path }) => {
    if (!path.endsWith('/attach_file')) return;
    isHeld = true;
    await held;
  };
  const service = await place.serve();
  const asked = place.start(['publish', manifest, '--verbose']);
  await waitUntil('the upload', () => isHeld);
  const redis = place.redis();
  const [runId] = await redis.zrevrange(place.keys.runs, 0, 0);
  const followers = [
    place.start(['log', 'followed/one/sound', '-f']),
    place.start(['log', runId ?? '', '--follow']),
  ] as const;
  await followers[0].said('create resource');
  await followers[1].said('plan followed');
  expect(followers.map((follower) => follower.hasEnded())).toEqual([false, false]);
  release();
  gateway.before = () => undefined;
  expect(await Promise.all(followers.map((follower) => follower.ended))).toEqual([0, 0]);
  expect(await asked.ended).toBe(3);
  expect(followers[0].out()).toContain('confirm followed/one/sound: live');
  expect(followers[1].out()).toContain('ended: ');

  // Everything that was written or kept anywhere.
  const kept: string[] = [];
  for (const key of await redis.keys('*')) {
    const type = await redis.type(key);
    if (type === 'hash') kept.push(JSON.stringify(await redis.hgetall(key)));
    else if (type === 'list') kept.push(...(await redis.lrange(key, 0, -1)));
    else if (type === 'string') kept.push((await redis.get(key)) ?? '');
    else if (type === 'stream') kept.push(JSON.stringify(await redis.xrange(key, '-', '+')));
  }
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
  const everything = [
    ...kept,
    ...[service, asked, ...followers].flatMap((process) => [process.out(), process.err()]),
  ].join('\n');
  expect(everything).toContain('followed/one/sound');
  expect(everything).not.toContain(publisher.password);
  // `publish` shows its reader the line at fault, which is read from the file.
  const [shown = '', ...others] = everything.split(cell);
  expect([shown.endsWith('| 1,'), others.length, asked.err().includes(cell)]).toEqual([true, 1, false]);
  expect(everything).not.toMatch(/SESS[0-9a-f]+=/);
});
