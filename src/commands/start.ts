// `sluice start`, the service, and `sluice worker`, workers alone.

import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { UsageError } from '../model/errors.ts';
import { createLog, type Log } from '../model/log.ts';
import type { Runtime } from '../service/runtime.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { exitCodes } from './exit-code.ts';
import { type CommonOptions, type Io, stopped, warn } from './io.ts';
import { ServiceLines } from './service-lines.ts';
import { configOf, passwordLines, watchRedis } from './session.ts';

/** Runs the service until it is told to stop; a drained stop is exit code 0. */
export const startCommand = async (manifests: string[], options: CommonOptions, io: Io): Promise<number> =>
  serve('start', options, io, async (runtime, lines) => {
    refuseMissing(manifests, io);
    const [{ Service }, { serveWeb }] = await Promise.all([
      import('../service/service.ts'),
      import('../web/server.ts'),
    ]);
    const service = new Service(
      runtime,
      manifests.map((path) => resolve(io.cwd, path)),
    );
    const web = await serveWeb(runtime); // first: a port that is taken ends it before any work begins
    const close = async (): Promise<void> => {
      await service.close();
      await web.close();
    };
    const served = await service.start().catch(async (error: unknown) => {
      await close(); // what it has opened would keep the process alive
      throw error;
    });
    for (const line of passwordLines(runtime)) warn(io, line);
    for (const [name, config] of Object.entries(runtime.config.portals)) {
      const supervisor = runtime.portals.supervisor(name);
      runtime.log.info(
        { portal: name, url: supervisor?.url ?? (config.kind === 'remote' ? config.url : null) },
        'portal in use',
      );
    }
    runtime.log.info(
      { manifests: served.map((manifest) => manifest.name), web: web.url, redis: runtime.redisHandle.describe },
      'sluice is running',
    );
    lines?.say(`sluice is running, see ${web.url}/`);
    for (const { name, ...manifest } of served)
      lines?.say(`  ${name}${'drop' in manifest ? ` watches ${relative(io.cwd, manifest.drop.folder)}/` : ''}`);
    lines?.say('press Ctrl-C to stop; the next start resumes unfinished work');
    return close;
  });

/** A manifest that is named must be there; patterns may match nothing yet, and faulty manifests are left out with their reason. */
const refuseMissing = (manifests: string[], io: Io): void => {
  for (const path of manifests) {
    if (/[*?[{]/.test(path) || existsSync(resolve(io.cwd, path))) continue;
    throw new UsageError(`there is no manifest ${resolve(io.cwd, path)}`, {
      hint: 'check the path, or omit it',
    });
  }
};

/** Works jobs until it is told to stop. */
export const workerCommand = async (options: CommonOptions, io: Io): Promise<number> =>
  serve('worker', options, io, async (runtime, lines) => {
    await runtime.startWorkers();
    lines?.say(`worker is running for ${Object.keys(runtime.config.portals).join(', ')}; press Ctrl-C to stop`);
    await runtime.silence.start();
    runtime.log.info({ portals: Object.keys(runtime.config.portals) }, 'worker is running');
    return async () => undefined;
  });

/** Where the service tells what it does: a log for programs, or on a terminal lines for people, unless `--verbose`. */
const openLog = (config: Config, options: CommonOptions, io: Io): { log: Log; lines: ServiceLines | null } => {
  const { level } = config.log;
  if (!io.terminal || options.verbose) return { log: createLog({ level, pretty: io.terminal }), lines: null };
  const lines = new ServiceLines(io);
  return { log: createLog({ level: level === 'silent' ? level : 'warn', destination: lines.log }), lines };
};

const serve = async (
  role: string,
  options: CommonOptions,
  io: Io,
  begin: (runtime: Runtime, lines: ServiceLines | null) => Promise<() => Promise<void>>,
): Promise<number> => {
  const config = await configOf(options, io);
  io.line?.clear();
  const { log, lines } = openLog(config, options, io);
  const { Runtime } = await import('../service/runtime.ts');
  const runtime = await Runtime.open({
    config,
    log,
    env: io.env,
    role,
    onRunClosed: (report) => lines?.closed(report),
  });
  io.writing.add(() => runtime.isWriting);
  let end: () => Promise<void> = async () => undefined;
  const endWatch = watchRedis(runtime, io.stop, (line) => log.error(line));
  try {
    end = await begin(runtime, lines);
    await stopped(io);
    log.info(
      { signal: String(io.stop.reason) },
      'stopping: jobs finish the current write, all others return to the queue',
    );
    io.force.addEventListener('abort', () => {
      log.warn('second signal: exiting now; the next start resumes unfinished work');
      process.exit(exitCodes.interrupted);
    });
  } finally {
    await end()
      .finally(() => runtime.close())
      .finally(endWatch);
  }
  log.info('stopped');
  lines?.say('stopped');
  return exitCodes.ok;
};

/** `sluice start` and `sluice worker` on the command line. */
export const commands = {
  start: {
    arguments: { '[manifest...]': 'manifests, in addition to those in the configuration' },
    options: commonOptions,
    examples: ['sluice start --config config/sluice.yaml'],
    run: startCommand,
  },
  worker: {
    options: commonOptions,
    examples: ['REDIS_URL=redis://queue:6379 sluice worker'],
    run: workerCommand,
  },
} satisfies CommandDeclarations;
