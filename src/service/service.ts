// The long-running service: workers, watched folders, schedules.
import { hostname } from 'node:os';
import { runRequest } from '../model/job.ts';
import { type KnownTarget, targetOfName } from '../model/redis-keys.ts';
import { firesBy } from '../model/schedule-times.ts';
import { liveWorkers } from '../queue/heartbeat.ts';
import { type ScheduledTarget, syncSchedules } from '../queue/schedules.ts';
import { portalsOf, targetOf } from '../sources/manifest/load.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { expectationsOf, expectedOf } from '../state/deadlines.ts';
import { inboxesOf } from './inboxes.ts';
import { loadManifests, watchManifests } from './manifests.ts';
import type { Runtime } from './runtime.ts';

/** `extra`: absolute paths or patterns of manifests beside those of the configuration. */
export const serviceOf = (runtime: Runtime, extra: string[]) => {
  const { redis, keys, queues, deadlines, config, log } = runtime;
  const own = `${hostname()} ${process.pid}`;
  const patterns = [...new Set([...config.manifests, ...extra])];
  const inboxes = inboxesOf(runtime);
  let targets: KnownTarget[] = [];
  let skipped: Awaited<ReturnType<typeof loadManifests>>['skipped'] = [];
  let watch: { close(): Promise<void> } | null = null;

  /** The manifest with those of its portals that are configured; nothing where none is. */
  const served = (manifest: Manifest): Manifest[] => {
    const named = runtime.perPortal(manifest).map(({ portal }) => portal);
    const portals = named.filter((portal) => portal in config.portals);
    const others = named.filter((portal) => !portals.includes(portal)).join(', ');
    if (others) skipped.push({ path: manifest.path, why: `no portal of that name is configured: ${others}` });
    const [first] = portals;
    return first === undefined ? [] : [{ ...manifest, portal: first, portals }];
  };

  /** What other live services promise; what those that have ended wrote of it is removed. */
  const promisedByOthers = async (): Promise<Set<string>> => {
    const workers = await liveWorkers(redis, keys, Date.now());
    const live = new Set([...workers.values()].map(({ host, pid }) => `${host} ${pid}`));
    const others = new Set<string>();
    for (const [service, members] of Object.entries(await redis.hgetall(keys.services))) {
      if (!live.has(service)) await redis.hdel(keys.services, service);
      else if (service !== own) for (const member of members.split('\n')) others.add(member);
    }
    return others;
  };

  /** Records what is expected from now on; live processes report what becomes overdue. */
  const expectAll = async (manifests: Manifest[], schedules: ScheduledTarget[], others: Set<string>): Promise<void> => {
    const now = Date.now();
    const slackMs = config.watch.everyMs;
    const promises = [
      ...schedules.map(({ request, schedule }) => ({
        member: expectedOf.schedule(request),
        form: JSON.stringify(schedule),
        at: firesBy(schedule, { now, slackMs }),
      })),
      ...manifests
        .filter(isDropManifest)
        .map(({ name, drop }) => ({ member: expectedOf.inbox(name), form: drop.folder, at: now + slackMs })),
      ...skipped.map(({ path, why }) => ({ member: expectedOf.manifest(path), form: why, at: now })),
    ];
    await redis.hset(keys.services, own, promises.map(({ member }) => member).join('\n'));
    await deadlines.promise(promises, others);
    const periods = manifests.flatMap((manifest) =>
      portalsOf(manifest).flatMap((portal) => expectationsOf({ manifest: manifest.name, portal }, manifest.expectMs)),
    );
    await deadlines.expect(periods, now);
  };

  const readManifests = async (): Promise<Manifest[]> => {
    const loaded = await loadManifests(patterns);
    skipped = loaded.skipped;
    const known = loaded.manifests.flatMap(served);
    for (const { path, why } of skipped) log.error({ path }, `skipped: ${why}`);
    targets = known.flatMap((manifest) => portalsOf(manifest).map((portal) => targetOf({ ...manifest, portal })));
    const schedules = known.flatMap(schedulesOf);
    const others = await promisedByOthers();
    const isOfOthers = (target: string): boolean => others.has(expectedOf.schedule(targetOfName(target)));
    for (const line of await syncSchedules(queues, schedules, isOfOthers)) log.info({ action: 'schedule' }, line);
    await expectAll(known, schedules, others);
    return known;
  };

  return {
    targets: (): readonly KnownTarget[] => targets,

    /** Starts everything and returns the manifests it serves. */
    start: async (): Promise<Manifest[]> => {
      const manifests = await readManifests(); // before any worker: a removed or changed schedule must not fire
      await runtime.startWorkers();
      await inboxes.sync(manifests.filter(isDropManifest)).catch((error: unknown) => {
        if (manifests.length === 1) throw error; // else the others are served, and it is tried again
      });
      const again = async (): Promise<void> => inboxes.sync((await readManifests()).filter(isDropManifest));
      watch = watchManifests(patterns, again, log);
      await runtime.silence.start();
      return manifests;
    },

    /** Stops watching; workers and Redis are the runtime's to stop. */
    close: async (): Promise<void> => {
      await watch?.close();
      await inboxes.close();
    },
  };
};

const schedulesOf = (manifest: Manifest): ScheduledTarget[] => {
  const { schedule } = manifest;
  if (!schedule) return [];
  return portalsOf(manifest).map((portal) => ({
    request: runRequest({ ...targetOf({ ...manifest, portal }), why: 'schedule' }),
    schedule,
  }));
};
