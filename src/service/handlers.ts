// The handlers of all kinds of job, each with what it works with.
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Config } from '../config/config.ts';
import { UsageError } from '../model/errors.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import { closeHandler } from '../pipeline/handlers/close.ts';
import { datasetHandler } from '../pipeline/handlers/dataset.ts';
import type { HandlerDeps } from '../pipeline/handlers/deps.ts';
import { exportHandler } from '../pipeline/handlers/export.ts';
import { proveHandler } from '../pipeline/handlers/prove.ts';
import { runHandler } from '../pipeline/handlers/run.ts';
import { triggerHandler } from '../pipeline/handlers/trigger.ts';
import type { Portal } from '../portal-client/client.ts';
import type { Advancer } from '../queue/advancer.ts';
import type { RunGate } from '../queue/gate.ts';
import type { Queues } from '../queue/queues.ts';
import { breakSilence } from '../queue/run-sweep.ts';
import { holdTrigger } from '../queue/schedules.ts';
import type { Handlers } from '../queue/turn.ts';
import { KeptFiles } from '../sources/drop/kept.ts';
import type { Fetcher } from '../sources/fetch/fetch.ts';
import type { FetchedFiles } from '../sources/fetch/fetched-files.ts';
import type { SourceTools } from '../sources/source-kinds.ts';
import type { Deadlines } from '../state/deadlines.ts';
import type { Ledger } from '../state/ledger.ts';
import type { Runs } from '../state/runs.ts';
import type { StoredPlans } from '../state/stored-plans.ts';
import type { PortalAccess } from './portal-access.ts';
import type { RunNotices } from './run-notices.ts';
import { gatherSources, leaveDrops, settleDrops } from './sources.ts';

/** What the handlers are made of. */
interface HandlerParts {
  config: Config;
  redis: Redis;
  keys: RedisKeys;
  ledger: Ledger;
  runs: Runs;
  plans: StoredPlans;
  deadlines: Deadlines;
  queues: Queues;
  gate: RunGate;
  advancer: Advancer;
  portals: PortalAccess;
  fetcher: Fetcher;
  fetched: FetchedFiles;
  runNotices: RunNotices;
  refreshAfterMs(portal: string): number | null;
  isShared(portal: string): Promise<boolean>;
  openPublicPortal(name: string): Promise<Portal>;
  sourceTools(signal: AbortSignal): SourceTools;
}

/** See the head of this file. */
export const handlersOf = (parts: HandlerParts): Handlers => {
  const { config, redis, keys, plans, deadlines, runNotices: notices, queues } = parts;
  const items = itemDeps(parts);
  const exported = { ...items, publicPortal: (name: string) => parts.openPublicPortal(name) };
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

/** What items are published with. */
const itemDeps = (parts: HandlerParts): HandlerDeps => {
  const { config, portals, ledger, runs, fetcher, fetched } = parts;
  return {
    ...{ ledger, runs, fetcher, fetched },
    kept: new KeptFiles({ dir: join(config.stateDir, 'kept'), ...config.kept }),
    settings: {
      importTimeoutMs: (name) => portals.config(name).importTimeoutMs,
      importsTogether: (name) => portals.config(name).imports === 'parallel',
      refreshAfterMs: (name) => parts.refreshAfterMs(name),
      maxFileBytes: config.limits.tableBytes,
      maxRowBytes: config.limits.rowBytes,
      preparedDir: join(config.stateDir, 'prepared'),
      rejectsDir: join(config.stateDir, 'rejects'),
    },
    portal: (name) => {
      const portal = portals.opened(name);
      if (portal) return portal;
      throw new UsageError(`portal "${name}" is not open in this worker`, { hint: 'name it in config/' });
    },
    isShared: (name) => parts.isShared(name),
  };
};
