// `sluice portal`: the embedded portal alone.
import { resolve } from 'node:path';
import { UsageError } from '../errors.ts';
import { createLog } from '../log.ts';
import { type PortalServer, startPortalServer } from '../server/portal-server.ts';
import type { ProfileName } from '../server/profiles/profile.ts';
import { profiles } from '../server/profiles/table.ts';
import { exitCodes } from './exit-code.ts';
import { type Io, say } from './io.ts';

/** Options of `sluice portal`. */
export interface PortalCommandOptions {
  /** 0 or absent: a free port. */
  port?: number | string;
  /** 127.0.0.1 when absent. */
  host?: string;
  /** Folder of the store, relative to the working directory. */
  data?: string;
  /** Users file. */
  users?: string;
  profile?: string;
  /** Seed file for an empty store. */
  seed?: string;
  /** Level of the log on standard output; `warn` when absent. */
  logLevel?: string;
}

const isProfile = (name: string): name is ProfileName => Object.hasOwn(profiles, name);

const profileOf = (name: string): ProfileName => {
  if (isProfile(name)) return name;
  throw new UsageError(`there is no profile "${name}"`, { hint: `profiles: ${Object.keys(profiles).join(', ')}` });
};

const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener('abort', () => done(), { once: true });
  });

const announce = (io: Io, server: PortalServer, profile: ProfileName): void => {
  say(io, `portal ready at ${server.url} (profile ${profile}, store ${server.dataDir})`);
  if (server.newAdminPassword !== null) {
    say(io, `the password of its user admin is ${server.newAdminPassword} (shown this once)`);
  }
};

/**
 * Runs the portal until it is told to stop: requests under way end, then the store closes; a second signal ends at once.
 * Prints its address, and the password of `admin` when that account was made just now. Throws what `startPortalServer` does.
 */
export const portalCommand = async (options: PortalCommandOptions, io: Io): Promise<number> => {
  const profile = profileOf(options.profile ?? 'spec');
  const server = await startPortalServer({
    dataDir: resolve(io.cwd, options.data ?? '.sluice/portal/local'),
    profile,
    port: Number(options.port ?? 0),
    log: createLog({ level: options.logLevel ?? io.env.SLUICE_LOG_LEVEL ?? 'warn', pretty: io.terminal }),
    ...(options.host === undefined ? {} : { host: options.host }),
    ...(options.users === undefined ? {} : { usersFile: resolve(io.cwd, options.users) }),
    ...(options.seed === undefined ? {} : { seedFile: resolve(io.cwd, options.seed) }),
  });
  try {
    announce(io, server, profile);
    await stopped(io.stop);
    io.force.addEventListener('abort', () => process.exit(exitCodes.interrupted));
  } finally {
    await server.close();
  }
  return exitCodes.ok;
};
