// Somebody cancels runs and pauses portals: what is in progress ends after its step, nothing is lost, and the next run continues.
import type { Redis } from 'ioredis';
import { beforeAll, describe, expect, it } from 'vitest';
import { ledgerIn } from '../../src/state/ledger.ts';
import { reportIn } from '../support/printed.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Gateway, isWrite, openGateway } from './support/gateway.ts';
import { isIdle, type Place, reportOf } from './support/place.ts';
import { doubles, type Reader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { type RunningPortal, remoteConfig, startPortal } from './support/server.ts';

let portal: RunningPortal;
let reader: Reader;
beforeAll(async () => {
  portal = await startPortal();
  reader = await portal.reader();
});

const count = 12;
const manifestOf = (place: Place, name: string, more: Record<string, unknown> = {}): string =>
  place.manifest({
    name,
    ...more,
    datasets: Array.from({ length: count }, (_, index) => {
      const file = place.write(`data/${name}-${index}.csv`, `id\n${index}\n`);
      const title = `${name} ${String(index).padStart(2, '0')}`;
      return { id: `d${index}`, title, resources: [{ id: 'table', title: `${title} table`, file }] };
    }),
  });

/** Lets no write through after the first `writes` until it is released; says when one waits. */
const holdAfter = (gateway: Gateway, writes: number) => {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let left = writes;
  gateway.before = async (passed) => {
    if (!isWrite(passed)) return;
    left -= 1;
    if (left >= 0) return;
    held.resolve();
    await released.promise;
  };
  return { held: held.promise, release: () => released.resolve() };
};

const currentRun = async (place: Place, manifest: string): Promise<string> => {
  const redis = place.redis();
  const gate = await waitUntil('the run', () => redis.hget(place.keys.gates, `${manifest}@local`));
  const runId: string = JSON.parse(gate).current.id;
  redis.disconnect();
  return runId;
};

/** How often a process has read the marks of cancelled runs; the watch of the run does it, too, but rarely. */
const marksRead = async (redis: Redis): Promise<number> =>
  Number(/cmdstat_hkeys:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);

const cancelled = async (place: Place, runId: string) => {
  const { code, out, err } = await place.run(['cancel', runId, '--json']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return reportIn(out);
};

/** Publishes again: everything is live then, and there once. */
const expectWhole = async (place: Place, manifest: string, name: string): Promise<void> => {
  const { code, report } = await place.publish(manifest);
  expect(code).toBe(0);
  expect(report.items.filter(({ live }) => live)).toHaveLength(2 * count);
  const rows = (await reader.list()).filter(({ title }) => title.startsWith(`${name} `));
  expect(doubles(rows)).toEqual([]);
  expect(rows).toHaveLength(2 * count);
};

describe('sluice cancel', () => {
  it('ends a run after the writes in progress; the next publish does the rest, once', async () => {
    const gateway = await openGateway(portal.url);
    const place = makeRemotePlace(gateway.url, {}, 'kept');
    const manifest = manifestOf(place, 'midway');
    const service = await place.serve();
    const { held, release } = holdAfter(gateway, 10);
    const asked = place.start(['publish', manifest, '--json']);
    await held;
    const runId = await currentRun(place, 'midway');
    // What is sent and not proven yet is no draft.
    const status = JSON.parse((await place.run(['status', '--json'])).out);
    expect(status.targets).toMatchObject([{ manifest: 'midway', portal: 'local', running: runId, drafts: 0 }]);
    expect(status.items.filter(({ nid }: { nid: string | null }) => nid !== null)).not.toEqual([]);
    const cancelling = cancelled(place, runId);
    const redis = place.redis();
    await waitUntil('the mark', () => redis.hexists(place.keys.cancelled, runId));
    const checks = await marksRead(redis);
    await waitUntil('the service to see it', async () => (await marksRead(redis)) >= checks + 3);
    redis.disconnect();
    const begun = gateway.requests.filter(isWrite).length;
    release();
    const report = await cancelling;
    expect(report.reason?.code).toBe('cancelled');
    expect(new Set(report.items.map(({ outcome }) => outcome))).toContain('cancelled');
    expect(report.items.filter(({ outcome }) => !['done', 'cancelled'].includes(outcome))).toEqual([]);
    expect(report.items.filter(({ outcome }) => outcome === 'cancelled').length).toBeGreaterThan(count / 2);
    expect(report.items).toHaveLength(2 * count);
    // A job in a step may end it, and finds the mark before the next one.
    expect(gateway.requests.filter(isWrite).length - begun).toBeLessThan(count);
    expect(await asked.ended).toBe(3);
    expect(reportIn(asked.out())).toEqual(report);
    const again = await place.run(['cancel', runId]);
    expect(again).toMatchObject({ code: 0, out: `run ${runId} of midway had already been cancelled\n` });
    await expectWhole(place, manifest, 'midway');
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('ends a run of a paused portal, and one whose canceller was killed after the mark', async () => {
    const place = makeRemotePlace(portal.url);
    const manifest = manifestOf(place, 'paused');
    const service = await place.serve();
    expect((await place.run(['pause', 'local', '--reason', 'moving house'])).out).toMatch(
      /^portal local has been paused since 20.*: paused by the operator: moving house\n +-> `sluice resume local`/,
    );
    const refused = await place.run(['publish', manifest]);
    expect(refused.code).toBe(3);
    expect(refused.err).toMatch(/portal local has been paused since 20.*: paused by the operator: moving house/);
    const first = await cancelled(place, await currentRun(place, 'paused'));
    expect(first).toMatchObject({ items: [], reason: { code: 'cancelled' } });

    expect((await place.run(['export', 'local', '-o', 'out'])).code).toBe(3);
    const [{ runId }] = JSON.parse((await place.run(['runs', '--json'])).out).runs;
    expect((await cancelled(place, runId)).reason?.hint).toMatch(/^export again to continue/);

    await place.run(['publish', manifest]);
    const redis = place.redis();
    await redis.hset(place.keys.cancelled, await currentRun(place, 'paused'), Date.now());
    await waitUntil('the end', () => isIdle(place, redis, 'paused'));
    expect((await reportOf(place, redis, 'paused')).reason?.code).toBe('cancelled');

    expect(await service.end('SIGTERM')).toBe(0);
    redis.disconnect();
    const next = await place.serve();
    const status = await place.run(['status']);
    expect(status.out).toMatch(/the portal has been paused since 20.*\n +paused by the operator: moving house/);
    expect((await place.run(['resume', 'local'])).out).toMatch(/^portal local is resumed; it had been paused since 20/);
    expect((await place.run(['resume', 'local'])).out).toBe('portal local was not paused\n');
    await expectWhole(place, manifest, 'paused');
    expect(await next.end('SIGTERM')).toBe(0);
  });

  it('takes back a run that waits for another one, and leaves that alone', async () => {
    const gateway = await openGateway(portal.url);
    const place = makeRemotePlace(gateway.url);
    const manifest = manifestOf(place, 'waiting');
    const service = await place.serve();
    const { held, release } = holdAfter(gateway, 4);
    const asked = place.start(['publish', manifest, '--json']);
    await held;
    const later = JSON.parse((await place.run(['run-now', manifest, '--no-wait', '--json'])).out).runs[0].runId;
    const report = await cancelled(place, later);
    expect(report).toMatchObject({ runId: later, items: [], reason: { code: 'cancelled' } });
    release();
    expect(await asked.ended).toBe(0);
    const redis = place.redis();
    await waitUntil('the gate', () => isIdle(place, redis, 'waiting'));
    redis.disconnect();
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('works where nothing runs, discards a held run, and knows nothing of others', async () => {
    const place = makeRemotePlace(portal.url);
    const manifest = manifestOf(place, 'alone', { onMissing: 'delete' });
    const queued = JSON.parse((await place.run(['run-now', manifest, '--no-wait', '--json'])).out).runs[0].runId;
    expect(await cancelled(place, queued)).toMatchObject({ items: [], reason: { code: 'cancelled' } });
    await expectWhole(place, manifest, 'alone');
    place.manifest({ name: 'alone', onMissing: 'delete', datasets: [] });
    const held = await place.publish(manifest);
    expect(held.code).toBe(4);
    const { code, out } = await place.run(['cancel', held.report.runId]);
    expect({ code, out }).toEqual({
      code: 0,
      out: `run ${held.report.runId} of alone was held, and is discarded; nothing was changed\n`,
    });
    expect((await place.run(['status'])).out).not.toContain('HELD');
    const unknown = await place.run(['cancel', '20261121-031500-none0']);
    expect(unknown.code).toBe(2);
    expect(unknown.err).toContain('no run "20261121-031500-none0" is known');
    const errors = await Promise.all(
      [
        ['check', '--portal', 'locl'],
        ['pause', 'locl'],
        ['resume', 'locl'],
      ].map(async (args) => (await place.run(args)).err),
    );
    expect(errors[0]).toMatch(/unknown portal `locl`; did you mean `local`\?\n.*configured: local;/);
    expect(new Set(errors).size).toBe(1);
  });
});

it('dropped files of a run that is cancelled while it waits are left to a person', async () => {
  const gateway = await openGateway(portal.url);
  const place = makeRemotePlace(gateway.url);
  const manifest = place.manifest({ name: 'drops', drop: { folder: 'inbox', files: '*.csv' } });
  let service = await place.serve([manifest]);
  const redis = place.redis();
  const drop = (name: string): string => place.write(`inbox/${name}.csv`, `id\n${name}\n`);
  const isLive = async (name: string): Promise<boolean> =>
    (await ledgerIn(redis, place.keys).entry('local', `drops/${name}/${name}`))?.live === true;
  const isLeft = async (): Promise<boolean> =>
    (await place.run(['status'])).out.includes('1 file not published because the run was cancelled');

  // It waits for another run, whose own file is published.
  const { held, release } = holdAfter(gateway, 2);
  drop('first');
  await held;
  drop('second');
  const waiting = await waitUntil('the run to wait', async () => {
    const gate = await redis.hget(place.keys.gates, 'drops@local');
    return gate && JSON.parse(gate).again?.id;
  });
  expect(await cancelled(place, waiting)).toMatchObject({ items: [], reason: { code: 'cancelled' } });
  gateway.before = () => undefined;
  release();
  await waitUntil('the first file', () => isLive('first'));
  await waitUntil('status to say it', isLeft);
  drop('third');
  await waitUntil('the third file', () => isLive('third'));
  expect(await isLive('second')).toBe(false);
  expect((await place.run(['retry', waiting])).code).toBe(0);
  expect(await isLive('second')).toBe(true);

  // It waits for a portal.
  await place.run(['pause', 'local']);
  drop('fourth');
  const paused = await currentRun(place, 'drops');
  expect(await cancelled(place, paused)).toMatchObject({ items: [], reason: { code: 'cancelled' } });
  await place.run(['resume', 'local']);
  await waitUntil('status to say it', isLeft);
  expect(await place.run(['status', 'inbox/fourth.csv'])).toMatchObject({
    code: 3,
    out: expect.stringContaining('not live yet: taken from the inbox\n-> `sluice runs` shows its run'),
  });
  // A service that starts anew leaves it alone, too.
  const runs = async (): Promise<string> => (await place.run(['runs'])).out;
  const before = await runs();
  expect(await service.end('SIGTERM')).toBe(0);
  service = await place.serve([manifest]);
  await waitUntil('status to say it again', isLeft);
  expect(await runs()).toBe(before);
  drop('fifth');
  await waitUntil('the fifth file', () => isLive('fifth'));
  expect(await isLive('fourth')).toBe(false);
  place.write('inbox/fourth.csv', 'id\nagain\n');
  await waitUntil('the fourth file', () => isLive('fourth'));
  await waitUntil('status to say no more', async () => !(await isLeft()));
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
});

it('a pause ends the planning of a run, which waits; resume has it planned at once', async () => {
  const gateway = await openGateway(portal.url);
  const place = makeRemotePlace(gateway.url);
  const manifest = manifestOf(place, 'unplanned');
  const service = await place.serve();
  await expectWhole(place, manifest, 'unplanned');
  const listing = Promise.withResolvers<void>();
  gateway.before = async () => {
    listing.resolve();
    await new Promise(() => undefined); // never answered: only the end of its step ends it
  };
  const asked = place.start(['publish', manifest, '--refresh']);
  await listing.promise;
  gateway.before = () => undefined;
  const runId = await currentRun(place, 'unplanned');
  await place.run(['pause', 'local', '--reason', 'moving house']);
  expect(await asked.ended).toBe(3);
  const redis = place.redis();
  const waits = async (): Promise<boolean> => (await redis.zscore('sluice:runs:delayed', runId)) !== null;
  await waitUntil('the run to wait', waits);
  expect((await place.run(['status'])).out).toMatch(/the portal has been paused since 20.*\n +paused .*: moving house/);
  expect(await waits()).toBe(true); // and not again and again
  await place.run(['resume', 'local']);
  expect(await waits()).toBe(false);
  await waitUntil('the end', () => isIdle(place, redis, 'unplanned'));
  const report = await reportOf(place, redis, 'unplanned');
  expect(report).toMatchObject({ runId, reason: null });
  expect(report.items.filter(({ live }) => live)).toHaveLength(2 * count);
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
});

it('a manifest of high priority takes precedence over the waiting work of another on its portal', async () => {
  const gateway = await openGateway(portal.url);
  const { portals } = remoteConfig(gateway.url);
  const place = makeRemotePlace(gateway.url, { portals: { local: { ...portals.local, concurrency: 1 } } });
  const [patient, urgent] = [manifestOf(place, 'patient'), manifestOf(place, 'urgent', { priority: 'high' })];
  const service = await place.serve();
  const { held, release } = holdAfter(gateway, 0);
  const asked = place.start(['publish', patient, '--json']);
  await held;
  const overtaking = place.start(['publish', urgent, '--json']);
  const redis = place.redis();
  const runId = await currentRun(place, 'urgent');
  await waitUntil('its jobs', async () => (await redis.hget(place.keys.run(runId), 'total')) === String(2 * count));
  await waitUntil(
    'its jobs in the queue',
    async () => (await redis.llen('sluice:portal.local:wait')) === 2 * count - 1,
  );
  redis.disconnect();
  const { out: json } = await place.run(['status', 'urgent/d11', '--json']);
  expect(JSON.parse(json)).toMatchObject({ items: [], waiting: [{ what: 'urgent/d11', state: 'publishing', runId }] });
  expect(await place.run(['status', 'urgent/d11/table'])).toMatchObject({
    code: 3,
    out: `urgent/d11/table ("urgent 11 table" on local): not live yet: it waits in run ${runId}\n`,
  });
  const step = async () =>
    JSON.parse((await place.run(['status', 'patient/d0/table', '--json'])).out).waiting?.[0]?.why;
  expect(await step()).toContain('it is at step create of run');
  expect((await place.run(['status', 'urgent/d12'])).code).toBe(2);
  release();
  const ends = await Promise.all([asked, overtaking].map(async (each) => [await each.ended, each.out()] as const));
  expect(ends.map(([code]) => code)).toEqual([0, 0]);
  const [slow, quick] = ends.map(([, out]) => Date.parse(reportIn(out).endedAt));
  expect(quick).toBeLessThan(slow ?? 0);
  expect(await service.end('SIGTERM')).toBe(0);
});
