// The workers of one process: queue workers, their heartbeat, the watches over paused portals and over runs.
import type { Redis } from 'ioredis';
import type { Config } from '../config/config.ts';
import type { Log } from '../model/log.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import type { Notifier } from '../notify/notifier.ts';
import type { Advancer } from '../queue/advancer.ts';
import { StopWatch } from '../queue/cancel.ts';
import { Exclusive } from '../queue/exclusive.ts';
import type { RunGate } from '../queue/gate.ts';
import {
  type AgreedLimits,
  liveWorkers,
  type PortalLimits,
  type PortalSilence,
  WorkerHeartbeat,
} from '../queue/heartbeat.ts';
import type { NoticeQueue } from '../queue/notices.ts';
import { CircuitBreaker, type PortalPauses } from '../queue/pause.ts';
import { PortalWatch } from '../queue/portal-watch.ts';
import { portalQueue, type Queues, runsQueue } from '../queue/queues.ts';
import { RunSweep } from '../queue/run-sweep.ts';
import type { Handlers } from '../queue/turn.ts';
import { QueueWorker } from '../queue/worker.ts';
import type { Runs } from '../state/runs.ts';

/** Triggers and runs that a process plans and closes at once. */
const runConcurrency = 4;

/** What workers are made of. */
interface PortalWorkersParts {
  config: Config;
  log: Log;
  redis: Redis;
  keys: RedisKeys;
  queues: Queues;
  pauses: PortalPauses;
  notices: NoticeQueue;
  notifier: Notifier;
  handlers: Handlers;
  /** What this process is, as other processes see it. */
  role: string;
  /** Portals it works for, with the limits that this configuration states. */
  limits: Record<string, PortalLimits>;
  /** One cheap read of a portal, to see whether it answers again. */
  probe(portal: string, signal: AbortSignal): Promise<void>;
  /** How long a portal has owed every reply to this process. */
  silence(portal: string): PortalSilence | null;
  gate: RunGate;
  runs: Runs;
  advancer: Advancer;
}

/** Works jobs until it is stopped. */
export class PortalWorkers {
  readonly #parts: PortalWorkersParts;
  readonly #heartbeat: WorkerHeartbeat;
  readonly #watch: PortalWatch;
  readonly #workers: QueueWorker[];
  readonly #ofPortal: ReadonlyMap<string, QueueWorker>;
  readonly #sweep: RunSweep;

  private constructor(parts: PortalWorkersParts) {
    const { config, log, redis, keys, pauses, limits, notifier } = parts;
    const portals = Object.keys(limits);
    const breaker = new CircuitBreaker({
      redis,
      keys,
      pauses,
      settings: { ...config.breaker, longestRequestedMs: config.retry.maxBackoffMs },
      log,
    });
    this.#parts = parts;
    this.#heartbeat = new WorkerHeartbeat(redis, keys, { role: parts.role, limits, silence: parts.silence }, log);
    this.#watch = new PortalWatch({
      redis,
      keys,
      pauses,
      breaker,
      portals,
      probe: parts.probe,
      report: (name, state) => notifier.portalState(name, state),
      lockMs: config.jobs.lockMs,
      log,
    });
    this.#sweep = new RunSweep({ ...parts, portals, stuckMs: config.jobs.stuckMs });
    const exclusive = new Exclusive(redis, keys.exclusive);
    const stops = new StopWatch(redis, keys, pauses);
    const worker = (queue: string, concurrency: number): QueueWorker =>
      workerOf(parts, { breaker, exclusive, stops, heartbeat: this.#heartbeat }, queue, concurrency);
    this.#ofPortal = new Map(
      Object.entries(limits).map(([name, own]) => [
        name,
        worker(portalQueue(name), jobsAtOnce({ ...own, isShared: false })),
      ]),
    );
    this.#workers = [worker(runsQueue, runConcurrency), ...this.#ofPortal.values()];
  }

  /** Begins to work; when that fails, everything it has opened is closed. */
  static async start(parts: PortalWorkersParts): Promise<PortalWorkers> {
    const force = new PortalWorkers(parts);
    try {
      await force.#begin();
      return force;
    } catch (error) {
      await force.stop(true);
      throw error;
    }
  }

  async #begin(): Promise<void> {
    const { notices, notifier, queues } = this.#parts;
    await this.#heartbeat.start(async (name, agreed) => {
      const jobs = jobsAtOnce(agreed);
      await queues.portal(name).setGlobalConcurrency(jobs);
      // No worker takes all the jobs while others are idle.
      this.#ofPortal.get(name)?.setConcurrency(Math.ceil(jobs / agreed.workers));
    });
    await Promise.all(this.#workers.map((each) => each.ready()));
    await notices.work((data, signal) => notifier.deliver(data, signal));
    await this.#watch.start();
    await this.#sweep.start();
  }

  /** True while a write to a portal is in progress. */
  get isWriting(): boolean {
    return this.#workers.some((worker) => worker.isWriting);
  }

  /** Limits in force for a portal: the lowest of all live workers. */
  limits(portal: string): PortalLimits {
    return this.#heartbeat.limits(portal);
  }

  /** True where other workers may work for the portal as well. */
  async isShared(portal: string): Promise<boolean> {
    return (await this.#heartbeat.limitsNow(portal)).isShared;
  }

  /** Takes no more jobs; those in a write finish it, the others go back to the queue. `kill` ends at once. */
  async stop(kill: boolean): Promise<void> {
    this.#sweep.stop();
    await Promise.all(this.#workers.map((worker) => (kill ? worker.kill() : worker.stop())));
    await this.#watch.stop(kill);
    await this.#parts.notices.stop(kill);
    await this.#heartbeat.stop();
  }
}

/**
 * How many jobs of a portal run at once. A worker that has the portal to itself takes three times `concurrency`, so that
 * some jobs prepare while others wait for the portal: its client limits the requests. With a rate limit it takes twice as
 * many: more would wait so long that what they read from the portal must be read again. Several workers can limit only
 * their jobs. A `concurrency` of 1 means one job at a time.
 */
const jobsAtOnce = ({ concurrency, requestsPerSecond, isShared }: Omit<AgreedLimits, 'workers'>): number => {
  if (isShared || concurrency === 1) return concurrency;
  return concurrency * (requestsPerSecond === 0 ? 3 : 2);
};

/** True when some live worker works for the portal. */
const isServed = async ({ redis, keys }: PortalWorkersParts, portal: string): Promise<boolean> =>
  (await liveWorkers(redis, keys, Date.now())).values().some(({ limits }) => Object.hasOwn(limits, portal));

const workerOf = (
  parts: PortalWorkersParts,
  shared: { breaker: CircuitBreaker; exclusive: Exclusive; stops: StopWatch; heartbeat: WorkerHeartbeat },
  queue: string,
  concurrency: number,
): QueueWorker =>
  new QueueWorker({
    queue,
    concurrency,
    queues: parts.queues,
    handlers: parts.handlers,
    pauses: parts.pauses,
    ...shared,
    isOfOthers: async (portal) => !Object.hasOwn(parts.config.portals, portal) && isServed(parts, portal),
    logKey: parts.keys.log,
    ended: (runId) => parts.advancer.advance(runId),
    retry: parts.config.retry,
    lockMs: parts.config.jobs.lockMs,
    stalledCheckMs: parts.config.jobs.stalledCheckMs,
    log: parts.log,
  });
