// `sluice runs`: the last runs; `sluice report`: the report of one, in the format that is wanted.
import { NotFoundError } from '../model/errors.ts';
import { targetName } from '../model/redis-keys.ts';
import { reportFormats } from '../service/report-formats.ts';
import type { Runtime } from '../service/runtime.ts';
import { itemFates } from '../state/report-lines.ts';
import { plural } from '../util/plural.ts';
import { type CommandDeclarations, commonOptions, parseCount } from './declaration.ts';
import { exitCodes } from './exit-code.ts';
import { type CommonOptions, type Io, say, sayAll } from './io.ts';
import { reportLines } from './report-text.ts';
import { withRuntimeOf } from './session.ts';

/** Lists the last runs, newest first. */
export const runsCommand = async (
  { limit = 20, ...options }: CommonOptions & { limit?: number },
  io: Io,
): Promise<number> =>
  withRuntimeOf('runs', options, io, async (runtime) => {
    const runs = await latestRuns(runtime, limit);
    if (options.json) say(io, JSON.stringify(runs, null, 2));
    else if (runs.length === 0) say(io, 'no runs yet: `sluice publish <manifest>` starts one');
    else for (const run of runs) for (const line of runLines(run)) say(io, line);
    return exitCodes.ok;
  });

/** The last runs, those of the portal that `--portal` chooses; newest first. */
export const latestRuns = async (runtime: Runtime, limit: number): Promise<RunStatus[]> => {
  const { portal } = runtime.config;
  const ids = await runtime.runs.latest(portal === null ? limit : limit * 20);
  const runs = await Promise.all(ids.map((runId) => runStatus(runtime, runId)));
  return runs.filter(({ target }) => portal === null || target.endsWith(`@${portal}`)).slice(0, limit);
};

const runStatus = async ({ runs }: Runtime, runId: string) => {
  const [target, progress, summary] = await Promise.all([
    runs.target(runId),
    runs.progress(runId),
    runs.summary(runId),
  ]);
  const reason = summary ? summary.reason : await runs.reason(runId);
  return { runId, target: target ? targetName(target) : '', ...progress, fates: summary?.fates ?? null, reason };
};

/** A run as lists show it. */
export type RunStatus = Awaited<ReturnType<typeof runStatus>>;

/** A run in one line, with its reason below where it failed as a whole. */
export const runLines = ({ runId, target, state, total, done, failed, fates, reason }: RunStatus): string[] => {
  const counts = fates
    ? itemFates.flatMap((fate) => (fates[fate] ? [`${fates[fate].toLocaleString('en')} ${fate}`] : []))
    : [`${done}/${total} items`, ...(failed > 0 ? [`${failed} failed`] : [])];
  const words = state === 'done' ? counts : [state, ...counts];
  const why = reason ? [`    ${reason.code}: ${reason.message.split('\n', 1)[0]}`] : [];
  return [`  ${runId}  ${target}  ${words.join(', ') || plural(0, 'item')}`, ...why];
};

/** Formats of `sluice report`. */
const formats = ['text', 'html', 'csv', 'md', 'json'] as const;

/** Prints the report of a closed run; 0 whatever it says. */
export const reportCommand = async (
  runId: string,
  { format, ...options }: CommonOptions & { format?: (typeof formats)[number] },
  io: Io,
): Promise<number> =>
  withRuntimeOf('report', options, io, async (runtime) => {
    const report = await runtime.runs.report(runId);
    if (!report)
      throw new NotFoundError(`no finished run "${runId}" is known`, { hint: '`sluice runs` lists the last runs' });
    const chosen = format ?? (options.json ? 'json' : 'text');
    if (chosen === 'text') for (const line of reportLines(report, true)) say(io, line);
    else await sayAll(io, reportFormats[chosen](report).pieces);
    return exitCodes.ok;
  });

/** `sluice runs` and `sluice report` on the command line. */
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
} satisfies CommandDeclarations;
