// `sluice publish`: one run of each manifest on each of its portals, awaited.
import { relative } from 'node:path';
import { driftPolicies, type OnDrift } from '../model/policy.ts';
import { openRuns, type RequestedRun, runNow } from '../service/actions.ts';
import { takeDropped } from '../service/inboxes.ts';
import type { Runtime } from '../service/runtime.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { type CommandDeclarations, commonOptions, refreshOption, waitOption } from './declaration.ts';
import { type DirectManifest, manifestsOf, refuseTakenNames } from './direct-manifest.ts';
import { type CommonOptions, exitCodeOfReports, type Io, say, warn } from './io.ts';
import { closingLines, reportHead } from './report-text.ts';
import { configOf, withRuntime } from './session.ts';
import { type Lines, lines } from './text.ts';
import { showReports, waitForRuns } from './wait.ts';

export interface PublishOptions extends CommonOptions {
  wait?: number;
  onDrift?: OnDrift;
  refresh?: boolean;
  save?: boolean;
  createMissing?: boolean;
  dryRun?: boolean;
}

export const publishCommand = async (paths: string[], options: PublishOptions, io: Io): Promise<number> => {
  if (options.dryRun) return (await import('./plan.ts')).planCommand(paths, options, io); // with what compares portals
  const config = await configOf(options, io);
  const found = await manifestsOf(paths, { config, isSaved: options.save === true }, io);
  return withRuntime({ config, options, role: 'publish' }, io, async (runtime) => {
    await refuseTakenNames(runtime, found);
    const reports = await publish(runtime, found.manifests, options, io);
    await showReports(reports, options, io);
    if (options.json) return exitCodeOfReports(reports);
    const closing = await Promise.all(reports.map((report) => closingLines(runtime, report)));
    const made = found.direct.map((each) => madeLines(each, io.cwd));
    for (const line of lines(made, [...new Set(closing.flat())])) say(io, line);
    return exitCodeOfReports(reports);
  });
};

const madeLines = ({ of, path, text, isSaved }: DirectManifest, cwd: string): Lines => {
  if (isSaved) return `saved the manifest of ${of}: ${relative(cwd, path)}`;
  const indented = text.trimEnd().split('\n');
  return [`${of} has no manifest; \`--save\` writes this one:`, indented.map((line) => `  ${line}`)];
};

export const publish = async (runtime: Runtime, manifests: Manifest[], options: PublishOptions, io: Io) => {
  const runs: RequestedRun[] = [];
  const earlier: RequestedRun[] = [];
  for (const manifest of manifests) {
    if (isDropManifest(manifest)) for (const line of await takeDropped(runtime, manifest, io.stop)) warn(io, line);
    const open = await openRuns(runtime, manifest);
    (isDropManifest(manifest) ? runs : earlier).push(...open);
    const { onDrift = null, refresh = false, createMissing = false } = options;
    runs.push(...(await runNow(runtime, manifest, { onDrift, refresh, createMissing })));
  }
  const reports = await waitForRuns(runtime, runs, options, io);
  // These ended before the own ones began, which have compared again what they had to do.
  for (const { runId } of earlier) {
    const report = await runtime.runs.report(runId);
    if (report) warn(io, `ended first: ${reportHead(report)}; \`sluice report ${runId}\` shows it`);
  }
  return reports;
};

export const commands = {
  publish: {
    arguments: { '<manifest...>': 'manifest files; or a table or folder to publish as one dataset' },
    options: {
      ...commonOptions,
      '--dry-run': 'show what would be done, as `sluice plan` does',
      '--save': 'save the manifest made for a table or folder in jobs/',
      ...waitOption,
      ...refreshOption,
      '--create-missing': 'create items that are not found on the portal, even if they may exist there',
      '--on-drift <choice>': { text: 'how this run treats nodes edited on the portal', choices: driftPolicies },
    },
    examples: ['sluice publish jobs/city-finance.yaml', 'sluice publish spending.csv --save'],
    run: publishCommand,
  },
} satisfies CommandDeclarations;
