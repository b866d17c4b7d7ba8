// The composition root: from a configuration to opened Redis, queues, ledger, portals and workers. The only place choices are made.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Config } from './config/config.ts';
import { type ErrorCode, UsageError } from './errors.ts';
import { gatherDrop } from './gather/drop.ts';
import { gatherManifest } from './gather/manifest.ts';
import { datasetHandler } from './handlers/dataset.ts';
import type { Gathered, HandlerDeps } from './handlers/deps.ts';
import { resourceHandler } from './handlers/resource.ts';
import { runHandler } from './handlers/run.ts';
import { triggerHandler } from './handlers/trigger.ts';
import { foldersOf } from './intake/claim.ts';
import { archiveClaim, listClaims, quarantineClaim } from './intake/spool.ts';
import { plainRequest, type RunRequest } from './job.ts';
import { type RedisKeys, redisKeys } from './ledger/keys.ts';
import { Ledger } from './ledger/ledger.ts';
import { Runs, type SettledClaim } from './ledger/runs.ts';
import { StoredPlans } from './ledger/stored-plans.ts';
import type { Log } from './log.ts';
import { loadManifest } from './manifest/load.ts';
import { isDropManifest, type Manifest } from './manifest/schema.ts';
import { type ManifestFacts, Notifier } from './notify/notifier.ts';
import type { Dialect, Portal } from './portal/client.ts';
import { PortalAccess } from './portal-access.ts';
import { CircuitBreaker } from './queue/breaker.ts';
import { RunGate } from './queue/gate.ts';
import { JobLogs } from './queue/job-logs.ts';
import { NoticeQueue } from './queue/notices.ts';
import { PortalPauses } from './queue/pause.ts';
import { PortalWatch } from './queue/portal-watch.ts';
import { portalQueue, Queues, runsQueue } from './queue/queues.ts';
import { tokenBucket } from './queue/rate-limit.ts';
import { QueueWorker } from './queue/worker.ts';
import { liveWorkers, type PortalLimits, Presence } from './queue/workers-alive.ts';
import { openRedis, type RedisHandle } from './redis/embedded.ts';
import type { Report } from './report.ts';
import { closeTablePool } from './table/check.ts';

/** What a runtime is opened with. */
export interface RuntimeOptions {
  config: Config;
  log: Log;
  env: NodeJS.ProcessEnv;
  /** What this process is, as other processes see it. */
  role: string;
}

/** Runs and triggers a worker process works on at once; they mostly wait for their children. */
const runConcurrency = 4;

/** Reasons that are not the fault of a dropped file; it stays in the spool and is tried again. */
const passingReasons: ReadonlySet<string> = new Set<ErrorCode>([
  'portal-unreachable',
  'portal-session',
  'portal-login',
  'portal-reply',
  'portal-not-api',
  'import-timeout',
  'job-lost',
  'interrupted',
  'held',
]);

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
  readonly jobLogs: JobLogs;
  readonly portals: PortalAccess;
  readonly plans: StoredPlans;
  readonly #notices: NoticeQueue;
  readonly #notifier: Notifier;
  readonly #role: string;
  readonly #dialects = new Map<string, Dialect>();
  #presence: Presence | null = null;
  #workers: QueueWorker[] = [];
  #watch: PortalWatch | null = null;
  #repair: NodeJS.Timeout | null = null;
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
    this.plans = new StoredPlans(redis, this.keys, config.jobs.keepRunsMs);
    this.gate = new RunGate(redis, this.keys, this.queues);
    this.pauses = new PortalPauses(redis, this.keys, this.queues);
    this.portals = new PortalAccess(config, options.log);
    this.jobLogs = new JobLogs(redis, this.keys, this.queues);
    this.#notices = new NoticeQueue(
      this.queues,
      { backoffMs: config.retry.backoffMs, stalledCheckMs: config.jobs.stalledCheckMs },
      options.log,
    );
    this.#notifier = new Notifier({
      redis,
      keys: this.keys,
      config: config.notify,
      enqueue: (id, job) => this.#notices.add(id, job),
      log: options.log,
    });
  }

  /** Opens Redis and what stands on it; portals and workers are opened when asked for. */
  static async open(options: RuntimeOptions): Promise<Runtime> {
    const { config, log, env } = options;
    const handle = await openRedis({
      url: config.redis.url,
      stateDir: config.stateDir,
      appendfsync: config.redis.appendfsync,
      allowFetch: config.redis.fetch,
      env,
      log,
    });
    const redis = new Redis({ ...handle.options, maxRetriesPerRequest: null });
    redis.on('error', (error) => log.warn({ err: error.message }, 'the connection to Redis failed'));
    return new Runtime(options, handle, redis);
  }

  /** The portal a manifest is published to: `--portal` goes before the manifest's own. */
  portalOf(manifest: Pick<Manifest, 'portal'>): string {
    return this.config.portal ?? manifest.portal;
  }

  /** The client of a portal; an embedded one is served first, here or by the process that already does. */
  async openPortal(name: string): Promise<Portal> {
    return this.portals.open(name, async (url) => ({
      takeToken: tokenBucket(this.redis, this.keys.bucket(name), () => this.limits(name).requestsPerSecond),
      knownDialect: await this.#knownDialect(name, url),
      onDialect: (dialect) => this.#learn(name, url, dialect),
    }));
  }

  /** Limits in force for a portal. */
  limits(name: string): PortalLimits {
    const { concurrency, requestsPerSecond } = this.portals.config(name);
    return this.#presence?.limits(name) ?? { concurrency, requestsPerSecond };
  }

  /** Asks for a run of a manifest. A request pinned to a plan or a held run waits until no other run is current. */
  async requestRun(
    manifest: Pick<Manifest, 'path' | 'name' | 'portal'>,
    why: RunRequest['why'],
    more: Partial<Pick<RunRequest, 'only' | 'plan' | 'release' | 'remove' | 'onDrift'>> = {},
  ): Promise<{ runId: string }> {
    const portal = this.portalOf(manifest);
    this.portals.config(portal);
    const target = { manifestPath: manifest.path, manifest: manifest.name, portal };
    for (;;) {
      const { runId, starts } = await this.gate.request({ ...target, ...plainRequest, only: null, ...more, why });
      if (starts !== 'busy') return { runId };
      await sleep(100);
    }
  }

  /** True when some process works the jobs of this Redis. */
  async hasWorkers(): Promise<boolean> {
    return (await liveWorkers(this.redis, this.keys, Date.now())).size > 0;
  }

  /** Begins to work jobs of the given portals (default all) in this process. */
  async startWorkers(portals: string[] = Object.keys(this.config.portals)): Promise<void> {
    if (this.#workers.length > 0) return;
    for (const name of portals) await this.openPortal(name);
    await this.#endLoginPauses(portals);
    const limits = Object.fromEntries(portals.map((name) => [name, this.limits(name)]));
    this.#presence = new Presence(this.redis, this.keys, { role: this.#role, limits }, this.log);
    await this.#presence.start(async (name, { concurrency }) => {
      await this.queues.portal(name).setGlobalConcurrency(concurrency);
    });
    const handlers = this.#handlers();
    const breaker = this.#breaker();
    const worker = (queue: string, concurrency: number): QueueWorker =>
      new QueueWorker({
        queue,
        concurrency,
        queues: this.queues,
        handlers,
        pauses: this.pauses,
        breaker,
        retry: this.config.retry,
        lockMs: this.config.jobs.lockMs,
        stalledCheckMs: this.config.jobs.stalledCheckMs,
        log: this.log,
      });
    this.#workers = [
      worker(runsQueue, runConcurrency),
      ...portals.map((name) => worker(portalQueue(name), this.portals.config(name).concurrency)),
    ];
    await Promise.all(this.#workers.map((each) => each.ready()));
    await this.#notices.work((data, signal) => this.#notifier.deliver(data, signal));
    this.#watch = this.#watchPortals(portals, breaker);
    await this.#watch.start();
    await this.#repairGates();
    this.#repair = setInterval(() => {
      this.#repairGates().catch((error: unknown) => this.log.warn({ err: error }, 'run gates could not be checked'));
    }, 10_000);
    this.#repair.unref();
  }

  /** The id that pairs spool folders with this Redis, made at first use. */
  async spoolId(): Promise<string> {
    await this.redis.setnx(this.keys.spoolId, randomUUID());
    return (await this.redis.get(this.keys.spoolId)) ?? '';
  }

  /** Takes no more jobs; those in a write finish it, the others go back to the queue. `force` ends at once. */
  async stopWorkers(force = false): Promise<void> {
    if (this.#repair) clearInterval(this.#repair);
    this.#repair = null;
    const workers = this.#workers;
    this.#workers = [];
    await Promise.all(workers.map((worker) => (force ? worker.kill() : worker.stop())));
    await this.#watch?.stop();
    this.#watch = null;
    await this.#notices.stop(force);
    await this.#presence?.stop();
    this.#presence = null;
  }

  /** Ends everything in order: workers, portals, queues, Redis last. Idempotent. */
  close(force = false): Promise<void> {
    this.#closing ??= this.#close(force);
    return this.#closing;
  }

  async #close(force: boolean): Promise<void> {
    await this.stopWorkers(force);
    await this.portals.close();
    await closeTablePool();
    await this.queues.close();
    this.redis.disconnect();
    await this.redisHandle.close();
  }

  #breaker(): CircuitBreaker {
    const { redis, keys, pauses, log } = this;
    return new CircuitBreaker({ redis, keys, pauses, settings: this.config.breaker, log });
  }

  #watchPortals(portals: string[], breaker: CircuitBreaker): PortalWatch {
    const { redis, keys, pauses, log } = this;
    const { lockMs } = this.config.jobs;
    return new PortalWatch({
      redis,
      keys,
      pauses,
      breaker,
      portals,
      probe: async (name, signal) => (await this.openPortal(name)).ping(signal),
      tell: (name, state) => this.#notifier.portalState(name, state),
      lockMs,
      log,
    });
  }

  #handlers() {
    const deps: HandlerDeps = {
      ledger: this.ledger,
      runs: this.runs,
      settings: {
        importTimeoutMs: (name) => this.portals.config(name).importTimeoutMs,
        maxFileBytes: this.config.limits.tableBytes,
        maxRowBytes: this.config.limits.rowBytes,
      },
      portal: (name) => {
        const portal = this.portals.opened(name);
        if (!portal)
          throw new UsageError(`portal "${name}" is not open in this worker`, { hint: 'name it in config/' });
        return portal;
      },
      gather: (path) => this.gather(path),
      holdRun: (run) => this.plans.hold(run),
      heldRemovals: async (runId) => new Set((await this.plans.heldRun(runId)).removals),
      dropHeld: (runId) => this.plans.dropHeld(runId),
      storedPlan: (id) => this.plans.read(id),
      settleDrops: (path, claims) => this.#settleDrops(path, claims),
      requestRun: (request) => this.gate.request(request),
      notify: (report, request) => this.#notify(report, request),
      closeJobs: (portal, runId, keys) => this.jobLogs.closeRun(portal, runId, keys),
      openGate: (target, runId) => this.gate.close(target, runId),
    };
    return {
      trigger: triggerHandler(deps),
      run: runHandler(deps),
      dataset: datasetHandler(deps),
      resource: resourceHandler(deps),
    };
  }

  /** The wishes of a manifest as it is now; for a drop manifest those of the claimed files. */
  async gather(manifestPath: string): Promise<Gathered> {
    const manifest = await loadManifest(manifestPath);
    if (!isDropManifest(manifest)) {
      return { wishes: await gatherManifest(manifest), superseded: [], refused: [], isDrop: false, manifest };
    }
    const claims = await listClaims(foldersOf(manifest.drop.folder).spool);
    return { ...(await gatherDrop(manifest, claims)), isDrop: true, manifest };
  }

  async #settleDrops(manifestPath: string, settled: SettledClaim[]): Promise<void> {
    const manifest = await loadManifest(manifestPath);
    if (!isDropManifest(manifest)) return;
    const claims = new Map((await listClaims(foldersOf(manifest.drop.folder).spool)).map((claim) => [claim.id, claim]));
    for (const { claim: id, reason } of settled) {
      const claim = claims.get(id);
      if (!claim) continue; // settled before a kill
      if (reason && passingReasons.has(reason.code)) continue; // not the file's fault: it waits in the spool
      if (reason) await quarantineClaim(claim, reason);
      else await archiveClaim(claim, { keep: this.config.inbox.archiveKeep });
    }
  }

  /** A fault here must not keep a run from closing. */
  async #notify(report: Report, request: RunRequest): Promise<void> {
    const facts = async (): Promise<ManifestFacts> => {
      const manifest = await loadManifest(request.manifestPath).catch(() => null); // its faults are the report's reason
      const isLimited = request.only !== null || request.plan !== null || request.remove !== null;
      return {
        notify: manifest?.notify ?? { email: null, webhook: null },
        isWhole: manifest !== null && !isDropManifest(manifest) && !isLimited,
      };
    };
    try {
      await this.#notifier.runClosed(report, facts);
    } catch (error) {
      this.log.error({ runId: report.runId, err: error }, 'the notice of a run could not be made');
    }
  }

  async #knownDialect(name: string, url: string): Promise<Dialect | null> {
    const learnt = await this.redis.hget(this.keys.portal(name), `dialect ${url}`);
    return learnt === 'entity' || learnt === 'form' ? learnt : null;
  }

  #learn(name: string, url: string, dialect: Dialect): void {
    if (this.#dialects.get(name) === dialect) return;
    this.#dialects.set(name, dialect);
    this.redis
      .hset(this.keys.portal(name), `dialect ${url}`, dialect)
      .catch((error: unknown) => this.log.debug({ err: error }, 'the dialect could not be stored'));
  }

  /** A start by a person is a person's retry of a refused login: one try, and the pause ends when it succeeds. */
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

  async #repairGates(): Promise<void> {
    const mended = await this.gate.repair(async (runId) => (await this.runs.report(runId)) !== null);
    for (const line of mended) this.log.warn({ action: 'repair' }, line);
  }
}
