// Faulty sidecars keep a dropped file in the inbox, where mending them is all it takes.
import { SluiceError } from '../../model/errors.ts';
import type { DropManifest } from '../manifest/schema.ts';
import { datasetOfDrop, resourceOfDrop } from '../manifest/sidecars.ts';

/** What is wrong with the sidecars of the file dropped at `path`, with file, line and column; null when nothing is. */
export const describedBadly = async (manifest: DropManifest, path: string): Promise<string | null> => {
  try {
    await datasetOfDrop(manifest, path);
    await resourceOfDrop(manifest, path);
    return null;
  } catch (error) {
    if (error instanceof SluiceError) return `waits until its description is mended: ${error.message}`;
    throw error;
  }
};
