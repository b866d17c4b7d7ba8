// What a command needs, opened from a configuration: Redis and what is kept there, queues, clients of portals.
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { isLoopback, urlHost } from '../config/addresses.ts';
import type { Config } from '../config/config.ts';
import { isBelow } from '../model/key.ts';
import type { Log } from '../model/log.ts';
import { type KnownTarget, type RedisKeys, redisKeys } from '../model/redis-keys.ts';
import type { StoredReport } from '../model/report.ts';
import { notifierOf } from '../notify/notifier.ts';
import { type Portal, type PortalHooks, type RequestKind, traitsSchema } from '../portal-client/client.ts';
import { advancerOf } from '../queue/advance.ts';
import { runGate } from '../queue/gate.ts';
import { liveWorkers, type PortalLimits, type PortalSilence } from '../queue/heartbeat.ts';
import { noticeQueue } from '../queue/notices.ts';
import { portalPauses } from '../queue/pause.ts';
import { queuesOn } from '../queue/queues.ts';
import { paceIn } from '../queue/rate-limit.ts';
import type { RedisHandle } from '../redis-server/embedded.ts';
import { configuredFetcher, type Fetcher } from '../sources/fetch/fetch.ts';
import { fetchedFiles } from '../sources/fetch/fetched-files.ts';
import { perPortal } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import type { SourceTools } from '../sources/source-kinds.ts';
import { deadlinesIn } from '../state/deadlines.ts';
import { ledgerIn } from '../state/ledger.ts';
import { smallHash, storedAs } from '../state/redis/fields.ts';
import { runsIn } from '../state/runs.ts';
import { storedPlans } from '../state/stored-plans.ts';
import { portalAccess } from './portal-access.ts';

/** What a runtime is opened with. */
export interface RuntimeOptions {
  config: Config;
  log: Log;
  env: NodeJS.ProcessEnv;
  /** What this process is, as other processes see it. */
  role: string;
  /** Called with the report of each run that this process closed; after a kill perhaps twice. */
  onRunClosed?: (report: StoredReport) => void;
  /** Shows the user what the start of Redis waits for. */
  report?: (line: string) => void;
}

/** Where the pages are for people: their public address, or on this host one with a fixed port. */
const pagesUrl = ({ publicUrl, host, port }: Config['web']): string | null => {
  if (publicUrl !== null) return publicUrl.replace(/\/$/, '');
  return port > 0 && isLoopback(host) ? `http://${urlHost(host)}:${port}` : null;
};

export interface Workers {
  isWriting(): boolean;
  /** Limits in force for a portal: the lowest of all live workers. */
  limits(portal: string): PortalLimits;
  isShared(portal: string): Promise<boolean>;
  /** Takes no more jobs; those in a write finish it, the others go back to the queue. `kill` ends at once. */
  stop(kill: boolean): Promise<void>;
}

class Opened {
  readonly config: Config;
  readonly log: Log;
  readonly role: string;
  readonly onRunClosed: (report: StoredReport) => void;
  readonly keys: RedisKeys;
  readonly redis: Redis;
  readonly redisHandle: RedisHandle;
  readonly fetcher: Fetcher;

  protected constructor(options: RuntimeOptions, handle: RedisHandle, redis: Redis) {
    this.config = options.config;
    this.log = options.log;
    this.role = options.role;
    this.onRunClosed = options.onRunClosed ?? (() => undefined);
    this.redisHandle = handle;
    this.redis = redis;
    this.keys = redisKeys(options.config.redis.prefix);
    this.fetcher = configuredFetcher(options.config, options.env);
  }
}

/** What is opened once, and read by everything above; the runtime adds the workers. */
export class Connections extends Opened {
  readonly ledger = ledgerIn(this.redis, this.keys);
  readonly runs = runsIn(this.redis, this.keys, this.config.jobs.keepRunsMs);
  readonly plans = storedPlans(this.redis, this.keys, this.config.jobs.keepRunsMs);
  readonly queues = queuesOn(this.redis, {
    prefix: this.config.redis.prefix,
    attempts: this.config.retry.attempts,
    keepLogs: this.config.jobs.keepLogs,
    keepMs: this.config.jobs.keepRunsMs,
  });
  readonly gate = runGate(this.redis, this.keys, this.queues, this.runs);
  readonly advancer = advancerOf(this.queues, this.gate, this.runs);
  readonly pauses = portalPauses(this.redis, this.keys, this.queues);
  readonly portals = portalAccess(this.config, this.log);
  /** Files of the web on their way to a portal, on this host. */
  readonly fetched = fetchedFiles(join(this.config.stateDir, 'fetched'), this.fetcher);
  readonly notices = noticeQueue(this.queues, { ...this.config.jobs, ...this.config.retry }, this.log);
  readonly notifier = notifierOf({
    redis: this.redis,
    keys: this.keys,
    config: this.config.notify,
    pages: pagesUrl(this.config.web),
    enqueue: (id, job) => this.notices.add(id, job),
    post: (url, posting) => this.fetcher.post(url, posting),
    log: this.log,
  });
  readonly deadlines = deadlinesIn(this.redis, this.keys);
  /** Called after every single request to a portal, for metrics. */
  onRequest: ((portal: string, kind: RequestKind, ms: number, status: number | null) => void) | null = null;
  /** Null until this process works jobs. */
  protected workers: Workers | null = null;

  /** The portal a manifest is published to: `--portal` takes precedence over the manifest's own. */
  portalOf(manifest: Pick<Manifest, 'portal'>): string {
    return this.config.portal ?? manifest.portal;
  }

  /** A manifest once for each portal it is published to; `--portal` chooses one. */
  perPortal<M extends Pick<Manifest, 'portal' | 'portals'>>(manifest: M): M[] {
    return perPortal(manifest, this.config.portal);
  }

  /** As `open` of {@link portalAccess}; an anonymous client sees public content only. */
  async openPortal(name: string, options: { isAnonymous?: boolean } = {}): Promise<Portal> {
    return this.portals.open(name, (url) => this.#portalHooks(name, url), options);
  }

  async #portalHooks(name: string, url: string): Promise<Omit<PortalHooks, 'log'>> {
    const pace = paceIn(this.redis, this.keys.bucket(name), () => this.limits(name).requestsPerSecond);
    const facts = this.keys.portal(name);
    const field = `traits ${url}`;
    return {
      takeToken: (signal) => pace.take(signal),
      traits: storedAs(traitsSchema, await this.redis.hget(facts, field)) ?? {},
      onTraits: (traits) => {
        this.redis
          .hset(facts, field, JSON.stringify(traits))
          .catch((err: unknown) => this.log.debug({ err }, 'facts learned about the portal could not be stored'));
      },
      terms: smallHash(this.redis, this.keys.terms(name, url)),
      isPatient: () => this.workers === null,
      onRequest: (kind, ms, status) => {
        pace.answered(kind === 'read', ms, status).catch(() => undefined); // without Redis, nothing is sent either
        this.onRequest?.(name, kind, ms, status);
      },
    };
  }

  sourceTools(signal: AbortSignal): SourceTools {
    return { fetcher: this.fetcher, stateDir: this.config.stateDir, signal, log: this.log };
  }

  limits(name: string): PortalLimits {
    const { concurrency, requestsPerSecond } = this.portals.config(name);
    return this.workers?.limits(name) ?? { concurrency, requestsPerSecond };
  }

  /** The targets that were ever run; `--portal` chooses those of one portal. */
  async targets(): Promise<KnownTarget[]> {
    const { portal } = this.config;
    return (await this.ledger.targets()).filter((target) => portal === null || portal === target.portal);
  }

  async targetsOfKey(key: string): Promise<KnownTarget[]> {
    return (await this.targets()).filter(({ manifest }) => isBelow(key, manifest));
  }

  async targetsOfManifest(name: string): Promise<KnownTarget[]> {
    return (await this.targets()).filter(({ manifest }) => manifest === name);
  }

  /** How old the last comparison with a portal's own listing may be; null for our own portal, which reports changes itself. */
  refreshAfterMs(portal: string): number | null {
    return this.portals.config(portal).kind === 'remote' ? 24 * 3600 * 1000 : null;
  }

  async liveWorkers() {
    return [...(await liveWorkers(this.redis, this.keys, Date.now())).values()];
  }

  /** True when processes run the jobs of this Redis, for each of the given portals. */
  async hasWorkers(portals: readonly string[] = []): Promise<boolean> {
    const workers = await this.liveWorkers();
    return workers.length > 0 && portals.every((portal) => workers.some(({ limits }) => Object.hasOwn(limits, portal)));
  }

  /** How long a portal has owed every reply to the processes that run jobs, or null. */
  async portalSilence(portal: string): Promise<PortalSilence | null> {
    const silences = (await this.liveWorkers()).flatMap(({ silences }) => silences[portal] ?? []);
    return silences.sort((a, b) => a.ms - b.ms)[0] ?? null;
  }

  get isWriting(): boolean {
    return this.workers?.isWriting() ?? false;
  }

  /** True where other workers may use the portal as well. */
  async isShared(name: string): Promise<boolean> {
    return (await this.workers?.isShared(name)) ?? true;
  }
}
