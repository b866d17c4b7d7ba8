// What a manifest publishes, for `sluice check`: its files, and the faults of lists that it names.
import type { FileProblem } from '../errors.ts';
import { gatherPackages } from '../gather/datapackages.ts';
import { gatherIndex } from '../gather/index/gather-index.ts';
import type { Manifest } from '../manifest/schema.ts';
import type { ResourceSource } from '../wish.ts';

/** See the head of this file. Throws what gathering throws where a list as a whole cannot be read. */
export const lookInside = async (manifest: Manifest): Promise<{ sources: string[]; problems: FileProblem[] }> => {
  if ('datasets' in manifest) return { sources: pathsOf(manifest.datasets), problems: [] };
  if (!('index' in manifest) && !('datapackages' in manifest)) return { sources: [], problems: [] };
  const { wishes, problems } = await ('index' in manifest ? gatherIndex(manifest) : gatherPackages(manifest));
  return { sources: pathsOf(wishes), problems };
};

const pathsOf = (datasets: { resources: { source: ResourceSource }[] }[]): string[] =>
  datasets.flatMap(({ resources }) => resources.flatMap(({ source }) => (source.kind === 'file' ? [source.path] : [])));
