// Opens configured portals: address and credentials; embedded ones are started when needed.
import type { Config, EmbeddedPortalConfig, PortalConfig } from '../config/config.ts';
import { portalNamed } from '../config/load.ts';
import type { PortalServerOptions } from '../embedded-portal/portal-server.ts';
import type { PortalSupervisor } from '../embedded-portal/supervisor.ts';
import type { Log } from '../model/log.ts';
import { Portal, type PortalHooks } from '../portal-client/client.ts';
import { defined } from '../util/json.ts';

/** The embedded portal is loaded only where one is served: a worker for remote portals stays small. */
const loadSupervisor = () => import('../embedded-portal/supervisor.ts');

/** How an embedded portal is served, as configured. */
export const serverSettings = (config: EmbeddedPortalConfig): Omit<PortalServerOptions, 'log'> => {
  const { dataDir, host, port, profile, attachWaitMs, roles, trustedProxies, tokens, xmlrpc } = config;
  return {
    ...{ dataDir, host, port, profile, attachWaitMs, roles, trustedProxies, tokens, xmlrpc },
    ...defined({
      races: config.races ?? undefined,
      publicUrl: config.publicUrl ?? undefined,
      expose: config.expose ?? undefined,
      usersFile: config.users ?? undefined,
    }),
  };
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

type Hooks = (url: string) => Promise<Partial<PortalHooks>>;

/** Opens the portals of a configuration, each once; needs no queue. */
export class PortalAccess {
  readonly #config: Config;
  readonly #log: Log;
  readonly #portals = new Map<string, Portal>();
  readonly #opening = new Map<string, Promise<Portal>>();
  readonly #supervisors = new Map<string, PortalSupervisor>();
  readonly #told = new Set<string>();

  constructor(config: Config, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  /** The configuration of a portal. @throws UsageError for an unknown name */
  config(name: string): PortalConfig {
    return portalNamed(this.#config, name);
  }

  /** The client of a portal, or an anonymous one; an embedded portal is served first, here or by the process that already does. */
  open(name: string, hooks: Hooks, { isAnonymous = false } = {}): Promise<Portal> {
    const key = isAnonymous ? `${name} without a login` : name;
    const opened = this.#opening.get(key) ?? this.#open(name, key, { hooks, isAnonymous });
    this.#opening.set(key, opened);
    opened.catch(() => this.#opening.delete(key));
    return opened;
  }

  async #open(
    name: string,
    key: string,
    { hooks, isAnonymous }: { hooks: Hooks; isAnonymous: boolean },
  ): Promise<Portal> {
    const config = this.config(name);
    const { username, password, url } = await this.#reach(config);
    const token = config.kind === 'remote' ? config.token : null;
    const { connectMs, headersMs, bodyMs, uploadMs, readRetries } = this.#config.http;
    const portal = Portal.open(
      {
        name,
        url,
        username,
        password,
        token,
        isAnonymous: isAnonymous || (username === '' && token === null),
        dialect: config.dialect,
        terms: { vocabularies: config.vocabularies, terms: config.terms },
        connections: config.concurrency,
        timeouts: { connectMs, headersMs, bodyMs, uploadMs, importMs: config.importTimeoutMs },
        readRetries,
      },
      { log: this.#log.child({ portal: name }), ...(await hooks(url)) },
    );
    this.#portals.set(key, portal);
    return portal;
  }

  opened(name: string): Portal | null {
    return this.#portals.get(name) ?? null;
  }

  /** The supervisor of an embedded portal that was opened by this process, or null. */
  supervisor(name: string): PortalSupervisor | null {
    return this.#supervisors.get(name) ?? null;
  }

  /** The address of a portal; null for an embedded one that this process has not opened. */
  addressOf(name: string): string | null {
    const config = this.config(name);
    return config.kind === 'remote' ? config.url : (this.supervisor(name)?.url ?? null);
  }

  /** New passwords of `admin` of embedded portals served here; each is returned once. */
  newAdminPasswords(): { portal: string; password: string }[] {
    return [...this.#supervisors].flatMap(([portal, { server }]) => {
      const password = this.#told.has(portal) ? null : server?.newAdminPassword;
      if (password) this.#told.add(portal);
      return password ? [{ portal, password }] : [];
    });
  }

  /** Closes the clients of portals that have owed every reply for so long. */
  async hangUp(silentMs: number): Promise<void> {
    const silent = [...this.#portals.values()].filter(({ silence }) => silence !== null && silence.ms >= silentMs);
    await Promise.all(silent.map((portal) => portal.close()));
  }

  /** Closes clients first, then the portals served here. */
  async close(): Promise<void> {
    await Promise.all([...this.#portals.values()].map((portal) => portal.close()));
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor.close()));
  }

  async #reach(config: PortalConfig): Promise<{ username: string; password: string; url: string }> {
    if (config.kind === 'remote') return { username: config.username, password: config.password, url: config.url };
    const { login, options } = await embeddedPortal(config);
    const served = this.#supervisors.get(config.name);
    if (served) return { ...login, url: served.url };
    const { PortalSupervisor } = await loadSupervisor();
    const supervisor = new PortalSupervisor({ ...options, log: this.#log.child({ portal: config.name }) });
    await supervisor.open();
    this.#supervisors.set(config.name, supervisor);
    return { ...login, url: supervisor.url };
  }
}
