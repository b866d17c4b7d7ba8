// Step `changes`: which rows of a new version of a table are not as in the live one.
import { join } from 'node:path';
import { changesText, type RowChanges } from '../../model/row-changes.ts';
import type { LiveVersion } from '../../model/table-history.ts';
import { removePreparedFile } from '../../tables/transform/prepare.ts';
import { makeFolder } from '../../util/make-folder.ts';
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
  const { item, portal } = target;
  const path = join(deps.settings.preparedDir, `${item.id}.live.csv`);
  // The rows of another file may have been imported since.
  const isLive = entry.datastore === 'imported' && entry.file?.sha256 === entry.good.sha256 && portal.datastore.counts;
  const live = isLive ? { datastore: portal.datastore, uuid: entry.uuid, path } : null;
  try {
    await makeFolder(deps.settings.preparedDir, 0o700);
    await removePreparedFile(path);
    const changes = await item.step(
      { name: 'changes', on: item.key, light: true },
      (signal) => changesSince(entry, version, copyOf(state), { rowBytes: deps.settings.maxRowBytes, signal, live }),
      (found) => (found === null ? 'not known' : `rows ${changesText(found)}`),
    );
    return { ...state, changes };
  } finally {
    await removePreparedFile(path);
  }
};

/** What changed in the last version, once `version` is the live one. */
export const changesUntil = ({ entry, changes }: ResourceState, version: LiveVersion | null): RowChanges | null =>
  version === entry.version ? entry.changes : changes;
