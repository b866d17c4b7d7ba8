// The shape of a configuration file as people write it. `config.ts` says what it becomes.
import { z } from 'zod';
import { idPattern } from '../model/key.ts';
import { durationText, sizeText } from '../util/quantity.ts';
import { defaults } from './defaults.ts';
import { notifyFileSchema } from './notify-schema.ts';
import { portalFileSchema, portNumber } from './portal-schema.ts';
import { sourcesFileSchema } from './sources-schema.ts';

/** Copies of the last good file of each table. */
const keptFileSchema = z
  .strictObject({
    total: sizeText.exactOptional().meta({
      default: defaults.kept.total,
      description: 'All copies together; the oldest go first. `0 B` keeps none.',
      examples: ['20 GB'],
    }),
    file: sizeText.exactOptional().meta({
      default: defaults.kept.file,
      description: 'Largest file that is copied. `0 B` keeps none.',
      examples: ['500 MB'],
    }),
  })
  .meta({
    description:
      'Copies of the last good file of each table in the state folder, to be attached again when its successor cannot be imported.',
  });

const text = z.string().trim().min(1);
const count = z.int().min(1);
const key = z.string().regex(idPattern, {
  error: 'must be 1 to 64 of a-z, 0-9, `.`, `_`, `-` and begin with a letter or digit',
});

/** A duration key with its default. */
const duration = (value: string, description: string, example: string) =>
  durationText.exactOptional().meta({ default: value, description, examples: [example] });

/** A configuration file as people write it; every key may be left out. */
export const configFileSchema = z
  .strictObject({
    portals: z
      .record(key, portalFileSchema)
      .exactOptional()
      .meta({
        description: 'Portals by name; one embedded `local` when left out.',
        examples: [{ local: { kind: 'embedded' } }],
      }),
    manifests: z
      .array(text)
      .exactOptional()
      .meta({
        default: [],
        description: 'Manifests that `start` serves: paths or patterns.',
        examples: [['../jobs/*.yaml']],
      }),
    redis: z
      .strictObject({
        url: secretOrText()
          .exactOptional()
          .meta({
            description:
              'External Redis, a cluster or sentinels; REDIS_URL of the environment goes before. Without both sluice runs its own.',
            examples: ['redis://redis:6379'],
          }),
        appendfsync: z
          .enum(['everysec', 'always'])
          .exactOptional()
          .meta({
            default: defaults.redis.appendfsync,
            description: 'How often our own Redis writes through to disk.',
            examples: ['always'],
          }),
        fetch: z
          .boolean()
          .exactOptional()
          .meta({
            default: defaults.redis.fetch,
            description: 'Whether a missing redis-server may be fetched from the Debian archive.',
            examples: [false],
          }),
        prefix: z
          .string()
          .regex(/^(?=.{1,64}$)[A-Za-z0-9_-]*(\{[A-Za-z0-9_-]+\}[A-Za-z0-9_-]*)?$/, {
            error: 'must be 1 to 64 letters, digits, `_` or `-`, some of them in braces for a cluster',
          })
          .exactOptional()
          .meta({
            default: defaults.redis.prefix,
            description: 'Begins every key in Redis; workers that share work share it. In braces for a cluster.',
            examples: ['{sluice}'],
          }),
      })
      .exactOptional()
      .meta({ description: 'The queue.' }),
    retry: z
      .strictObject({
        attempts: count
          .max(100)
          .exactOptional()
          .meta({
            default: defaults.retry.attempts,
            description: 'Attempts of a job before it fails; only faults that may pass are tried again.',
            examples: [3],
          }),
        backoff: duration(defaults.retry.backoff, 'Pause before the second attempt; it doubles each time.', '5s'),
        maxBackoff: duration(defaults.retry.maxBackoff, 'Longest pause between attempts.', '5m'),
      })
      .exactOptional()
      .meta({ description: 'Repeats of failed work.' }),
    breaker: z
      .strictObject({
        failures: count
          .max(1000)
          .exactOptional()
          .meta({
            default: defaults.breaker.failures,
            description: 'Passing faults of a portal in a row after which its jobs wait until it answers again.',
            examples: [10],
          }),
        probe: duration(
          defaults.breaker.probe,
          'Pause before such a portal is asked again; it doubles each time.',
          '30s',
        ),
        maxProbe: duration(defaults.breaker.maxProbe, 'Longest pause between two such questions.', '15m'),
      })
      .exactOptional()
      .meta({ description: 'What happens while a portal is down.' }),
    http: z
      .strictObject({
        connect: duration(defaults.http.connect, 'Time to reach a portal.', '5s'),
        headers: duration(defaults.http.headers, 'Time until an answer begins.', '2m'),
        body: duration(defaults.http.body, 'Longest silence within an answer.', '2m'),
        upload: duration(defaults.http.upload, 'Time for one upload with its answer.', '2h'),
        readRetries: z
          .int()
          .min(0)
          .max(20)
          .exactOptional()
          .meta({
            default: defaults.http.readRetries,
            description: 'Repeats of a read at once; writes are repeated as jobs only.',
            examples: [0],
          }),
      })
      .exactOptional()
      .meta({ description: 'Time-outs of requests to portals.' }),
    jobs: z
      .strictObject({
        keepLogs: count.exactOptional().meta({
          default: defaults.jobs.keepLogs,
          description: 'Lines kept of the log of one job.',
          examples: [200],
        }),
        keepRuns: duration(defaults.jobs.keepRuns, 'How long reports and logs of a closed run are kept.', '90d'),
        lock: duration(defaults.jobs.lock, 'How long a silent worker keeps a job.', '30s'),
        stalledCheck: duration(defaults.jobs.stalledCheck, 'How often jobs of dead workers are looked for.', '10s'),
        stuck: duration(
          defaults.jobs.stuck,
          'How long nothing of a run may move before it is begun again; when that does not help twice, it is closed as failed.',
          '1m',
        ),
      })
      .exactOptional()
      .meta({ description: 'Jobs and what is kept of them.' }),
    inbox: z
      .strictObject({
        settle: duration(defaults.inbox.settle, 'How long a dropped file must stand still before it is taken.', '10s'),
        rescan: duration(defaults.inbox.rescan, 'How often a folder is read afresh, in case an event was lost.', '5m'),
        poll: z
          .boolean()
          .exactOptional()
          .meta({
            default: defaults.inbox.poll,
            description: 'Look at files by time instead of events: for network drives.',
            examples: [true],
          }),
        archiveKeep: count.exactOptional().meta({
          default: defaults.inbox.archiveKeep,
          description: 'Published versions kept of each dropped resource.',
          examples: [20],
        }),
      })
      .exactOptional()
      .meta({ description: 'Watched folders.' }),
    kept: keptFileSchema.exactOptional(),
    limits: z
      .strictObject({
        table: sizeText.exactOptional().meta({
          default: defaults.limits.table,
          description: 'Largest table that is checked and sent.',
          examples: ['2 GB'],
        }),
        row: sizeText.exactOptional().meta({
          default: defaults.limits.row,
          description: 'Largest row; a longer one is most often an unclosed quote.',
          examples: ['5 MB'],
        }),
      })
      .exactOptional()
      .meta({ description: 'What is refused for its size.' }),
    sources: sourcesFileSchema.exactOptional(),
    health: z
      .strictObject({
        port: portNumber.exactOptional().meta({
          default: defaults.health.port,
          description: 'Loopback port of `/healthz`; 0 takes a free one.',
          examples: [9090],
        }),
      })
      .exactOptional()
      .meta({ description: 'Health of the service.' }),
    notify: notifyFileSchema.exactOptional(),
    log: z
      .strictObject({
        level: z
          .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
          .exactOptional()
          .meta({
            default: defaults.log.level,
            description: 'How much is logged.',
            examples: ['debug'],
          }),
      })
      .exactOptional()
      .meta({ description: 'The log.' }),
  })
  .meta({ title: 'sluice configuration' });

/** See {@link configFileSchema}. */
export type ConfigFile = z.infer<typeof configFileSchema>;

/** Address that may hold a password, which then must be a reference. */
function secretOrText() {
  return z.union([text, z.strictObject({ file: text.meta({ description: 'File that holds the address.' }) })], {
    error: 'must be an address such as `redis://redis:6379`, or `{file: path}`',
  });
}
