// The workers of one process: queue workers, their heartbeat, the watches over paused portals and over runs.
import { join } from 'node:path';
import { UsageError } from '../model/errors.ts';
import { closeHandler } from '../pipeline/handlers/close.ts';
import { datasetHandler } from '../pipeline/handlers/dataset.ts';
import type { HandlerDeps } from '../pipeline/handlers/deps.ts';
import { exportHandler } from '../pipeline/handlers/export.ts';
import { proveHandler } from '../pipeline/handlers/prove.ts';
import { runHandler } from '../pipeline/handlers/run.ts';
import { triggerHandler } from '../pipeline/handlers/trigger.ts';
import { stopWatch } from '../queue/cancel.ts';
import { exclusiveIn } from '../queue/exclusive.ts';
import { type AgreedLimits, type PortalLimits, type PortalSilence, workerHeartbeat } from '../queue/heartbeat.ts';
import { circuitBreaker } from '../queue/pause.ts';
import { portalWatch } from '../queue/portal-watch.ts';
import { portalQueue, runsQueue } from '../queue/queues.ts';
import { breakSilence, runSweep } from '../queue/run-sweep.ts';
import { holdTrigger } from '../queue/schedules.ts';
import type { Handlers } from '../queue/turn.ts';
import { queueWorker } from '../queue/worker.ts';
import { keptFiles } from '../sources/drop/kept.ts';
import type { Connections } from './connections.ts';
import type { portalAccess } from './portal-access.ts';
import type { runNoticesOf } from './run-notices.ts';
import { gatherSources, leaveDrops, settleDrops } from './sources.ts';

/** Triggers and runs that a process plans and closes at once. */
const runConcurrency = 4;

interface WorkerParts extends Connections {
  portals: ReturnType<typeof portalAccess>;
  runNotices: ReturnType<typeof runNoticesOf>;
}

/** Begins to work jobs of the named portals; when that fails, everything it has opened is closed. */
export const startPortalWorkers = async (parts: WorkerParts, names: string[]) => {
  const { config, log, redis, keys, queues, pauses, notices, notifier, advancer, role, portals } = parts;
  const limitsOf = ({ concurrency, requestsPerSecond }: PortalLimits) => ({ concurrency, requestsPerSecond });
  const limits = Object.fromEntries(names.map((name) => [name, limitsOf(portals.config(name))]));
  const silence = (name: string): PortalSilence | null => portals.opened(name)?.silence() ?? null;
  const settings = { ...config.breaker, longestRequestedMs: config.retry.maxBackoffMs };
  const breaker = circuitBreaker({ redis, keys, pauses, settings, log });
  const heartbeat = workerHeartbeat(redis, keys, { role, limits, silence }, log);
  const watch = portalWatch({
    pauses,
    breaker,
    portals: names,
    log,
    probe: async (name, signal) => (await portals.open(name)).nodes.ping(signal),
    report: (name, state) => notifier.portalState(name, state),
  });
  const sweep = runSweep({ ...parts, portals: names, stuckMs: config.jobs.stuckMs });
  const shared = {
    // Before our first heartbeat, others do not know of us.
    handlers: handlersOf(parts, async (name) => !hasBegun || (await heartbeat.limitsNow(name)).isShared),
    queues,
    pauses,
    breaker,
    log,
    heartbeat,
    exclusive: exclusiveIn(redis, keys.exclusive),
    stops: stopWatch(redis, keys, pauses),
    isOfOthers: async (name: string) => !Object.hasOwn(config.portals, name) && (await parts.hasWorkers([name])),
    logKey: keys.log,
    ended: (runId: string) => advancer.advance(runId),
    retry: config.retry,
    ...config.jobs,
  };
  const worker = (queue: string, concurrency: number) => queueWorker({ ...shared, queue, concurrency });
  const workerOf = (name: string) =>
    worker(portalQueue(name), jobsAtOnce({ ...portals.config(name), isShared: false }));
  const ofPortal = new Map(names.map((name) => [name, workerOf(name)]));
  const workers = [worker(runsQueue, runConcurrency), ...ofPortal.values()];
  let hasBegun = false;
  const stop = async (kill: boolean): Promise<void> => {
    sweep.stop();
    await Promise.all(workers.map((each) => each.stop(kill)));
    await watch.stop(kill);
    await notices.stop(kill);
    await heartbeat.stop();
  };
  try {
    await heartbeat.start(async (name, agreed) => {
      const jobs = jobsAtOnce(agreed);
      await queues.portal(name).setGlobalConcurrency(jobs);
      // No worker takes all the jobs while others are idle.
      ofPortal.get(name)?.setConcurrency(Math.ceil(jobs / agreed.workers));
    });
    await Promise.all(workers.map((each) => each.ready()));
    await notices.work((data, signal) => notifier.deliver(data, signal));
    await watch.start();
    await sweep.start();
    hasBegun = true;
  } catch (error) {
    await stop(true);
    throw error;
  }
  return {
    isWriting: (): boolean => workers.some((each) => each.isWriting()),
    /** Limits in force for a portal: the lowest of all live workers. */
    limits: (portal: string): PortalLimits => heartbeat.limits(portal),
    /** Takes no more jobs; those in a write finish it, the others go back to the queue. `kill` ends at once. */
    stop,
  };
};

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

/** The handlers of all kinds of job, each with what it works with. */
const handlersOf = (parts: WorkerParts, isShared: HandlerDeps['isShared']): Handlers => {
  const { config, redis, keys, plans, deadlines, queues, portals, runNotices: notices } = parts;
  const items = itemDeps(parts, isShared);
  const exported = { ...items, publicPortal: (name: string) => portals.open(name, { isAnonymous: true }) };
  return {
    trigger: triggerHandler({
      requestRun: (request) => parts.gate.request(request),
      holdTrigger: (data, until) => holdTrigger(queues, data, until),
      triggered: (data, record) => notices.triggered(data, record),
    }),
    run: runHandler({
      ...exported,
      deadlines,
      plans,
      gather: (request, signal) => gatherSources(request, parts.sourceTools(signal), { redis, keys }),
      started: (request) => notices.started(request),
    }),
    dataset: datasetHandler(items),
    export: exportHandler(exported),
    prove: proveHandler(items),
    close: closeHandler({
      ...exported,
      takeOut: (runId, signal) =>
        parts.advancer.takeOut(runId, signal, (portal, ids) => breakSilence(queues, portal, ids)),
      leaveDrops: (run, reason) => leaveDrops(run, reason, { redis, keys }),
      settleDrops: (run, claims) => settleDrops(run, claims, { keep: config.inbox.archiveKeep, redis, keys }),
      onRunClosed: [
        async ({ reason }, { release }) => {
          if (release !== null && reason === null) await plans.dropHeld(release);
        },
        (report, run) => notices.closed(report, run),
      ],
    }),
  };
};

const itemDeps = (parts: WorkerParts, isShared: HandlerDeps['isShared']): HandlerDeps => {
  const { config, portals, ledger, runs, fetcher, fetched } = parts;
  return {
    ledger,
    runs,
    fetcher,
    fetched,
    kept: keptFiles({ dir: join(config.stateDir, 'kept'), ...config.kept }),
    settings: {
      importTimeoutMs: (name) => portals.config(name).importTimeoutMs,
      importsTogether: (name) => portals.config(name).imports === 'parallel',
      refreshAfterMs: portals.refreshAfterMs,
      ...config.limits,
      preparedDir: join(config.stateDir, 'prepared'),
      rejectsDir: join(config.stateDir, 'rejects'),
      changeLogsDir: join(config.stateDir, 'change-logs'),
    },
    portal: (name) => {
      const portal = portals.opened(name);
      if (portal) return portal;
      throw new UsageError(`portal "${name}" is not open in this worker`, { hint: 'name it in config/' });
    },
    isShared,
  };
};
