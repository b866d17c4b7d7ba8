// The wishes of dropped files: the newest claim of each resource, described by its names and sidecars.
import { reasonOf, SluiceError } from '../../model/errors.ts';
import type { Reason } from '../../model/report.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { datasetOfDrop, resourceOfDrop } from '../drop/sidecars.ts';
import type { DropManifest, ResourceSpec } from '../manifest/schema.ts';
import { datasetWish } from './dataset-wish.ts';

export interface DroppedFile {
  id: string;
  dataset: string;
  resource: string;
  name: string;
  path: string;
  dropped: string;
  claimedAt: number;
}

/** What claims ask for. Every claim is in exactly one place: in a wish (its source names it), superseded, or refused. */
interface GatheredDrop<File extends DroppedFile> {
  wishes: DatasetWish[];
  /** Older claims of a resource that a newer one replaces, whether or not that one is refused. */
  superseded: File[];
  refused: { claim: File; reason: Reason }[];
}

/**
 * Makes the wishes of claims, sorted by key. A dataset's wish holds the resources that were dropped, not those already
 * published. A faulty `dataset.yaml` refuses all files of its dataset, a faulty `<resource>.yaml` that one file.
 */
export const gatherDrop = async <File extends DroppedFile>(
  manifest: DropManifest,
  claims: readonly File[],
): Promise<GatheredDrop<File>> => {
  const oldestFirst = [...claims].sort((a, b) => a.claimedAt - b.claimedAt || (a.id < b.id ? -1 : 1));
  const newest = new Map(oldestFirst.map((claim) => [`${claim.dataset}/${claim.resource}`, claim]));
  const current = new Set(newest.values());
  const gathered: GatheredDrop<File> = {
    wishes: [],
    superseded: oldestFirst.filter((claim) => !current.has(claim)),
    refused: [],
  };
  const byDataset = Map.groupBy(
    oldestFirst.filter((claim) => current.has(claim)),
    ({ dataset }) => dataset,
  );
  for (const dataset of [...byDataset.keys()].sort())
    await gatherDataset(manifest, byDataset.get(dataset) ?? [], gathered);
  return gathered;
};

const gatherDataset = async <File extends DroppedFile>(
  manifest: DropManifest,
  files: File[],
  gathered: GatheredDrop<File>,
): Promise<void> => {
  const newest = files.at(-1);
  if (newest === undefined) return;
  const described = await orReason(datasetOfDrop(manifest, newest.dropped));
  if ('reason' in described) {
    gathered.refused.push(...files.map((claim) => ({ claim, reason: described.reason })));
    return;
  }
  const resources: ResourceSpec[] = [];
  for (const claim of files.toSorted((a, b) => (a.resource < b.resource ? -1 : 1))) {
    const resource = await orReason(resourceOfDrop(manifest, claim.dropped));
    if ('reason' in resource) gathered.refused.push({ claim, reason: resource.reason });
    else resources.push({ id: claim.resource, ...resource.value, source: sourceOf(claim) });
  }
  if (resources.length === 0) return;
  gathered.wishes.push(datasetWish(manifest, { id: newest.dataset, ...described.value, resources }));
};

const sourceOf = ({ id, name, path }: DroppedFile): ResourceSpec['source'] => ({ kind: 'file', path, name, claim: id });

/** Faults of sidecars become reasons; anything else (an unreadable disk) is no fault of the files and passes through. */
const orReason = async <T>(pending: Promise<T>): Promise<{ value: T } | { reason: Reason }> => {
  try {
    return { value: await pending };
  } catch (error) {
    if (error instanceof SluiceError) return { reason: reasonOf(error) };
    throw error;
  }
};
