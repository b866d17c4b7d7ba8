// The schema of a configuration file. `config.ts` resolves it.
import { z } from 'zod';
import { idText, type Key, keysOf, optional, text } from '../model/schema-parts.ts';
import { durationText, sizeText } from '../util/quantity.ts';
import { baseUrl, isNetwork } from './addresses.ts';
import { defaults } from './defaults.ts';
import { notifyFileSchema } from './notify-schema.ts';
import { portalFileSchema, portNumber, secret, secretAddress, trustedProxies } from './portal-schema.ts';
import { credentialsFileSchema } from './source-credentials.ts';

const count = z.int().min(1);

const section = <T extends Record<string, Key>>(name: keyof typeof defaults, description: string, keys: T) =>
  optional(z.strictObject(keysOf(keys, defaults[name])), { description });

const hostName = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?$/i;

/** An address, a CIDR or a host name. Numbers with dots that are no address are most often a mistyped one. */
const reachable = z.string().refine((text) => isNetwork(text) || (hostName.test(text) && !/^[\d./:]+$/.test(text)), {
  error: 'must be a host name, an address or a network such as `10.1.0.0/16`',
});

const prefix = z.string().regex(/^(?=.{1,64}$)[A-Za-z0-9_-]*(\{[A-Za-z0-9_-]+\}[A-Za-z0-9_-]*)?$/, {
  error: 'must be 1 to 64 letters, digits, `_` or `-`, some of them in braces for a cluster',
});

const sections = {
  redis: section('redis', 'The queue.', {
    url: [
      secretAddress('redis://redis:6379'),
      'External Redis, cluster or sentinels; REDIS_URL takes precedence. Without either, sluice runs its own.',
      'redis://redis:6379',
    ],
    appendfsync: [z.enum(['everysec', 'always']), 'How often the embedded Redis syncs to disk.', 'always'],
    fetch: [z.boolean(), 'Whether a missing redis-server may be downloaded from the Debian archive.', false],
    prefix: [prefix, 'Prefix of every key in Redis; in braces for a cluster.', '{sluice}'],
  }),
  retry: section('retry', 'Repeats of failed work.', {
    attempts: [count.max(100), 'Attempts of a job before it fails; only temporary errors are retried.', 3],
    backoff: [durationText, 'Delay before the second attempt; it doubles each time.', '5s'],
    maxBackoff: [durationText, 'Longest delay between attempts.', '5m'],
  }),
  breaker: section('breaker', 'What happens while a portal is down.', {
    failures: [count.max(1000), 'Temporary errors in a row before a portal is probed, and paused if that fails.', 10],
    probe: [durationText, 'Delay before the first probe; it doubles each time.', '30s'],
    maxProbe: [durationText, 'Longest delay between two probes.', '15m'],
  }),
  http: section('http', 'Time-outs of requests to portals.', {
    connect: [durationText, 'Time to reach a portal.', '5s'],
    headers: [durationText, 'Time until a reply begins.', '2m'],
    body: [durationText, 'Time for the body of a reply; for a file as in `sources.body`.', '2m'],
    upload: [durationText, 'Time for one upload with its reply.', '2h'],
    readRetries: [z.int().min(0).max(20), 'Immediate retries of a read; writes are retried as jobs only.', 0],
  }),
  jobs: section('jobs', 'Jobs and what is kept of them.', {
    keepLogs: [count, 'Lines kept of the log of one job.', 200],
    keepRuns: [durationText, 'How long reports and logs of a closed run are kept.', '90d'],
    lock: [durationText, 'How long a silent worker keeps a job.', '30s'],
    stalledCheck: [durationText, 'How often jobs of dead workers are searched for.', '10s'],
    stuck: [
      durationText,
      'How long a run may make no progress before its jobs are added again; after two such repairs it is closed as failed.',
      '1m',
    ],
  }),
  watch: section('watch', 'Watching for silence.', {
    every: [durationText, 'How often workers and inboxes give a sign of life; two missing ones are reported.', '5m'],
  }),
  inbox: section('inbox', 'Watched folders.', {
    settle: [durationText, 'How long a dropped file must be unchanged before it is taken.', '10s'],
    rescan: [durationText, 'How often a folder is rescanned, in case an event was lost.', '5m'],
    poll: [z.boolean(), 'Poll instead of waiting for events: for network drives.', true],
    archiveKeep: [count, 'Published versions kept of each dropped resource.', 20],
  }),
  kept: section(
    'kept',
    'Copies of the last good file of each table in the state folder, to be attached again when its successor cannot be imported.',
    {
      total: [sizeText, 'Total size of copies; the oldest are removed first. `0 B` keeps none.', '20 GB'],
      file: [sizeText, 'Largest file that is copied; `0 B` keeps none.', '500 MB'],
    },
  ),
  limits: section('limits', 'What is refused for its size.', {
    table: [sizeText, 'Largest table that is checked and sent.', '2 GB'],
    row: [sizeText, 'Largest row; a longer one is usually an unclosed quote.', '5 MB'],
  }),
  sources: section('sources', 'How files and catalogues are fetched from the web.', {
    allow: [
      z.array(reachable),
      'Hosts and networks to allow although their addresses are not public.',
      ['data.intern.example', '10.1.0.0/16'],
    ],
    credentials: [credentialsFileSchema, 'Logins by host, or path of a host; https only, unless `http://` is written.'],
    maxSize: [sizeText, 'Largest file that is fetched, after decompression.', '500 MB'],
    maxRedirects: [z.int().min(0).max(20), 'Redirects that are followed; each is checked like the first address.', 2],
    connect: [durationText, 'Time to reach a server.', '5s'],
    headers: [durationText, 'Time until a reply begins.', '2m'],
    body: [durationText, 'Longest pause within a reply; a file may take ten times that, and 1 s for each 64 KB.', '2m'],
    requestsPerSecond: [z.number().min(0).max(1000), 'Requests per second to one host; 0 means no limit.', 1],
    proxy: [
      z.enum(['none', 'environment']),
      '`environment` uses `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.',
      'environment',
    ],
  }),
  web: section('web', 'The HTTP server of `sluice start`: its pages, health and metrics.', {
    host: [text, 'Where `sluice start` listens; outside loopback with a `password` only.', '0.0.0.0'],
    port: [portNumber, 'Port, one per service on a host; 0 picks a free one.', 4284],
    username: [text, 'User of the pages.', 'ann'],
    password: [secret, 'Password of the pages, as a reference; no login without it.', { file: 'web-password' }],
    token: [
      secret,
      'Token of programs for `POST /runs` and, where there is a `password`, for `/metrics`, as a reference.',
      { file: 'web-token' },
    ],
    public: [
      z.boolean(),
      'True: without a login everybody may see how manifests, items and runs stand, and do nothing; needs a `password`.',
      true,
    ],
    publicUrl: [
      baseUrl,
      'Address behind a proxy, which needs a `password`; with https, cookies are secure.',
      'https://sluice.example.org',
    ],
    trustedProxies,
  }),
};

export const configFileSchema = z
  .strictObject({
    ...keysOf(
      {
        portals: [
          z.record(idText, portalFileSchema),
          'Portals by name; by default one embedded `local`.',
          { local: { kind: 'embedded' } },
        ],
        manifests: [z.array(text), 'Manifests that `start` serves: paths or patterns.', ['../jobs/*.yaml']],
      },
      defaults,
    ),
    ...sections,
    notify: notifyFileSchema.exactOptional(),
    log: section('log', 'The log.', {
      level: [z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']), 'How much is logged.', 'debug'],
    }),
  })
  .meta({ title: 'sluice configuration' });

export type ConfigFile = z.infer<typeof configFileSchema>;
