// `sluice start`, the service, and `sluice worker`, workers alone.
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { UsageError } from '../model/errors.ts';
import { fateOf, outcomeOf } from '../model/ledger-entry.ts';
import { createLog } from '../model/log.ts';
import { targetName } from '../model/redis-keys.ts';
import { causesOf, dropAgain, type Reason, type ReportItem, reasonText, type StoredReport } from '../model/report.ts';
import type { Runtime } from '../service/runtime.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import { repeat } from '../util/concurrency.ts';
import { plural } from '../util/plural.ts';
import type { CommandDeclarations } from './declaration.ts';
import { type CommonOptions, exitCodes, type Io, say, stopped } from './io.ts';
import { progressOf } from './progress.ts';
import { fateText } from './report-text.ts';
import { configOf, sayPasswords, withRuntime } from './session.ts';

/** Runs the service until it is stopped; 0 after a drained stop. */
export const startCommand = async (patterns: string[], options: CommonOptions, io: Io): Promise<number> =>
  serve('start', options, io, async (runtime, lines) => {
    // Patterns may match nothing yet, and faulty manifests are skipped with their reason.
    const gone = patterns.find((path) => !/[*?[{]/.test(path) && !existsSync(resolve(io.cwd, path)));
    if (gone)
      throw new UsageError(`manifest not found: ${resolve(io.cwd, gone)}`, { hint: 'check the path, or omit it' });
    const [{ serviceOf }, { serveWeb }] = await Promise.all([
      import('../service/service.ts'),
      import('../web/server.ts'),
    ]);
    const paths = patterns.map((path) => resolve(io.cwd, path));
    const service = serviceOf(runtime, paths);
    const web = await serveWeb(runtime, service.targets); // first: a port in use ends the command before any work begins
    const close = async (): Promise<void> => {
      await service.close();
      await web.close();
    };
    const served = await service.start().catch(async (error: unknown) => {
      await close(); // what it opened would keep the process alive
      throw error;
    });
    sayPasswords(runtime, io);
    const portals = Object.keys(runtime.config.portals).map((name) => ({ name, url: runtime.portals.addressOf(name) }));
    for (const { name, url } of portals) runtime.log.info({ portal: name, url }, 'portal in use');
    const manifests = served.map(({ name }) => name);
    runtime.log.info({ manifests, web: web.url, redis: runtime.redisHandle.describe }, 'sluice is running');
    lines?.say(`sluice is running, see ${web.url}/`);
    for (const { name, url } of portals) if (url !== null) lines?.say(`  portal ${name} is at ${url}/`);
    for (const { name, ...manifest } of served)
      lines?.say(`  ${name}${'drop' in manifest ? ` watches ${relative(io.cwd, manifest.drop.folder)}/` : ''}`);
    if (!served.some((manifest) => 'drop' in manifest || manifest.schedule))
      runtime.log.warn({ action: 'idle' }, served.length === 0 ? nothingServed : onRequest);
    lines?.say('press Ctrl-C to stop; the next start resumes unfinished work');
    return close;
  });

const nothingServed =
  'no manifest is served, so nothing is published: put one where `manifests` of the configuration looks, or name it after `sluice start`; `sluice init` writes an example';
const onRequest =
  'no manifest watches a folder (`drop`) or has a `schedule`: runs begin on request only, as by `sluice run-now`';

const workerCommand = async (options: CommonOptions, io: Io): Promise<number> =>
  serve('worker', options, io, async (runtime, lines) => {
    await runtime.startWorkers();
    lines?.say(`worker is running for ${Object.keys(runtime.config.portals).join(', ')}; press Ctrl-C to stop`);
    await runtime.silence.start();
    runtime.log.info({ portals: Object.keys(runtime.config.portals) }, 'worker is running');
    return async () => undefined;
  });

const serve = async (
  role: string,
  options: CommonOptions,
  io: Io,
  begin: (runtime: Runtime, lines: ServiceLines | null) => Promise<() => Promise<void>>,
): Promise<number> => {
  const config = await configOf(options, io);
  io.line?.clear();
  // A log for programs, or on a terminal lines for people.
  const { level } = config.log;
  const lines = io.terminal && !options.verbose ? serviceLines(io) : null;
  const log = lines
    ? createLog({ level: level === 'silent' ? level : 'info', destination: lines.log })
    : createLog({ level, pretty: io.terminal, destination: io.stdout });
  const onRunClosed = (report: StoredReport): void => lines?.closed(report);
  await withRuntime({ config, options, role, log, onRunClosed }, io, async (runtime) => {
    const end = await begin(runtime, lines);
    const endProgress = showRunning(runtime, io);
    await stopped(io);
    await endProgress();
    const signal = String(io.stop.reason);
    log.info({ signal }, 'stopping: jobs finish the current write, all others return to the queue');
    const forced = 'second signal: exiting now; the next start resumes unfinished work';
    io.force.addEventListener('abort', () => log.warn(forced));
    await end();
  });
  log.info('stopped');
  lines?.say('stopped');
  return exitCodes.ok;
};

/** Shows on the last lines of a terminal how far runs are; returns what ends that. */
const showRunning = (runtime: Runtime, { line }: Io): (() => Promise<void>) => {
  if (!line) return async () => undefined;
  const progress = progressOf(runtime);
  const show = async (): Promise<void> => {
    const running = await progress.running();
    if (running.length > 0) line.show(...running);
    else line.clear();
  };
  const end = repeat(500, show, (err) => runtime.log.debug({ err }, 'progress could not be shown'));
  return () => end().finally(() => line.clear());
};

export const commands = {
  start: {
    arguments: { '[manifest...]': 'manifests, in addition to those in the configuration' },
    examples: ['sluice start --config config/sluice.yaml'],
    run: startCommand,
  },
  worker: {
    examples: ['REDIS_URL=redis://queue:6379 sluice worker'],
    run: workerCommand,
  },
} satisfies CommandDeclarations;

/** Items of a run that get a line each; of more, counts and causes of failures are reported. */
const listedItems = 20;

/** How soon the same warning is not said again, milliseconds. */
const sameMs = 60_000;

type LogLine = Record<'level' | 'msg', string> &
  Partial<Record<'action' | 'portal' | 'manifest' | 'key' | 'path', string>> &
  Partial<Record<'reason' | 'err', string | { message: string }>>;

export const serviceLines = (io: Io) => {
  /** When a warning was said last, Unix milliseconds. */
  const warned = new BoundedMap<string, number>(1000);
  /** The last reported failure of each key, while it lasts. */
  const reported = new Map<string, string>();

  const tell = (text: string): void => say(io, `${new Date().toTimeString().slice(0, 8)}  ${text}`);

  /** Reports what a run did; a failure is reported once until the item recovers or fails for another reason. */
  const closed = (report: StoredReport): void => {
    const { portal, reason, items } = report;
    const name = targetName(report);
    if (isNews(name, reason) && reason) fail(name, reason, outcomeOf(reason));
    const isNew = (item: ReportItem): boolean =>
      isNews(`${portal} ${item.key}`, item.reason) || (item.reason === null && item.actions.length > 0);
    const news = items.values().filter(isNew).toArray();
    if (news.length <= listedItems) for (const item of news) tellItem(item);
    else tellMany(name, news);
  };

  const isNews = (name: string, reason: StoredReport['reason']): boolean => {
    const sign = reason && `${reason.code} ${reason.message}`;
    const before = reported.get(name);
    if (sign === null) reported.delete(name);
    else reported.set(name, sign);
    return sign !== null && sign !== before;
  };

  const tellItem = (item: ReportItem): void => {
    const rows = item.rows === null ? '' : `, ${plural(item.rows, 'row')}`;
    const fate = fateText(item);
    if (item.reason) fail(item.key, item.reason, fate);
    else tell(`${item.key}  ${fate}${item.live ? ', live' : ''}${rows}`);
  };

  const fail = (name: string, reason: Reason, fate: string): void => {
    const [first = ''] = reasonText(reason).split('\n');
    tell(`${name}  ${first.startsWith(fate) ? first : `${fate}: ${first}`}`);
    for (const hint of [reason.hint, dropAgain(reason)]) if (hint) say(io, `            -> ${hint}`);
  };

  const tellMany = (name: string, news: ReportItem[]): void => {
    const fates = [...Map.groupBy(news, fateOf)].map(([fate, of]) => `${of.length.toLocaleString('en')} ${fate}`);
    tell(`${name}  ${fates.join(', ')}`);
    for (const { reason, count, items } of causesOf(news, 3)) {
      const rest = count > items.length ? ', …' : '';
      tell(`  ${plural(count, 'item')} with ${reason.code}: ${items.map(({ key }) => key).join(', ')}${rest}`);
    }
  };

  /** Destination of a log: warnings become lines, except failures of items, which their run reports; so does a recovery. */
  const log = new Writable({
    decodeStrings: false,
    write: (line: string, _encoding, done) => {
      // As our own log wrote it; most of it are steps.
      if (!line.startsWith('{"level":"info"') || line.includes('"action":"resume"')) warn(JSON.parse(line));
      done();
    },
  });

  /** Says a warning with what it is about and its cause; the same about another item, or soon afterwards, is no news. */
  const warn = ({ level, msg, action, portal, manifest, key, path, reason, err }: LogLine): void => {
    if (action === 'give-up') return;
    const cause = [reason, err].map((each) => (typeof each === 'object' ? each.message : each)).find(Boolean);
    const about = [portal && `portal ${portal}`, key ? null : manifest, path].filter(Boolean);
    const text = `${[...about, msg].join(': ')}${cause ? `: ${cause.split('\n', 1)[0]}` : ''}`;
    const now = Date.now();
    if (now - (warned.get(text) ?? 0) < sameMs) return;
    warned.set(text, now);
    tell(`${level === 'info' ? '' : `${level}: `}${key ? `${key}: ` : ''}${text}`);
  };

  return { say: tell, closed, log };
};

export type ServiceLines = ReturnType<typeof serviceLines>;
