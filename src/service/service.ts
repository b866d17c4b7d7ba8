// The long-running service: workers, watched folders, schedules.
import { plainRequest } from '../model/job.ts';
import type { KnownTarget } from '../model/redis-keys.ts';
import { firesBy } from '../model/schedule-times.ts';
import { type ScheduledTarget, syncSchedules } from '../queue/schedules.ts';
import { portalsOf, targetOf } from '../sources/manifest/load.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { expectationsOf, expectedOf } from '../state/deadlines.ts';
import { Inboxes } from './inboxes.ts';
import { loadManifests, watchManifests } from './manifests.ts';
import type { Runtime } from './runtime.ts';

export class Service {
  readonly #runtime: Runtime;
  readonly #patterns: string[];
  readonly #inboxes: Inboxes;
  #watch: { close(): Promise<void> } | null = null;
  #targets: KnownTarget[] = [];

  /** `extra`: absolute paths or patterns of manifests beside those of the configuration. */
  constructor(runtime: Runtime, extra: string[]) {
    this.#runtime = runtime;
    this.#patterns = [...new Set([...runtime.config.manifests, ...extra])];
    this.#inboxes = new Inboxes(runtime);
  }

  /** Served targets, whether they were ever run or not. */
  get targets(): readonly KnownTarget[] {
    return this.#targets;
  }

  /** Starts everything and returns the manifests it serves. */
  async start(): Promise<Manifest[]> {
    const manifests = await this.#readManifests(); // before any worker: a removed or changed schedule must not fire
    await this.#runtime.startWorkers();
    await this.#inboxes.sync(manifests.filter(isDropManifest));
    this.#watch = watchManifests(this.#patterns, () => this.#sync(), this.#runtime.log);
    await this.#runtime.silence.start();
    return manifests;
  }

  /** Stops watching; workers and Redis are the runtime's to stop. */
  async close(): Promise<void> {
    await this.#watch?.close();
    await this.#inboxes.close();
  }

  async #sync(): Promise<void> {
    await this.#inboxes.sync((await this.#readManifests()).filter(isDropManifest));
  }

  async #readManifests(): Promise<Manifest[]> {
    const { queues, log } = this.#runtime;
    const known = (await loadManifests(this.#patterns, log)).flatMap((manifest) => this.#served(manifest));
    this.#targets = known.flatMap((manifest) => portalsOf(manifest).map((portal) => targetOf({ ...manifest, portal })));
    const schedules = known.flatMap(schedulesOf);
    for (const line of await syncSchedules(queues, schedules)) log.info({ action: 'schedule' }, line);
    await this.#expect(known, schedules);
    return known;
  }

  /** Records what is expected from now on; live processes report what becomes overdue. */
  async #expect(manifests: Manifest[], schedules: ScheduledTarget[]): Promise<void> {
    const { deadlines, config } = this.#runtime;
    const now = Date.now();
    const slackMs = config.watch.everyMs;
    await deadlines.promise([
      ...schedules.map(({ request, schedule }) => ({
        member: expectedOf.schedule(request),
        form: JSON.stringify(schedule),
        at: firesBy(schedule, { now, slackMs }),
      })),
      ...manifests
        .filter(isDropManifest)
        .map(({ name, drop }) => ({ member: expectedOf.inbox(name), form: drop.folder, at: now + slackMs })),
    ]);
    const periods = manifests.flatMap((manifest) =>
      portalsOf(manifest).flatMap((portal) => expectationsOf({ manifest: manifest.name, portal }, manifest.expectMs)),
    );
    await deadlines.expect(periods, now);
  }

  /** The manifest with those of its portals that are configured; nothing where none is. */
  #served(manifest: Manifest): Manifest[] {
    const portals = this.#runtime.perPortal(manifest).flatMap(({ portal }) => {
      if (portal in this.#runtime.config.portals) return [portal];
      this.#runtime.log.error({ path: manifest.path, portal }, 'skipped: no portal of that name is configured');
      return [];
    });
    const [first] = portals;
    return first === undefined ? [] : [{ ...manifest, portal: first, portals }];
  }
}

const schedulesOf = (manifest: Manifest): ScheduledTarget[] => {
  const { schedule } = manifest;
  if (!schedule) return [];
  const rest = { why: 'schedule' as const, only: null, ...plainRequest };
  return portalsOf(manifest).map((portal) => ({
    request: { ...targetOf({ ...manifest, portal }), ...rest },
    schedule,
  }));
};
