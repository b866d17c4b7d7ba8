// The embedded portal: a Dataset REST API server over one data folder.
import { resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Permission } from '../dataset-api/values.ts';
import { PortalPortError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { createApp } from './app.ts';
import { listenOn } from './connections.ts';
import { giveAwaitedGroups } from './content/save.ts';
import { PageCache } from './page-cache.ts';
import { loginQueue } from './password.ts';
import { defaultLimits, type Portal, type PortalLimits, type PortalSettings, type ProfileName } from './portal.ts';
import { profiles } from './profiles/profiles.ts';
import { type RaceOptions, racesOf } from './races.ts';
import { resourcesOf } from './resources/table.ts';
import { assignableRoles, roleTableOf } from './roles.ts';
import { type Site, siteWith } from './site.ts';
import { openStore } from './store/open.ts';
import { openTokenTable } from './store/tokens.ts';
import { readSeed, readUsersFile, setUpAccounts, type UserSpec } from './users-file.ts';

export interface PortalServerOptions extends PortalSettings {
  /** Folder of the store, made when it is missing. One process at a time may serve it. */
  dataDir: string;
  /** Address to listen on; 127.0.0.1 when absent. */
  host?: string;
  /** Port; 0 (default) takes a free one. */
  port?: number;
  usersFile?: string;
  /** Accounts added or updated beside those of the file. */
  users?: UserSpec[];
  profile?: ProfileName;
  /** Whether overlapping requests interfere as on deployed portals; the profile decides when absent. */
  races?: boolean | RaceOptions;
  /** YAML file of users, terms and next ids that fills the store, which must be empty; see `seedSchema`. Loopback only. */
  seedFile?: string;
  limits?: Partial<PortalLimits>;
  /** The first state of {@link PortalServer.site}. */
  site?: Partial<Site>;
  /** Permissions of roles: those of a default role are replaced, other names are new roles. */
  roles?: Readonly<Record<string, readonly Permission[]>>;
  /** True: `Authorization: Bearer TOKEN` lets in without a session (`sluice portal token`); off by default. */
  tokens?: boolean;
  log: Log;
}

export type PortalServer = Awaited<ReturnType<typeof startPortalServer>>;

const unixNow = (): number => Math.floor(Date.now() / 1000);

/** Starts a portal. Throws PortalPortError (port taken, folder in use), PortalStoreError, UsersFileError. */
export const startPortalServer = async (options: PortalServerOptions) => {
  const { log, usersFile, seedFile, host = '127.0.0.1', port = 0 } = options;
  const dataDir = resolve(options.dataDir);
  const roleTable = roleTableOf(options.roles);
  const file = usersFile === undefined ? null : readUsersFile(usersFile, assignableRoles(roleTable));
  if (seedFile !== undefined && !/^(?:localhost|::1|127(?:\.\d{1,3}){3})$/.test(host)) {
    throw new PortalPortError(`a seeded portal listens on loopback only, not on ${host}`, {
      hint: 'seed files hold well-known passwords; leave --host out, or start without --seed',
    });
  }
  const seed = seedFile === undefined ? null : readSeed(seedFile);
  const store = await openStore(dataDir, roleTable);
  const profile = profiles[options.profile ?? 'spec'];
  const { races: wanted = profile.races } = options;
  const races = wanted === false ? null : racesOf(wanted === true ? {} : wanted);
  const site = siteWith(options.site);
  const { db, tablesDir: dir, write } = store;
  const datastore = profile.openDatastore({ db, dir, log, write, races, site });
  const inProgress = new Set<Promise<void>>();
  let app: FastifyInstance | null = null;
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    await app?.close();
    await datastore.close();
    await Promise.allSettled(inProgress);
    store.close();
  };
  try {
    const newAdminPassword = await setUpAccounts(store, { seed, file, more: options.users ?? [] }, unixNow());
    await datastore.sweep();
    const portal: Portal = {
      ...options,
      ...(options.publicUrl && { publicUrl: options.publicUrl.replace(/\/+$/, '') }),
      store,
      datastore,
      races,
      profile,
      resources: resourcesOf(profile, options.expose),
      site,
      limits: { ...defaultLimits, ...options.limits },
      log,
      tokens: options.tokens === true ? openTokenTable(store.db) : null,
      now: unixNow,
      logins: loginQueue(),
      counts: { reads: 0, writes: 0 },
      inProgress,
      pages: new PageCache(),
    };
    const opened = createApp(portal);
    app = opened;
    const report = (error: Error): void => log.warn({ err: error.message }, 'a connection could not be accepted');
    const url = await listenOn(opened.server, opened.listen({ host, port }), { host, port, report });
    return {
      url,
      dataDir,
      /** Password of `admin`, only when the account was made just now and none was given. */
      newAdminPassword,
      /** Switches of the site, which may be changed at any time. */
      site,
      /** Does what cron does: groups that wait, tables that wait on 7.14; pages kept for visitors are forgotten. */
      runCron: async (): Promise<void> => {
        await store.write(() => giveAwaitedGroups({ store, uid: 0, now: unixNow(), copies: new Map() }));
        await datastore.runCron?.();
        portal.pages.clear();
      },
      endSessions: () => store.write(() => store.sessions.endAll()),
      /** Requests to the service since the start; `writes` are those that change nodes or datastores. */
      requests: () => ({ ...portal.counts }),
      /** Stops listening, lets requests end, closes the store; idempotent. */
      close: () => (closing ??= close()),
    };
  } catch (error) {
    await close();
    throw error;
  }
};
