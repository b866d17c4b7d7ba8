// What a manifest publishes, for `sluice check`: its files, and the faults of lists that it names.
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
export interface Inside {
  /** Its files. */
  sources: PublishedFile[];
  problems: FileProblem[];
  /** What else is worth knowing. */
  notes?: string[];
}

/** See the head of this file. Throws what gathering throws where a list as a whole cannot be read. */
export const lookInside = async (manifest: Manifest, signal: AbortSignal): Promise<Inside> => {
  if ('datasets' in manifest) return insideOf({ wishes: await gatherManifest(manifest), problems: [], remarks: [] });
  if ('catalogue' in manifest) return lookInsideCatalogue(manifest, signal);
  if (!('index' in manifest) && !('datapackages' in manifest)) return { sources: [], problems: [] };
  return insideOf(await ('index' in manifest ? gatherIndex(manifest) : gatherPackages(manifest)));
};

/** A catalogue of the web is not fetched for a check. */
const lookInsideCatalogue = async (manifest: CatalogueManifest, signal: AbortSignal): Promise<Inside> => {
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

/** As {@link lookInside}, of a catalogue that no manifest names. */
export const lookAtCatalogue = (path: string, signal: AbortSignal): Promise<Inside> =>
  lookInsideCatalogue({ ...unwritten('catalogue', path), catalogue: resolveCatalogue(path, '/') }, signal);

/** As {@link lookInside}, of a data package that no manifest names. */
export const lookAtPackage = async (path: string): Promise<Inside> =>
  insideOf(await gatherPackages({ ...unwritten('package', path), datapackages: [path] }));

/** A manifest made for a file without one. */
const unwritten = (name: string, path: string): ManifestBase => ({
  ...defaultRules,
  path,
  name,
  portal: 'local',
  defaults: { dataset: {}, resource: {} },
});

const insideOf = ({ wishes, problems, remarks }: Omit<GatheredList, 'skipped'>): Inside => ({
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
