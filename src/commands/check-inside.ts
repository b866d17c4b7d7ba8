// The contents of a manifest for `sluice check`: its files, and faults of the lists that it names.
import type { FileProblem } from '../model/errors.ts';
import type { ResourceWish } from '../model/wish.ts';
import { fileBytes } from '../sources/catalogue/catalogue-bytes.ts';
import { gatherCatalogue } from '../sources/catalogue/gather-catalogue.ts';
import { gatherPackages } from '../sources/gather/datapackages.ts';
import { type GatheredList, gatherManifest } from '../sources/gather/dataset-wish.ts';
import { gatherIndex } from '../sources/index/gather-index.ts';
import { isAddress, resolveCatalogue } from '../sources/manifest/list-schemas.ts';
import { type CatalogueManifest, defaultRules, type Manifest, type ManifestBase } from '../sources/manifest/schema.ts';
import { plural } from '../util/plural.ts';
import type { PublishedFile } from './check-finding.ts';

/** What a manifest publishes. */
export interface Contents {
  /** Its files. */
  sources: PublishedFile[];
  problems: FileProblem[];
  /** What else is worth knowing. */
  notes?: string[];
}

/** See the head of this file. Throws what gathering throws where a list as a whole cannot be read. */
export const inspectManifest = async (manifest: Manifest, signal: AbortSignal): Promise<Contents> => {
  if ('datasets' in manifest) return contentsOf({ wishes: await gatherManifest(manifest), problems: [], remarks: [] });
  if ('catalogue' in manifest) return inspectCatalogueManifest(manifest, signal);
  if (!('index' in manifest) && !('datapackages' in manifest)) return { sources: [], problems: [] };
  return contentsOf(await ('index' in manifest ? gatherIndex(manifest) : gatherPackages(manifest)));
};

/** A catalogue of the web is not fetched for a check. */
const inspectCatalogueManifest = async (manifest: CatalogueManifest, signal: AbortSignal): Promise<Contents> => {
  const { from } = manifest.catalogue;
  if (isAddress(from))
    return { sources: [], problems: [], notes: ['the catalogue is not fetched here; `sluice plan` reads it'] };
  let [datasets, resources] = [0, 0];
  const { problems, remarks } = await gatherCatalogue(manifest, fileBytes(from, from, signal), async (wish) => {
    datasets += 1;
    resources += wish.resources.length;
  });
  return {
    sources: [],
    problems,
    notes: [`${plural(datasets, 'dataset')} with ${plural(resources, 'resource')}`, ...remarks],
  };
};

/** As {@link inspectManifest}, of a catalogue that no manifest names. */
export const inspectCatalogue = (path: string, signal: AbortSignal): Promise<Contents> =>
  inspectCatalogueManifest({ ...unwritten('catalogue', path), catalogue: resolveCatalogue(path, '/') }, signal);

/** As {@link inspectManifest}, of a data package that no manifest names. */
export const inspectPackage = async (path: string): Promise<Contents> =>
  contentsOf(await gatherPackages({ ...unwritten('package', path), datapackages: [path] }));

/** A manifest made for a file without one. */
const unwritten = (name: string, path: string): ManifestBase => ({
  ...defaultRules,
  path,
  name,
  portal: 'local',
  defaults: { dataset: {}, resource: {} },
});

const contentsOf = ({ wishes, problems, remarks }: Omit<GatheredList, 'skipped'>): Contents => ({
  sources: filesOf(wishes),
  problems,
  notes: [...fetchedLater(wishes), ...remarks],
});

const filesOf = (datasets: { resources: ResourceWish[] }[]): PublishedFile[] =>
  datasets.flatMap(({ resources }) =>
    resources.flatMap(({ source, recipe = null }) =>
      source.kind === 'file' ? [{ path: source.path, name: source.name, recipe }] : [],
    ),
  );

const fetchedLater = (datasets: { resources: ResourceWish[] }[]): string[] => {
  const count = datasets.flatMap(({ resources }) => resources).filter(({ source }) => source.kind === 'url').length;
  if (count === 0) return [];
  return [
    `${plural(count, 'file')} of the web ${count === 1 ? 'is' : 'are'} fetched and checked when published, not here`,
  ];
};
