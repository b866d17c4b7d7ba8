// Manifests by path and by name: those of the configuration, loaded again when they change, and those that were ever run.
import { existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname } from 'node:path';
import { watch } from 'chokidar';
import { ManifestError, NotFoundError, problemLine } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { didYouMean } from '../model/yaml/nearest.ts';
import { type KeptSchedule, keptSchedules } from '../queue/schedules.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import { byName } from '../util/natural.ts';
import type { Runtime } from './runtime.ts';

/** Milliseconds: how long changes are gathered, and until those that could not be served are tried again. */
const [settleMs, againMs] = [300, 10_000];

const pathsOf = async (patterns: string[]): Promise<Set<string>> => new Set(await Array.fromAsync(glob(patterns)));

/** Loads manifests; faulty ones do not hide the others. */
export const loadSound = async (paths: Iterable<string>) => {
  const manifests: Manifest[] = [];
  const faulty: { path: string; error: ManifestError }[] = [];
  for (const path of paths) {
    try {
      manifests.push(await loadManifest(path));
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      faulty.push({ path, error });
    }
  }
  return { manifests, faulty };
};

/** Loads all manifests that match; faulty ones, and later ones of the same name, are skipped. */
export const loadManifests = async (patterns: string[]) => {
  const { manifests, faulty } = await loadSound([...(await pathsOf(patterns))].sort(byName));
  const skipped = faulty.map(({ path, error }) => ({ path, why: error.problems.map(problemLine)[0] ?? error.message }));
  const named = new Map<string, Manifest>();
  for (const manifest of manifests) {
    const twin = named.get(manifest.name);
    if (twin) skipped.push({ path: manifest.path, why: `${twin.path} has the same name` });
    else named.set(manifest.name, manifest);
  }
  return { manifests: [...named.values()], skipped };
};

/** Calls `changed` shortly after a YAML file beside the manifests was added, changed or removed, and once at the start. */
export const watchManifests = (patterns: string[], changed: () => Promise<void>, log: Log) => {
  const folders = [...new Set(patterns.map((pattern) => dirname(pattern)))].filter((dir) => !/[*?[{]/.test(dir));
  let timer: NodeJS.Timeout | null = null;
  let turn: Promise<void> = Promise.resolve();
  // Throttled, not debounced: later changes do not postpone the read.
  const readIn = (ms: number): void => {
    timer ??= setTimeout(() => {
      timer = null;
      turn = turn.then(changed).catch((err: unknown) => {
        log.error({ err }, 'the manifests cannot all be served now; trying again');
        readIn(againMs);
      });
    }, ms);
  };
  const watcher = watch(folders, { depth: 0, ignoreInitial: true });
  watcher.on('all', (_event, path) => {
    if (/\.ya?ml$/i.test(path)) readIn(settleMs);
  });
  watcher.on('ready', () => readIn(settleMs)); // changes before the watch were missed
  watcher.on('error', (error) => log.warn({ err: error }, 'the manifests could not be watched'));
  return {
    close: async () => {
      clearTimeout(timer ?? undefined);
      await watcher.close();
      await turn;
      clearTimeout(timer ?? undefined);
    },
  };
};

/** Absolute paths of the manifests of the configuration, and of those whose schedules are kept, once each. */
export const knownPaths = async (runtime: Runtime, kept: ReadonlyMap<string, KeptSchedule>): Promise<string[]> => {
  const paths = await pathsOf(runtime.config.manifests);
  for (const { request } of kept.values()) if (existsSync(request.manifestPath)) paths.add(request.manifestPath);
  return [...paths].sort(byName);
};

/** The manifests that are known, also those that were ever run, and those that cannot be read. */
export const readManifests = async (runtime: Runtime) => {
  const paths = await knownPaths(runtime, await keptSchedules(runtime.queues));
  const ran = (await runtime.ledger.targets())
    .map(({ manifestPath }) => manifestPath)
    .filter((path) => existsSync(path));
  return loadSound(new Set([...paths, ...ran]));
};

/** The known manifest of a name. @throws NotFoundError naming the known ones */
export const manifestNamed = async (runtime: Runtime, name: string): Promise<Manifest> => {
  const { manifests } = await readManifests(runtime);
  const named = manifests.find((manifest) => manifest.name === name);
  if (named) return named;
  const names = manifests.map((manifest) => manifest.name).sort(byName);
  throw new NotFoundError(`there is no manifest "${name}"`, {
    hint: `${didYouMean(name, names, {})}name a file, or one of ${names.slice(0, 20).join(', ') || 'those that `manifests:` of the configuration names'}`,
  });
};
