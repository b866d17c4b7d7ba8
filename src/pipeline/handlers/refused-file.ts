// Files that are not sent (again), held by a guard or refused by the portal: the last good one stays, or is restored.
import { basename, extname } from 'node:path';
import {
  errorMessage,
  HeldError,
  ImportFailedError,
  ImportTimeoutError,
  PortalError,
  PortalRefusedError,
  reasonOf,
  TableRefusedError,
  VerifyFailedError,
} from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import { type GoodFile, type LedgerEntry, warningsOf } from '../../model/ledger-entry.ts';
import type { Reason } from '../../model/report.ts';
import {
  type FormerVersions,
  isOfTable,
  type LiveVersion,
  liveVersionOf,
  versionsOf,
  withFormer,
} from '../../model/table-history.ts';
import { isOfWeb, type ResourceWish, sourcePathOf } from '../../model/wish.ts';
import { isTooLarge } from '../../portal-client/files.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import { asideOf } from '../../sources/drop/spool.ts';
import type { Ledger } from '../../state/ledger.ts';
import { checkTable } from '../../tables/check.ts';
import { durationWords } from '../../util/quantity.ts';
import { madeTable } from '../compare/local-file.ts';
import { nodeOf } from '../compare/node.ts';
import { brokenFile } from '../compare/prove.ts';
import { goodPath } from '../compare/row-changes.ts';
import { guardFingerprint, importFingerprint, isLate, wantsImport } from '../plan/known-wish.ts';
import { sharesNoColumn, tableGuardFaults } from '../plan/table-guard.ts';
import { asOf, type Item } from './item.ts';
import { removeNode } from './removal.ts';
import { copyOf, type ResourceState, type ResourceStep, sentAgain, sentFile } from './resource-file.ts';

/** Step `guard`: holds a table beyond the limits. The entry records its file as refused then, and nothing is sent. */
export const guardTable: ResourceStep = async (state) => {
  const { wish, entry, table, source, target, deps, fallsBack, changes } = state;
  const { guard } = wish;
  const { version: live, refused } = entry;
  // One that was dropped under another name is looked at, too; the first version sets the mark.
  const former = formerName(wish, entry);
  if ((guard === undefined && former === null) || live === null || !table || !source || fallsBack) return state;
  if (isOfTable(live, table)) return state;
  const { item } = target;
  const isJudged = refused?.sha256 === source.sha256 && refused.importFingerprint === guardFingerprint(wish);
  if (isJudged && refused.guard === 'released') {
    await item.note(`released, although ${refused.reason.message}`);
    return state;
  }
  const faults = await item.step(
    { name: 'guard', on: item.key, light: true },
    async () => {
      const judge = (former: FormerVersions | null): string[] =>
        guard ? tableGuardFaults(table, { guard, live, versions: versionsOf(former, live), changes }) : [];
      if (former !== null && sharesNoColumn(table, live))
        return [`it was dropped as another name than \`${former}\`, and no column is the same`];
      const found = judge(null);
      return found.length === 0 ? found : judge(await deps.ledger.formerVersions(item.portal, item.key));
    },
    (found) => (found.length === 0 ? 'within its limits' : `held: ${found.join('; ')}`),
  );
  return faults.length > 0 ? hold(state, faults) : state;
};

/** Name of the file that was dropped before, where another name led to the same resource: `Stock list.csv`, then `stock-LIST.csv`. */
const formerName = ({ source }: ResourceWish, { sourcePath }: LedgerEntry): string | null => {
  if (source.kind !== 'file' || source.claim === undefined || sourcePath === null) return null;
  const before = basename(sourcePath);
  return before.normalize() === source.name.normalize() ? null : before;
};

const hold = async (state: ResourceState, faults: string[]): Promise<ResourceState> => {
  const { wish, entry, source, table, target, deps, changes } = state;
  const { good, file, datastore, pending } = entry;
  // Another file may have been attached since the live one, without being proven.
  const isBetween = pending?.what === 'attach' || pending?.what === 'import' || datastore === 'pending';
  const isThere = !isBetween && (good === null || (file?.sha256 === good.sha256 && datastore !== 'failed'));
  const isReplaced = isThere || good === null || (await goodPath(copyOf(state), good)) === null;
  const reason = reasonOf(
    new HeldError(`held by its guard: ${faults.join('; ')}`, {
      hint: `the previous version stays; check the source, then \`sluice release ${wish.key}\` or \`sluice discard ${wish.key}\``,
    }),
  );
  const of = { sha256: source?.sha256 ?? '', importFingerprint: guardFingerprint(wish) };
  const refused = { ...of, delimiter: table?.delimiter ?? null, isReplaced, reason, guard: 'held' as const };
  const held = { ...entry, ...(isReplaced ? {} : brokenFile), refused, changes };
  return { ...state, entry: await deps.ledger.settle(target.item.portal, held) };
};

/** The version of the table once it is proven; the known one where its bytes are the same. */
export const provenVersion = (state: ResourceState): LiveVersion | null => {
  const { table, wish, entry } = state;
  const { version: before } = entry;
  if (!table || !sentFile(state) || isOfTable(before, table)) return before;
  return liveVersionOf(table, { at: Date.now(), before, guard: wish.guard, changes: state.changes });
};

/** The last ten live versions, newest first. */
export const versionsToReport = async (ledger: Ledger, { portal }: Item, { key, version }: LedgerEntry) => {
  const versions = versionsOf(await ledger.formerVersions(portal, key), version)
    .slice(-10)
    .reverse();
  const iso = (at: number): string => new Date(at).toISOString();
  return versions.map(({ at, rows, bytes, columns }) => ({ at: iso(at), rows, bytes, columns: columns.length }));
};

/** The former versions once `version` replaces that of an entry; undefined where it does not. */
export const formerWith = async (
  ledger: Ledger,
  portal: string,
  { key, version: before }: LedgerEntry,
  version: LiveVersion | null,
): Promise<FormerVersions | undefined> =>
  before === null || before.sum === version?.sum
    ? undefined
    : withFormer(await ledger.formerVersions(portal, key), before);

/** The entry after a decision on its held or late table; the same object where nothing changes. */
export const withDecision = (
  entry: LedgerEntry,
  wish: Pick<ResourceWish, 'key' | 'published' | 'guard'>,
  { decision }: Pick<RunData, 'decision'>,
  now: number,
): LedgerEntry => {
  const timely = { live: wish.published, stale: false, reason: null };
  const how = decision?.keys.includes(wish.key) ? decision.how : null;
  const { refused } = entry;
  let known = entry;
  if (how !== null && refused?.guard === 'held')
    known =
      how === 'release'
        ? { ...entry, refused: { ...refused, guard: 'released' } }
        : { ...entry, refused: { ...refused, guard: 'discarded' }, changes: null, ...timely };
  // No new data came, and that was confirmed.
  else if (how !== null && isLate(entry) && entry.version)
    known = { ...entry, ...timely, version: { ...entry.version, confirmed: now } };
  const { version, live, reason, key } = known;
  const { sameMs } = wish.guard ?? {};
  const newest = Math.max(version?.at ?? 0, version?.confirmed ?? 0);
  if (version === null || sameMs === undefined || now - newest <= sameMs)
    return isLate(known) ? { ...known, ...timely } : known;
  const message = `nothing new since ${new Date(newest).toISOString().slice(0, 10)} (\`same: ${durationWords(sameMs)}\`)`;
  if (!(live || isLate(known)) || reason?.message === message) return known;
  const hint = `check the source; if no new data is correct, run \`sluice release ${key}\``;
  return { ...known, live: false, stale: true, reason: reasonOf(new HeldError(message, { hint })) };
};

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
