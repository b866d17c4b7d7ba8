// Compares wishes with the ledger: what has to be done, and why. Pure.
import { createHash } from 'node:crypto';
import type { LedgerEntry, SourceFingerprint } from '../ledger/entry.ts';
import type { DatasetWish, ResourceWish } from '../wish.ts';

/** What the plan says of one item: nothing to do, or why there is. */
export interface PlannedItem {
  key: string;
  /** Null when nothing has to be done. */
  why: string | null;
}

/** The plan for one dataset and its resources. */
export interface PlannedDataset extends PlannedItem {
  resources: PlannedItem[];
}

/** Files that the datastore takes. */
export const isTabular = (name: string): boolean => /\.(csv|tsv)$/i.test(name);

/** True when the wish asks for rows in the datastore. */
export const wantsImport = (wish: ResourceWish): boolean =>
  wish.import === 'auto' && wish.source.kind === 'file' && isTabular(wish.source.name);

/** Fingerprint of a resource's metadata on a portal; it covers the dataset node the resource belongs to. */
export const resourceFingerprint = (wish: ResourceWish, datasetNid: string): string =>
  createHash('sha256').update(`${wish.metadataFingerprint}@${datasetNid}`).digest('hex');

/**
 * Plans one dataset. `sources` holds the fingerprint of each resource's file as it is now, null where it cannot be
 * read (the job will tell the reason).
 */
export const planDataset = (
  wish: DatasetWish,
  sources: ReadonlyMap<string, SourceFingerprint | null>,
  entries: ReadonlyMap<string, LedgerEntry>,
): PlannedDataset => {
  const entry = entries.get(wish.key);
  return {
    key: wish.key,
    why: whyNode(entry, wish.metadataFingerprint),
    resources: wish.resources.map((resource) => ({
      key: resource.key,
      why: whyResource(resource, sources.get(resource.key) ?? null, entries.get(resource.key), entry?.nid ?? ''),
    })),
  };
};

const whyNode = (entry: LedgerEntry | undefined, fingerprint: string): string | null => {
  if (!entry?.nid) return 'not on the portal yet';
  if (entry.metadataFingerprint !== fingerprint) return 'its metadata changed';
  if (!entry.live) return 'not proven live';
  return null;
};

const whyResource = (
  wish: ResourceWish,
  source: SourceFingerprint | null,
  entry: LedgerEntry | undefined,
  datasetNid: string,
): string | null => {
  if (!entry?.nid) return 'not on the portal yet';
  if (entry.metadataFingerprint !== resourceFingerprint(wish, datasetNid)) return 'its metadata changed';
  if (wish.source.kind === 'file') {
    if (!source) return 'its file cannot be read';
    if (entry.file?.sha256 !== source.sha256) return entry.file ? 'its file changed' : 'its file is not attached yet';
    if (wantsImport(wish) && (entry.datastore === 'pending' || entry.datastore === 'failed')) {
      return 'its import is not proven yet';
    }
  }
  return entry.live ? null : 'not proven live';
};
