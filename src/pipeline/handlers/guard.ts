// Step `guard`: tables that go beyond their limits are held; and the versions of a table that it compares.
import { basename } from 'node:path';
import { HeldError, reasonOf } from '../../model/errors.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import {
  type FormerVersions,
  isOfTable,
  type LiveVersion,
  liveVersionOf,
  versionsOf,
  withFormer,
} from '../../model/table-history.ts';
import type { ResourceWish } from '../../model/wish.ts';
import type { Ledger } from '../../state/ledger.ts';
import { brokenFile } from '../compare/prove.ts';
import { goodPath } from '../compare/row-changes.ts';
import { guardFingerprint } from '../plan/known-wish.ts';
import { sharesNoColumn, tableGuardFaults } from '../plan/table-guard.ts';
import type { Item } from './item.ts';
import { copyOf, type ResourceState, type ResourceStep, sentFile } from './resource-file.ts';

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
