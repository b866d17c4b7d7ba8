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

/** A portal that `start` runs itself; `password` null: the one that the portal generated. */
export type EmbeddedPortalConfig = ReturnType<typeof embeddedPortal> & { password: string | null };

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
  const retry = { ...defaults.retry, ...file.retry };
  const breaker = { ...defaults.breaker, ...file.breaker };
  const http = { ...defaults.http, ...file.http };
  const jobs = { ...defaults.jobs, ...file.jobs };
  const { settle, rescan, ...inbox } = { ...defaults.inbox, ...file.inbox };
  const kept = { ...defaults.kept, ...file.kept };
  const limits = { ...defaults.limits, ...file.limits };
  return {
    /** Null for the defaults. */
    file: context.path,
    stateDir: context.stateDir,
    portals: Object.fromEntries(
      portals.map(([name, portal]): [string, PortalConfig] => [name, resolvePortal(name, portal, context)]),
    ),
    /** The portal of `--portal`, which takes precedence over the manifest's own; null without that option. */
    portal: null as string | null,
    manifests: (file.manifests ?? defaults.manifests).map((pattern) => resolve(context.dir, pattern)),
    redis: resolveRedis(file.redis, context),
    retry: {
      attempts: retry.attempts,
      backoffMs: durationMs(retry.backoff),
      maxBackoffMs: durationMs(retry.maxBackoff),
    },
    /** Transient failures in a row that pause a portal; first and longest time between two probes of it. */
    breaker: {
      failures: breaker.failures,
      probeMs: durationMs(breaker.probe),
      maxProbeMs: durationMs(breaker.maxProbe),
    },
    http: {
      connectMs: durationMs(http.connect),
      headersMs: durationMs(http.headers),
      bodyMs: durationMs(http.body),
      uploadMs: durationMs(http.upload),
      readRetries: http.readRetries,
    },
    jobs: {
      keepLogs: jobs.keepLogs,
      keepRunsMs: durationMs(jobs.keepRuns),
      lockMs: durationMs(jobs.lock),
      stalledCheckMs: durationMs(jobs.stalledCheck),
      stuckMs: durationMs(jobs.stuck),
    },
    watch: { everyMs: durationMs({ ...defaults.watch, ...file.watch }.every) },
    inbox: { ...inbox, settleMs: durationMs(settle), rescanMs: durationMs(rescan) },
    /** Copies of the last good file of each table: all together, and the largest single one; 0 keeps none. */
    kept: { totalBytes: sizeBytes(kept.total), fileBytes: sizeBytes(kept.file) },
    limits: { tableBytes: sizeBytes(limits.table), rowBytes: sizeBytes(limits.row) },
    sources: resolveSources(file.sources, context),
    web: resolveWeb(file.web, context),
    notify: resolveNotify(file.notify, context),
    log: { ...defaults.log, ...file.log },
  };
};

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
    connectMs: durationMs(connect),
    headersMs: durationMs(headers),
    bodyMs: durationMs(body),
  };
};

const resolveWeb = (file: ConfigFile['web'], { secrets }: ResolveContext) => {
  const { host, port, username, publicUrl, trustedProxies = [] } = { publicUrl: undefined, ...defaults.web, ...file };
  const url = publicUrl === undefined ? null : normalUrl(publicUrl);
  const password = secrets.get('web.password') ?? null; // null: no login
  const token = secrets.get('web.token') ?? null; // null: no program may request runs
  return redacting({ host, port, username, password, token, publicUrl: url, trustedProxies }, 'password', 'token');
};

const resolveNotify = (file: ConfigFile['notify'], { secrets }: ResolveContext) => {
  const url = secrets.get('notify.webhook.url');
  const email = file?.email && { ...defaults.email, ...file.email };
  return {
    webhook: url ? redacting({ url, secret: secrets.get('notify.webhook.secret') ?? null }, 'url', 'secret') : null,
    email: email
      ? redacting(
          {
            ...email,
            username: email.username ?? null,
            password: secrets.get('notify.email.password') ?? null,
            to: typeof email.to === 'string' ? [email.to] : email.to,
          },
          'password',
        )
      : null,
    heartbeat: file?.heartbeat === undefined ? null : redacting(heartbeatUrls(file.heartbeat), 'start', 'ok', 'fail'),
  };
};

const resolvePortal = (name: string, file: PortalFile, context: ResolveContext): PortalConfig => {
  const password = context.secrets.get(`portals.${name}.password`) ?? null;
  return file.kind === 'remote'
    ? remotePortal(name, {
        ...file,
        username: file.username ?? '',
        password: password ?? '',
        token: context.secrets.get(`portals.${name}.token`) ?? null,
      })
    : redacting({ ...embeddedPortal(name, file, context), password }, 'password');
};

/** A portal elsewhere from its keys, with the password in clear. */
export const remotePortal = (
  name: string,
  file: Omit<Extract<PortalFile, { kind: 'remote' }>, 'username' | 'password' | 'token'> &
    Record<'username' | 'password', string> & { token: string | null },
) => {
  const { url, username, password, token, ...rest } = file;
  const base = portalBase(name, { imports: 'serial', ...defaults.remote, ...rest, username });
  const kind = 'remote' as const;
  // The token takes precedence over username and password.
  return redacting({ ...base, kind, url: normalUrl(url), password, token }, 'password', 'token');
};

const embeddedPortal = (
  name: string,
  file: Extract<PortalFile, { kind: 'embedded' }>,
  { dir, stateDir }: ResolveContext,
) => {
  const all = { ...defaults.embedded, ...file };
  return {
    ...portalBase(name, { imports: (file.races ?? all.profile !== 'spec') ? 'serial' : 'parallel', ...all }),
    kind: 'embedded' as const,
    profile: all.profile,
    /** Null: as the profile has it. */
    races: file.races ?? null,
    host: all.host,
    port: all.port,
    users: file.users === undefined ? null : resolve(dir, file.users),
    dataDir: file.dataDir === undefined ? join(stateDir, 'portal', name) : resolve(dir, file.dataDir),
    attachWaitMs: durationMs(all.attachWait),
    /** Null where it is reached directly. */
    publicUrl: file.publicUrl === undefined ? null : normalUrl(file.publicUrl),
    trustedProxies: file.trustedProxies ?? [],
    roles: file.roles ?? {},
    /** Null for all operations. */
    expose: file.expose ?? null,
    tokens: all.tokens,
    xmlrpc: all.xmlrpc,
  };
};

const portalBase = (
  name: string,
  file: Required<Pick<PortalFile, 'username' | 'concurrency' | 'imports'>> & {
    requestsPerSecond: number | null;
  } & Pick<PortalFile, 'dialect' | 'importTimeout' | 'vocabularies' | 'terms'>,
) => ({
  name,
  username: file.username,
  dialect: file.dialect ?? defaults.portal.dialect,
  concurrency: file.concurrency,
  requestsPerSecond: file.requestsPerSecond,
  importTimeoutMs: durationMs(file.importTimeout ?? defaults.portal.importTimeout),
  imports: file.imports,
  vocabularies: byMachineName(file.vocabularies, String),
  terms: byMachineName(file.terms, (terms) =>
    Object.fromEntries(Object.entries(terms).map(([name, id]) => [name, String(id)])),
  ),
});

const byMachineName = <F, T>(
  { formats, tags, topics }: { formats?: F; tags?: F; topics?: F } = {},
  of: (value: F) => T,
): Partial<Record<Vocabulary, T>> => ({
  ...(formats === undefined ? {} : { format: of(formats) }),
  ...(tags === undefined ? {} : { tags: of(tags) }),
  ...(topics === undefined ? {} : { dkan_topics: of(topics) }),
});
