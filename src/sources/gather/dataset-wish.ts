// One dataset of a manifest as a wish: keys, uuids, node fields, fingerprints.
import { datasetFields, resourceFields } from '../../dataset-api/fields.ts';
import { datasetKey, resourceKey, uuidOfKey } from '../../model/key.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import type { DatasetSpec, ManifestBase } from '../manifest/schema.ts';
import { recipeOf } from './recipe.ts';
import { metadataFingerprint } from './wish-fingerprint.ts';

/** Whose names begin the keys. */
export type KeyOwner = Pick<ManifestBase, 'name' | 'renamedFrom'>;

/**
 * Makes the wish of a dataset with its resources. Keys follow the present names; the uuid is that of the key under the
 * former names where `renamedFrom` gives them, so that the portal's nodes are found again after a rename.
 */
export const datasetWish = (owner: KeyOwner, spec: DatasetSpec): DatasetWish => {
  const key = datasetKey(owner.name, spec.id);
  const { published = true, fields, ...metadata } = spec.details;
  const node = { title: spec.title, published, fields: datasetFields(metadata, fields) };
  return {
    key,
    uuid: uuidOfKey(datasetKey(owner.renamedFrom ?? owner.name, spec.renamedFrom ?? spec.id)),
    ...node,
    metadataFingerprint: metadataFingerprint(node),
    resources: spec.resources.map((resource) => resourceWish(owner, spec, resource)),
  };
};

const resourceWish = (
  owner: KeyOwner,
  dataset: Pick<DatasetSpec, 'id' | 'renamedFrom'>,
  spec: DatasetSpec['resources'][number],
): ResourceWish => {
  const { published = true, import: mode = 'auto', fields, ...metadata } = spec.details;
  const node = { title: spec.title, published, fields: resourceFields(metadata, spec.source, fields) };
  const recipe = recipeOf(metadata, spec.source, mode);
  const former = [
    owner.renamedFrom ?? owner.name,
    dataset.renamedFrom ?? dataset.id,
    spec.renamedFrom ?? spec.id,
  ] as const;
  return {
    key: resourceKey(owner.name, dataset.id, spec.id),
    uuid: uuidOfKey(resourceKey(...former)),
    datasetKey: datasetKey(owner.name, dataset.id),
    ...node,
    source: spec.source,
    import: mode,
    ...(recipe === null ? {} : { recipe }),
    metadataFingerprint: metadataFingerprint(node),
  };
};
