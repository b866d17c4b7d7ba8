// `sluice portal`: the embedded portal alone, copies of its store, and its access tokens.
import { resolve } from 'node:path';
import { type Config, type EmbeddedPortalConfig, resolveConfig } from '../config/config.ts';
import { readFaults } from '../embedded-portal/faults/rules.ts';
import { openSwitchboard, type Seen, type Switchboard } from '../embedded-portal/faults/switchboard.ts';
import type { ProfileName } from '../embedded-portal/portal.ts';
import { startPortalServer } from '../embedded-portal/portal-server.ts';
import { profiles } from '../embedded-portal/profiles/profiles.ts';
import { backupStore } from '../embedded-portal/store/backup.ts';
import { openTokens } from '../embedded-portal/store/tokens.ts';
import { storeAddress } from '../embedded-portal/supervisor.ts';
import { UsageError } from '../model/errors.ts';
import { createLog } from '../model/log.ts';
import { embeddedPortal, serverSettings } from '../service/portal-access.ts';
import { plural } from '../util/plural.ts';
import { type CommandDeclarations, jsonOption, parsePort, placeOptions, type Subcommand } from './declaration.ts';
import { type CommonOptions, exitCodes, type Io, print, say, stopped, warn } from './io.ts';
import { configOf } from './session.ts';

type PortalChoice = Pick<CommonOptions, 'config' | 'state' | 'portal'> & { data?: string };

/** The embedded portal of `--portal`, else the only one or `local`; the default one where none is configured. */
const chosenEmbedded = async (options: PortalChoice, io: Io) => {
  const written = await configOf(options, io);
  const isSilent = options.config === undefined && embeddedOf(written).length === 0 && written.portal === null;
  const { cwd: dir, env } = io;
  const place = { path: null, dir, stateDir: written.stateDir, env, secrets: new Map<string, string>() };
  const config = isSilent ? resolveConfig({}, place) : written;
  const all = embeddedOf(config);
  const theOne = all.length === 1 ? all[0] : all.find(({ name }) => name === 'local');
  const found = config.portal === null ? theOne : config.portals[config.portal];
  if (found?.kind === 'embedded') {
    const dataDir = options.data === undefined ? found.dataDir : resolve(io.cwd, options.data);
    return { portal: { ...found, dataDir }, fromFile: config.file !== null };
  }
  const names = all.map(({ name }) => name);
  const file = config.file ?? 'the default configuration';
  if (found === undefined && names.length > 0) {
    throw new UsageError(`${file} has more than one embedded portal`, {
      hint: `name one: ${names.map((name) => `--portal ${name}`).join(', ')}`,
    });
  }
  const what = found === undefined ? `${file} has no embedded portal` : `the portal ${found.name} is not embedded`;
  throw new UsageError(what, { hint: `embedded portals of ${file}: ${names.join(', ') || 'none'}` });
};

/** Folder of the store that is meant; with `--data` no configuration is read. Throws what {@link chosenEmbedded} does. */
const storeDirOf = async (options: PortalChoice, io: Io): Promise<string> =>
  options.data === undefined ? (await chosenEmbedded(options, io)).portal.dataDir : resolve(io.cwd, options.data);

const embeddedOf = (config: Config): EmbeddedPortalConfig[] =>
  Object.values(config.portals).filter((portal) => portal.kind === 'embedded');

/** Options of `sluice portal`; each takes precedence over the key of the configuration. */
export interface PortalCommandOptions extends PortalChoice {
  port?: number | string;
  host?: string;
  users?: string;
  profile?: ProfileName;
  races?: 'on' | 'off';
  seed?: string;
  close?: boolean;
  /** File of fault rules: a switchboard listens in the portal's place, see `embedded-portal/faults/`. */
  faults?: string;
}

/** Runs the portal until it is told to stop: requests in progress end first; a second signal ends at once. */
export const portalCommand = async (options: PortalCommandOptions, io: Io): Promise<number> => {
  const { portal, fromFile } = await chosenEmbedded(options, io);
  const { profile = portal.profile, users, seed, races } = options;
  const log = createLog({ level: io.env.SLUICE_LOG_LEVEL ?? 'warn', pretty: io.terminal, destination: io.stdout });
  const place = { host: options.host ?? portal.host, port: Number(options.port ?? portal.port) };
  const file = resolve(io.cwd, options.faults ?? '');
  const plan = options.faults === undefined ? null : await readFaults(file);
  const server = await startPortalServer({
    ...(fromFile ? (await embeddedPortal(portal)).options : serverSettings(portal)),
    profile,
    ...(plan === null ? place : { host: '127.0.0.1', port: 0 }),
    ...(races === undefined ? {} : { races: races === 'on' }),
    ...(users === undefined ? {} : { usersFile: resolve(io.cwd, users) }),
    // To what a seed prescribes, not even the account of our own workers is added.
    ...(seed === undefined ? {} : { seedFile: resolve(io.cwd, seed), users: [] }),
    site: { ...plan?.site, ...(options.close === true ? { closesConnections: true } : {}) },
    log,
    accessLevel: 'info',
  });
  const onEnd = ({ method, path, status, fault }: Seen): void => {
    if (fault) log.info({ method, path: path.split('?')[0], status, fault }, 'fault injected');
  };
  let switchboard: Switchboard | null = null;
  try {
    // It listens in the portal's place.
    if (plan) {
      switchboard = await openSwitchboard({ ...place, target: server.url, server, plan, onEnd });
      const rules = plural(plan.rules.length, 'fault rule');
      say(io, `${rules} of ${file}, seed ${plan.seed}; without faults: ${server.url}`);
    }
    const url = switchboard?.url ?? server.url;
    if (fromFile) await storeAddress(server.dataDir, url);
    say(io, `portal ready at ${url} (profile ${profile}, store ${server.dataDir})`);
    if (server.newAdminPassword !== null)
      say(io, `the password of its user admin is ${server.newAdminPassword} (shown this once)`);
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

type TokenAction = { action: 'add'; user: string } | { action: 'list' } | { action: 'revoke'; id: string };

type TokenOptions = PortalChoice & { json?: boolean; label?: string };

/** Makes, lists or revokes access tokens, also while the portal runs. A new one is printed once, stored hashed. */
export const portalTokenCommand = async (what: TokenAction, options: TokenOptions, io: Io): Promise<number> => {
  const { tokens, close } = openTokens(await storeDirOf(options, io));
  try {
    if (what.action === 'add') {
      say(io, tokens.add(what.user, { label: options.label ?? '', now: Math.floor(Date.now() / 1000) }));
      // How the store of `--data` is served is unknown.
      const portal = options.data === undefined ? (await chosenEmbedded(options, io)).portal : null;
      if (portal?.tokens === false)
        warn(io, `tokens are off: set portals.${portal.name}.tokens: true in the configuration`);
    } else if (what.action === 'list') {
      const dated = tokens.list().map((token) => ({ ...token, created: new Date(token.created * 1000).toISOString() }));
      const lines = dated.map(({ id, user, label, created }) => [id, user, created, label].join('\t'));
      print(io, options, { json: { tokens: dated }, lines });
    } else {
      if (!/^\d{1,9}$/.test(what.id)) throw new UsageError(`"${what.id}" is not a token number`);
      tokens.revoke(Number(what.id));
    }
  } finally {
    close();
  }
  return exitCodes.ok;
};

const tokenDeclaration: Subcommand = {
  description: 'manage access tokens; needs `tokens: true` in the configuration',
  examples: [
    'sluice portal token add ann --label "nightly job" --data /srv/portal',
    'sluice portal token list --portal local',
  ],
  subcommands: {
    add: {
      description: 'create a token for an account and print it once',
      arguments: { '<user>': '' },
      options: { '--label <text>': 'label, shown by list' },
      examples: ['sluice portal token add ann --label "nightly job"'],
      run: (user: string, options: TokenOptions, io: Io) => portalTokenCommand({ action: 'add', user }, options, io),
    },
    list: {
      description: 'list tokens by number, account, time and label',
      options: jsonOption,
      examples: ['sluice portal token list --json'],
      run: (options: TokenOptions, io: Io) => portalTokenCommand({ action: 'list' }, options, io),
    },
    revoke: {
      description: 'revoke a token',
      arguments: { '<number>': '' },
      options: {},
      examples: ['sluice portal token revoke 3'],
      run: (id: string, options: TokenOptions, io: Io) => portalTokenCommand({ action: 'revoke', id }, options, io),
    },
  },
};

export const commands = {
  portal: {
    options: {
      ...placeOptions,
      '--portal <name>': 'configured embedded portal (default: the only one, or local)',
      '--port <n>': { text: 'port (default: as configured, or a free one)', parse: parsePort },
      '--host <address>': 'address to listen on (default: as configured, or 127.0.0.1)',
      '--data <dir>': 'data folder (default: as configured, or portal/<name> in the state folder)',
      '--users <file>': 'users file',
      '--profile <name>': {
        text: 'release to emulate (default: as configured, or spec)',
        choices: Object.keys(profiles),
      },
      '--races <on|off>': {
        text: 'emulate updates lost by concurrent requests (default: on in the dkan- profiles)',
        choices: ['on', 'off'],
      },
      '--seed <file>': 'fill an empty store with users, terms and next ids',
      '--close': "end every connection after its reply, as PHP's own server does",
      '--faults <file>': 'inject faults by the rules in this file',
    },
    examples: [
      'sluice portal --port 8080 --data /srv/portal --users users.yaml',
      'sluice portal --config config/sluice.yaml --portal local',
    ],
    run: portalCommand,
    subcommands: {
      backup: {
        description:
          'copy the store to a new folder, also while the portal runs; `sluice portal --data` serves the copy',
        arguments: { '<folder>': '' },
        options: {},
        examples: ['sluice portal backup /backups/portal-monday --data /srv/portal'],
        run: portalBackupCommand,
      },
      token: tokenDeclaration,
    },
  },
} satisfies CommandDeclarations;
