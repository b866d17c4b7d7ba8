// The composition root: opens what a configuration names, and works jobs in this process.
import { setTimeout as sleep } from 'node:timers/promises';
import { portalNamed } from '../config/load.ts';
import { InterruptedError } from '../model/errors.ts';
import { type RunRequest, runRequest } from '../model/job.ts';
import type { KnownTarget, Target } from '../model/redis-keys.ts';
import type { StoredReport } from '../model/report.ts';
import { perPortal } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import { type ConnectionOptions, openConnections } from './connections.ts';
import { type OnRequest, portalAccess, portalHooks } from './portal-access.ts';
import { startPortalWorkers } from './portal-workers.ts';
import { runNoticesOf } from './run-notices.ts';
import { silenceWatch } from './silence-watch.ts';
import { stateWatch } from './state-watch.ts';

/** What a runtime is opened with. */
export interface RuntimeOptions extends ConnectionOptions {
  /** Called with the report of each run that this process closed; after a kill perhaps twice. */
  onRunClosed?: (report: StoredReport) => void;
}

/** Everything a command needs; `close()` ends it in the right order. */
export type Runtime = Awaited<ReturnType<typeof openRuntime>>;

/** Opens Redis and what stands on it; portals and workers are opened when asked for. */
export const openRuntime = async ({ onRunClosed = () => undefined, ...options }: RuntimeOptions) => {
  const connections = await openConnections(options);
  const { config, log, gate, pauses, hasWorkers } = connections;
  /** Null until this process works jobs; its portals then keep to the limits that all workers agree on. */
  let workers: Awaited<ReturnType<typeof startPortalWorkers>> | null = null;
  let onRequest: OnRequest = () => undefined;
  let closing: Promise<void> | null = null;
  const hooks = portalHooks({
    ...connections,
    limits: (portal) => workers?.limits(portal) ?? portalNamed(config, portal),
    isPatient: () => workers === null,
    onRequest: (...request) => onRequest(...request),
  });
  const portals = portalAccess(config, log, hooks);
  const silence = silenceWatch(connections);
  const state = stateWatch(connections);
  const runNotices = runNoticesOf(connections, onRunClosed);

  /** A person who starts the service retries a refused login: one attempt, and the pause ends if it succeeds. */
  const endLoginPauses = async (names: string[]): Promise<void> => {
    for (const name of names) {
      if ((await pauses.state(name))?.reason.code !== 'portal-login') continue;
      try {
        await (await portals.open(name)).session.login(AbortSignal.timeout(config.http.headersMs));
        await pauses.resume(name);
        log.info({ portal: name }, 'the login works again; the portal is resumed');
      } catch (error) {
        log.error({ portal: name, err: error }, 'the portal stays paused');
      }
    }
  };

  const startWorkers = async (names = Object.keys(config.portals)): Promise<void> => {
    if (workers) return;
    for (const name of names) await portals.open(name);
    await endLoginPauses(names);
    workers = await startPortalWorkers({ ...connections, portals, runNotices }, names);
    state.start();
  };

  const stopWorkers = async (force = false): Promise<void> => {
    await workers?.stop(force);
    workers = null;
  };

  const closeAll = async (force: boolean): Promise<void> => {
    await silence.stop(force);
    await state.stop();
    await stopWorkers(force);
    if (!force) await runNotices.close();
    await connections.fetcher.close();
    await portals.close();
    await connections.queues.close();
    connections.redis.disconnect();
    await connections.redisHandle.close();
  };

  return {
    ...connections,
    portals,
    /** Reports what is overdue; started by long-running commands. */
    silence,
    stateWatch: state,

    /** A manifest once for each portal it is published to; `--portal` chooses one. */
    perPortal: <M extends Pick<Manifest, 'portal' | 'portals'>>(manifest: M): M[] => perPortal(manifest, config.portal),

    /** Calls `observe` after every single request to a portal. */
    observeRequests: (observe: OnRequest): void => {
      onRequest = observe;
    },

    /** Asks for a run. One pinned to a plan or a held run waits until no other is current; `signal` ends that. */
    requestRun: async (
      { manifestPath, manifest, ...of }: KnownTarget,
      why: RunRequest['why'],
      more: Partial<Omit<RunRequest, keyof KnownTarget | 'why'>> = {},
      signal?: AbortSignal,
    ): Promise<Target & { runId: string }> => {
      const portal = config.portal ?? of.portal;
      portals.config(portal); // throws for an unknown name
      const target = { manifestPath, manifest, portal };
      // Workers that do not know the portal would take the run and fail it.
      if (!(await hasWorkers([portal])) && (await hasWorkers())) await startWorkers([portal]);
      for (;;) {
        const { runId, starts } = await gate.request(runRequest({ ...target, ...more, why }));
        if (starts !== 'busy') return { runId, manifest, portal };
        if (!(await hasWorkers([portal]))) await startWorkers([portal]); // a worker must end the current run
        await sleep(100, undefined, { signal }).catch(() => {
          throw new InterruptedError('interrupted before the run was requested', { hint: 'run the command again' });
        });
      }
    },

    /** Begins to work jobs of the given portals (default all) in this process. */
    startWorkers,

    /** Takes no more jobs; those in a write finish it, the others go back to the queue. `force` ends at once. */
    stopWorkers,

    /** True while a worker of this process writes. */
    isWriting: (): boolean => workers?.isWriting() ?? false,

    /** Ends everything in order: workers, portals, queues, Redis last. Idempotent. */
    close: (force = false): Promise<void> => {
      closing ??= closeAll(force);
      return closing;
    },
  };
};
