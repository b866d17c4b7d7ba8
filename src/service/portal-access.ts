// Opens configured portals: address and credentials; embedded ones are started when needed.
import type { Config, EmbeddedPortalConfig, PortalConfig } from '../config/config.ts';
import { portalNamed } from '../config/load.ts';
import type { PortalServerOptions } from '../embedded-portal/portal-server.ts';
import type { PortalSupervisor } from '../embedded-portal/supervisor.ts';
import type { Log } from '../model/log.ts';
import { Portal, type PortalHooks, type RequestKind, traitsSchema } from '../portal-client/client.ts';
import type { PortalSettings } from '../portal-client/settings.ts';
import type { PortalLimits } from '../queue/heartbeat.ts';
import { paceIn } from '../queue/rate-limit.ts';
import { smallHash, storedAs } from '../state/redis/fields.ts';
import { defined } from '../util/json.ts';
import type { Connections } from './connections.ts';

/** The embedded portal is loaded only where one is served: a worker for remote portals stays small. */
const loadSupervisor = () => import('../embedded-portal/supervisor.ts');

export const serverSettings = (config: EmbeddedPortalConfig): Omit<PortalServerOptions, 'log'> => {
  const { dataDir, host, port, profile, roles, trustedProxies, tokens, xmlrpc } = config;
  const asked = defined({
    races: config.races ?? undefined,
    publicUrl: config.publicUrl ?? undefined,
    expose: config.expose ?? undefined,
    usersFile: config.users ?? undefined,
  });
  return { dataDir, host, port, profile, roles, trustedProxies, tokens, xmlrpc, ...asked };
};

/** {@link serverSettings} with the account of sluice's own workers, and its login. */
export const embeddedPortal = async (
  config: EmbeddedPortalConfig,
): Promise<{ login: { username: string; password: string }; options: Omit<PortalServerOptions, 'log'> }> => {
  const { serviceAccount, servicePassword } = await loadSupervisor();
  const name = config.password === null ? serviceAccount : config.username;
  const secret = await servicePassword(config.dataDir);
  const users = [{ name, password: config.password ?? secret, roles: ['administrator'] }];
  const options = { ...serverSettings(config), users, ownAccount: { name, secret } };
  return { login: { username: name, password: secret }, options };
};

const dayMs = 24 * 3600 * 1000;

type Reached = Pick<PortalSettings, 'username' | 'password' | 'url'>;

/** Opens the portals of a configuration, each once; without `hooksOf` it needs no queue. */
export const portalAccess = (
  config: Config,
  log: Log,
  hooksOf: (name: string, url: string) => Promise<Partial<PortalHooks>> = async () => ({}),
) => {
  const portals = new Map<string, Portal>();
  const opening = new Map<string, Promise<Portal>>();
  const supervisors = new Map<string, PortalSupervisor>();
  const told = new Set<string>();

  /** The configuration of a portal. @throws UsageError for an unknown name */
  const configOf = (name: string): PortalConfig => portalNamed(config, name);

  const reach = async (portal: PortalConfig): Promise<Reached> => {
    if (portal.kind === 'remote') return { username: portal.username, password: portal.password, url: portal.url };
    const { login, options } = await embeddedPortal(portal);
    const served = supervisors.get(portal.name);
    if (served) return { ...login, url: served.url };
    const { PortalSupervisor } = await loadSupervisor();
    const supervisor = new PortalSupervisor({ ...options, log: log.child({ portal: portal.name }) });
    await supervisor.open();
    supervisors.set(portal.name, supervisor);
    return { ...login, url: supervisor.url };
  };

  const openAs = async (key: string, name: string, isAnonymous: boolean): Promise<Portal> => {
    const portal = configOf(name);
    const reached = await reach(portal);
    const settings = clientSettings(portal, config.http, reached);
    const client = Portal.open(
      { ...settings, isAnonymous: isAnonymous || (settings.username === '' && settings.token === null) },
      { log: log.child({ portal: name }), ...(await hooksOf(name, reached.url)) },
    );
    portals.set(key, client);
    return client;
  };

  return {
    config: configOf,

    /** The client of a portal, or an anonymous one; an embedded portal is served first, here or by the process that already does. */
    open: (name: string, { isAnonymous = false } = {}): Promise<Portal> => {
      const key = isAnonymous ? `${name} without a login` : name;
      const opened = opening.get(key) ?? openAs(key, name, isAnonymous);
      opening.set(key, opened);
      opened.catch(() => opening.delete(key));
      return opened;
    },

    opened: (name: string): Portal | null => portals.get(name) ?? null,

    /** How old the last comparison with a portal's own listing may be; null for our own, which reports changes itself. */
    refreshAfterMs: (name: string): number | null => (configOf(name).kind === 'remote' ? dayMs : null),

    /** The supervisor of an embedded portal that was opened by this process, or null. */
    supervisor: (name: string): PortalSupervisor | null => supervisors.get(name) ?? null,

    /** The address of a portal; null for an embedded one that this process has not opened. */
    addressOf: (name: string): string | null => {
      const portal = configOf(name);
      return portal.kind === 'remote' ? portal.url : (supervisors.get(name)?.url ?? null);
    },

    /** New passwords of `admin` of embedded portals served here; each is returned once. */
    newAdminPasswords: (): { portal: string; password: string }[] =>
      [...supervisors].flatMap(([portal, { server }]) => {
        const password = told.has(portal) ? null : server?.newAdminPassword;
        if (password) told.add(portal);
        return password ? [{ portal, password }] : [];
      }),

    /** Closes the clients of portals that have owed every reply for so long. */
    hangUp: async (silentMs: number): Promise<void> => {
      const silent = [...portals.values()].filter((portal) => {
        const silence = portal.silence();
        return silence !== null && silence.ms >= silentMs;
      });
      await Promise.all(silent.map((portal) => portal.close()));
    },

    /** Closes clients first, then the portals served here. */
    close: async (): Promise<void> => {
      await Promise.all([...portals.values()].map((portal) => portal.close()));
      await Promise.all([...supervisors.values()].map((supervisor) => supervisor.close()));
    },
  };
};

export type OnRequest = (portal: string, kind: RequestKind, ms: number, status: number | null) => void;

interface HookParts extends Pick<Connections, 'log' | 'redis' | 'keys'> {
  /** Those in force for a portal. */
  limits: (portal: string) => PortalLimits;
  isPatient: () => boolean;
  onRequest: OnRequest;
}

/** What the clients of a portal share through Redis: its pace, and what was learned of it. */
export const portalHooks =
  ({ log, redis, keys, limits, isPatient, onRequest }: HookParts) =>
  async (name: string, url: string): Promise<Partial<PortalHooks>> => {
    const pace = paceIn(redis, keys.bucket(name), () => limits(name).requestsPerSecond);
    const facts = keys.portal(name);
    const field = `traits ${url}`;
    return {
      takeToken: (signal) => pace.take(signal),
      traits: storedAs(traitsSchema, await redis.hget(facts, field)) ?? {},
      onTraits: (traits) => {
        redis
          .hset(facts, field, JSON.stringify(traits))
          .catch((err: unknown) => log.debug({ err }, 'facts learned about the portal could not be stored'));
      },
      terms: smallHash(redis, keys.terms(name, url)),
      isPatient,
      onRequest: (kind, ms, status) => {
        pace.answered(kind === 'read', ms, status).catch(() => undefined); // without Redis, nothing is sent either
        onRequest(name, kind, ms, status);
      },
    };
  };

/** How the client of a portal is opened, whoever it acts for. */
const clientSettings = (portal: PortalConfig, http: Config['http'], reached: Reached) => {
  const { connectMs, headersMs, bodyMs, uploadMs, readRetries } = http;
  return {
    ...reached,
    name: portal.name,
    token: portal.kind === 'remote' ? portal.token : null,
    dialect: portal.dialect,
    terms: { vocabularies: portal.vocabularies, terms: portal.terms },
    connections: portal.concurrency,
    timeouts: { connectMs, headersMs, bodyMs, uploadMs, importMs: portal.importTimeoutMs },
    readRetries,
  };
};
