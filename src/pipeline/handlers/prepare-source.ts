// Step `prepare`: the table that is sent is made of the source by the recipe of the wish.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SourceChangedError } from '../../model/errors.ts';
import type { SourceFingerprint } from '../../model/ledger-entry.ts';
import { sentName } from '../../model/wish.ts';
import { factsOf, fingerprintFile } from '../../sources/drop/fingerprint.ts';
import {
  type Prepared,
  type PreparedTable,
  prepareTable,
  removePreparedFile,
  sweepPrepared,
} from '../../tables/transform/prepare.ts';
import type { ResourceState } from './resource-state.ts';

/** Rejected rows that the job log tells one by one. */
const toldRejects = 20;

/**
 * Makes the table and sets `state.prepared`. The file is this attempt's own: what an earlier attempt left is removed, never
 * used. `raw`: where the source lies on this host, and its name.
 *
 * @throws as `prepareTable`, and SourceChangedError when the source moved meanwhile
 */
export const prepareSource = async (state: ResourceState, raw: { path: string; name: string }): Promise<void> => {
  const { deps, wish, source } = state;
  const { item } = state.target;
  const { recipe } = wish;
  if (!recipe || !source) return;
  const { preparedDir, rejectsDir, maxFileBytes, maxRowBytes } = deps.settings;
  const label = item.id;
  const prepared = await item.step(
    { name: 'prepare', on: raw.name },
    async (signal) => {
      await sweepPrepared(preparedDir, label);
      const made = await prepareTable({
        ...raw,
        recipe,
        folder: preparedDir,
        label,
        rejects: join(rejectsDir, ...wish.key.split('/'), sentName(wish).replace(/\.csv$/, '.rejects.csv')),
        maxBytes: maxFileBytes,
        rowBytes: maxRowBytes,
        signal,
      });
      await refuseIfMoved(raw.path, source, made, signal);
      return made;
    },
    outcomeOf,
  );
  const from = { sha256: source.sha256, recipe: recipe.fingerprint };
  if (prepared.kind === 'as-is') {
    state.prepared = { ...raw, source, from, isMade: false, rejected: null };
    return;
  }
  const { path, rejects, rejected, said } = prepared;
  const facts = factsOf(await stat(path, { bigint: true }));
  state.prepared = {
    path,
    name: sentName(wish),
    source: { ...facts, sha256: prepared.sha256, hashedAt: Date.now() },
    from,
    isMade: true,
    rejected: rejected.rows > 0 ? { rows: rejected.rows, path: rejects } : null,
  };
  for (const line of said) await item.note(`  ${line}`);
  if (rejected.rows > 0) await noteRejected(state, prepared);
};

/** Removes the table that was made, once the job has ended or ends its attempt. */
export const removePrepared = async ({ prepared }: ResourceState): Promise<void> => {
  if (prepared?.isMade) await removePreparedFile(prepared.path);
};

const outcomeOf = (prepared: Prepared): string => {
  if (prepared.kind === 'as-is') return `${prepared.why}: sent as it is`;
  const { rowsIn, rowsOut, columns, bytes } = prepared;
  return `${rowsIn} rows in, ${rowsOut} rows of ${columns.length} columns out, ${bytes} bytes of CSV`;
};

const refuseIfMoved = async (
  path: string,
  source: SourceFingerprint,
  made: Prepared,
  signal: AbortSignal,
): Promise<void> => {
  const now = await fingerprintFile(path, source, signal);
  if (now.sha256 === source.sha256) return;
  if (made.kind === 'table') await removePreparedFile(made.path);
  throw new SourceChangedError(`${path} changed while its table was being made`, {
    hint: 'it is read afresh; write to another name first and rename it to avoid this',
  });
};

const noteRejected = async (
  { target: { item } }: ResourceState,
  { rejected, rejects }: PreparedTable,
): Promise<void> => {
  const where = rejects === null ? 'left out' : `set aside in ${rejects}`;
  await item.note(`  ${rejected.rows} bad ${rejected.rows === 1 ? 'row' : 'rows'} ${where}`);
  for (const line of rejected.told.slice(0, toldRejects)) await item.note(`    ${line}`);
};
