// Step `guard`: compares a new version of a table with the live ones and holds it beyond the limits; decisions on held
// tables.
import { basename } from 'node:path';
import { HeldError, reasonOf } from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { ReportItem } from '../../model/report.ts';
import {
  type FormerVersions,
  type LiveVersion,
  liveVersionOf,
  versionsOf,
  withFormer,
} from '../../model/table-history.ts';
import type { ResourceWish } from '../../model/wish.ts';
import type { Ledger } from '../../state/ledger.ts';
import { durationWords } from '../../util/quantity.ts';
import { guardFingerprint, isLate } from '../plan/known-wish.ts';
import { sharesNoColumn, tableGuardFaults } from '../plan/table-guard.ts';
import { goodPath } from './fall-back.ts';
import type { Item } from './item.ts';
import { type ResourceState, type ResourceStep, sentFile } from './resource-file.ts';

/** Step `guard`: holds a table beyond the limits. The entry records its file as refused then, and nothing is sent. */
export const guardTable: ResourceStep = async (state) => {
  const { wish, entry, table, source, target, deps, fallsBack } = state;
  const { guard } = wish;
  const { version: live, refused } = entry;
  // One that was dropped under another name is looked at, too; the first version sets the mark.
  const former = formerName(wish, entry);
  if ((guard === undefined && former === null) || live === null || !table || !source || fallsBack) return state;
  if (live.sum === sumOf(table.sha256)) return state;
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
        guard ? tableGuardFaults(table, { guard, live, versions: versionsOf(former, live) }) : [];
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
  const { wish, entry, source, table, target, deps } = state;
  const { good, file, datastore, pending } = entry;
  // Another file may have been attached since the live one, without being proven.
  const isBetween = pending?.what === 'attach' || pending?.what === 'import' || datastore === 'pending';
  const isThere = !isBetween && (good === null || (file?.sha256 === good.sha256 && datastore !== 'failed'));
  const isReplaced = isThere || good === null || (await goodPath(state, good)) === null;
  const reason = reasonOf(
    new HeldError(`held by its guard: ${faults.join('; ')}`, {
      hint: `the previous version stays; check the source, then \`sluice release ${wish.key}\` or \`sluice discard ${wish.key}\``,
    }),
  );
  const held: LedgerEntry = {
    ...entry,
    ...(isReplaced ? {} : { file: null, datastore: 'pending' }),
    refused: {
      sha256: source?.sha256 ?? '',
      importFingerprint: guardFingerprint(wish),
      delimiter: table?.delimiter ?? null,
      isReplaced,
      reason,
      guard: 'held',
    },
  };
  return { ...state, entry: await deps.ledger.settle(target.item.portal, held) };
};

/** The version of the table once it is proven; the known one where its bytes are the same. */
export const provenVersion = (state: ResourceState): LiveVersion | null => {
  const { table, wish, entry } = state;
  const { version: before } = entry;
  if (!table || !sentFile(state) || before?.sum === sumOf(table.sha256)) return before;
  return liveVersionOf(table, { at: Date.now(), before, guard: wish.guard });
};

const mostReportedVersions = 10;

/** The last live versions, newest first. */
export const versionsToReport = async (
  ledger: Ledger,
  { portal }: Item,
  { key, version }: LedgerEntry,
): Promise<ReportItem['versions']> => {
  const versions = versionsOf(await ledger.formerVersions(portal, key), version);
  return versions
    .slice(-mostReportedVersions)
    .reverse()
    .map(({ at, rows, bytes, columns }) => ({ at: new Date(at).toISOString(), rows, bytes, columns: columns.length }));
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

const sumOf = (sha256: string): string => sha256.slice(0, 8);

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
        : { ...entry, refused: { ...refused, guard: 'discarded' }, ...timely };
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
