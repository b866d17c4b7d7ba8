// The handlers of all kinds of job, each with what it works with.
import { join } from 'node:path';
import { UsageError } from '../model/errors.ts';
import { closeHandler } from '../pipeline/handlers/close.ts';
import { datasetHandler } from '../pipeline/handlers/dataset.ts';
import type { HandlerDeps } from '../pipeline/handlers/deps.ts';
import { exportHandler } from '../pipeline/handlers/export.ts';
import { proveHandler } from '../pipeline/handlers/prove.ts';
import { runHandler } from '../pipeline/handlers/run.ts';
import { triggerHandler } from '../pipeline/handlers/trigger.ts';
import { breakSilence } from '../queue/run-sweep.ts';
import { holdTrigger } from '../queue/schedules.ts';
import type { Handlers } from '../queue/turn.ts';
import { KeptFiles } from '../sources/drop/kept.ts';
import type { Connections } from './connections.ts';
import type { RunNotices } from './run-notices.ts';
import { gatherSources, leaveDrops, settleDrops } from './sources.ts';

/** See the head of this file. */
export const handlersOf = (parts: Connections, notices: RunNotices): Handlers => {
  const { config, redis, keys, plans, deadlines, queues } = parts;
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
const itemDeps = (parts: Connections): HandlerDeps => {
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
