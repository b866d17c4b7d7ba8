// Step `prepare`: the table that is sent is made of the source by the recipe of the wish.
import { join } from 'node:path';
import { sentName } from '../../model/wish.ts';
import {
  type Prepared,
  type PreparedTable,
  removePreparedFile,
  sweepPrepared,
} from '../../tables/transform/prepare.ts';
import { prepareFile } from '../compare/local-file.ts';
import type { ResourceState } from './resource-state.ts';

/** Rejected rows that the job log lists one by one. */
const toldRejects = 20;

/**
 * Makes the table and sets `state.prepared`. The file is this attempt's own: what an earlier attempt left is removed, never
 * used. `raw`: where the source lies on this host, and its name.
 *
 * @throws as `prepareFile`
 */
export const prepareSource = async (state: ResourceState, raw: { path: string; name: string }): Promise<void> => {
  const { deps, wish, source } = state;
  const { item } = state.target;
  const { recipe } = wish;
  if (!recipe || !source) return;
  const { preparedDir: folder, rejectsDir, maxFileBytes: maxBytes, maxRowBytes: rowBytes } = deps.settings;
  const rejects = join(rejectsDir, ...wish.key.split('/'), sentName(wish).replace(/\.csv$/, '.rejects.csv'));
  const { file, made } = await item.step(
    { name: 'prepare', on: raw.name },
    async (signal) => {
      await sweepPrepared(folder, item.id);
      const how = { folder, label: item.id, rejects, maxBytes, rowBytes, signal };
      return prepareFile({ ...raw, source }, { ...wish, recipe }, how);
    },
    (prepared) => outcomeOf(prepared.made),
  );
  state.prepared = file;
  if (made.kind === 'as-is') return;
  for (const line of made.mended) await item.note(`  mended: ${line}`);
  for (const line of made.said) await item.note(`  ${line}`);
  if (made.rejected.rows > 0) await noteRejected(state, made);
};

/** Removes the table that was made, once the job has ended or ends its attempt. */
export const removePrepared = async ({ prepared }: ResourceState): Promise<void> => {
  if (prepared?.isMade) await removePreparedFile(prepared.path);
};

const outcomeOf = (prepared: Prepared): string => {
  if (prepared.kind === 'as-is') return `${prepared.why}: sent unchanged`;
  const { rowsIn, rowsOut, columns, bytes, said, mended } = prepared;
  if (mended.length > 0 && said.length === 0)
    return `mended, ${rowsOut} rows of ${columns.length} columns, ${bytes} bytes`;
  return `${rowsIn} rows in, ${rowsOut} rows of ${columns.length} columns out, ${bytes} bytes of CSV`;
};

const noteRejected = async (
  { target: { item } }: ResourceState,
  { rejected, rejects }: PreparedTable,
): Promise<void> => {
  const where = rejects === null ? 'left out' : `set aside in ${rejects}`;
  await item.note(`  ${rejected.rows} bad ${rejected.rows === 1 ? 'row' : 'rows'} ${where}`);
  for (const line of rejected.told.slice(0, toldRejects)) await item.note(`    ${line}`);
};
