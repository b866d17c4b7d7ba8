// The integers of a datastore status, decoded in one table.

/** `storage` and `data_import` as the status endpoint gives them (spec 2.7). */
export interface DatastoreNumbers {
  storage: number;
  data_import: number;
}

/** What a datastore is doing, in words. */
export type DatastoreState = 'none' | 'ready' | 'running' | 'paused' | 'imported' | 'failed' | 'unknown';

const importStates: Record<number, DatastoreState> = {
  2: 'imported',
  3: 'ready',
  4: 'running',
  5: 'paused',
  6: 'imported',
  7: 'failed',
};

/**
 * Decodes a datastore status. `storage` 0 is "none" unless an import runs or failed; with storage, `data_import` 2
 * (older portals and the `spec` profile) and 6 mean imported, 3 ready, 4 in progress, 5 paused, 7 error.
 */
export const datastoreState = ({ storage, data_import }: DatastoreNumbers): DatastoreState => {
  if (storage < 1)
    return data_import === 4 || data_import === 5 || data_import === 7
      ? (importStates[data_import] ?? 'unknown')
      : 'none';
  return importStates[data_import] ?? 'unknown';
};
