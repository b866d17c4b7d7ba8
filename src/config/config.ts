// The configuration as the rest of sluice sees it: the checked file with defaults, absolute paths and plain numbers.
import { join, resolve } from 'node:path';
import type { Vocabulary } from '../dataset-api/fields.ts';
import { durationMs, sizeBytes } from '../util/quantity.ts';
import { normalUrl } from './addresses.ts';
import { defaults } from './defaults.ts';
import { heartbeatUrls } from './notify-schema.ts';
import type { PortalFile } from './portal-schema.ts';
import { redacting } from './references.ts';
import type { ConfigFile } from './schema.ts';
import { resolveCredentials } from './source-credentials.ts';

/** A portal that `start` runs itself. */
export type EmbeddedPortalConfig = ReturnType<typeof embeddedPortal>;

/**
 * A portal of either kind. Its password is in clear, for the login; JSON.stringify, util.inspect and the log show
 * `[redacted]` instead, also of a spread copy (see `redacting`).
 */
export type PortalConfig = EmbeddedPortalConfig | ReturnType<typeof remotePortal>;

interface ResolveContext {
  path: string | null;
  dir: string;
  stateDir: string;
  env: NodeJS.ProcessEnv;
  secrets: ReadonlyMap<string, string>;
}

/** Where and how to run. Durations are milliseconds (`…Ms`), sizes bytes (`…Bytes`), paths absolute; port 0 picks a free one. */
export type Config = ReturnType<typeof resolveConfig>;

/** Who is notified when something goes wrong or has recovered; null where nothing is configured. */
export type NotifyConfig = Config['notify'];

/** Resolves a checked file. REDIS_URL of the environment takes precedence over `redis.url`. */
export const resolveConfig = (file: ConfigFile, context: ResolveContext) => {
  const portals = Object.entries(file.portals ?? { local: { kind: 'embedded' } as const });
  const { attempts, ...delays } = { ...defaults.retry, ...file.retry };
  const { failures, ...probes } = { ...defaults.breaker, ...file.breaker };
  const { readRetries, ...timeouts } = { ...defaults.http, ...file.http };
  const { keepLogs, ...times } = { ...defaults.jobs, ...file.jobs };
  const { settle, rescan, ...inbox } = { ...defaults.inbox, ...file.inbox };
  return {
    /** Null for the defaults. */
    file: context.path,
    stateDir: context.stateDir,
    portals: Object.fromEntries(
      portals.map(([name, portal]): [string, PortalConfig] => [
        name,
        portal.kind === 'remote' ? remotePortal(name, portal, context) : embeddedPortal(name, portal, context),
      ]),
    ),
    /** The portal of `--portal`, which takes precedence over the manifest's own; null without that option. */
    portal: null as string | null,
    manifests: (file.manifests ?? defaults.manifests).map((pattern) => resolve(context.dir, pattern)),
    redis: resolveRedis(file.redis, context),
    retry: { attempts, ...inMs(delays) },
    /** Transient failures in a row that pause a portal; first and longest time between two probes of it. */
    breaker: { failures, ...inMs(probes) },
    http: { readRetries, ...inMs(timeouts) },
    jobs: { keepLogs, ...inMs(times) },
    watch: inMs({ ...defaults.watch, ...file.watch }),
    inbox: { ...inbox, ...inMs({ settle, rescan }) },
    /** Copies of the last good file of each table: all together, and the largest single one; 0 keeps none. */
    kept: inBytes({ ...defaults.kept, ...file.kept }),
    limits: inBytes({ ...defaults.limits, ...file.limits }),
    sources: resolveSources(file.sources, context),
    web: resolveWeb(file.web, context),
    notify: resolveNotify(file.notify, context),
    log: { ...defaults.log, ...file.log },
  };
};

/** Texts as numbers, under names that end with their unit. */
const inUnit =
  <Unit extends string>(unit: Unit, of: (text: string) => number) =>
  <T extends Record<keyof T, string>>(texts: T) =>
    Object.fromEntries(Object.entries<string>(texts).map(([name, text]) => [`${name}${unit}`, of(text)])) as {
      [K in keyof T & string as `${K}${Unit}`]: number;
    }; // as made above

const inMs = inUnit('Ms', durationMs);
const inBytes = inUnit('Bytes', sizeBytes);

const resolveRedis = (file: ConfigFile['redis'], { env, secrets }: ResolveContext) => {
  // External Redis; undefined means our own. It may hold a password.
  const url = env.REDIS_URL || secrets.get('redis.url');
  return redacting({ ...defaults.redis, ...file, url }, 'url');
};

const resolveSources = (file: ConfigFile['sources'] = {}, { secrets }: ResolveContext) => {
  const { credentials = {}, maxSize, connect, headers, body, ...rest } = { ...defaults.sources, ...file };
  return {
    ...rest,
    credentials: resolveCredentials(credentials, secrets),
    maxBytes: sizeBytes(maxSize),
    ...inMs({ connect, headers, body }),
  };
};

const resolveWeb = (file: ConfigFile['web'], { secrets }: ResolveContext) => {
  const { publicUrl, trustedProxies = [], ...given } = { publicUrl: undefined, ...defaults.web, ...file };
  const url = publicUrl === undefined ? null : normalUrl(publicUrl);
  const password = secrets.get('web.password') ?? null; // null: no login
  const token = secrets.get('web.token') ?? null; // null: no program may request runs
  return redacting({ ...given, password, token, publicUrl: url, trustedProxies }, 'password', 'token');
};

const resolveNotify = (file: ConfigFile['notify'], { secrets }: ResolveContext) => {
  const url = secrets.get('notify.webhook.url');
  const email = file?.email && {
    ...defaults.email,
    username: null,
    ...file.email,
    password: secrets.get('notify.email.password') ?? null,
    to: [file.email.to].flat(),
  };
  return {
    webhook: url ? redacting({ url, secret: secrets.get('notify.webhook.secret') ?? null }, 'url', 'secret') : null,
    email: email ? redacting(email, 'password') : null,
    heartbeat: file?.heartbeat === undefined ? null : redacting(heartbeatUrls(file.heartbeat), 'start', 'ok', 'fail'),
  };
};

/** A portal elsewhere, with password and token in clear. The token takes precedence over username and password. */
export const remotePortal = (
  name: string,
  file: Extract<PortalFile, { kind: 'remote' }>,
  { secrets }: Pick<ResolveContext, 'secrets'>,
) => {
  const { url, username = '', password: _reference, ...rest } = file;
  const base = portalBase(name, { imports: 'serial' as const, ...defaults.remote, ...rest, username });
  const password = secrets.get(`portals.${name}.password`) ?? '';
  const token = secrets.get(`portals.${name}.token`) ?? null;
  return redacting({ ...base, url: normalUrl(url), password, token }, 'password', 'token');
};

const embeddedPortal = (
  name: string,
  file: Extract<PortalFile, { kind: 'embedded' }>,
  { dir, stateDir, secrets }: ResolveContext,
) => {
  const given = { ...defaults.embedded, trustedProxies: [], roles: {}, ...file };
  const { races, users, dataDir, publicUrl, expose, password: _reference, ...rest } = given;
  const resolved = {
    ...portalBase(name, { imports: (races ?? rest.profile !== 'spec') ? 'serial' : 'parallel', ...rest }),
    /** Null: as the profile has it. */
    races: races ?? null,
    users: users === undefined ? null : resolve(dir, users),
    dataDir: dataDir === undefined ? join(stateDir, 'portal', name) : resolve(dir, dataDir),
    /** Null where it is reached directly. */
    publicUrl: publicUrl === undefined ? null : normalUrl(publicUrl),
    /** Null for all operations. */
    expose: expose ?? null,
    /** Null: the one that the portal generated. */
    password: secrets.get(`portals.${name}.password`) ?? null,
  };
  return redacting(resolved, 'password');
};

const portalBase = <T extends Pick<PortalFile, 'dialect' | 'importTimeout' | 'vocabularies' | 'terms'>>(
  name: string,
  { dialect, importTimeout, vocabularies, terms, ...rest }: T,
) => ({
  ...rest,
  name,
  dialect: dialect ?? defaults.portal.dialect,
  importTimeoutMs: durationMs(importTimeout ?? defaults.portal.importTimeout),
  vocabularies: byMachineName(vocabularies, String),
  terms: byMachineName(terms, (ids) => Object.fromEntries(Object.entries(ids).map(([each, id]) => [each, String(id)]))),
});

const byMachineName = <F, T>(
  { formats, tags, topics }: { formats?: F; tags?: F; topics?: F } = {},
  of: (value: F) => T,
): Partial<Record<Vocabulary, T>> => ({
  ...(formats === undefined ? {} : { format: of(formats) }),
  ...(tags === undefined ? {} : { tags: of(tags) }),
  ...(topics === undefined ? {} : { dkan_topics: of(topics) }),
});
