// The guard of a table: what of a new version is beyond its limits, and what a decision on a held or late one does. Pure.
import { portalColumnName } from '../../dataset-api/names.ts';
import { HeldError, reasonOf } from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import {
  type CheckedTable,
  countsText,
  keptColumns,
  type LiveVersion,
  type RowChanges,
  type TableColumn,
  type TableGuard,
  type TableVersion,
} from '../../model/table-history.ts';
import type { ResourceWish } from '../../model/wish.ts';
import { countText, listed } from '../../util/plural.ts';
import { durationWords } from '../../util/quantity.ts';
import { isLate } from './known-wish.ts';

/** Why a new version must be held, a phrase for each limit; empty where it passes. `versions` are all known, the live one last. */
export const tableGuardFaults = (table: CheckedTable, { guard, live, versions, changes }: Judged): string[] => [
  ...rowFaults(table.rows, guard, versions),
  ...columnFaults(table.contents.slice(0, keptColumns), guard, live.columns),
  ...nullFaults(table, guard, live),
  ...changeFaults(guard, changes),
];

interface Judged {
  guard: TableGuard;
  live: LiveVersion;
  versions: readonly TableVersion[];
  /** Null where the rows of the live version are not known. */
  changes?: RowChanges | null;
}

const changeFaults = ({ maxChangedRows: most }: TableGuard, changes: RowChanges | null | undefined): string[] => {
  if (most === undefined || !changes) return [];
  const { added, removed, changed, before } = changes;
  const count = added + removed + changed;
  if (count <= Math.max(most * before, handful)) return [];
  const share = before === 0 ? '' : `, ${percentOf(count / before)} of the ${countText(before)} before`;
  return [`rows ${countsText(changes)}${share} (\`maxChangedRows: ${percentOf(most)}\`)`];
};

/** True where no column of the live version is in the new one: it is another table. */
export const sharesNoColumn = (table: CheckedTable, live: LiveVersion): boolean => {
  const now = byName(table.contents.slice(0, keptColumns));
  return !live.columns.some((column) => now.has(nameOf(column)));
};

/** So many rows may always come or go: a share means little for a handful. */
const handful = 2;

/** Steps within this factor are similar. */
const tolerance = 1.5;

const rowFaults = (rows: number, { rows: share }: TableGuard, versions: readonly TableVersion[]): string[] => {
  const before = versions.at(-1)?.rows ?? 0;
  const step = rows - before;
  const isWithin =
    share === undefined || before === 0 || Math.abs(step) <= Math.max(share * before, rows > 0 ? handful : 0);
  if (isWithin || isKnownStep(before, rows, versions)) return [];
  const exact = Math.round((Math.abs(step) / before) * 100);
  const percent = step < 0 && rows > 0 ? Math.min(exact, 99) : exact;
  const change = `${countText(rows)} ${rows === 1 ? 'row' : 'rows'}, ${percent}% ${step < 0 ? 'fewer' : 'more'} than the previous ${countText(before)}`;
  return [`${change} (\`rows: ${percentOf(share)}\`)`];
};

/** True where a similar step has passed the guard before, and fell no lower: weekends, a new year, a growing table. */
const isKnownStep = (from: number, to: number, versions: readonly TableVersion[]): boolean =>
  versions.some(({ rows, isGuarded }, index) => {
    const before = versions[index - 1]?.rows;
    if (!isGuarded || before === undefined || Math.sign(rows - before) !== Math.sign(to - from)) return false;
    const size = Math.abs(to - from) / Math.abs(rows - before);
    return size <= tolerance && size >= 1 / tolerance && (to > from || to * tolerance >= rows);
  });

const columnFaults = (columns: TableColumn[], { columns: policy = 'any' }: TableGuard, before: TableColumn[]) => {
  if (policy === 'any') return [];
  const now = byName(columns);
  const then = byName(before);
  const lost = before.filter((column) => !now.has(nameOf(column)));
  const fresh = columns.filter((column) => !then.has(nameOf(column)));
  // A new column in the place of a lost one was renamed.
  const renamed = new Map<string, string>();
  for (const column of columns.length === before.length ? lost : []) {
    const other = columns[before.indexOf(column)];
    if (other && fresh.includes(other)) renamed.set(column.name, other.name);
  }
  const gone = lost.filter(({ name }) => !renamed.has(name));
  const added = fresh.filter(({ name }) => ![...renamed.values()].includes(name));
  const retyped = before.flatMap((column) => {
    const kind = now.get(nameOf(column))?.kind;
    const isKnown = ![column.kind, kind].some((each) => each === undefined || each === 'mixed' || each === 'empty');
    return isKnown && column.kind !== kind ? [`${quoted(column.name)} from ${column.kind} to ${kind}`] : [];
  });
  const renames = [...renamed].map(([from, to]) => `${quoted(from)} to ${quoted(to)}`);
  const rule = ` (\`columns: ${policy}\`)`;
  return [
    ...(gone.length > 0 ? [`${namesOf(gone)} lost${rule}`] : []),
    ...(renamed.size > 0 ? [`renamed: ${listed(renames, 5)}${rule}`] : []),
    ...(retyped.length > 0 ? [`values changed: ${listed(retyped, 5)}${rule}`] : []),
    ...(policy === 'keep' && added.length > 0 ? [`${namesOf(added)} added${rule}`] : []),
  ];
};

/** Columns are the same where a portal gives them the same name; one without such a name keeps its own. */
const nameOf = ({ name }: TableColumn): string => portalColumnName(name) || name;

const byName = (columns: readonly TableColumn[]): Map<string, TableColumn> =>
  new Map(columns.map((column) => [nameOf(column), column]));

/** Beyond so many standard deviations of its usual share of values, a loss is not chance. */
const beyondChance = 3;

const nullFaults = ({ rows, contents: columns }: CheckedTable, { nulls }: TableGuard, live: LiveVersion): string[] => {
  if (nulls === undefined || rows === 0 || live.rows === 0) return [];
  const now = byName(columns);
  return live.columns.flatMap((column) => {
    const own = now.get(nameOf(column));
    const filled = 1 - column.empty / live.rows;
    // No emptier than a version that has passed.
    const usual = Math.min(filled, (live.sparse[column.name] ?? 100) / 100);
    if (own === undefined) return [];
    const left = 1 - own.empty / rows;
    const isChance = (usual - left) * rows <= beyondChance * Math.sqrt(rows * usual * (1 - usual));
    if (left >= (1 - nulls) * usual || isChance) return [];
    return [
      `${quoted(column.name)} has values in ${percentOf(left)} of the rows, before in ${percentOf(filled)} (\`nulls: ${percentOf(nulls)}\`)`,
    ];
  });
};

const namesOf = (columns: TableColumn[]): string => {
  const names = columns.map(({ name }) => quoted(name));
  return `column${names.length === 1 ? '' : 's'} ${listed(names, 5)}`;
};

const quoted = (name: string): string => `\`${name}\``;

const percentOf = (share: number): string => `${Math.round(share * 1000) / 10}%`;

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
