// Step `changes`: which rows of a new version of a table are not as in the live one.
import { changesText, type RowChanges } from '../../model/row-changes.ts';
import type { LiveVersion } from '../../model/table-history.ts';
import { rowChanges } from '../../tables/changes/changes.ts';
import { madeTable, orNull } from '../compare/local-file.ts';
import { goodPath, sumOf } from './refused-file.ts';
import { type ResourceState, type ResourceStep, sentFile } from './resource-file.ts';

/** Larger tables are not compared: the memory that takes grows with their rows. */
const mostRows = 10_000_000;

/** Compares with the last good file where a copy is kept on this host; what cannot be read is not known. */
export const compareRows: ResourceStep = async (state) => {
  const { table, entry, target, wish, deps, fallsBack } = state;
  const { good, version } = entry;
  const sent = sentFile(state);
  if (!table || !sent || fallsBack || good === null || version === null || version.sum === sumOf(table.sha256))
    return state;
  if (Math.max(table.rows, version.rows) > mostRows) return state;
  const path = await goodPath(state, good);
  if (path === null) return state;
  const { skipRows } = madeTable(state.prepared)?.reading ?? {};
  const task = {
    before: { path, rows: version.rows, skipRows: 0, delimiter: good.delimiter ?? undefined },
    after: { path: sent.path, rows: table.rows, skipRows, delimiter: table.delimiter },
    key: wish.rowKey ?? null,
    rowBytes: deps.settings.maxRowBytes,
  };
  const changes = await target.item.step(
    { name: 'changes', on: target.item.key, light: true },
    (signal) => orNull(rowChanges(task, signal)),
    (found) => (found === null ? 'not known' : `rows ${changesText(found)}`),
  );
  return { ...state, changes };
};

/** What changed in the last version, once `version` is the live one. */
export const changesUntil = ({ entry, changes }: ResourceState, version: LiveVersion | null): RowChanges | null =>
  version === entry.version ? entry.changes : changes;
