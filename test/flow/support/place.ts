// A working directory for one flow: configuration with quick settings, manifests, tables, state folder, processes.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { type RedisKeys, redisKeys, targetName } from '../../../src/model/redis-keys.ts';
import type { Report } from '../../../src/model/report.ts';
import { runsIn } from '../../../src/state/runs.ts';
import { atFileEnd } from '../../support/file-end.ts';
import { type PlaceRedis, redisOf } from '../../support/place-redis.ts';
import { reportIn } from '../../support/printed.ts';
import {
  type Ended,
  endSluices,
  runSluice,
  type Sluice,
  type Started,
  startSluice,
} from '../../support/sluice-process.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { runHere, startHere } from './here.ts';

const quick = {
  jobs: { lock: '1500ms', stalledCheck: '500ms' },
  retry: { backoff: '100ms', maxBackoff: '500ms' },
  inbox: { settle: '300ms', rescan: '1s' },
  breaker: { probe: '200ms', maxProbe: '1s' },
  web: { port: 0 },
};

/** A process beside its working directory. */
export type Start = { env?: NodeJS.ProcessEnv; preload?: string; fromSources?: boolean };

/** In this process nothing can be loaded first. */
type StartHere = Pick<Start, 'env'> & { preload?: never };

/** See the head of this file. */
export interface Place {
  dir: string;
  stateDir: string;
  /** Writes a text below the directory; returns its path. */
  write(name: string, content: string | Buffer): string;
  /** Writes a manifest (JSON is YAML); returns its path. */
  manifest(content: { name: string } & Record<string, unknown>): string;
  run(args: string[], start?: Start): Promise<Ended>;
  start(args: string[], start?: StartHere): Started;
  /** In a process of its own, which can be killed. */
  spawn(args: string[], start?: Start): Sluice;
  /** `publish --json`, with the report parsed. */
  publish(manifest: string, start?: Start): Promise<Ended & { report: Report }>;
  /** `start`, until it says that it runs. */
  serve(args?: string[], start?: StartHere): Promise<Started>;
  /** The same in a process of its own. */
  spawnService(args?: string[], start?: Start): Promise<Sluice>;
  /** Connection to its Redis, which must run. */
  redis(): Redis;
  redisUrl(): string;
  keys: RedisKeys;
  /** Process number of the embedded Redis. */
  redisPid(): number;
}

/** Makes a place; `config` is merged over quick settings. */
export const makePlace = (config: Record<string, unknown> = {}, redis: PlaceRedis = 'shared'): Place => {
  const dir = tempDir();
  const stateDir = join(dir, 'state');
  const { url, options } = redisOf(redis, stateDir);
  const write = (name: string, content: string | Buffer): string => {
    const path = join(dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  };
  write(
    'config/sluice.yaml',
    JSON.stringify({ portals: { local: { kind: 'embedded' } }, redis: { url }, ...quick, ...config }),
  );
  atFileEnd(endSluices);
  const all = (args: string[]): string[] => [...args, '--state', 'state'];
  // In this process unless it is to be killed or something else must be loaded: most of the time of a short command goes into the start of its own.
  const here = ({ env }: Start): { cwd: string; env: NodeJS.ProcessEnv } => {
    const { PATH, REDIS_SERVER_BIN } = process.env;
    return { cwd: dir, env: { PATH, REDIS_SERVER_BIN, HOME: dir, ...env } };
  };
  const run: Place['run'] = (args, start = {}) => {
    if (start.preload !== undefined) return runSluice(all(args), { cwd: dir, ...start });
    return runHere(all(args), here(start));
  };
  const running = async <S extends Started>(service: S): Promise<S> => {
    await service.said('"sluice is running"');
    return service;
  };
  const start: Place['start'] = (args, start = {}) => startHere(all(args), here(start));
  const spawn: Place['spawn'] = (args, start) => startSluice(all(args), { cwd: dir, ...start });
  const pidFile = (): { server: { pid: number } | null; socket: string } =>
    JSON.parse(readFileSync(join(stateDir, 'redis', 'redis.pid'), 'utf8'));
  const redisUrl = (): string => url ?? `unix://${pidFile().socket}`;
  return {
    dir,
    stateDir,
    write,
    manifest: (content) => write(`${content.name}.yaml`, JSON.stringify({ portal: 'local', ...content })),
    run,
    start,
    spawn,
    publish: async (manifest, start) => withReport(await run(['publish', manifest, '--json'], start)),
    serve: (args = [], options) => running(start(['start', ...args], options)),
    spawnService: (args = [], options) => running(spawn(['start', ...args], options)),
    redis: () => {
      const client = new Redis({ ...(options ?? { path: pidFile().socket }), maxRetriesPerRequest: null });
      client.on('error', () => undefined); // it is killed on purpose in some flows
      atFileEnd(() => client.disconnect());
      return client;
    },
    redisUrl,
    keys: redisKeys('sluice'),
    redisPid: () => pidFile().server?.pid ?? -1,
  };
};

/** A publish that ended, with its report parsed. */
export const withReport = (ended: Ended): Ended & { report: Report } => {
  try {
    return { ...ended, report: reportIn(ended.out) };
  } catch (cause) {
    throw new Error(`publish ended with ${ended.code} and no report:\n${ended.out}\n${ended.err}`, { cause });
  }
};

/** Waits until a run of the manifest has closed, and gives the newest report. */
export const reportOf = async (place: Place, redis: Redis, manifest: string, timeoutMs?: number): Promise<Report> =>
  waitUntil(`a report of ${manifest}`, async () => (await reportsOf(place, redis, manifest)).at(0), timeoutMs);

/** Reports of the closed runs of a manifest, newest first. */
export const reportsOf = async (place: Place, redis: Redis, manifest: string): Promise<Report[]> => {
  const reports: Report[] = [];
  for (const id of await redis.zrevrange(place.keys.runs, 0, -1)) {
    const report = await runsIn(redis, place.keys, 0).report(id);
    if (report?.manifest === manifest) reports.push({ ...report, items: [...report.items] });
  }
  return reports;
};

/** True when no run of the manifest is open: the gate is free. */
export const isIdle = async (place: Place, redis: Redis, manifest: string, portal = 'local'): Promise<boolean> =>
  (await redis.hexists(place.keys.gates, targetName({ manifest, portal }))) === 0;
