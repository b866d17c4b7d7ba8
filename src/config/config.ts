// The configuration as the rest of sluice sees it: resolved, absolute, in plain numbers.
import type { Vocabulary } from '../dataset-api/fields.ts';
import type { Permission } from '../dataset-api/permissions.ts';
import type { portalOperations } from './portal-schema.ts';
import type { SourcesConfig } from './sources-schema.ts';

/** What every portal has. */
export interface PortalConfigBase {
  /** Name of the portal: its key in the file. */
  name: string;
  username: string;
  /**
   * In clear, for the login. Null only for an embedded portal without one: then the password that it made itself is meant.
   * JSON.stringify, util.inspect and the log show `[redacted]` instead, also of a spread copy (see `redact.ts`).
   */
  password: string | null;
  dialect: 'auto' | 'entity' | 'form';
  /** Requests sent at once; up to twice as many datasets and resources are in work. */
  concurrency: number;
  /** 0 is no limit. */
  requestsPerSecond: number;
  importTimeoutMs: number;
  /** Whether datastore imports may run beside each other. */
  imports: 'serial' | 'parallel';
  /** Numbers of vocabularies, and of terms by name, that somebody stated. */
  vocabularies: Partial<Record<Vocabulary, string>>;
  terms: Partial<Record<Vocabulary, Readonly<Record<string, string>>>>;
}

/** A portal that `start` runs itself. */
export interface EmbeddedPortalConfig extends PortalConfigBase {
  kind: 'embedded';
  profile: 'spec' | 'dkan-7.18.16' | 'dkan-7.18' | 'dkan-7.14';
  /** Whether requests that overlap get in each other's way; null: as the profile has it. */
  races: boolean | null;
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Absolute path of the users file. */
  users: string | null;
  /** Absolute. */
  dataDir: string;
  attachWaitMs: number;
  /** Address before a proxy, without a slash at the end; null where it is reached directly. */
  publicUrl: string | null;
  /** Proxies whose X-Forwarded-For is believed: addresses and networks. */
  trustedProxies: string[];
  /** Permissions of the roles that the file names; see `portal-access-schema.ts`. */
  roles: Record<string, Permission[]>;
  /** Operations that exist by resource; null for all. */
  expose: Partial<Record<keyof typeof portalOperations, string[]>> | null;
  /** Access tokens let in. */
  tokens: boolean;
  /** The XML-RPC server answers. */
  xmlrpc: boolean;
}

/** A portal elsewhere. */
export interface RemotePortalConfig extends PortalConfigBase {
  kind: 'remote';
  password: string;
  /** Goes before username and password; redacted like the password. */
  token: string | null;
  /** Base address without a slash at the end. */
  url: string;
}

/** See its two kinds. */
export type PortalConfig = EmbeddedPortalConfig | RemotePortalConfig;

/** Who is told when something goes wrong or is well again. */
export interface NotifyConfig {
  /** Null where none is configured. The address may hold a token and is redacted like `secret`. */
  webhook: { url: string; secret: string | null } | null;
  /** Null where none is configured. `password` is redacted. */
  email: {
    host: string;
    port: number;
    /** TLS from the first byte; otherwise STARTTLS, which a login requires. */
    secure: boolean;
    username: string | null;
    password: string | null;
    from: string;
    to: string[];
  } | null;
}

/** Where and how to run. Durations are milliseconds (`…Ms`), sizes bytes (`…Bytes`), paths absolute. */
export interface Config {
  /** Absolute path of the file it came from; null for the defaults. */
  file: string | null;
  /** Absolute. */
  stateDir: string;
  portals: Record<string, PortalConfig>;
  /** The portal of `--portal`, which goes before the manifest's own; null without that option. */
  portal: string | null;
  /** Absolute paths and patterns. */
  manifests: string[];
  redis: {
    /** External Redis, may hold a password (redacted like those of portals); undefined means our own. */
    url: string | undefined;
    appendfsync: 'everysec' | 'always';
    fetch: boolean;
    prefix: string;
  };
  retry: { attempts: number; backoffMs: number; maxBackoffMs: number };
  /** Transient failures in a row that pause a portal; first and longest time between two probes of it. */
  breaker: { failures: number; probeMs: number; maxProbeMs: number };
  http: { connectMs: number; headersMs: number; bodyMs: number; uploadMs: number; readRetries: number };
  jobs: { keepLogs: number; keepRunsMs: number; lockMs: number; stalledCheckMs: number };
  inbox: { settleMs: number; rescanMs: number; poll: boolean; archiveKeep: number };
  /** Copies of the last good file of each table: all together, and the largest single one; 0 keeps none. */
  kept: { totalBytes: number; fileBytes: number };
  limits: { tableBytes: number; rowBytes: number };
  /** How files of the web are fetched. */
  sources: SourcesConfig;
  /** Port 0 takes a free one. */
  health: { port: number };
  notify: NotifyConfig;
  log: { level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent' };
}
