// The composition root: opens what a configuration names, and works jobs in this process.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { InterruptedError } from '../model/errors.ts';
import { type RunRequest, runRequest } from '../model/job.ts';
import type { KnownTarget, Target } from '../model/redis-keys.ts';
import { openRedis } from '../redis-server/embedded.ts';
import { EndableRedis } from '../state/redis/connection.ts';
import { refuseOtherLayout } from '../state/targets.ts';
import { Connections, type RuntimeOptions } from './connections.ts';
import { startPortalWorkers } from './portal-workers.ts';
import { runNoticesOf } from './run-notices.ts';
import { silenceWatch } from './silence-watch.ts';
import { stateWatch } from './state-watch.ts';

/** Everything a command needs, opened; `close()` ends it in the right order. */
export class Runtime extends Connections {
  /** Reports what is overdue; started by long-running commands. */
  readonly silence = silenceWatch(this);
  readonly runNotices = runNoticesOf(this);
  readonly stateWatch = stateWatch(this);
  #closing: Promise<void> | null = null;

  /** Opens Redis and what stands on it; portals and workers are opened when asked for. */
  static async open(options: RuntimeOptions): Promise<Runtime> {
    const { config, log, env, report } = options;
    const handle = await openRedis({ ...config.redis, stateDir: config.stateDir, env, log, report });
    const redis = new EndableRedis({ ...handle.options, maxRetriesPerRequest: null });
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

  /** Asks for a run. One pinned to a plan or a held run waits until no other is current; `signal` ends that. */
  async requestRun(
    { manifestPath, manifest, ...of }: KnownTarget,
    why: RunRequest['why'],
    more: Partial<Omit<RunRequest, keyof KnownTarget | 'why'>> = {},
    signal?: AbortSignal,
  ): Promise<Target & { runId: string }> {
    const portal = this.portalOf(of);
    this.portals.config(portal);
    const target = { manifestPath, manifest, portal };
    // Workers that do not know the portal would take the run and fail it.
    if (!(await this.hasWorkers([portal])) && (await this.hasWorkers())) await this.startWorkers([portal]);
    for (;;) {
      const { runId, starts } = await this.gate.request(runRequest({ ...target, ...more, why }));
      if (starts !== 'busy') return { runId, manifest, portal };
      if (!(await this.hasWorkers([portal]))) await this.startWorkers([portal]); // a worker must end the current run
      await sleep(100, undefined, { signal }).catch(() => {
        throw new InterruptedError('interrupted before the run was requested', { hint: 'run the command again' });
      });
    }
  }

  /** Begins to work jobs of the given portals (default all) in this process. */
  async startWorkers(portals: string[] = Object.keys(this.config.portals)): Promise<void> {
    if (this.workers) return;
    for (const name of portals) await this.openPortal(name);
    await this.#endLoginPauses(portals);
    this.workers = await startPortalWorkers(this, portals, this.runNotices);
    this.stateWatch.start();
  }

  /** The id that pairs spool folders with this Redis, made at first use. */
  async spoolId(): Promise<string> {
    await this.redis.setnx(this.keys.spoolId, randomUUID());
    return (await this.redis.get(this.keys.spoolId)) ?? '';
  }

  /** Takes no more jobs; those in a write finish it, the others go back to the queue. `force` ends at once. */
  async stopWorkers(force = false): Promise<void> {
    await this.workers?.stop(force);
    this.workers = null;
  }

  /** Ends everything in order: workers, portals, queues, Redis last. Idempotent. */
  close(force = false): Promise<void> {
    this.#closing ??= this.#close(force);
    return this.#closing;
  }

  async #close(force: boolean): Promise<void> {
    await this.silence.stop(force);
    await this.stateWatch.stop();
    await this.stopWorkers(force);
    if (!force) await this.runNotices.close();
    await this.fetcher.close();
    await this.portals.close();
    await this.queues.close();
    this.redis.disconnect();
    await this.redisHandle.close();
  }

  /** A person who starts the service retries a refused login: one attempt, and the pause ends if it succeeds. */
  async #endLoginPauses(portals: string[]): Promise<void> {
    for (const name of portals) {
      const pause = await this.pauses.state(name);
      if (pause?.reason.code !== 'portal-login') continue;
      try {
        await (await this.openPortal(name)).session.login(AbortSignal.timeout(this.config.http.headersMs));
        await this.pauses.resume(name);
        this.log.info({ portal: name }, 'the login works again; the portal is resumed');
      } catch (error) {
        this.log.error({ portal: name, err: error }, 'the portal stays paused');
      }
    }
  }
}
