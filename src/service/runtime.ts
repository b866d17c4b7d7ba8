// The composition root: from a configuration to opened Redis, queues, ledger, portals and workers. The only place choices are made.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Config } from '../config/config.ts';
import { plainRequest, type RunRequest } from '../model/job.ts';
import { isBelow } from '../model/key.ts';
import type { Log } from '../model/log.ts';
import { type RedisKeys, redisKeys, type Target } from '../model/redis-keys.ts';
import type { StoredReport } from '../model/report.ts';
import { Notifier } from '../notify/notifier.ts';
import {
  type Portal,
  type PortalHooks,
  type PortalTraits,
  type RequestKind,
  traitsSchema,
} from '../portal-client/client.ts';
import { Advancer } from '../queue/advancer.ts';
import { RunGate } from '../queue/gate.ts';
import { liveWorkers, type PortalLimits, type PortalSilence } from '../queue/heartbeat.ts';
import { NoticeQueue } from '../queue/notices.ts';
import { PortalPauses } from '../queue/pause.ts';
import { Queues } from '../queue/queues.ts';
import { Pace } from '../queue/rate-limit.ts';
import { openRedis, type RedisHandle } from '../redis-server/embedded.ts';
import type { Fetcher } from '../sources/fetch/fetch.ts';
import { FetchedFiles } from '../sources/fetch/fetched-files.ts';
import { perPortal } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import type { SourceTools } from '../sources/source-kinds.ts';
import { Deadlines } from '../state/deadlines.ts';
import { Ledger } from '../state/ledger.ts';
import { BatchingRedis } from '../state/redis/connection.ts';
import { smallHash } from '../state/redis/fields.ts';
import { Runs } from '../state/runs.ts';
import { StoredPlans } from '../state/stored-plans.ts';
import { refuseOtherLayout } from '../state/targets.ts';
import { configuredFetcher } from './configured-fetcher.ts';
import { handlersOf } from './handlers.ts';
import { PortalAccess } from './portal-access.ts';
import { PortalWorkers } from './portal-workers.ts';
import { RunNotices } from './run-notices.ts';
import { SilenceWatch } from './silence-watch.ts';

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

/** A target that was run before, with the path of its manifest. */
export type KnownTarget = Target & { manifestPath: string };

/** Everything a command needs, opened; `close()` ends it in the right order. */
export class Runtime {
  readonly config: Config;
  readonly log: Log;
  readonly keys: RedisKeys;
  readonly redis: Redis;
  readonly redisHandle: RedisHandle;
  readonly ledger: Ledger;
  readonly runs: Runs;
  readonly queues: Queues;
  readonly gate: RunGate;
  readonly pauses: PortalPauses;
  readonly advancer: Advancer;
  readonly portals: PortalAccess;
  readonly plans: StoredPlans;
  /** Fetches files and catalogues of the web. */
  readonly fetcher: Fetcher;
  /** Files of the web on their way to a portal, on this host. */
  readonly fetched: FetchedFiles;
  /** What is expected to happen, and by when. */
  readonly deadlines: Deadlines;
  /** Reports what is overdue; started by long-running commands. */
  readonly silence: SilenceWatch;
  /** Called after every single request to a portal, for metrics. */
  onRequest: ((portal: string, kind: RequestKind, ms: number, status: number | null) => void) | null = null;
  readonly runNotices: RunNotices;
  readonly #notices: NoticeQueue;
  readonly #notifier: Notifier;
  readonly #role: string;
  #portalWorkers: PortalWorkers | null = null;
  readonly #publicPortals = new Map<string, Promise<Portal>>();
  #closing: Promise<void> | null = null;

  private constructor(options: RuntimeOptions, handle: RedisHandle, redis: Redis) {
    const { config } = options;
    this.config = config;
    this.log = options.log;
    this.#role = options.role;
    this.redisHandle = handle;
    this.redis = redis;
    this.keys = redisKeys(config.redis.prefix);
    this.ledger = new Ledger(redis, this.keys);
    this.runs = new Runs(redis, this.keys, config.jobs.keepRunsMs);
    this.queues = new Queues(redis, {
      prefix: config.redis.prefix,
      attempts: config.retry.attempts,
      keepLogs: config.jobs.keepLogs,
      keepMs: config.jobs.keepRunsMs,
    });
    this.fetcher = configuredFetcher(config, options.env);
    this.fetched = new FetchedFiles(join(config.stateDir, 'fetched'), this.fetcher);
    this.plans = new StoredPlans(redis, this.keys, config.jobs.keepRunsMs);
    this.gate = new RunGate(redis, this.keys, this.queues, this.runs);
    this.advancer = new Advancer(this.queues, this.gate, this.runs);
    this.pauses = new PortalPauses(redis, this.keys, this.queues);
    this.portals = new PortalAccess(config, options.log);
    this.#notices = new NoticeQueue(this.queues, { ...config.jobs, backoffMs: config.retry.backoffMs }, options.log);
    this.#notifier = new Notifier({
      redis,
      keys: this.keys,
      config: config.notify,
      enqueue: (id, job) => this.#notices.add(id, job),
      post: (url, posting) => this.fetcher.post(url, posting),
      log: options.log,
    });
    this.deadlines = new Deadlines(redis, this.keys);
    this.runNotices = new RunNotices({
      config,
      redis,
      keys: this.keys,
      deadlines: this.deadlines,
      notifier: this.#notifier,
      fetcher: this.fetcher,
      log: options.log,
      onRunClosed: options.onRunClosed ?? (() => undefined),
    });
    this.silence = new SilenceWatch({
      config,
      redis,
      keys: this.keys,
      queues: this.queues,
      ledger: this.ledger,
      deadlines: this.deadlines,
      notifier: this.#notifier,
      role: options.role,
      log: options.log,
    });
  }

  /** Opens Redis and what stands on it; portals and workers are opened when asked for. */
  static async open(options: RuntimeOptions): Promise<Runtime> {
    const { config, log, env, report } = options;
    const handle = await openRedis({
      url: config.redis.url,
      prefix: config.redis.prefix,
      stateDir: config.stateDir,
      appendfsync: config.redis.appendfsync,
      allowFetch: config.redis.fetch,
      env,
      log,
      report,
    });
    const redis = new BatchingRedis({ ...handle.options, maxRetriesPerRequest: null });
    redis.on('error', (error) => log.warn({ err: error.message }, 'the connection to Redis failed'));
    const runtime = new Runtime(options, handle, redis);
    try {
      await refuseOtherLayout(redis, runtime.keys);
    } catch (error) {
      await runtime.close();
      throw error;
    }
    return runtime;
  }

  /** The portal a manifest is published to: `--portal` takes precedence over the manifest's own. */
  portalOf(manifest: Pick<Manifest, 'portal'>): string {
    return this.config.portal ?? manifest.portal;
  }

  /** A manifest once for each portal it is published to; `--portal` chooses one. */
  perPortal<M extends Pick<Manifest, 'portal' | 'portals'>>(manifest: M): M[] {
    return perPortal(manifest, this.config.portal);
  }

  /** The client of a portal; an embedded one is served first, here or by the process that already does. */
  async openPortal(name: string): Promise<Portal> {
    return this.portals.open(name, (url) => this.#portalHooks(name, url));
  }

  /** As {@link openPortal}, but anonymous: it sees public content only. */
  openPublicPortal(name: string): Promise<Portal> {
    const known = this.#publicPortals.get(name);
    if (known) return known;
    const opened = this.portals.open(name, (url) => this.#portalHooks(name, url), { isAnonymous: true });
    this.#publicPortals.set(name, opened);
    opened.catch(() => this.#publicPortals.delete(name));
    return opened;
  }

  async #portalHooks(name: string, url: string): Promise<Omit<PortalHooks, 'log'>> {
    const pace = new Pace(this.redis, this.keys.bucket(name), () => this.limits(name).requestsPerSecond);
    return {
      takeToken: (signal) => pace.take(signal),
      traits: await this.#knownTraits(name, url),
      onTraits: (traits) => this.#learn(name, url, traits),
      terms: smallHash(this.redis, this.keys.terms(name, url)),
      isPatient: () => this.#portalWorkers === null,
      onRequest: (kind, ms, status) => {
        pace.answered(kind === 'read', ms, status).catch(() => undefined); // without Redis, nothing is sent either
        this.onRequest?.(name, kind, ms, status);
      },
    };
  }

  /** What sources are gathered with. */
  sourceTools(signal: AbortSignal): SourceTools {
    return { fetcher: this.fetcher, stateDir: this.config.stateDir, signal, log: this.log };
  }

  /** Limits in force for a portal. */
  limits(name: string): PortalLimits {
    const { concurrency, requestsPerSecond } = this.portals.config(name);
    return this.#portalWorkers?.limits(name) ?? { concurrency, requestsPerSecond };
  }

  /** The targets that were ever run; `--portal` chooses those of one portal. */
  async targets(): Promise<KnownTarget[]> {
    const { portal } = this.config;
    return (await this.ledger.targets()).filter((target) => portal === null || portal === target.portal);
  }

  /** Those of {@link targets} whose manifest a key belongs to. */
  async targetsOfKey(key: string): Promise<KnownTarget[]> {
    return (await this.targets()).filter(({ manifest }) => isBelow(key, manifest));
  }

  /** Those of {@link targets} that are of one manifest. */
  async targetsOfManifest(name: string): Promise<KnownTarget[]> {
    return (await this.targets()).filter(({ manifest }) => manifest === name);
  }

  /** Asks for a run of a manifest. A request pinned to a plan or a held run waits until no other run is current. */
  async requestRun(
    manifest: Pick<Manifest, 'path' | 'name' | 'portal'>,
    why: RunRequest['why'],
    more: Partial<
      Pick<
        RunRequest,
        'only' | 'plan' | 'release' | 'remove' | 'decision' | 'onDrift' | 'refresh' | 'createMissing' | 'export'
      >
    > = {},
    signal?: AbortSignal,
  ): Promise<{ runId: string }> {
    const portal = this.portalOf(manifest);
    this.portals.config(portal);
    const target = { manifestPath: manifest.path, manifest: manifest.name, portal };
    // Workers that do not know the portal would take the run and fail it.
    if (!(await this.hasWorkers([portal])) && (await this.hasWorkers())) await this.startWorkers([portal]);
    for (;;) {
      const { runId, starts } = await this.gate.request({ ...target, ...plainRequest, only: null, ...more, why });
      if (starts !== 'busy') return { runId };
      if (!(await this.hasWorkers([portal]))) await this.startWorkers([portal]); // a worker must end the current run
      await sleep(100, undefined, { signal });
    }
  }

  /** How old the last comparison with a portal's own listing may be; null for our own portal, which reports changes itself. */
  refreshAfterMs(portal: string): number | null {
    return this.portals.config(portal).kind === 'remote' ? 24 * 3600 * 1000 : null;
  }

  /** True when processes run the jobs of this Redis, for each of the given portals. */
  async hasWorkers(portals: readonly string[] = []): Promise<boolean> {
    const workers = [...(await liveWorkers(this.redis, this.keys, Date.now())).values()];
    return workers.length > 0 && portals.every((portal) => workers.some(({ limits }) => Object.hasOwn(limits, portal)));
  }

  /** How long a portal has owed every reply to the processes that run jobs, or null. */
  async portalSilence(portal: string): Promise<PortalSilence | null> {
    const workers = [...(await liveWorkers(this.redis, this.keys, Date.now())).values()];
    const silences = workers.flatMap(({ silences }) => silences[portal] ?? []);
    return silences.sort((a, b) => a.ms - b.ms)[0] ?? null;
  }

  /** Roles of the processes that run the jobs of this Redis: `start`, `worker`, `publish` … */
  async workerRoles(): Promise<string[]> {
    return [...(await liveWorkers(this.redis, this.keys, Date.now())).values()].map(({ role }) => role);
  }

  /** Begins to work jobs of the given portals (default all) in this process. */
  async startWorkers(portals: string[] = Object.keys(this.config.portals)): Promise<void> {
    if (this.#portalWorkers) return;
    for (const name of portals) await this.openPortal(name);
    await this.#endLoginPauses(portals);
    this.#portalWorkers = await PortalWorkers.start({
      config: this.config,
      log: this.log,
      redis: this.redis,
      keys: this.keys,
      queues: this.queues,
      pauses: this.pauses,
      notices: this.#notices,
      notifier: this.#notifier,
      handlers: handlersOf(this),
      role: this.#role,
      limits: Object.fromEntries(portals.map((name) => [name, this.limits(name)])),
      silence: (name) => this.portals.opened(name)?.silence ?? null,
      probe: async (name, signal) => (await this.openPortal(name)).nodes.ping(signal),
      gate: this.gate,
      runs: this.runs,
      advancer: this.advancer,
    });
  }

  /** True while a worker of this process sends a write. */
  get isWriting(): boolean {
    return this.#portalWorkers?.isWriting ?? false;
  }

  /** The id that pairs spool folders with this Redis, made at first use. */
  async spoolId(): Promise<string> {
    await this.redis.setnx(this.keys.spoolId, randomUUID());
    return (await this.redis.get(this.keys.spoolId)) ?? '';
  }

  /** Takes no more jobs; those in a write finish it, the others go back to the queue. `force` ends at once. */
  async stopWorkers(force = false): Promise<void> {
    await this.#portalWorkers?.stop(force);
    this.#portalWorkers = null;
  }

  /** Ends everything in order: workers, portals, queues, Redis last. Idempotent. */
  close(force = false): Promise<void> {
    this.#closing ??= this.#close(force);
    return this.#closing;
  }

  async #close(force: boolean): Promise<void> {
    await this.silence.stop(force);
    await this.stopWorkers(force);
    if (!force) await this.runNotices.close();
    await this.fetcher.close();
    await this.portals.close();
    await this.queues.close();
    this.redis.disconnect();
    await this.redisHandle.close();
  }

  /** True where other workers may use the portal as well. */
  async isShared(name: string): Promise<boolean> {
    return (await this.#portalWorkers?.isShared(name)) ?? true;
  }

  async #knownTraits(name: string, url: string): Promise<PortalTraits> {
    const text = await this.redis.hget(this.keys.portal(name), `traits ${url}`);
    return text === null ? {} : (traitsSchema.safeParse(JSON.parse(text)).data ?? {});
  }

  #learn(name: string, url: string, traits: PortalTraits): void {
    this.redis
      .hset(this.keys.portal(name), `traits ${url}`, JSON.stringify(traits))
      .catch((error: unknown) => this.log.debug({ err: error }, 'facts learned about the portal could not be stored'));
  }

  /** A person who starts the service retries a refused login: one attempt, and the pause ends if it succeeds. */
  async #endLoginPauses(portals: string[]): Promise<void> {
    for (const name of portals) {
      const pause = await this.pauses.state(name);
      if (pause?.reason.code !== 'portal-login') continue;
      try {
        await (await this.openPortal(name)).login(AbortSignal.timeout(this.config.http.headersMs));
        await this.pauses.resume(name);
        this.log.info({ portal: name }, 'the login works again; the portal is resumed');
      } catch (error) {
        this.log.error({ portal: name, err: error }, 'the portal stays paused');
      }
    }
  }
}
