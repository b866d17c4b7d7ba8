// Opens what a one-off command needs, and closes it whatever happens.
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { createLog, type Log } from '../model/log.ts';
import { Runtime } from '../service/runtime.ts';
import { type CommonOptions, type Io, warn } from './io.ts';
import { watchRedis } from './watch-redis.ts';

/** Loads the configuration as the common options say. */
export const configOf = (options: CommonOptions, io: Io): Promise<Config> =>
  loadConfig({ file: options.config, cwd: io.cwd, env: io.env, portal: options.portal, stateDir: options.state });

/**
 * The log of a one-off command: standard error, so that standard output stays the command's own; errors
 * unless `--verbose` asks for everything the configuration allows.
 */
export const oneOffLog = (config: Config, options: CommonOptions, io: Io): Log =>
  createLog({
    level: options.verbose || config.log.level === 'silent' ? config.log.level : quieter(config.log.level),
    destination: io.stderr,
    pretty: io.terminal,
  });

const quieter = (level: Config['log']['level']): string => (level === 'fatal' ? level : 'error');

/** Runs `work` with an opened runtime and closes it afterwards; a second signal closes by force, and a stop without Redis ends the process. */
export const withRuntime = async <T>(
  parts: { config: Config; log: Log; role: string },
  io: Io,
  work: (runtime: Runtime) => Promise<T>,
): Promise<T> => {
  const runtime = await Runtime.open({ ...parts, env: io.env });
  const force = (): void => {
    runtime.close(true).catch(() => undefined); // the process ends next
  };
  io.force.addEventListener('abort', force, { once: true });
  const endWatch = watchRedis(runtime, io.stop, (line) => warn(io, `sluice: ${line}`));
  try {
    return await work(runtime);
  } finally {
    io.force.removeEventListener('abort', force);
    for (const line of passwordLines(runtime)) warn(io, line);
    await runtime.close().finally(endWatch);
  }
};

/** One line for each embedded portal whose `admin` was made just now: the password is never shown again. */
export const passwordLines = (runtime: Runtime): string[] =>
  runtime.portals
    .newAdminPasswords()
    .map(({ portal, password }) => `portal ${portal}: the password of its user admin is ${password} (shown this once)`);
