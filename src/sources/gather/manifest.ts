// The wishes of a manifest with written-down datasets.

import type { DatasetWish } from '../../model/wish.ts';
import type { Manifest } from '../manifest/schema.ts';
import { datasetWish } from './dataset-wish.ts';

/** Every dataset that is written down in the manifest, in its order; none in one of another kind, which has its own gathering. */
export const gatherManifest = async (manifest: Manifest): Promise<DatasetWish[]> =>
  'datasets' in manifest ? manifest.datasets.map((dataset) => datasetWish(manifest, dataset)) : [];
