// Manifests by path and by name: those of the configuration, loaded again when they change, and those that were ever run.

import { existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { ManifestError, NotFoundError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { type KeptSchedule, keptSchedules } from '../queue/schedules.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import type { Runtime } from './runtime.ts';

const settleMs = 300;

/** Loads all manifests that the patterns name. Faulty ones are logged and left out; the others go on. */
export const loadManifests = async (patterns: string[], log: Log): Promise<Manifest[]> => {
  const paths = new Set<string>();
  for (const pattern of patterns) for await (const path of glob(pattern)) paths.add(path);
  const manifests = new Map<string, Manifest>();
  for (const path of [...paths].sort()) {
    try {
      const manifest = await loadManifest(path);
      const twin = manifests.get(manifest.name);
      if (twin) log.error({ path, name: manifest.name }, `left out: ${twin.path} has the same name`);
      else manifests.set(manifest.name, manifest);
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      log.error({ path }, `left out: ${error.message}`);
    }
  }
  return [...manifests.values()];
};

/** Calls `changed` some moments after a file beside the manifests was added, changed or removed, and once when it begins. */
export const watchManifests = (
  patterns: string[],
  changed: () => Promise<void>,
  log: Log,
): { close(): Promise<void> } => {
  const folders = [...new Set(patterns.map((pattern) => dirname(pattern)))].filter((dir) => !/[*?[{]/.test(dir));
  let timer: NodeJS.Timeout | null = null;
  let turn: Promise<void> = Promise.resolve();
  const watcher: FSWatcher = watch(folders, { depth: 0, ignoreInitial: true });
  // Later changes do not put the reading off: one that comes after it makes another.
  const readSoon = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      turn = turn
        .then(changed)
        .catch((error: unknown) => log.error({ err: error }, 'the manifests could not be read again'));
    }, settleMs);
  };
  watcher.on('all', (_event, path) => {
    if (/\.ya?ml$/i.test(path)) readSoon();
  });
  watcher.on('ready', readSoon); // changes before the watch began were not reported
  watcher.on('error', (error) => log.warn({ err: error }, 'the manifests could not be watched'));
  return {
    close: async () => {
      if (timer) clearTimeout(timer);
      await watcher.close();
      await turn;
    },
  };
};

/** Manifests, and why some could not be read. */
interface KnownManifests {
  manifests: Manifest[];
  faulty: { path: string; error: ManifestError }[];
}

/** Absolute paths of the manifests of the configuration, and of those whose schedules are kept, once each. */
export const knownPaths = async (runtime: Runtime, kept: ReadonlyMap<string, KeptSchedule>): Promise<string[]> => {
  const paths = new Set<string>();
  for (const pattern of runtime.config.manifests) for await (const path of glob(pattern)) paths.add(path);
  for (const { request } of kept.values()) if (existsSync(request.manifestPath)) paths.add(request.manifestPath);
  return [...paths].sort();
};

/** Loads manifests; faulty ones do not hide the others. */
export const loadKnown = async (paths: string[]): Promise<KnownManifests> => {
  const known: KnownManifests = { manifests: [], faulty: [] };
  for (const path of paths) {
    try {
      known.manifests.push(await loadManifest(path));
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      known.faulty.push({ path, error });
    }
  }
  return known;
};

/** The known manifest of a name. @throws NotFoundError naming the known ones */
export const manifestNamed = async (runtime: Runtime, name: string): Promise<Manifest> => {
  const paths = await knownPaths(runtime, await keptSchedules(runtime.queues));
  const ran = (await runtime.ledger.targets()).flatMap(({ manifestPath }) =>
    existsSync(manifestPath) ? [manifestPath] : [],
  );
  const { manifests } = await loadKnown([...new Set([...paths, ...ran])]);
  const named = manifests.find((manifest) => manifest.name === name);
  if (named) return named;
  const names = manifests.map((manifest) => manifest.name).sort();
  throw new NotFoundError(`there is no manifest "${name}"`, {
    hint: `name a file, or one of ${names.slice(0, 20).join(', ') || 'those that `manifests:` of the configuration names'}`,
  });
};
