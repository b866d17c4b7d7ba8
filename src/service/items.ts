// Items as they stand: how many there are of each state, how they are found, and one in full.
import { existsSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { itemId } from '../model/job.ts';
import { idsOfKey, kindOfKey } from '../model/key.ts';
import { type ItemState, itemStateOf, type LedgerEntry, newEntry } from '../model/ledger-entry.ts';
import type { KnownTarget, Target } from '../model/redis-keys.ts';
import { versionsOf } from '../model/table-history.ts';
import { didYouMean, nearest } from '../model/yaml/nearest.ts';
import { findArchived, inSpool } from '../sources/drop/spool.ts';
import type { Ledger } from '../state/ledger.ts';
import { byName } from '../util/natural.ts';
import type { Runtime } from './runtime.ts';

export type StateCounts = Readonly<Partial<Record<ItemState, number>>>;

export const countStates = async ({ ledger }: Pick<Runtime, 'ledger'>, target: Target): Promise<StateCounts> => {
  const { entries, live } = await ledger.exceptions(target);
  const counts: Partial<Record<ItemState, number>> = live > 0 ? { live } : {};
  for (const entry of entries.values()) {
    const state = itemStateOf(entry);
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return counts;
};

export type KnownEntry = LedgerEntry & { portal: string };

export const inOrder = (entries: Iterable<LedgerEntry>, { portal }: Target): KnownEntry[] =>
  [...entries].sort((a, b) => byName(a.key, b.key)).map((entry) => ({ ...entry, portal }));

/** Entries of the given targets, `most` of each, for which `isMeant` holds; of what is being created its run tells more. */
export const entriesWhere = async (
  { ledger }: Pick<Runtime, 'ledger'>,
  targets: readonly Target[],
  isMeant: (entry: LedgerEntry) => boolean,
  { most = Number.POSITIVE_INFINITY, ...search }: Parameters<Ledger['each']>[1] & { most?: number } = {},
): Promise<KnownEntry[]> => {
  const found: KnownEntry[][] = [];
  for (const target of targets) {
    const entries = new Map<string, LedgerEntry>();
    for await (const entry of ledger.each(target, search)) {
      if ((entry.nid !== null || entry.pending === null) && isMeant(entry)) entries.set(entry.key, entry);
      if (entries.size >= most) break;
    }
    found.push(inOrder(entries.values(), target));
  }
  return found.flat();
};

export const fileNameOf = ({ file, sourcePath }: LedgerEntry): string | null =>
  sourcePath ? basename(sourcePath) : (file?.name ?? null);

export const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/** True for an item whose key, title and file names hold all words. */
export const isAbout = ({ key, title, file, sourcePath }: LedgerEntry, words: readonly string[]): boolean => {
  const text = [key, title, file?.name ?? '', basename(sourcePath ?? '')].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
};

/** Items that hold all words, one whose key they are first; at most `most`. */
export const findItems = async (runtime: Runtime, text: string, most: number): Promise<KnownEntry[]> => {
  const words = wordsOf(text);
  if (words.length === 0) return [];
  const exact = (await itemViews(runtime, text)).map(({ target, entry }) => ({ ...entry, portal: target.portal }));
  const found = await entriesWhere(
    runtime,
    await runtime.targets(),
    (entry) => entry.key !== text && isAbout(entry, words),
    { words, most },
  );
  return [...exact, ...found].slice(0, most);
};

export type ItemView = Awaited<ReturnType<typeof itemViews>>[number];

/**
 * How an item stands on each portal, with the run that processes it now, or did last ('' for none), and the versions of
 * its table, the live one last. One that a run creates has an empty entry until it is known more of.
 */
export const itemViews = async (runtime: Runtime, key: string) => {
  const { ledger, runs, gate } = runtime;
  const viewOf = async (target: KnownTarget) => {
    const [known, { current }] = await Promise.all([ledger.entry(target.portal, key), gate.state(target)]);
    const work = current === null ? null : await runs.work(current, key);
    const isRunning = current !== null && (work !== null || (await runs.log(itemId(current, key))).length > 0);
    if (known === null && !isRunning) return [];
    const { uuid = '', title = '' } = work?.wish ?? {};
    const entry = known ?? newEntry({ key, kind: kindOfKey(key), uuid, title });
    const runId = isRunning ? current : entry.runId;
    const versions = versionsOf(await ledger.formerVersions(target.portal, key), entry.version);
    const log = runId === '' ? [] : await runs.log(itemId(runId, key));
    return [{ target, entry, versions, runId, isRunning, comesFrom: await placeOf(entry), log }];
  };
  return (await Promise.all((await runtime.targetsOfKey(key)).map(viewOf))).flat();
};

type Keys = Pick<Runtime, 'ledger' | 'targets'>;

export const knownKeys = async (runtime: Keys): Promise<string[]> => {
  const indexes = await Promise.all((await runtime.targets()).map((target) => runtime.ledger.index(target)));
  return indexes.flatMap((index) => [...index.keys()]);
};

/** The beginning of a hint: the known key that may be meant by an unknown one; '' where nothing is near. */
export const meantKey = async (runtime: Keys, key: string): Promise<string> => {
  const known = await knownKeys(runtime);
  if (known.includes(key)) return '';
  // By its last part, which says more than what long keys have in common.
  const names = known.map((each) => basename(each));
  const name = nearest(basename(key), names, {}) ?? nearest(basename(key, extname(key)), names, {});
  const near = known.filter((each) => basename(each) === name);
  return didYouMean(nearest(key, near, {}) ?? near[0] ?? '', near);
};

export const keysHint = async (runtime: Keys, key: string): Promise<string> =>
  `${await meantKey(runtime, key)}\`sluice status --all\` lists the keys`;

/** Where the file of an entry is now: a dropped one leaves the spool for the archive, or is set aside. */
const placeOf = async ({ key, sourcePath, source, reason }: LedgerEntry): Promise<string | null> => {
  if (!sourcePath || !inSpool(sourcePath) || existsSync(sourcePath)) return sourcePath;
  return reason?.file ?? findArchived(sourcePath, { ...idsOfKey(key), sha256: source?.sha256 ?? '' });
};
