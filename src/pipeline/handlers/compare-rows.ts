// Step `changes`: which rows of a new version of a table are not as in the live one.
import { changesText, type RowChanges } from '../../model/row-changes.ts';
import type { LiveVersion } from '../../model/table-history.ts';
import { madeTable } from '../compare/local-file.ts';
import { changesSince, sumOf } from '../compare/row-changes.ts';
import { copyOf } from './refused-file.ts';
import { type ResourceState, type ResourceStep, sentFile } from './resource-file.ts';

export const compareRows: ResourceStep = async (state) => {
  const { table, entry, target, deps, fallsBack } = state;
  const sent = sentFile(state);
  if (!table || !sent || fallsBack || entry.good === null) return state;
  if (entry.version === null || entry.version.sum === sumOf(table.sha256)) return state;
  const version = { path: sent.path, table, skipRows: madeTable(state.prepared)?.reading.skipRows };
  const changes = await target.item.step(
    { name: 'changes', on: target.item.key, light: true },
    (signal) => changesSince(entry, version, copyOf(state), { rowBytes: deps.settings.maxRowBytes, signal }),
    (found) => (found === null ? 'not known' : `rows ${changesText(found)}`),
  );
  return { ...state, changes };
};

/** What changed in the last version, once `version` is the live one. */
export const changesUntil = ({ entry, changes }: ResourceState, version: LiveVersion | null): RowChanges | null =>
  version === entry.version ? entry.changes : changes;
