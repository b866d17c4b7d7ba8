// Opens what a command needs, watches Redis while it runs, and closes everything.
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { createLog, type Log } from '../model/log.ts';
import type { Runtime, RuntimeOptions } from '../service/runtime.ts';
import { type CommonOptions, exitCodes, type Io, warn } from './io.ts';

export const configOf = (
  { config: file, state: stateDir, portal, isReadOnly }: CommonOptions & { isReadOnly?: boolean },
  { cwd, env }: Io,
): Promise<Config> => loadConfig({ file, cwd, env, portal, stateDir, isReadOnly });

/** The log of a one-off command, on standard error: errors, or with `--verbose` what the configuration allows. */
export const oneOffLog = (config: Config, options: CommonOptions, io: Io): Log =>
  createLog({
    level: options.verbose || ['silent', 'fatal'].includes(config.log.level) ? config.log.level : 'error',
    destination: io.stderr,
    pretty: io.terminal,
  });

/** What a runtime is opened for; `log` of a service, which also reports there what it has to say. */
type Opening = Pick<RuntimeOptions, 'config' | 'role' | 'onRunClosed'> & { options: CommonOptions; log?: Log };

/** Runs `work` with an open runtime and closes it afterwards; a second signal closes by force, and a stop while Redis is silent ends the process. */
export const withRuntime = async <T>(
  { options, log: own, ...opening }: Opening,
  io: Io,
  work: (runtime: Runtime) => Promise<T>,
): Promise<T> => {
  const log = own ?? oneOffLog(opening.config, options, io);
  const report = (line: string): void => (own ? own.error(line) : warn(io, `sluice: ${line}`));
  const { openRuntime } = await import('../service/runtime.ts'); // Redis, queues, clients: nothing that `check` or `--help` needs
  const runtime = await openRuntime({ ...opening, log, env: io.env, ...(own ? {} : { report }) });
  io.writing.add(runtime.isWriting);
  const force = (): void => void runtime.close(true).catch(() => undefined); // the process ends next
  io.force.addEventListener('abort', force, { once: true });
  const endWatch = watchRedis(runtime, io.stop, report);
  try {
    return await work(runtime);
  } finally {
    io.force.removeEventListener('abort', force);
    sayPasswords(runtime, io);
    await runtime.close().finally(endWatch);
  }
};

export const withRuntimeOf = async <T>(
  role: string,
  options: CommonOptions,
  io: Io,
  work: (runtime: Runtime) => Promise<T>,
): Promise<T> => withRuntime({ config: await configOf(options, io), options, role }, io, work);

/** Tells the password of each embedded portal whose account `admin` is new, once. */
export const sayPasswords = (runtime: Runtime, io: Io): void => {
  for (const { portal, password } of runtime.portals.newAdminPasswords())
    warn(io, `portal ${portal}: the password of its user admin is ${password} (shown this once)`);
};

/** Eight seconds with the beat that sends the ping: less than the ten after which Docker kills a container that is to stop. */
const [beatMs, mostMissed] = [1000, 7];

/**
 * Reports when Redis is silent and answers again. During a stop, some eight seconds of silence end the process, because
 * jobs cannot be given back; so does a reply at any time that does not match its command: then none does any more.
 */
export const watchRedis = (
  { redis, redisHandle }: Pick<Runtime, 'redis' | 'redisHandle'>,
  stop: AbortSignal,
  report: (line: string) => void,
): (() => void) => {
  let isAsked = false;
  let isReported = false;
  let missed = 0; // beats, not time: a suspended process has not waited
  const answered = (): void => {
    isAsked = false;
    missed = 0;
    if (isReported) report('Redis answers again');
    isReported = false;
  };
  const exit = (code: number, why: string): never => {
    report(`${why}: exiting now; the next start resumes unfinished work (${redisHandle.describe})`);
    process.exit(code);
  };
  const beat = (): void => {
    if (redis.status === 'end') return; // closed by this process, after the jobs were given back
    if (isAsked) missed++;
    else {
      isAsked = true;
      const sent = String(Date.now());
      redis.ping(sent).then(
        (reply) => (reply === sent ? answered() : exit(exitCodes.bug, 'Redis replies are out of sync')),
        () => {
          isAsked = false; // refused or closed, which is not silence
        },
      );
    }
    if (missed < mostMissed) return;
    if (stop.aborted) exit(exitCodes.interrupted, 'Redis does not answer');
    if (isReported) return;
    isReported = true;
    report(`Redis does not answer: waiting for it, nothing is lost meanwhile (${redisHandle.describe})`);
  };
  const onStop = (): void => {
    missed = 0; // the stop has its own eight seconds
  };
  const timer = setInterval(beat, beatMs);
  stop.addEventListener('abort', onStop, { once: true });
  return () => {
    stop.removeEventListener('abort', onStop);
    clearInterval(timer);
  };
};
