// What a manifest no longer names: renamed, in its grace period, or due for removal; and the guard of whole runs. Pure.
import { itemsOfField } from '../../dataset-api/fields.ts';
import { kindOfKey, parentKey } from '../../model/key.ts';
import type { LedgerEntry, SentNode, SourceFingerprint } from '../../model/ledger-entry.ts';
import type { RemovalMode } from '../../model/policy.ts';
import { type DatasetWish, isOfWeb, type NodeFields, type ResourceWish, sourcePathOf } from '../../model/wish.ts';
import type { SkippedEntry, Stated } from '../../sources/gather/dataset-wish.ts';
import type { GuardRules, Manifest } from '../../sources/manifest/schema.ts';
import { decodedPart } from '../../util/http.ts';
import type { KnownState, Observed, Wish } from './plan.ts';

/** Whether a key that the source does not name is there all the same: certainly, possibly, or not at all. */
export type Sparing = (key: string) => 'certain' | 'possible' | 'none';

/** Which absences are believed, for every kind of source: none where it may be incomplete, or a faulty entry may be it. */
export const sparing = ({ complete, skipped, spared = [] }: Stated, isPublished: (key: string) => boolean): Sparing => {
  const isKnown = (entry: SkippedEntry): boolean => entry.isKnown || (!!entry.isGuessed && isPublished(entry.key));
  const unknown = skipped.filter((entry) => !isKnown(entry)).map(({ key }) => key);
  const isAny = complete !== true || unknown.some((key) => kindOfKey(key) === 'dataset');
  const keys = new Set([...skipped.filter(isKnown).map(({ key }) => key), ...spared]);
  const parents = new Set([...unknown, ...spared.filter((key) => key.includes('#'))].map(parentKey));
  return (key) => {
    if (keys.has(key) || keys.has(parentKey(key))) return 'certain';
    return isAny || (kindOfKey(key) === 'resource' && parents.has(parentKey(key))) ? 'possible' : 'none';
  };
};

export interface Removal {
  key: string;
  kind: 'dataset' | 'resource';
  how: RemovalMode;
  entry: LedgerEntry;
}

export type RemovalRules = Pick<Manifest, 'onMissing' | 'missingForMs'> & { now: number; spares?: Sparing };

export interface Missing {
  renames: Rename[];
  /** Missing for the first time: the time is recorded. */
  newlyMissing: LedgerEntry[];
  /** Wanted again before they were removed: the time is cleared. */
  returned: LedgerEntry[];
  removals: Removal[];
  /** Keys of missing items that stay on the portal for now. */
  staying: string[];
  /** Why datasets are among them that the source may still offer. */
  offered?: string[];
  /** Why nothing counts as missing; null where absences are believed. */
  unproven: string | null;
}

/** Compares the ledger with all wishes of a manifest; what continues under a new key is renamed, not missing. */
export const findMissing = (wishes: DatasetWish[], known: KnownItems, rules: RemovalRules) => {
  const { spares = () => 'none', now, missingForMs, onMissing: how } = rules;
  const entries = [...known.entries.values()];
  const wished = new Set(wishes.flatMap((wish) => [wish, ...wish.resources]).map(({ key }) => key));
  const gone = entries
    .filter(({ key, nid, removed }) => nid !== null && removed !== 'delete' && !wished.has(key))
    .filter(({ key }) => spares(key) !== 'certain')
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const renames = findRenames(gone, wishes, known);
  const renamed = new Set(renames.map(({ from }) => from.key));
  const isThere = (key: string): boolean => wished.has(key) || spares(key) !== 'none';
  const missing = gone.filter(({ key, removed }) => !renamed.has(key) && !removed && !isThere(key));
  const due = missing.filter(({ missingSince }) => now - (missingSince ?? now) >= missingForMs);
  const removals = how === 'keep' ? [] : due.map((entry) => ({ key: entry.key, kind: entry.kind, how, entry }));
  const removed = new Set(removals.map(({ key }) => key));
  return {
    renames,
    newlyMissing: missing.filter(({ missingSince }) => missingSince === null),
    returned: entries.filter(({ key, missingSince }) => missingSince !== null && isThere(key)),
    removals,
    staying: missing.flatMap(({ key }) => (removed.has(key) ? [] : [key])),
  };
};

/** Why the run must be held, or null when it may go; `wished` are the wishes gathered. */
export const guardVerdict = (
  { known, removals, updates, wished }: Record<'known' | 'removals' | 'updates' | 'wished', number>,
  { min, maxRemovals, maxUpdates }: GuardRules,
): string | null => {
  if (removals > 0 && wished === 0)
    return `the source is empty, but ${known} items are known: an empty source never removes anything`;
  const verdict = (what: string, count: number, share: number): string | null => {
    const most = Math.max(min, Math.floor(known * share));
    return count > most ? `it would ${what} ${count} of ${known} items, the guard allows ${most}` : null;
  };
  const ofRemovals = verdict('remove', removals, maxRemovals);
  return ofRemovals ?? (maxUpdates === null ? null : verdict('update', updates, maxUpdates));
};

export interface Rename {
  from: LedgerEntry;
  to: string;
}

/** What is known of the items that are compared, by key. */
type KnownItems = Pick<KnownState, 'entries' | 'sources' | 'sent'>;

/**
 * Pairs entries that no wish names with wishes that have no node, each at most once: by uuid first, so that no item takes over
 * a node that another one names; datasets then by {@link spellingOf}, resources of a dataset by id, content and {@link likenesses}; by
 * spelling and likeness only where one of each has them.
 */
const findRenames = (gone: LedgerEntry[], wishes: DatasetWish[], { entries, sources, sent }: KnownItems): Rename[] => {
  const made: Rename[] = [];
  const left = new Set(gone);
  const all = wishes.flatMap((wish): Wish[] => [wish, ...wish.resources]);
  const free = new Set(all.filter(({ key }) => !entries.get(key)?.nid));
  const match = (marksOfEntry: (entry: LedgerEntry) => string[], marksOfWish: (wish: Wish) => string[]): void => {
    const marked = [...free].flatMap((wish) => marksOfWish(wish).map((mark) => ({ mark, wish })));
    const byMark = Map.groupBy(marked, ({ mark }) => mark);
    for (const entry of left) {
      const mark = marksOfEntry(entry).find((each) => byMark.get(each)?.length) ?? '';
      const found = byMark.get(mark)?.shift();
      if (!found) continue;
      made.push({ from: entry, to: found.wish.key });
      left.delete(entry);
      free.delete(found.wish);
    }
  };
  const uuidsOf = ({ uuid }: { uuid: string }): string[] => [uuid];
  match(uuidsOf, uuidsOf);
  const isOneSpelling = isOnlyIn(gone.flatMap(spellingOf), wishes.flatMap(spellingOf));
  const spelt = (item: LedgerEntry | DatasetWish): string[] => spellingOf(item).filter(isOneSpelling);
  match(spelt, (wish) => ('source' in wish ? [] : spelt(wish)));
  const moved = new Map(made.map(({ from, to }) => [from.key, to]));
  const keysOf = ({ key }: { key: string }): string[] => [
    `${moved.get(parentKey(key)) ?? parentKey(key)}/${key.split('/').at(-1)}`,
  ];
  match(keysOf, keysOf);
  match(contentsOf, (wish) => contentWishedBy(wish, sources.get(wish.key) ?? null));
  const resources = all.filter((wish) => 'source' in wish);
  for (const { markOf, needsTitle } of likenesses) {
    const markOfEntry = (entry: LedgerEntry): string[] =>
      keysOf(entry).flatMap((key) => inDataset({ key }, markOf(factsOfEntry(entry, sent))));
    const markOfWish = (wish: ResourceWish): string[] => inDataset(wish, markOf(factsOfWish(wish)));
    const isOnly = isOnlyIn(gone.flatMap(markOfEntry), resources.flatMap(markOfWish));
    match(
      (entry) => (needsTitle && entry.removed ? [] : markOfEntry(entry).filter(isOnly)),
      (wish) => ('source' in wish && (wish.byAddress || !needsTitle) ? markOfWish(wish).filter(isOnly) : []),
    );
  }
  return made;
};

/** True for a mark that is once in either list. */
const isOnlyIn = (...lists: [string[], string[]]) => {
  const [before, after] = lists.map((marks) => Map.groupBy(marks, (mark) => mark));
  return (mark: string): boolean => before?.get(mark)?.length === 1 && after?.get(mark)?.length === 1;
};

/** What spellings of the names of a dataset have in common: scheme, case, encoding and a slash at the end may differ. */
export const spellingOf = ({ identifier, alias }: { identifier?: string | null; alias?: string | null }): string[] => {
  const plain = [identifier, alias].flatMap((name) => (name ? decodedPart(name).normalize().toLowerCase() : []));
  return [...new Set(plain.map((name) => name.replaceAll(/^https?:|\/$/g, '')))];
};

/** What is known, as if the renames had been recorded. */
export const applyRenames = (known: Observed, renames: readonly Rename[]): Observed => {
  if (renames.length === 0) return known;
  const entries = new Map(known.entries);
  for (const { from, to } of renames) {
    entries.delete(from.key);
    entries.set(to, { ...from, key: to, missingSince: null });
  }
  return { ...known, entries };
};

/** What can be the same of a resource before and after its address changed. */
interface Facts {
  title: string;
  address: string | null;
  format: string;
}

/** Signs that two keys mean the same resource, the surest first; null where there is nothing to compare. */
const likenesses: readonly { needsTitle: boolean; markOf: (facts: Facts) => unknown }[] = [
  { needsTitle: false, markOf: ({ address }) => address },
  { needsTitle: true, markOf: ({ title, address: at }) => at && [title, new URL(at).pathname, new URL(at).search] },
  { needsTitle: true, markOf: ({ title, address }) => address && [title, new URL(address).pathname.split('/').at(-1)] },
  { needsTitle: true, markOf: ({ title, format }) => [title, format] },
  { needsTitle: true, markOf: ({ title }) => [title] },
];

const inDataset = ({ key }: { key: string }, mark: unknown): string[] =>
  mark === null ? [] : [`${parentKey(key)} ${JSON.stringify(mark)}`];

const factsOfEntry = ({ key, title, sourcePath }: LedgerEntry, all: KnownItems['sent']): Facts => {
  const { fields = {} }: Partial<SentNode> = all.get(key) ?? {};
  const isAddress = sourcePath !== null && URL.canParse(sourcePath);
  return { title, address: isAddress ? sourcePath : linkOf(fields.field_link_api), format: formatOf(fields) };
};

const factsOfWish = ({ title, source, fields }: ResourceWish): Facts => ({
  title,
  address: isOfWeb(source) ? sourcePathOf(source) : linkOf(fields.field_link_api),
  format: formatOf(fields),
});

export const linkOf = (link: unknown): string | null => {
  const url = itemsOfField(link)?.[0]?.url;
  return typeof url === 'string' && URL.canParse(url) ? url : null;
};

const formatOf = ({ field_format: format }: NodeFields): string => String(itemsOfField(format)?.[0]?.name ?? '');

/** What the file of an entry was sent from, with the recipe where there was one. */
const contentsOf = (entry: LedgerEntry): string[] => {
  const { sha256, from } = entry.file ?? {};
  const marks = [sha256, from && `${from.sha256}@${from.recipe}`].filter((mark) => mark !== undefined);
  return entry.kind === 'resource' ? marks.flatMap((mark) => inDataset(entry, mark)) : [];
};

const contentWishedBy = (wish: Wish, source: SourceFingerprint | null): string[] => {
  if (!source || !('source' in wish)) return [];
  return inDataset(wish, wish.recipe ? `${source.sha256}@${wish.recipe.fingerprint}` : source.sha256);
};
