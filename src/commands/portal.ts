// `sluice portal`: the embedded portal alone, and a copy of its store.

import { resolve } from 'node:path';
import { readFaults } from '../embedded-portal/faults/rules.ts';
import { openSwitchboard, type Switchboard } from '../embedded-portal/faults/switchboard.ts';
import { type PortalServer, type PortalServerOptions, startPortalServer } from '../embedded-portal/portal-server.ts';
import type { ProfileName } from '../embedded-portal/profiles/profile.ts';
import { profiles } from '../embedded-portal/profiles/profiles.ts';
import { backupStore } from '../embedded-portal/store/backup.ts';
import { storeAddress } from '../embedded-portal/supervisor.ts';
import { UsageError } from '../model/errors.ts';
import { createLog, type Log } from '../model/log.ts';
import { embeddedPortal, serverSettings } from '../service/portal-access.ts';
import { plural } from '../util/plural.ts';
import { type CommandDeclarations, parsePort, placeOptions } from './declaration.ts';
import { exitCodes } from './exit-code.ts';
import { type Io, say, stopped } from './io.ts';
import { type ChosenEmbedded, chosenEmbedded, type PortalChoice, storeDirOf } from './portal-settings.ts';
import { tokenDeclaration } from './portal-token.ts';

/** Options of `sluice portal`; each takes precedence over the key of the configuration. */
export interface PortalCommandOptions extends PortalChoice {
  /** 0: a free port. */
  port?: number | string;
  host?: string;
  /** Users file, relative to the working directory. */
  users?: string;
  profile?: string;
  /** `on` or `off`; as configured, else as the profile has it, when absent. */
  races?: string;
  /** Seed file for an empty store. */
  seed?: string;
  /** File of fault rules: a switchboard listens in the portal's place, see `server/faults/`. */
  faults?: string;
  /** Level of the log on standard output; `warn` when absent. */
  logLevel?: string;
}

const isProfile = (name: string): name is ProfileName => Object.hasOwn(profiles, name);

const profileOf = (name: string): ProfileName => {
  if (isProfile(name)) return name;
  throw new UsageError(`unknown profile "${name}"`, { hint: `profiles: ${Object.keys(profiles).join(', ')}` });
};

const racesOf = (word: string): boolean => {
  if (word === 'on' || word === 'off') return word === 'on';
  throw new UsageError(`--races must be on or off, not "${word}"`, {
    hint: 'omit it to use the default of the profile',
  });
};

const announce = (io: Io, server: PortalServer, { url, profile }: { url: string; profile: ProfileName }): void => {
  say(io, `portal ready at ${url} (profile ${profile}, store ${server.dataDir})`);
  if (server.newAdminPassword !== null) {
    say(io, `the password of its user admin is ${server.newAdminPassword} (shown this once)`);
  }
};

/** The switchboard before a portal that listens behind it; every injected fault is logged, and counted at the end. */
const rehearse = async (
  file: string,
  { server, log, io }: { server: PortalServer; log: Log; io: Io },
  place: { host: string; port: number },
): Promise<Switchboard> => {
  const plan = await readFaults(file);
  const switchboard = await openSwitchboard({
    ...place,
    target: server.url,
    plan,
    onEnd: ({ method, path, status, fault }) => {
      if (fault) log.info({ method, path: path.split('?')[0], status, fault }, 'fault injected');
    },
  });
  say(io, `${plan.rules.length} fault rules of ${file}, seed ${plan.seed}; without faults: ${server.url}`);
  return switchboard;
};

/**
 * The settings of the configuration with the options before them. The account of sluice's own workers is added where a file
 * describes the portal, so that they can work on the store while it is served here, but not to what a seed prescribes.
 */
const settingsOf = async (
  { portal, fromFile }: ChosenEmbedded,
  options: PortalCommandOptions,
  io: Io,
): Promise<Omit<PortalServerOptions, 'log'> & { host: string; port: number; profile: ProfileName }> => {
  const { host, port, profile, users, seed, races } = options;
  const isShared = fromFile && seed === undefined;
  const settings = isShared ? (await embeddedPortal(portal)).options : serverSettings(portal);
  return {
    ...settings,
    host: host ?? portal.host,
    port: port === undefined ? portal.port : Number(port),
    profile: profile === undefined ? portal.profile : profileOf(profile),
    ...(races === undefined ? {} : { races: racesOf(races) }),
    ...(users === undefined ? {} : { usersFile: resolve(io.cwd, users) }),
    ...(seed === undefined ? {} : { seedFile: resolve(io.cwd, seed) }),
  };
};

/**
 * Runs the portal until it is told to stop: requests in progress end, then the store closes; a second signal ends at once.
 * Prints its address, and the password of `admin` when that account was made just now. Throws what `chosenEmbedded`,
 * `startPortalServer` and `readFaults` do.
 */
export const portalCommand = async (options: PortalCommandOptions, io: Io): Promise<number> => {
  const chosen = await chosenEmbedded(options, io);
  const { host, port, profile, ...settings } = await settingsOf(chosen, options, io);
  const log = createLog({ level: options.logLevel ?? io.env.SLUICE_LOG_LEVEL ?? 'warn', pretty: io.terminal });
  const place = { host, port };
  const faults = options.faults === undefined ? null : resolve(io.cwd, options.faults);
  if (faults !== null) await readFaults(faults); // its faults are reported before anything is started
  const server = await startPortalServer({
    ...settings,
    profile,
    ...(faults === null ? place : {}),
    log,
    accessLevel: 'info',
  });
  let switchboard: Switchboard | null = null;
  try {
    if (faults !== null) switchboard = await rehearse(faults, { server, log, io }, place);
    const url = switchboard?.url ?? server.url;
    if (chosen.fromFile) await storeAddress(server.dataDir, url);
    announce(io, server, { url, profile });
    await stopped(io);
    io.force.addEventListener('abort', () => process.exit(exitCodes.interrupted));
    if (switchboard) say(io, `faults injected: ${JSON.stringify(switchboard.counts())}`);
  } finally {
    await switchboard?.close();
    await server.close();
  }
  return exitCodes.ok;
};

/** Writes the store to a new folder, which `sluice portal --data` can serve. Throws what `backupStore` does. */
export const portalBackupCommand = async (target: string, options: PortalChoice, io: Io): Promise<number> => {
  const to = resolve(io.cwd, target);
  const facts = await backupStore(await storeDirOf(options, io), to);
  const held = [plural(facts.nodes, 'node'), plural(facts.files, 'file'), plural(facts.tables, 'table')].join(', ');
  say(io, `backup of ${held} in ${to}`);
  say(io, `to restore, stop the portal and start it on a copy: sluice portal --data ${to}`);
  return exitCodes.ok;
};

/** `sluice portal` and what is below it on the command line. */
export const commands = {
  portal: {
    options: {
      ...placeOptions,
      '--portal <name>': 'configured embedded portal (default: the only one, or local)',
      '--port <n>': { text: 'port (default: as configured, or a free one)', parse: parsePort },
      '--host <address>': 'address to listen on (default: as configured, or 127.0.0.1)',
      '--data <dir>': 'data folder (default: as configured, or portal/<name> in the state folder)',
      '--users <file>': 'users file',
      '--profile <name>': 'release to behave like (default: as configured, or spec)',
      '--races <on|off>': 'let concurrent requests lose updates (default: on under the dkan- profiles)',
      '--seed <file>': 'fill an empty store with users, terms and next ids',
      '--faults <file>': 'inject faults by these rules',
    },
    examples: [
      'sluice portal --port 8080 --data /srv/portal --users users.yaml',
      'sluice portal --config config/sluice.yaml --portal local',
    ],
    run: portalCommand,
    subcommands: {
      backup: {
        description:
          'copy the store (--data) to a new folder while the portal runs; `sluice portal --data` serves the copy',
        arguments: { '<folder>': '' },
        examples: ['sluice portal backup /backups/portal-monday --data /srv/portal'],
        run: portalBackupCommand,
      },
      token: tokenDeclaration,
    },
  },
} satisfies CommandDeclarations;
