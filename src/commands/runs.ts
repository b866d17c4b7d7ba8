// What was done: `sluice runs`, `report` and `log` of runs, `history` of a table.
import { setTimeout as sleep } from 'node:timers/promises';
import { NotFoundError } from '../model/errors.ts';
import { itemId } from '../model/job.ts';
import { fatesText } from '../model/ledger-entry.ts';
import { unprovenText } from '../model/moved.ts';
import { targetOfName } from '../model/redis-keys.ts';
import { reasonText } from '../model/report.ts';
import { listedRunSchema } from '../model/status.ts';
import { countsText, type TableVersion } from '../model/table-history.ts';
import { itemViews, keysHint, meantKey } from '../service/items.ts';
import { reportFormats } from '../service/report-formats.ts';
import { markOf, markWords, type RunStatus, runStatus, waitsForWorker } from '../service/run-list.ts';
import type { Runtime } from '../service/runtime.ts';
import { plural } from '../util/plural.ts';
import { spanText } from '../util/quantity.ts';
import { type CommandDeclarations, commonOptions, parseCount } from './declaration.ts';
import { type CommonOptions, exitCodes, type Io, print, say, sayAll, warn } from './io.ts';
import { reportLines } from './report-text.ts';
import { withRuntimeOf } from './session.ts';
import { aligned, lines } from './text.ts';

export const runsCommand = async (options: CommonOptions & { limit?: number }, io: Io): Promise<number> =>
  withRuntimeOf('runs', options, io, async (runtime) => {
    const runs = await latestRuns(runtime, options.limit ?? 20);
    const none = ['no runs yet: `sluice publish <manifest>` starts one'];
    print(io, options, {
      json: { runs: runs.map((run) => listedRunSchema.parse(runJson(run))) },
      lines: runs.length === 0 ? none : runsTable(runs, Date.now()),
    });
    return exitCodes.ok;
  });

/** Runs that have not begun, then the last ones, newest first; only those of `--portal`, if given. */
export const latestRuns = async (runtime: Runtime, limit: number): Promise<RunStatus[]> => {
  const { portal } = runtime.config;
  const begun = await runtime.runs.latest(portal === null ? limit : limit * 20);
  const gates = await runtime.gate.all();
  const asked = gates.flatMap(([, { current, again }]) => (again ? [again.id, current.id] : [current.id]));
  const runs = await Promise.all([...new Set([...asked, ...begun])].map((runId) => runStatus(runtime, runId)));
  const wanted = runs.filter(({ target }) => portal === null || target.endsWith(`@${portal}`));
  return wanted.sort((a, b) => (b.startedAt ?? Number.MAX_VALUE) - (a.startedAt ?? Number.MAX_VALUE)).slice(0, limit);
};

export const runJson = ({ target, fates, ...run }: RunStatus) => {
  return { ...run, ...(target === '' ? { manifest: null, portal: null } : targetOfName(target)), items: fates };
};

/** Runs by when they began, how long they took, and how they went. */
export const runsTable = (runs: readonly RunStatus[], now: number): string[] => {
  const rows = runs.map((run) => {
    const { runId, target, startedAt, endedAt } = run;
    if (startedAt === null) return [runId, target, '', '', outcomeText(run)];
    const ms = (endedAt ?? now) - startedAt;
    const took = ms < 90_000 ? `${(ms / 1000).toFixed(1)} s` : spanText(ms);
    return [runId, target, momentText(startedAt), took, outcomeText(run)];
  });
  const [head = '', ...table] = aligned([['run', 'target', 'started (UTC)', 'took', 'outcome'], ...rows], [3]);
  return [head, ...runs.flatMap((run, at) => [table[at] ?? '', ...whyLines(run)])];
};

export const runLines = (run: RunStatus): string[] => [
  `  ${run.runId}  ${run.target}  ${outcomeText(run)}`,
  ...whyLines(run),
];

/** How a run went or how far it is, and its items: `with failures: 4 new, 1 failed`. */
const outcomeText = (run: RunStatus): string => {
  const word = run.reason?.code === 'cancelled' ? 'cancelled' : markWords[markOf(run)].word;
  const now = run.state === 'queued' ? run.state : word;
  const far = run.fates === null && run.total > 0 && `${run.done}/${run.total} items${unprovenText(run.unproven)}`;
  const waits = run.unattended && waitsForWorker;
  return [waits || now, [far, fatesText(run)].filter(Boolean).join(', ')].filter(Boolean).join(': ');
};

const whyLines = ({ reason }: RunStatus): string[] => (reason ? [`    ${reasonText(reason).split('\n', 1)[0]}`] : []);

const momentText = (at: number): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ');

const formats = ['text', 'html', 'csv', 'md', 'json'] as const;

type ReportOptions = CommonOptions & { format?: (typeof formats)[number] };

/** Prints the report of a closed run; 0 even if items failed. */
export const reportCommand = async (runId: string, options: ReportOptions, io: Io): Promise<number> =>
  withRuntimeOf('report', options, io, async (runtime) => {
    const { json, format = json ? 'json' : 'text' } = options;
    const report = await runtime.runs.report(runId);
    if (!report) throw noReport(await runStatus(runtime, runId));
    if (format === 'text') for (const line of reportLines(report, true)) say(io, line);
    else await sayAll(io, reportFormats[format].piecesOf(report));
    return exitCodes.ok;
  });

/** Why there is no report of a run: it is open, or not known. */
const noReport = (run: RunStatus): NotFoundError => {
  const { runId, target, unattended } = run;
  if (target === '') return new NotFoundError(`no run "${runId}" is known`, { hint: '`sluice runs` lists the runs' });
  const watch = `\`sluice status --watch\` shows how far it is, and \`sluice log ${runId} --follow\` what it does`;
  return new NotFoundError(`run ${runId} of ${target} has no report before it ends (${outcomeText(run)})`, {
    hint: unattended ? 'publish its manifest again, or start the service: either resumes it' : watch,
  });
};

/** Prints the lines; with `follow` continues until the run has ended or the command is stopped, as JSON all at the end. */
const logCommand = async (what: string, options: CommonOptions & { follow?: boolean }, io: Io): Promise<number> =>
  withRuntimeOf('log', options, io, async (runtime) => {
    const { runs } = runtime;
    const { runId, id } = await findLog(runtime, what);
    const said: string[] = [];
    for (;;) {
      // A closed run writes its last lines before its job ends.
      const ended = id === runId ? (await runs.phases.phase(runId)) === 'closed' : await runs.isClosed(runId);
      for (const line of await runs.log(id, said.length)) {
        said.push(line);
        if (!options.json) say(io, line);
      }
      if (said.length === 0 && !options.follow && !ended) warn(io, `nothing yet: run ${runId} has not begun with it`);
      if (!options.follow || ended || io.stop.aborted) break;
      await sleep(300, undefined, { signal: io.stop }).catch(() => undefined);
    }
    print(io, options, { json: { runId, lines: said }, lines: [] });
    return exitCodes.ok;
  });

/** The run of a job, run or key, and the id of the log. */
const findLog = async (runtime: Runtime, what: string): Promise<{ runId: string; id: string }> => {
  const runId = what.split('.', 1)[0] ?? what;
  if (!what.includes('/') && (await runStatus(runtime, runId)).target) return { runId, id: what };
  const last = what.includes('/') ? (await itemViews(runtime, what)).find((view) => view.runId !== '') : undefined;
  if (last) return { runId: last.runId, id: itemId(last.runId, what) };
  throw new NotFoundError(`no job, run or key is known as "${what}"`, {
    hint: `${what.includes('/') ? await meantKey(runtime, what) : ''}\`sluice status --all\` lists the keys; logs are kept as long as \`jobs.keepRuns\` says`,
  });
};

/** Lists the versions of a table, newest first, with what changed in its columns. */
const historyCommand = async (key: string, options: CommonOptions, io: Io): Promise<number> =>
  withRuntimeOf('history', options, io, async (runtime) => {
    const found = (await itemViews(runtime, key)).filter(({ versions }) => versions.length > 0);
    if (found.length === 0) {
      throw new NotFoundError(`no version of a table "${key}" is known`, { hint: await keysHint(runtime, key) });
    }
    const tables = found.map(({ target: { portal }, versions }) => ({ key, portal, versions }));
    print(io, options, {
      json: { tables: tables.map(({ versions, ...of }) => ({ ...of, versions: versions.map(versionJson).reverse() })) },
      lines: tables.flatMap(({ portal, versions }) => [
        `${key} on ${portal}: ${plural(versions.length, 'version')}`,
        ...versionLines(versions).reverse(),
      ]),
    });
    return exitCodes.ok;
  });

const versionJson = ({ at, ...version }: TableVersion) => ({ at: new Date(at).toISOString(), ...version });

const versionLines = (versions: TableVersion[]): string[] =>
  aligned(
    versions.map((version, index) => {
      const { at, rows, bytes, columns } = version;
      const shape = `${plural(columns.length, 'column')}${changes(versions[index - 1], version)}`;
      const changed = version.changes ? countsText(version.changes) : '';
      return [`  ${momentText(at)}`, plural(rows, 'row'), changed, plural(bytes, 'byte'), shape];
    }),
    [1, 3],
  );

const changes = (before: TableVersion | undefined, { columns }: TableVersion): string => {
  if (before === undefined) return '';
  const then = new Map(before.columns.map(({ name, kind }) => [name, kind]));
  const now = new Set(columns.map(({ name }) => name));
  const parts = lines(
    columns.map(({ name }) => !then.has(name) && `+${name}`),
    before.columns.map(({ name }) => !now.has(name) && `-${name}`),
    columns.map(({ name, kind }) => (then.get(name) ?? kind) !== kind && `${name}: ${then.get(name)} -> ${kind}`),
  );
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
};

export const commands = {
  runs: {
    options: { ...commonOptions, '--limit <count>': { text: 'how many (default: 20)', parse: parseCount } },
    examples: ['sluice runs --limit 50'],
    run: runsCommand,
  },
  report: {
    arguments: { '<run>': '' },
    options: { ...commonOptions, '--format <name>': { text: 'how to print it (default: text)', choices: formats } },
    examples: ['sluice report 20261121-031500-k3x9a --format csv > failed.csv'],
    run: reportCommand,
  },
  log: {
    arguments: { '<job|run|key>': '' },
    options: { ...commonOptions, '-f, --follow': 'keep printing until the job ends' },
    examples: ['sluice log city-finance/budget/spending'],
    run: logCommand,
  },
  history: {
    arguments: { '<key>': 'key of a resource such as city-finance/budget/spending' },
    examples: ['sluice history city-finance/budget/spending'],
    run: historyCommand,
  },
} satisfies CommandDeclarations;
