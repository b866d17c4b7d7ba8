// What a dropped file is called and how it is described: by its path in the inbox and by the sidecars beside it.
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { titleOfName } from '../dkan/slug.ts';
import { SourceRefusedError } from '../errors.ts';
import { loadDatasetDetails, loadResourceDetails, type Titled } from './details.ts';
import type { DatasetDetails, DropManifest, ResourceDetails } from './schema.ts';

/** The names that a dropped path (`<dataset>/<resource>.csv` or `x.csv`, relative to the inbox) gives, as the user wrote them. */
export const droppedNames = (dropped: string): { folder: string | null; dataset: string; resource: string } => {
  const cut = dropped.lastIndexOf('/');
  const resource = dropped.slice(cut + 1).replace(/(?<=.)\.[^.]*$/, '');
  const folder = cut === -1 ? null : dropped.slice(0, cut);
  return { folder, dataset: folder ?? resource, resource };
};

/** Details that always have a title. */
export type Described<Details> = Required<Titled<Details>>;

/** True when a plain file stands there. Throws SourceRefusedError for a link, folder or the like: it could lead anywhere. */
const standsAt = async (inbox: string, path: string): Promise<boolean> => {
  const segments = path.split('/');
  for (const depth of segments.keys()) {
    const at = join(inbox, ...segments.slice(0, depth + 1));
    const stats = await lstat(at).catch((error) => {
      if (error?.code === 'ENOENT' || error?.code === 'ENOTDIR') return null;
      throw error;
    });
    if (stats === null) return false;
    const last = depth === segments.length - 1;
    if (last ? stats.isFile() : stats.isDirectory()) continue;
    throw new SourceRefusedError(`${at} is no plain ${last ? 'file' : 'folder'}`, {
      hint: 'put the file itself there, not a link to it; then drop the data again',
    });
  }
  return true;
};

/**
 * Title and details of a dropped file's dataset: the manifest's defaults, refined by `<dataset>/dataset.yaml` when it is there
 * (for a root file `x.csv` that is `x/dataset.yaml`). Without a title in it the folder's name makes one.
 *
 * @throws ManifestError when the sidecar is faulty, SourceRefusedError when it is a link
 */
export const datasetOfDrop = async (manifest: DropManifest, dropped: string): Promise<Described<DatasetDetails>> => {
  const { dataset } = droppedNames(dropped);
  const defaults = manifest.defaults.dataset;
  const path = `${dataset}/dataset.yaml`;
  const loaded = (await standsAt(manifest.drop.folder, path))
    ? await loadDatasetDetails(join(manifest.drop.folder, path), defaults)
    : { details: defaults };
  return { title: titleOfName(dataset), ...loaded };
};

/**
 * Title and details of a dropped file itself: the manifest's defaults, refined by `<resource>.yaml` beside it when it is there.
 * (`dataset.yaml` always describes the dataset, so a file `dataset.csv` has no sidecar of its own.) Throws as {@link datasetOfDrop}.
 */
export const resourceOfDrop = async (manifest: DropManifest, dropped: string): Promise<Described<ResourceDetails>> => {
  const { folder, resource } = droppedNames(dropped);
  const defaults = manifest.defaults.resource;
  const path = folder === null ? `${resource}.yaml` : `${folder}/${resource}.yaml`;
  const own = resource !== 'dataset' && (await standsAt(manifest.drop.folder, path));
  const loaded = own ? await loadResourceDetails(join(manifest.drop.folder, path), defaults) : { details: defaults };
  return { title: titleOfName(resource), ...loaded };
};
