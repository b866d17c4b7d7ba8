// The manifests that commands about schedules speak of: those of the configuration and those that a service serves.
import { existsSync, statSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ManifestError, NotFoundError } from '../model/errors.ts';
import type { KeptSchedule } from '../queue/schedules.ts';
import type { Runtime } from '../service/runtime.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';

/** Manifests, and why some could not be read. */
export interface KnownManifests {
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

/**
 * The manifest of a path, or of the name that a known manifest has: the manifest `inbox` beside the folder `inbox`, too.
 * Throws ManifestError, NotFoundError.
 */
export const manifestOf = async (
  runtime: Runtime,
  what: string,
  { cwd, kept }: { cwd: string; kept: ReadonlyMap<string, KeptSchedule> },
): Promise<Manifest> => {
  const path = resolve(cwd, what);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false) return loadManifest(path);
  const paths = await knownPaths(runtime, kept);
  const ran = (await runtime.ledger.targets()).flatMap(({ manifestPath }) =>
    existsSync(manifestPath) ? [manifestPath] : [],
  );
  const { manifests } = await loadKnown([...new Set([...paths, ...ran])]);
  const named = manifests.find(({ name }) => name === what);
  if (named) return named;
  const names = manifests.map(({ name }) => name).sort();
  throw new NotFoundError(`there is no manifest "${what}"`, {
    hint: `name a file, or one of ${names.slice(0, 20).join(', ') || 'those that `manifests:` of the configuration names'}`,
  });
};
