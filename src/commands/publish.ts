// `sluice publish`: one run of each manifest on each of its portals, awaited.
import { relative, resolve } from 'node:path';
import { UsageError } from '../model/errors.ts';
import { driftPolicies, type OnDrift } from '../model/policy.ts';
import type { StoredReport } from '../model/report.ts';
import { type RequestedRun, runNow } from '../service/actions.ts';
import { takeDropped } from '../service/inboxes.ts';
import { reportFormats } from '../service/report-formats.ts';
import type { Runtime } from '../service/runtime.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { type CommandDeclarations, commonOptions, parseDuration, refreshOption } from './declaration.ts';
import { type DirectManifest, directManifest, directPath, isData } from './direct-manifest.ts';
import { exitCodeOfReports, exitCodes } from './exit.ts';
import { type CommonOptions, type Io, type Printed, print, say, sayAll, warn } from './io.ts';
import { closingLines, reportLines } from './report-text.ts';
import { configOf, withRuntime } from './session.ts';
import { type Lines, lines } from './text.ts';
import { waitForRuns } from './wait.ts';

export interface PublishOptions extends CommonOptions {
  wait?: number;
  onDrift?: OnDrift;
  refresh?: boolean;
  save?: boolean;
  createMissing?: boolean;
}

export const publishCommand = async (paths: string[], options: PublishOptions, io: Io): Promise<number> => {
  const config = await configOf(options, io);
  const direct: DirectManifest[] = [];
  for (const path of paths) {
    if (!(await isData(resolve(io.cwd, path)))) continue;
    const made = await directManifest(path, { config, cwd: io.cwd, save: options.save === true });
    direct.push(made);
    if (made.leftOut.length === 0) continue;
    const [some, rest] = [made.leftOut.slice(0, 10).join(', '), made.leftOut.length - 10];
    const names = rest > 0 ? `${some} and ${rest} more` : some;
    warn(io, `${path}: left out ${names}: folders are datasets of their own, and portals refuse other files`);
  }
  const pathOf = (path: string): string => direct.find(({ of }) => of === path)?.path ?? resolve(io.cwd, path);
  const manifests = await loadAll(paths.map(pathOf));
  return withRuntime({ config, options, role: 'publish' }, io, async (runtime) => {
    await refuseTakenNames(runtime, manifests, direct);
    const reports = await publish(runtime, manifests, options, io);
    await showReports(reports, options, io);
    if (options.json) return exitCodeOfReports(reports);
    const closing = await Promise.all(reports.map((report) => closingLines(runtime, report)));
    const made = direct.map((each) => madeLines(each, io.cwd));
    for (const line of lines(made, [...new Set(closing.flat())])) say(io, line);
    return exitCodeOfReports(reports);
  });
};

/** A file must not take over the datasets of a manifest of the same name. */
const refuseTakenNames = async (runtime: Runtime, manifests: Manifest[], direct: DirectManifest[]): Promise<void> => {
  for (const { path, of } of direct) {
    const name = manifests.find((manifest) => manifest.path === path)?.name ?? '';
    const own = [path, directPath(runtime.config, name)];
    const other = (await runtime.targetsOfManifest(name)).find(({ manifestPath }) => !own.includes(manifestPath));
    if (!other) continue;
    throw new UsageError(`${of} would be published as "${name}", which ${other.manifestPath} has published`, {
      hint: `publish that manifest, or rename ${of}`,
    });
  }
};

const madeLines = ({ of, path, text, isSaved }: DirectManifest, cwd: string): Lines => {
  if (isSaved) return `saved the manifest of ${of}: ${relative(cwd, path)}`;
  const indented = text.trimEnd().split('\n');
  return [`${of} has no manifest; \`--save\` writes this one:`, indented.map((line) => `  ${line}`)];
};

/** Asks for one run of each manifest on each of its portals and waits for the reports. */
export const publish = async (
  runtime: Runtime,
  manifests: Manifest[],
  options: PublishOptions,
  io: Io,
): Promise<StoredReport[]> => {
  const runs: RequestedRun[] = [];
  for (const manifest of manifests) {
    if (isDropManifest(manifest)) await takeDropped(runtime, manifest, io.stop);
    const { onDrift = null, refresh = false, createMissing = false } = options;
    runs.push(...(await runNow(runtime, manifest, { onDrift, refresh, createMissing })));
  }
  return waitForRuns(runtime, runs, options, io);
};

/** Waits for runs and shows their reports, or `none` where nothing had to run; returns the exit code. */
export const awaitReports = async (
  runtime: Runtime,
  runs: RequestedRun[],
  options: Pick<PublishOptions, 'json' | 'wait'>,
  io: Io,
  none?: Printed,
): Promise<number> => {
  if (none && runs.length === 0) {
    print(io, options, none);
    return exitCodes.ok;
  }
  const reports = await waitForRuns(runtime, runs, options, io);
  await showReports(reports, options, io);
  return exitCodeOfReports(reports);
};

/** Shows reports as text, or as JSON: `{ "reports": […] }`. */
const showReports = async (reports: StoredReport[], options: CommonOptions, io: Io): Promise<void> => {
  if (options.json) await sayAll(io, jsonOf(reports));
  else for (const report of reports) for (const line of reportLines(report)) say(io, line);
};

function* jsonOf(reports: StoredReport[]): Generator<string> {
  yield '{ "reports": [\n';
  for (const [index, report] of reports.entries()) {
    if (index > 0) yield ',\n';
    yield* reportFormats.json.piecesOf(report);
  }
  yield '] }\n';
}

/** Loads manifests; two of one name are refused. */
export const loadAll = async (paths: string[]): Promise<Manifest[]> => {
  const manifests: Manifest[] = [];
  for (const path of paths) {
    const manifest = await loadManifest(path);
    const twin = manifests.find((other) => other.name === manifest.name);
    if (twin) {
      throw new UsageError(`${twin.path} and ${path} have the same name "${manifest.name}"`, {
        hint: 'names of manifests must be unique; rename one of them',
      });
    }
    manifests.push(manifest);
  }
  return manifests;
};

export const commands = {
  publish: {
    arguments: { '<manifest...>': 'manifest files; or a table or folder to publish as one dataset' },
    options: {
      ...commonOptions,
      '--save': 'save the manifest made for a table or folder in jobs/',
      '--wait <duration>': {
        text: 'time to wait for portals that are paused or do not answer (default: 60s)',
        parse: parseDuration,
      },
      ...refreshOption,
      '--create-missing': 'create items that are not found on the portal, even if they may exist there',
      '--on-drift <choice>': { text: 'how this run treats nodes edited on the portal', choices: driftPolicies },
    },
    examples: ['sluice publish jobs/city-finance.yaml', 'sluice publish spending.csv --save'],
    run: publishCommand,
  },
} satisfies CommandDeclarations;
