// The API of the package: what `sluice publish`, `plan` and `check` do, for programs in Node.
import { PassThrough } from 'node:stream';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { type CheckedFiles, checkCommand } from './commands/check.ts';
import type { CommonOptions, Io } from './commands/io.ts';
import { planCommand } from './commands/plan.ts';
import { publishCommand } from './commands/publish.ts';
import { type PlanFile, planFileSchema } from './model/plan-file.ts';
import type { OnDrift } from './model/policy.ts';
import { type Report, reportSchema } from './model/report.ts';

export { SluiceError } from './model/errors.ts';
export type { Reason, ReportItem } from './model/report.ts';
export type { CheckedFiles, PlanFile, Report };

/** Where configuration and state are; as the options of the commands. */
export interface SluiceOptions {
  /** Configuration file; `config/sluice.yaml` by default, if it exists. */
  config?: string;
  /** State folder; `.sluice` by default. */
  state?: string;
  /** A portal of the configuration. */
  portal?: string;
  /** What paths are relative to; the working directory of the process by default. */
  cwd?: string;
  /** Environment; that of the process by default. */
  env?: NodeJS.ProcessEnv;
  /** Stops as the first Ctrl-C does: what was started is resumed by the next call. */
  signal?: AbortSignal;
}

export interface PublishOptions extends SluiceOptions {
  /** How to treat nodes that were edited on the portal. */
  onDrift?: OnDrift;
  /** Compare with the portal's own listing first. */
  refresh?: boolean;
}

/**
 * Publishes manifests, tables or folders, and resolves with the report of each run once it has ended, even if items
 * failed. @throws SluiceError when nothing could run: a faulty manifest, no Redis, a portal that stays paused
 */
export const publish = async (
  paths: string | string[],
  options: PublishOptions = {},
): Promise<{ reports: Report[] }> => {
  const { onDrift, refresh } = options;
  const more = { ...(onDrift ? { onDrift } : {}), ...(refresh === undefined ? {} : { refresh }) };
  const printed = await printedBy(options, (common, io) => publishCommand([paths].flat(), { ...common, ...more }, io));
  return z.object({ reports: z.array(reportSchema) }).parse(printed);
};

/** What {@link publish} would do with each manifest on each portal; writes nothing. @throws SluiceError as it does */
export const plan = async (
  paths: string | string[],
  options: SluiceOptions & { refresh?: boolean } = {},
): Promise<{ plans: PlanFile[] }> => {
  const more = options.refresh === undefined ? {} : { refresh: options.refresh };
  const printed = await printedBy(options, (common, io) => planCommand([paths].flat(), { ...common, ...more }, io));
  return z.object({ plans: z.array(planFileSchema) }).parse(printed);
};

/** Checks tables, manifests and configuration, and with `portal` that portal. Needs no Redis. */
export const check = async (paths: string | string[], options: SluiceOptions = {}): Promise<CheckedFiles> =>
  // Printed by this program from that type.
  (await printedBy(options, (common, io) => checkCommand([paths].flat(), common, io))) as CheckedFiles;

/** What a command prints with `--json`, parsed; its exit code adds nothing to that. */
const printedBy = async (
  { cwd = process.cwd(), env = process.env, signal = new AbortController().signal, ...options }: SluiceOptions,
  run: (common: CommonOptions, io: Io) => Promise<number>,
): Promise<unknown> => {
  const { config, state, portal } = options;
  const given = Object.entries({ config, state, portal }).filter(([, value]) => value !== undefined);
  const stdout = new PassThrough();
  const printed = json(stdout);
  const io: Io = {
    stdin: process.stdin,
    stdout,
    stderr: new PassThrough().resume(), // which nobody reads
    env,
    cwd,
    terminal: false,
    columns: null,
    colours: { stdout: false, stderr: false },
    line: null,
    stop: signal,
    force: new AbortController().signal,
    writing: new Set(),
  };
  await run({ ...Object.fromEntries(given), json: true }, io);
  stdout.end();
  return printed;
};
