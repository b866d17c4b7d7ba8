// The file that a resource job sends: the source as it lies on this host, or the table that was made of it.
import { wantsImport } from '../plan/plan.ts';
import type { ResourceState, SentFile } from './resource-state.ts';

/** False for links, and for an address that still gives the version which is published and proven. */
export const isHere = ({ wish }: Pick<ResourceState, 'wish'>): boolean => wish.source.kind === 'file';

/** Where the source of a resource lies on this host; empty for links. */
export const sourcePath = ({ wish }: ResourceState): string => (wish.source.kind === 'file' ? wish.source.path : '');

/** Name of the source; empty for links. */
export const sourceName = ({ wish }: ResourceState): string => (wish.source.kind === 'file' ? wish.source.name : '');

/** What is sent; null before it is there, for links, and where the present version was not fetched again. */
export const sentFile = ({ wish, source, prepared }: ResourceState): SentFile | null => {
  if (prepared) return prepared;
  return source && wish.source.kind === 'file' ? { path: wish.source.path, name: wish.source.name, source } : null;
};

/** True when rows are to be imported: an archive or JSON file that holds no table goes as it is, without rows. */
export const importsRows = ({ wish, prepared }: Pick<ResourceState, 'wish' | 'prepared'>): boolean =>
  isHere({ wish }) && wantsImport(wish) && (prepared === null || prepared.isMade);
