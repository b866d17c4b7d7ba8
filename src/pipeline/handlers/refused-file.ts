// Files that the portal refuses or cannot import: the last good one stays, or is restored.
import { extname } from 'node:path';
import {
  errorMessage,
  ImportFailedError,
  ImportTimeoutError,
  PortalError,
  PortalRefusedError,
  reasonOf,
  TableRefusedError,
  VerifyFailedError,
} from '../../model/errors.ts';
import { type GoodFile, type LedgerEntry, warningsOf } from '../../model/ledger-entry.ts';
import type { Reason } from '../../model/report.ts';
import { isOfWeb, sourcePathOf } from '../../model/wish.ts';
import { isTooLarge } from '../../portal-client/files.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import { asideOf } from '../../sources/drop/spool.ts';
import { checkTable } from '../../tables/check.ts';
import { madeTable } from '../compare/local-file.ts';
import { nodeOf } from '../compare/node.ts';
import { goodPath } from '../compare/row-changes.ts';
import { importFingerprint, wantsImport } from '../plan/known-wish.ts';
import { asOf } from './item.ts';
import { removeNode } from './removal.ts';
import { copyOf, type ResourceState, sentAgain, sentFile } from './resource-file.ts';

/** Why the file is imported once more before it is given up; null where that would not help. */
export const whyImportAgain = (state: ResourceState, error: unknown): string | null => {
  if (isMiscounted(state, error)) return 'the rows do not match the file: importing it again';
  // A refusal may come from a gateway, or from a portal during an update.
  return isImportRefused(state, error) && state.entry.good !== null ? `${reasonOf(error).message}: retrying` : null;
};

/** True for miscounted rows of a file that may be given up. */
const isMiscounted = ({ entry }: ResourceState, error: unknown): boolean =>
  error instanceof VerifyFailedError && entry.datastore === 'failed' && entry.good !== null;

/** True for a refused import, unless the account may not import, or nobody: then no other file would do. */
const isImportRefused = ({ target }: ResourceState, error: unknown): boolean =>
  error instanceof PortalRefusedError &&
  error.request.fault !== 'account' &&
  error.request.fault !== 'portal' &&
  target.item.log.lastStep === 'import';

/** True for a failure of the import that another attempt with the same file would repeat. */
const isFileAtFault = (state: ResourceState, error: unknown): boolean =>
  error instanceof ImportFailedError ||
  isMiscounted(state, error) ||
  (error instanceof ImportTimeoutError && state.target.item.job.isLast) ||
  isImportRefused(state, error);

/**
 * Decides about a failed step. Where the file is at fault and a good one is there, that is recorded, so that the next attempt,
 * run or worker goes on with the good file; null otherwise. Of a file without a good one the verdict is recorded.
 */
export const refuseFile = async (state: ResourceState, error: unknown): Promise<ResourceState | null> => {
  const { deps, target, source, entry, wish, table, fetched } = state;
  const { item } = target;
  const { good } = entry;
  const why = { ...reasonOf(error), ...asideOf(wish) };
  if (source === null) return null;
  const refuse = async (known: LedgerEntry, isReplaced: boolean, reason: Reason): Promise<ResourceState> => {
    const of = { sha256: source.sha256, importFingerprint: importFingerprint(wish) };
    const size = isTooLarge(error) ? { bytes: sentFile(state)?.source.bytes ?? 0 } : {};
    const refused = { ...of, delimiter: table?.delimiter ?? null, isReplaced, reason, ...size };
    return { ...state, entry: await deps.ledger.settle(item.portal, { ...known, refused }) };
  };
  const isUntaken = error instanceof PortalError && error.request.fault === 'file' && item.log.lastStep === 'attach';
  if (isUntaken && item.actions.includes('created') && entry.file === null && entry.nid !== null) {
    // The node that was created for it would stay empty; where it replaces one that was taken down, no former file is restored.
    const removed = await removeNode(target, nodeOf('resource', wish), entry, 'delete');
    const from = { source, sourcePath: sourcePathOf(wish.source), fetched };
    return refuse({ ...removed, ...from, removed: null, good: null, reason: why }, true, why);
  }
  if (good === null) {
    if (error instanceof TableRefusedError) await refuse({ ...entry, live: false, reason: why }, true, why);
    return null;
  }
  if (isUntaken) {
    await item.note(`the portal refused the file: ${why.message}`);
    return refuse(entry, true, { ...why, message: `${why.message}; the previous good file ${good.name} stays` });
  }
  if (entry.file?.sha256 === good.sha256 || !isFileAtFault(state, error)) return null;
  await item.note(`the portal could not import the file: ${why.message}`);
  if ((await goodPath(copyOf(state), good)) === null) {
    await item.note('the previous good file is not kept on this host (see `kept` in the configuration): leaving it so');
    return null;
  }
  return refuse(entry, false, {
    ...why,
    // In the last attempt it counts as a failed import.
    code: why.code === 'import-timeout' ? 'import-failed' : why.code,
    message: `${why.message}; the previous good file ${good.name} (${good.rows ?? '?'} rows) was restored`,
    hint: `fix the file; ${sentAgain}`,
  });
};

/** Attaches, imports and proves the good file again, and records that it is live. @throws ImportFailedError where it is gone */
export const restoreLastGood = async (
  state: ResourceState,
  run: (state: ResourceState) => Promise<ResourceState>,
): Promise<LedgerEntry> => {
  const { deps, target, entry } = state;
  const { item } = target;
  const { refused, good, nid, file } = entry;
  if (!refused || (good === null && refused.guard === undefined)) return entry;
  // A file that was held by a guard has replaced nothing.
  const isThere = refused.guard !== undefined && refused.isReplaced && nid !== null && file !== null;
  const withGood = good === null || isThere ? null : await withGoodFile(state, good);
  if (withGood === null && !refused.isReplaced) {
    await deps.ledger.settle(item.portal, { ...entry, refused: null });
    throw new ImportFailedError(refused.reason.message, {
      hint: 'this host has no copy of the last good file: publish again, or fix the file',
    });
  }
  // Where it is in place already, its bytes are needed only to recreate the node.
  const back = await run(withGood ?? { ...state, source: null, prepared: null, table: null, fallsBack: true });
  // Its node had to be recreated, and is empty.
  if (isThere && good !== null && back.entry.file === null)
    return restoreLastGood({ ...state, entry: back.entry, node: back.node }, run);
  if (!refused.isReplaced) await item.did('restored');
  return item.step(
    { name: 'record', on: state.wish.key },
    () => deps.ledger.settle(item.portal, standing(state, back.entry, isThere ? null : good)),
    (settled) => (settled.live ? `live: ${warningsOf(settled).join('; ')}` : `stale: ${refused.reason.message}`),
  );
};

/** The state of the job as if the good file were wanted; null when that is unavailable. */
const withGoodFile = async (state: ResourceState, good: GoodFile): Promise<ResourceState | null> => {
  const { wish, deps } = state;
  const { item } = state.target;
  const path = await goodPath(copyOf(state), good);
  if (path === null) return null;
  const { signal } = item;
  // Lines above the header: it was sound when it was published.
  const reading = { rowBytes: deps.settings.rowBytes, skipRows: 0, delimiter: good.delimiter ?? undefined };
  const [source, table] = await Promise.all([
    fingerprintFile(path, null, signal),
    checkTable(path, { signal, ...reading }),
  ]);
  if (source.sha256 !== good.sha256 || table.sha256 !== good.sha256) {
    await item.note(`${path} is not the file that was published: it cannot be attached again`);
    return null;
  }
  if (!state.entry.refused?.isReplaced)
    await item.note(`going back to the previous good file: ${path}, ${table.rows} rows`);
  const { recipe: _recipe, ...plain } = wish; // what is kept is what was sent
  // The portal may have changed the name; that of the wish is used where it has the same extension.
  const isNamed = wish.source.kind === 'file' && extname(wish.source.name) === extname(good.name);
  const name = isNamed && wish.source.kind === 'file' ? wish.source.name : good.name;
  const wanted = { ...plain, source: { kind: 'file', path, name } as const };
  return { ...state, wish: wanted, source, prepared: null, table, seen: null, provesNow: true, fallsBack: true };
};

/** The entry while an earlier file is live: `good`, restored, or null for one that was never replaced. */
const standing = (state: ResourceState, proven: LedgerEntry, good: GoodFile | null): LedgerEntry => {
  const { source, wish, target } = state;
  let { rows, file } = proven;
  if (good !== null) {
    const { rows: rowsOfGood, delimiter: _delimiter, ...sent } = good;
    rows = rowsOfGood;
    file = file && { ...sent, fid: file.fid, name: file.name };
  }
  const refused = state.entry.refused && { ...state.entry.refused, isReplaced: good !== null || proven.file !== null };
  const isSettled = refused?.guard === 'discarded';
  return {
    ...proven,
    title: wish.title,
    source,
    sourcePath: sourcePathOf(wish.source),
    fetched: state.fetched ?? (isOfWeb(wish.source) ? proven.fetched : null),
    file,
    rows,
    live: isSettled && wish.published,
    stale: !isSettled,
    reason: isSettled ? null : (refused?.reason ?? null),
    refused,
    ...asOf(target.item),
  };
};

/** The good file once this one is proven; a copy is kept unless an archive has it. Failing to make one is only reported. */
export const keepGoodFile = async (state: ResourceState): Promise<GoodFile | null> => {
  const { entry, wish, source, deps } = state;
  const { item } = state.target;
  if (!wantsImport(wish) || entry.datastore === 'none' || !entry.file || !source) return null;
  const sent = sentFile(state);
  const good = { ...entry.file, rows: entry.rows, delimiter: state.table?.delimiter ?? entry.good?.delimiter ?? null };
  // A table that was made is not what the archive of an inbox holds.
  const isMade = state.prepared ? madeTable(state.prepared) !== null : wish.recipe !== undefined;
  const isArchived = wish.source.kind === 'file' && wish.source.claim !== undefined && !isMade;
  if (sent === null || isArchived || entry.good?.sha256 === good.sha256) return good;
  const { path, source: facts } = sent;
  try {
    const owner = { portal: item.portal, uuid: wish.uuid };
    const former = entry.datastore === 'imported' ? (entry.good?.sha256 ?? null) : null;
    await deps.kept.keep(owner, { path, sha256: good.sha256, facts }, former);
  } catch (error) {
    await item.note(`no copy of ${path} could be kept: ${errorMessage(error)}`);
  }
  return good;
};
