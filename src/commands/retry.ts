// `sluice retry`: a new run limited to what failed.

import { NotFoundError } from '../model/errors.ts';
import { plainRequest } from '../model/job.ts';
import type { KnownTarget, Runtime } from '../service/runtime.ts';
import { gatherManifestSources, type SourceTools } from '../service/sources.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { exitCodes } from './exit-code.ts';
import { type CommonOptions, type Io, say } from './io.ts';
import { awaitReports } from './publish.ts';
import { withRuntimeOf } from './session.ts';
import type { AwaitedRun } from './wait.ts';

/** Runs the failed items of a run, or one key, again and waits for the report. */
export const retryCommand = async (what: string, options: CommonOptions, io: Io): Promise<number> =>
  withRuntimeOf('retry', options, io, async (runtime) => {
    const { targets, keys } = what.includes('/') ? await ofKey(runtime, what) : await ofRun(runtime, what);
    if (keys.length === 0) {
      if (options.json) say(io, '[]');
      else say(io, `nothing failed in run ${what}`);
      return exitCodes.ok;
    }
    const runs: AwaitedRun[] = [];
    for (const target of targets) {
      const only = await stillWished(await loadManifest(target.manifestPath), keys, runtime.sourceTools(io.stop));
      const { runId } = await runtime.gate.request({ ...target, ...plainRequest, why: 'retry', only });
      runs.push({ runId, manifest: target.manifest, portal: target.portal });
    }
    return awaitReports(runtime, runs, options, io);
  });

/** Those of the keys that the manifest still names; NotFoundError when it names none. */
const stillWished = async (manifest: Manifest, keys: string[], tools: SourceTools): Promise<string[]> => {
  const { wishes } = await gatherManifestSources(manifest, tools);
  const only = keys.filter((key) => wishes.keys.has(key));
  await wishes.close();
  if (only.length > 0) return only;
  throw new NotFoundError(`nothing to run again: ${manifest.path} does not ask for ${keys.slice(0, 5).join(', ')}`, {
    hint: isDropManifest(manifest)
      ? 'a dropped file that was quarantined is submitted again by dropping it into the inbox'
      : '`sluice status` lists the keys; mend the manifest, then publish it',
  });
};

interface Found {
  targets: KnownTarget[];
  keys: string[];
}

const ofKey = async (runtime: Runtime, key: string): Promise<Found> => {
  const targets = await runtime.targetsOfKey(key);
  if (targets.length === 0) {
    throw new NotFoundError(`no key "${key}" is known`, { hint: '`sluice status` lists the keys' });
  }
  return { targets, keys: [key] };
};

const ofRun = async (runtime: Runtime, runId: string): Promise<Found> => {
  const report = await runtime.runs.report(runId);
  const target = (await runtime.ledger.targets()).find(
    ({ manifest, portal }) => manifest === report?.manifest && portal === report.portal,
  );
  if (!report || !target) {
    throw new NotFoundError(`no ended run "${runId}" is known`, { hint: '`sluice status` names the last runs' });
  }
  return { targets: [target], keys: report.items.filter((item) => item.reason !== null).map((item) => item.key) };
};

/** `sluice retry` on the command line. */
export const commands = {
  retry: {
    arguments: { '<run|key>': '' },
    options: commonOptions,
    examples: ['sluice retry 20261121-031500-k3x9a'],
    run: retryCommand,
  },
} satisfies CommandDeclarations;
