// What the wishes no longer name: renamed, waiting out its grace, or to be taken down. Pure.
import type { LedgerEntry, SourceFingerprint } from '../ledger/entry.ts';
import type { OnMissing } from '../manifest/schema.ts';
import type { DatasetWish } from '../wish.ts';

/** What is to be done about a missing item. */
export interface Removal {
  key: string;
  kind: 'dataset' | 'resource';
  how: Exclude<OnMissing, 'keep'>;
  entry: LedgerEntry;
}

/** An item that goes on under another key. */
export interface Rename {
  from: LedgerEntry;
  to: string;
}

/** How missing items are treated. */
export interface RemovalRules {
  onMissing: OnMissing;
  /** Milliseconds an item must have been missing. */
  missingForMs: number;
  now: number;
}

/** What the comparison found. */
export interface Missing {
  renames: Rename[];
  /** Missing for the first time: the time is written down. */
  newlyMissing: LedgerEntry[];
  removals: Removal[];
}

/**
 * Compares the ledger with all wishes of a manifest (never with those of a limited run). An item whose uuid, or whose
 * content, stands under a new key is renamed, not missing. Resources of a missing dataset go with it.
 */
export const findMissing = (
  wishes: DatasetWish[],
  entries: ReadonlyMap<string, LedgerEntry>,
  sources: ReadonlyMap<string, SourceFingerprint | null>,
  rules: RemovalRules,
): Missing => {
  const wished = new Map(wishes.flatMap((wish) => [wish, ...wish.resources]).map((wish) => [wish.key, wish.uuid]));
  const gone = [...entries.values()].filter(
    (entry) => entry.nid !== null && !wished.has(entry.key) && entry.removed !== 'delete',
  );
  const renames = findRenames(gone, wishes, entries, sources);
  const renamed = new Set(renames.map((rename) => rename.from.key));
  const missing = gone.filter((entry) => !renamed.has(entry.key) && !entry.removed);
  const due = missing.filter((entry) => rules.now - (entry.missingSince ?? rules.now) >= rules.missingForMs);
  const how = rules.onMissing;
  return {
    renames,
    newlyMissing: missing.filter((entry) => entry.missingSince === null),
    removals: how === 'keep' ? [] : due.map((entry) => ({ key: entry.key, kind: entry.kind, how, entry })),
  };
};

const findRenames = (
  gone: LedgerEntry[],
  wishes: DatasetWish[],
  entries: ReadonlyMap<string, LedgerEntry>,
  sources: ReadonlyMap<string, SourceFingerprint | null>,
): Rename[] => {
  const fresh = wishes.flatMap((wish) => [wish, ...wish.resources]).filter((wish) => !entries.get(wish.key)?.nid);
  const taken = new Set<string>();
  return gone.flatMap((entry) => {
    const match =
      fresh.find((wish) => wish.uuid === entry.uuid) ??
      fresh.find(
        (wish) =>
          !taken.has(wish.key) && hasContentOf(entry, wish.key, sources) && parent(wish.key) === parent(entry.key),
      );
    if (!match || taken.has(match.key)) return [];
    taken.add(match.key);
    return [{ from: entry, to: match.key }];
  });
};

/** The same bytes under another id of the same dataset are the same resource. */
const hasContentOf = (
  entry: LedgerEntry,
  key: string,
  sources: ReadonlyMap<string, SourceFingerprint | null>,
): boolean =>
  entry.kind === 'resource' && entry.file !== null && (sources.get(key)?.sha256 ?? null) === entry.file.sha256;

const parent = (key: string): string => key.slice(0, key.lastIndexOf('/'));
