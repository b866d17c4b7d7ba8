// Entries of a source that cannot be published: told in the report, and never taken for missing.
import { parentKey } from '../../model/key.ts';
import type { Reason } from '../../model/report.ts';

/** A faulty entry of a catalogue or list. */
export interface SkippedEntry {
  /** Key of the dataset it would be; of one that cannot be told, `<manifest>/entry#<number>`. */
  key: string;
  uuid: string;
  title: string;
  reason: Reason;
  /** False when it cannot be told which dataset it would be: then it may be any of those that seem to be missing. */
  isKnown: boolean;
}

/** Tells whether a key belongs to a skipped entry, so that it is not missing whatever the other entries say. */
export const sparedBy = (skipped: readonly SkippedEntry[]): ((key: string) => boolean) => {
  if (skipped.some(({ isKnown }) => !isKnown)) return () => true;
  const keys = new Set(skipped.map(({ key }) => key));
  return (key) => keys.has(key) || keys.has(parentKey(key));
};
