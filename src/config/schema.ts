// The schema of a configuration file. `config.ts` resolves it.
import { z } from 'zod';
import { idText, optional, text } from '../model/schema-parts.ts';
import { durationText, sizeText } from '../util/quantity.ts';
import { isNetwork } from './addresses.ts';
import { defaults } from './defaults.ts';
import { notifyFileSchema } from './notify-schema.ts';
import { portalFileSchema, portNumber, secret, trustedProxies } from './portal-schema.ts';
import { credentialsFileSchema } from './source-credentials.ts';

const count = z.int().min(1);

/** A duration key with its default. */
const duration = (value: string, description: string, example: string) =>
  optional(durationText, { default: value, description, examples: [example] });

/** Copies of the last good file of each table. */
const keptFileSchema = z
  .strictObject({
    total: optional(sizeText, {
      default: defaults.kept.total,
      description: 'Total size of copies; the oldest are removed first. `0 B` keeps none.',
      examples: ['20 GB'],
    }),
    file: optional(sizeText, {
      default: defaults.kept.file,
      description: 'Largest file that is copied; `0 B` keeps none.',
      examples: ['500 MB'],
    }),
  })
  .meta({
    description:
      'Copies of the last good file of each table in the state folder, to be attached again when its successor cannot be imported.',
  });

const hostName = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?$/i;

/** An address, a CIDR or a host name. Numbers with dots that are no address are most often a mistyped one. */
const reachable = z.string().refine((text) => isNetwork(text) || (hostName.test(text) && !/^[\d./:]+$/.test(text)), {
  error: 'must be a host name, an address or a network such as `10.1.0.0/16`',
});

/** How files and catalogues are fetched from the web. */
const sourcesFileSchema = z
  .strictObject({
    allow: optional(z.array(reachable), {
      default: [],
      description: 'Hosts and networks to allow although their addresses are not public.',
      examples: [['data.intern.example', '10.1.0.0/16']],
    }),
    credentials: optional(credentialsFileSchema, {
      description: 'Logins by host or path of a host; https only, unless an address with `http://` is written.',
    }),
    maxSize: optional(sizeText, {
      default: defaults.sources.maxSize,
      description: 'Largest file that is fetched, after decompression.',
      examples: ['500 MB'],
    }),
    maxRedirects: optional(z.int().min(0).max(20), {
      default: defaults.sources.maxRedirects,
      description: 'Redirects that are followed; each is checked like the first address.',
      examples: [2],
    }),
    connect: duration(defaults.sources.connect, 'Time to reach a server.', '5s'),
    headers: duration(defaults.sources.headers, 'Time until a reply begins.', '2m'),
    body: duration(
      defaults.sources.body,
      'Longest pause within a reply; a file may take ten times as long, and a second more for each 64 KB.',
      '2m',
    ),
    requestsPerSecond: optional(z.number().min(0).max(1000), {
      default: defaults.sources.requestsPerSecond,
      description: 'Requests per second to one host; 0 means no limit.',
      examples: [1],
    }),
    proxy: optional(z.enum(['none', 'environment']), {
      default: defaults.sources.proxy,
      description: '`environment` uses `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.',
      examples: ['environment'],
    }),
  })
  .meta({ description: 'How files and catalogues are fetched from the web.' });

/** The HTTP server of the service. */
const webFileSchema = z
  .strictObject({
    host: optional(text, {
      default: defaults.web.host,
      description: 'Where `sluice start` listens; outside loopback with a `password` only.',
      examples: ['0.0.0.0'],
    }),
    port: optional(portNumber, {
      default: defaults.web.port,
      description: 'Port, one per service on a host; 0 picks a free one.',
      examples: [4284],
    }),
    username: optional(text, {
      default: defaults.web.username,
      description: 'User of the pages.',
      examples: ['ann'],
    }),
    password: optional(secret, {
      description: 'Password of the pages, as a reference; without it there is no login.',
      examples: [{ file: 'web-password' }],
    }),
    token: optional(secret, {
      description:
        'Token of programs for `POST /runs` and, where there is a `password`, for `/metrics`, as a reference.',
      examples: [{ file: 'web-token' }],
    }),
    publicUrl: optional(text, {
      description: 'Address behind a proxy, which needs a `password`; with https, cookies are secure.',
      examples: ['https://sluice.example.org'],
    }),
    trustedProxies,
  })
  .meta({ description: 'The HTTP server of `sluice start`: its pages, health and metrics.' });

/** An address that may hold a password, which then must be a reference. */
const secretOrText = z.union(
  [text, z.strictObject({ file: text.meta({ description: 'File that holds the address.' }) })],
  {
    error: 'must be an address such as `redis://redis:6379`, or `{file: path}`',
  },
);

/** A configuration file as people write it; every key may be left out. */
export const configFileSchema = z
  .strictObject({
    portals: optional(z.record(idText, portalFileSchema), {
      description: 'Portals by name; by default one embedded `local`.',
      examples: [{ local: { kind: 'embedded' } }],
    }),
    manifests: optional(z.array(text), {
      default: [],
      description: 'Manifests that `start` serves: paths or patterns.',
      examples: [['../jobs/*.yaml']],
    }),
    redis: optional(
      z.strictObject({
        url: optional(secretOrText, {
          description:
            'External Redis, cluster or sentinels; REDIS_URL takes precedence. Without either, sluice runs its own.',
          examples: ['redis://redis:6379'],
        }),
        appendfsync: optional(z.enum(['everysec', 'always']), {
          default: defaults.redis.appendfsync,
          description: 'How often the embedded Redis syncs to disk.',
          examples: ['always'],
        }),
        fetch: optional(z.boolean(), {
          default: defaults.redis.fetch,
          description: 'Whether a missing redis-server may be downloaded from the Debian archive.',
          examples: [false],
        }),
        prefix: optional(
          z.string().regex(/^(?=.{1,64}$)[A-Za-z0-9_-]*(\{[A-Za-z0-9_-]+\}[A-Za-z0-9_-]*)?$/, {
            error: 'must be 1 to 64 letters, digits, `_` or `-`, some of them in braces for a cluster',
          }),
          {
            default: defaults.redis.prefix,
            description: 'Prefix of every key in Redis; in braces for a cluster.',
            examples: ['{sluice}'],
          },
        ),
      }),
      { description: 'The queue.' },
    ),
    retry: optional(
      z.strictObject({
        attempts: optional(count.max(100), {
          default: defaults.retry.attempts,
          description: 'Attempts of a job before it fails; only temporary errors are retried.',
          examples: [3],
        }),
        backoff: duration(defaults.retry.backoff, 'Delay before the second attempt; it doubles each time.', '5s'),
        maxBackoff: duration(defaults.retry.maxBackoff, 'Longest delay between attempts.', '5m'),
      }),
      { description: 'Repeats of failed work.' },
    ),
    breaker: optional(
      z.strictObject({
        failures: optional(count.max(1000), {
          default: defaults.breaker.failures,
          description: 'Temporary errors of a portal in a row after which it is probed, and paused if the probe fails.',
          examples: [10],
        }),
        probe: duration(defaults.breaker.probe, 'Delay before the first probe; it doubles each time.', '30s'),
        maxProbe: duration(defaults.breaker.maxProbe, 'Longest delay between two probes.', '15m'),
      }),
      { description: 'What happens while a portal is down.' },
    ),
    http: optional(
      z.strictObject({
        connect: duration(defaults.http.connect, 'Time to reach a portal.', '5s'),
        headers: duration(defaults.http.headers, 'Time until a reply begins.', '2m'),
        body: duration(defaults.http.body, 'Time for a reply; for a file as in `sources.body`.', '2m'),
        upload: duration(defaults.http.upload, 'Time for one upload with its reply.', '2h'),
        readRetries: optional(z.int().min(0).max(20), {
          default: defaults.http.readRetries,
          description: 'Immediate retries of a read; writes are retried as jobs only.',
          examples: [0],
        }),
      }),
      { description: 'Time-outs of requests to portals.' },
    ),
    jobs: optional(
      z.strictObject({
        keepLogs: optional(count, {
          default: defaults.jobs.keepLogs,
          description: 'Lines kept of the log of one job.',
          examples: [200],
        }),
        keepRuns: duration(defaults.jobs.keepRuns, 'How long reports and logs of a closed run are kept.', '90d'),
        lock: duration(defaults.jobs.lock, 'How long a silent worker keeps a job.', '30s'),
        stalledCheck: duration(defaults.jobs.stalledCheck, 'How often jobs of dead workers are searched for.', '10s'),
        stuck: duration(
          defaults.jobs.stuck,
          'How long a run may make no progress before it is restarted; after two restarts it is closed as failed.',
          '1m',
        ),
      }),
      { description: 'Jobs and what is kept of them.' },
    ),
    watch: optional(
      z.strictObject({
        every: duration(
          defaults.watch.every,
          'How often workers and watched folders give a sign of life; two missing ones are reported.',
          '5m',
        ),
      }),
      { description: 'Watching for silence.' },
    ),
    inbox: optional(
      z.strictObject({
        settle: duration(defaults.inbox.settle, 'How long a dropped file must be unchanged before it is taken.', '10s'),
        rescan: duration(defaults.inbox.rescan, 'How often a folder is rescanned, in case an event was lost.', '5m'),
        poll: optional(z.boolean(), {
          default: defaults.inbox.poll,
          description: 'Poll instead of waiting for events: for network drives.',
          examples: [true],
        }),
        archiveKeep: optional(count, {
          default: defaults.inbox.archiveKeep,
          description: 'Published versions kept of each dropped resource.',
          examples: [20],
        }),
      }),
      { description: 'Watched folders.' },
    ),
    kept: keptFileSchema.exactOptional(),
    limits: optional(
      z.strictObject({
        table: optional(sizeText, {
          default: defaults.limits.table,
          description: 'Largest table that is checked and sent.',
          examples: ['2 GB'],
        }),
        row: optional(sizeText, {
          default: defaults.limits.row,
          description: 'Largest row; a longer one is usually an unclosed quote.',
          examples: ['5 MB'],
        }),
      }),
      { description: 'What is refused for its size.' },
    ),
    sources: sourcesFileSchema.exactOptional(),
    web: webFileSchema.exactOptional(),
    notify: notifyFileSchema.exactOptional(),
    log: optional(
      z.strictObject({
        level: optional(z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']), {
          default: defaults.log.level,
          description: 'How much is logged.',
          examples: ['debug'],
        }),
      }),
      { description: 'The log.' },
    ),
  })
  .meta({ title: 'sluice configuration' });

export type ConfigFile = z.infer<typeof configFileSchema>;
