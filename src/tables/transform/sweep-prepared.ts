// Removes what was left of tables that were not made.
import { sweepFolder } from '../../util/sweep.ts';

/** Removes what attempts under a label left in a folder, and what is older than a day. */
export const sweepPrepared = (folder: string, label: string): Promise<void> =>
  sweepFolder(folder, 24 * 3600 * 1000, (name) => name.startsWith(`${label}.`));
