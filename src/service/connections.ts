// What a configuration names, opened without its portals: Redis and what is kept there, queues, the client of the web.
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { isLoopback, urlHost } from '../config/addresses.ts';
import type { Config } from '../config/config.ts';
import { isBelow } from '../model/key.ts';
import type { Log } from '../model/log.ts';
import { type KnownTarget, type RedisKeys, redisKeys } from '../model/redis-keys.ts';
import { notifierOf } from '../notify/notifier.ts';
import { advancerOf } from '../queue/advance.ts';
import { runGate } from '../queue/gate.ts';
import { liveWorkers, type PortalSilence } from '../queue/heartbeat.ts';
import { noticeQueue } from '../queue/notices.ts';
import { portalPauses } from '../queue/pause.ts';
import { queuesOn } from '../queue/queues.ts';
import { openRedis } from '../redis-server/embedded.ts';
import { configuredFetcher } from '../sources/fetch/fetch.ts';
import { fetchedFiles } from '../sources/fetch/fetched-files.ts';
import type { SourceTools } from '../sources/source-kinds.ts';
import { deadlinesIn } from '../state/deadlines.ts';
import { type Ledger, ledgerIn } from '../state/ledger.ts';
import { EndableRedis } from '../state/redis/connection.ts';
import { runsIn } from '../state/runs.ts';
import { storedPlans } from '../state/stored-plans.ts';
import { refuseOtherLayout } from '../state/targets.ts';

export interface ConnectionOptions {
  config: Config;
  log: Log;
  env: NodeJS.ProcessEnv;
  /** What this process is, as other processes see it. */
  role: string;
  /** Shows the user what the start of Redis waits for. */
  report?: (line: string) => void;
}

export type Connections = Awaited<ReturnType<typeof openConnections>>;

/** What is opened once, and read by everything above; `fetcher`, `queues`, `redis` and `redisHandle` are to be closed. */
export const openConnections = async ({ config, log, env, role, report }: ConnectionOptions) => {
  const { stateDir } = config;
  const redisHandle = await openRedis({ ...config.redis, stateDir, env, log, report });
  const redis: Redis = new EndableRedis({ ...redisHandle.options, maxRetriesPerRequest: null });
  redis.on('error', (error) => log.warn({ err: error.message }, 'the connection to Redis failed'));
  const keys = redisKeys(config.redis.prefix);
  await refuseOtherLayout(redis, keys).catch(async (error: unknown) => {
    redis.disconnect();
    await redisHandle.close();
    throw error;
  });
  const { keepRunsMs, keepLogs } = config.jobs;
  const { attempts } = config.retry;
  const queues = queuesOn(redis, { prefix: config.redis.prefix, attempts, keepLogs, keepMs: keepRunsMs });
  const ledger = ledgerIn(redis, keys);
  const runs = runsIn(redis, keys, keepRunsMs);
  const gate = runGate(redis, keys, queues, runs);
  const fetcher = configuredFetcher(config, env);
  const notices = noticeQueue(queues, { ...config.jobs, ...config.retry }, log);
  return {
    config,
    log,
    role,
    redisHandle,
    redis,
    keys,
    queues,
    ledger,
    runs,
    gate,
    fetcher,
    notices,
    plans: storedPlans(redis, keys, keepRunsMs),
    advancer: advancerOf(queues, gate, runs),
    pauses: portalPauses(redis, keys, queues),
    deadlines: deadlinesIn(redis, keys),
    /** Files of the web on their way to a portal, on this host. */
    fetched: fetchedFiles(join(stateDir, 'fetched'), fetcher),
    notifier: notifierOf({
      redis,
      keys,
      config: config.notify,
      pages: pagesUrl(config.web),
      enqueue: (id, job) => notices.add(id, job),
      post: (url, posting) => fetcher.post(url, posting),
      log,
    }),
    sourceTools: (signal: AbortSignal): SourceTools => ({ fetcher, stateDir, signal, log }),
    ...knownTargets(ledger, config.portal),
    ...allWorkers(redis, keys),
  };
};

/** Where the pages are for people: their public address, or on this host one with a fixed port. */
const pagesUrl = ({ publicUrl, host, port }: Config['web']): string | null => {
  if (publicUrl !== null) return publicUrl.replace(/\/$/, '');
  return port > 0 && isLoopback(host) ? `http://${urlHost(host)}:${port}` : null;
};

/** The targets that were ever run; `--portal` chooses those of one portal. */
const knownTargets = (ledger: Ledger, portal: string | null) => {
  const where = async (isMeant: (target: KnownTarget) => boolean): Promise<KnownTarget[]> =>
    (await ledger.targets()).filter((target) => (portal === null || portal === target.portal) && isMeant(target));
  return {
    targets: () => where(() => true),
    targetsOfKey: (key: string) => where(({ manifest }) => isBelow(key, manifest)),
    targetsOfManifest: (name: string) => where(({ manifest }) => manifest === name),
  };
};

/** The processes that run the jobs of this Redis. */
const allWorkers = (redis: Redis, keys: RedisKeys) => {
  const workers = async () => [...(await liveWorkers(redis, keys, Date.now())).values()];
  return {
    liveWorkers: workers,

    /** True when there are some, for each of the given portals. */
    hasWorkers: async (portals: readonly string[] = []): Promise<boolean> => {
      const live = await workers();
      return live.length > 0 && portals.every((portal) => live.some(({ limits }) => Object.hasOwn(limits, portal)));
    },

    /** How long a portal has owed every reply to them, or null. */
    portalSilence: async (portal: string): Promise<PortalSilence | null> => {
      const silences = (await workers()).flatMap(({ silences }) => silences[portal] ?? []);
      return silences.sort((a, b) => a.ms - b.ms)[0] ?? null;
    },
  };
};
