// A working directory for commands that are called in this process: quick settings, its own Redis and portal.
import { join } from 'node:path';
import type { CommonOptions } from '../../src/commands/io.ts';
import { type CommandIo, commandIo } from './command-io.ts';
import { type PlaceRedis, redisOf } from './place-redis.ts';
import { tempDir } from './temp-dir.ts';
import { writeText } from './yaml-file.ts';

/** See the head of this file. */
export interface CommandPlace {
  dir: string;
  /** Writes a text below the directory; returns its path. */
  write(name: string, text: string): string;
  /** Writes a manifest with one dataset `one` of these tables (id -> CSV); returns its path. */
  manifest(name: string, tables: Record<string, string>, more?: Record<string, unknown>): string;
  /** Surroundings for one command; call the command with {@link CommandPlace.options}. */
  io(options?: { terminal?: boolean; env?: NodeJS.ProcessEnv }): CommandIo;
  options: CommonOptions;
}

/** Makes a place; `config` is merged over the settings. See {@link PlaceRedis}. */
export const commandPlace = (config: Record<string, unknown> = {}, redis: PlaceRedis = 'shared'): CommandPlace => {
  const dir = tempDir();
  const write = (name: string, text: string): string => writeText(dir, name, text);
  const settings = {
    jobs: { lock: '1500ms', stalledCheck: '500ms' },
    retry: { backoff: '50ms', maxBackoff: '200ms', attempts: 3 },
    inbox: { settle: '100ms', rescan: '1s' },
    log: { level: 'silent' },
    web: { port: 0 },
  };
  write(
    'sluice.yaml',
    JSON.stringify({
      portals: { local: { kind: 'embedded' } },
      redis: { url: redisOf(redis, join(dir, 'state')).url },
      ...settings,
      ...config,
    }),
  );
  return {
    dir,
    write,
    manifest: (name, tables, more = {}) => {
      const resources = Object.entries(tables).map(([id, text]) => {
        const file = write(`data/${name}-${id}.csv`, text);
        return { id, title: `${name} ${id}`, file };
      });
      const datasets = [{ id: 'one', title: `${name} one`, resources, ...more }];
      return write(`${name}.yaml`, JSON.stringify({ name, portal: 'local', datasets }));
    },
    io: ({ terminal, env } = {}) =>
      commandIo(dir, {
        ...(terminal === undefined ? {} : { terminal }),
        env: { PATH: process.env.PATH, REDIS_SERVER_BIN: process.env.REDIS_SERVER_BIN, ...env },
      }),
    options: { config: 'sluice.yaml', state: 'state' },
  };
};
