// The wishes of a manifest with written-down datasets.
import { isDropManifest, type Manifest } from '../manifest/schema.ts';
import type { DatasetWish } from '../wish.ts';
import { datasetWish } from './dataset-wish.ts';

/** Every dataset that the manifest names, in its order. A drop manifest names none: its wishes come from `gather/drop.ts`. */
export const gatherManifest = async (manifest: Manifest): Promise<DatasetWish[]> =>
  isDropManifest(manifest) ? [] : manifest.datasets.map((dataset) => datasetWish(manifest, dataset));
