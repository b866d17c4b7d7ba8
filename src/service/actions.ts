// Actions of operators on runs, items and portals, from a terminal or the pages; workers carry them out.
import { CancelledError, NotFoundError, PausedError, reasonOf } from '../model/errors.ts';
import type { RunRequest } from '../model/job.ts';
import { isWithin } from '../model/key.ts';
import { type IndexedEntry, isGuarded } from '../model/ledger-entry.ts';
import type { RemovalMode } from '../model/policy.ts';
import type { KnownTarget, Target } from '../model/redis-keys.ts';
import { isSuccess } from '../model/report.ts';
import { didYouMean } from '../model/yaml/nearest.ts';
import { mayHaveNode, ownersOf } from '../pipeline/plan/known-wish.ts';
import type { EndedPause, Pause } from '../queue/pause.ts';
import { putIntoInbox } from '../sources/drop/inbox.ts';
import { inSpool } from '../sources/drop/spool.ts';
import { loadManifest, targetOf } from '../sources/manifest/load.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import type { SourceTools } from '../sources/source-kinds.ts';
import { keysHint, meantKey } from './items.ts';
import type { Runtime } from './runtime.ts';
import { gatherManifestSources, leaveDrops } from './sources.ts';

/** A requested run; it may begin later. */
export type RequestedRun = Target & { runId: string };

/** Requests a run of a manifest on each of its portals. */
export const runNow = async (runtime: Runtime, manifest: Manifest, more: Parameters<Runtime['requestRun']>[2] = {}) => {
  const requests = runtime.perPortal(manifest).map(targetOf);
  return Array.fromAsync(requests, (target) => runtime.requestRun(target, 'command', more));
};

/** The runs of a manifest that are still open, such as an interrupted one: of an inbox, a run that is requested now no longer finds their files. */
export const openRuns = async (runtime: Runtime, manifest: Manifest): Promise<RequestedRun[]> => {
  const targets = runtime.perPortal(manifest).map(targetOf);
  const runs = targets.map(async (target) => ({ ...target, runId: (await runtime.gate.state(target)).current }));
  return (await Promise.all(runs)).filter((run): run is typeof run & RequestedRun => run.runId !== null);
};

/** What to retry: the failed items of a run, a key, or all keys of a manifest that failed with one code. */
export type Retried = { of: string } | { manifest: string; code: string };

/** Requests runs limited to what failed; none if nothing did. @throws NotFoundError for unknown runs, keys and manifests */
export const retry = async (runtime: Runtime, what: Retried, signal: AbortSignal): Promise<RequestedRun[]> => {
  const again = 'of' in what ? await exportAgain(runtime, what.of, signal) : null;
  if (again) return again;
  return Array.fromAsync(await failedKeys(runtime, what), async ({ target, keys }) => {
    const only =
      keys && (await stillWanted(await loadManifest(target.manifestPath), keys, runtime.sourceTools(signal)));
    return runtime.requestRun(target, 'retry', { only });
  });
};

/** An export fetches only what is missing, so it is requested again as it was; null for other runs. */
const exportAgain = async (runtime: Runtime, runId: string, signal: AbortSignal): Promise<RequestedRun[] | null> => {
  const report = runId.includes('/') ? null : await runtime.runs.report(runId);
  if (!report?.export) return null;
  if (isSuccess(report)) return [];
  const target = { manifestPath: report.export.folder, manifest: report.manifest, portal: report.portal };
  return [await runtime.requestRun(target, 'command', { export: report.export }, signal)];
};

type TargetKeys<Keys = string[]> = { target: KnownTarget; keys: Keys };

/** Null keys: all of the target. */
const failedKeys = async (runtime: Runtime, what: Retried): Promise<TargetKeys<string[] | null>[]> => {
  if ('code' in what) {
    const targets = await runtime.targetsOfManifest(what.manifest);
    if (targets.length > 0) return keysWhere(runtime, targets, ({ reason }) => reason?.code === what.code);
    throw new NotFoundError(`manifest "${what.manifest}" has not run yet`, { hint: '`sluice status` lists them' });
  }
  if (!what.of.includes('/')) return keysOfRun(runtime, what.of);
  const targets = await runtime.targetsOfKey(what.of);
  if (targets.length > 0) return targets.map((target) => ({ target, keys: [what.of] }));
  throw new NotFoundError(`no key "${what.of}" is known`, { hint: await keysHint(runtime, what.of) });
};

/** The keys of each target that are meant, without targets that have none. */
const keysWhere = async (
  { ledger }: Runtime,
  targets: KnownTarget[],
  isMeant: (entry: IndexedEntry, owners: ReturnType<typeof ownersOf>) => boolean,
): Promise<TargetKeys[]> => {
  const found = await Array.fromAsync(targets, async (target) => {
    const entries = [...(await ledger.index(target)).values()];
    const owners = ownersOf(entries);
    return { target, keys: entries.filter((entry) => isMeant(entry, owners)).map(({ key }) => key) };
  });
  return found.filter(({ keys }) => keys.length > 0);
};

const keysOfRun = async (runtime: Runtime, runId: string): Promise<TargetKeys<string[] | null>[]> => {
  const report = await runtime.runs.report(runId);
  const isOfRun = ({ manifest, portal }: KnownTarget) => manifest === report?.manifest && portal === report.portal;
  const target = (await runtime.ledger.targets()).find(isOfRun);
  if (!report || !target)
    throw new NotFoundError(`no finished run "${runId}" is known`, { hint: '`sluice runs` lists the last runs' });
  const keys = [...report.items.values().flatMap(({ key, reason }) => (reason === null ? [] : [key]))];
  if (keys.length > 0) return [{ target, keys }];
  return report.reason ? [{ target, keys: null }] : []; // it failed as a whole
};

/** The keys that are still in the manifest. @throws NotFoundError when none is */
const stillWanted = async (manifest: Manifest, keys: string[], tools: SourceTools): Promise<string[]> => {
  const { wishes } = await gatherManifestSources(manifest, tools);
  const only = keys.filter((key) => wishes.keys.has(key));
  await wishes.close();
  if (only.length > 0) return only;
  throw new NotFoundError(`nothing to retry: ${manifest.path} no longer names ${keys.slice(0, 5).join(', ')}`, {
    hint: isDropManifest(manifest)
      ? 'a dropped file that was quarantined is submitted again by dropping it into the inbox'
      : `${didYouMean(keys[0] ?? '', [...wishes.keys], {})}\`sluice status --all\` lists the keys; fix the manifest, then publish it`,
  });
};

/** Puts a file into the inbox in the place of the dropped one of an item; the service publishes it. */
export const replaceDropped = async (
  runtime: Runtime,
  key: string,
  { name, content }: { name: string; content: AsyncIterable<Uint8Array> },
): Promise<string> => {
  for (const { manifestPath, portal } of await runtime.targetsOfKey(key)) {
    const manifest = await loadManifest(manifestPath);
    const { dropped } = inSpool((await runtime.ledger.entry(portal, key))?.sourcePath ?? '') ?? {};
    if (isDropManifest(manifest) && dropped) return putIntoInbox(manifest, { dropped, name }, content);
  }
  throw new NotFoundError(`no dropped file of "${key}" is known`, { hint: '`sluice status --all` lists the keys' });
};

/** Lets a held run do what it was held for, and nothing it was not held for; or publishes the held tables of a key. */
export const release = async (runtime: Runtime, what: string, signal: AbortSignal): Promise<RequestedRun[]> => {
  if (what.includes('/')) return decide(runtime, { key: what, how: 'release' }, signal);
  const held = await runtime.plans.heldRun(what);
  return [await runtime.requestRun(held, 'command', { release: what, plan: held.plan }, signal)];
};

/** Discards a held run without changes; or requests a run that keeps the published tables of a key. */
export const discard = async (runtime: Runtime, what: string, signal: AbortSignal): Promise<RequestedRun[]> => {
  if (what.includes('/')) return decide(runtime, { key: what, how: 'discard' }, signal);
  await runtime.plans.heldRun(what); // throws where there is none
  await runtime.plans.dropHeld(what);
  return [];
};

/** Requests a run that carries out a decision about the held table of a resource, or of all resources of a dataset. */
const decide = async (
  runtime: Runtime,
  { key, how }: { key: string; how: 'release' | 'discard' },
  signal: AbortSignal,
): Promise<RequestedRun[]> => {
  const isMeant = (entry: IndexedEntry): boolean => isGuarded(entry) && isWithin(entry.key, key);
  const held = await keysWhere(runtime, await runtime.targetsOfKey(key), isMeant);
  const runs = await Array.fromAsync(held, ({ target, keys }) =>
    runtime.requestRun(target, 'command', { decision: { keys, how }, only: keys }, signal),
  );
  if (runs.length > 0) return runs;
  const hint = `${await meantKey(runtime, key)}\`sluice status\` names what is held`;
  throw new NotFoundError(`nothing is held for "${key}"`, { hint });
};

/** Requests the removal of an item, a dataset with all its resources, from every portal it is on. */
export const remove = async (
  runtime: Runtime,
  { key, how }: { key: string; how: RemovalMode },
  signal: AbortSignal,
): Promise<RequestedRun[]> => {
  const targets = await keysWhere(
    runtime,
    await runtime.targetsOfKey(key),
    (entry, owners) => isWithin(entry.key, key) && mayHaveNode(entry, owners),
  );
  const runs = await Array.fromAsync(targets, ({ target }) =>
    runtime.requestRun(target, 'command', { remove: { key, how } }, signal),
  );
  if (runs.length > 0) return runs;
  throw new NotFoundError(`no published key "${key}" is known`, { hint: await keysHint(runtime, key) });
};

/**
 * Ends a run after its current steps; any worker carries it out. A `held` one is discarded, an `ended` one stays as it is. May
 * be repeated. @throws NotFoundError
 */
export const cancelRun = async (
  runtime: Runtime,
  runId: string,
): Promise<{ run: RequestedRun; state: 'ending' | 'held' | 'ended' }> => {
  const { redis, keys, gate, runs, plans, advancer } = runtime;
  const recorded = await runs.target(runId);
  const isHeld = recorded !== null && (await plans.dropHeld(runId));
  if (recorded && (isHeld || (await runs.isClosed(runId))))
    return { run: { runId, ...recorded }, state: isHeld ? 'held' : 'ended' };
  const known = recorded ?? (await gate.find(runId))?.target;
  if (!known) throw new NotFoundError(`no run "${runId}" is known`, { hint: '`sluice runs` lists the last runs' });
  // Marked first: a run that leaves the gate meanwhile sees it when it begins.
  await redis.hsetnx(keys.cancelled, runId, Date.now());
  const found = await gate.find(runId);
  const run = { runId, ...known };
  if (found?.waiting) await closeUnbegun(runtime, run, found.waiting);
  else await advancer.advance(runId);
  return { run, state: 'ending' };
};

const closeUnbegun = async (runtime: Runtime, run: RequestedRun, request: RunRequest): Promise<void> => {
  const { runs, gate } = runtime;
  const startedAt = new Date(await runs.begin(run.runId, run)).toISOString();
  const hint = `nothing was changed; \`sluice retry ${run.runId}\` does it after all`;
  const reason = reasonOf(new CancelledError(`run ${run.runId} was cancelled before it began`, { hint }));
  const { current } = await gate.state(run);
  // A run that is not planned yet takes all files of the spool.
  const drops = request.only === null && current !== null ? await runs.drops(current) : null;
  if (drops) {
    const others = new Set([...drops.claims.map(({ claim }) => claim), ...drops.dropped.values()]);
    await leaveDrops(request, reason, { redis: runtime.redis, keys: runtime.keys, others });
  }
  const counts = { dataset: {}, resource: {}, actions: {} };
  await runs.close({ ...run, startedAt, endedAt: startedAt, counts, reason, items: [] });
  await gate.withdraw(run, run.runId);
  await runs.drop(run.runId);
};

/** Pauses a portal until {@link resumePortal}: its jobs stop after their step, no other begins. Returns the pause that stands now. */
export const pausePortal = async (runtime: Runtime, portal: string, why: string | null): Promise<Pause | null> => {
  runtime.portals.config(portal); // throws for an unknown name
  const error = new PausedError(`paused by the operator${why === null ? '' : `: ${why}`}`, {
    hint: `\`sluice resume ${portal}\` ends the pause; nothing is lost meanwhile`,
  });
  await runtime.pauses.pause(portal, reasonOf(error));
  return runtime.pauses.state(portal);
};

/** Ends the pause of a portal, whatever led to it; null when it was not paused. */
export const resumePortal = async (runtime: Runtime, portal: string): Promise<EndedPause | null> => {
  runtime.portals.config(portal);
  return runtime.pauses.resume(portal);
};
