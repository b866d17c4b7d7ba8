// Manifests by name: those of the configuration, of kept schedules, and those that were ever run.
import { existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { ManifestError, NotFoundError } from '../model/errors.ts';
import { type KeptSchedule, keptSchedules } from '../queue/schedules.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import type { Runtime } from './runtime.ts';

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
