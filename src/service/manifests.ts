// The manifests of the service: found by the configuration's paths and patterns, loaded again when they change.
import { glob } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { ManifestError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';

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
