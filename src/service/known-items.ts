// All known items, in brief and in memory, to be counted and searched; one item in full.
import { basename } from 'node:path';
import { itemId } from '../model/job.ts';
import { isBelow, kindOfKey } from '../model/key.ts';
import type { IndexedEntry, LedgerEntry } from '../model/ledger-entry.ts';
import { type Target, targetName } from '../model/redis-keys.ts';
import { type TableVersion, versionsOf } from '../model/table-history.ts';
import { outcomeOf } from '../pipeline/handlers/item.ts';
import type { Ledger } from '../state/ledger.ts';
import type { KnownTarget } from './connections.ts';
import type { Runtime } from './runtime.ts';

/** States of items; `pending`: no run has processed it yet. */
export const itemStates = [
  'live',
  'quarantined',
  'failed',
  'held',
  'cancelled',
  'draft',
  'removed',
  'pending',
] as const;

export type ItemState = (typeof itemStates)[number];

export const itemStateOf = ({ key, live, reason, removed, nid }: IndexedEntry): ItemState => {
  if (reason?.code === 'held' && kindOfKey(key) === 'resource') return 'held';
  if (live) return 'live';
  if (removed !== null) return 'removed';
  if (reason === null) return nid === null ? 'pending' : 'draft';
  const outcome = outcomeOf(reason);
  return outcome === 'done' || outcome === 'unchanged' ? 'failed' : outcome;
};

interface KnownItem {
  title: string;
  /** Name of its file where it comes from, or on the portal. */
  file: string | null;
  /** Title and file name in lower case, to be searched. */
  words: string;
  state: ItemState;
  /** Code of the reason for its state. */
  code: string | null;
  /** Unix milliseconds of its last change. */
  at: number;
}

export interface TargetItems {
  items: ReadonlyMap<string, KnownItem>;
  counts: Readonly<Partial<Record<ItemState, number>>>;
}

export interface FoundItem extends KnownItem {
  key: string;
  portal: string;
}

interface Known extends TargetItems {
  /** Fingerprint of the target when it was read. */
  sign: string;
  /** Unix milliseconds. */
  readAt: number;
  /** How long that took, milliseconds. */
  ms: number;
}

/** Share of the time that rereading may take at most. */
const share = 1 / 20;
const soonestMs = 1000;
/** Age after which a target is reread even if no run has changed it. */
const longestMs = 5 * 60_000;

/** Reads the ledger of a target on demand once a run has changed it. Takes some 400 bytes of memory per item. */
export class KnownItems {
  readonly #ledger: Pick<Ledger, 'each'>;
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<TargetItems>>();

  constructor(ledger: Pick<Ledger, 'each'>) {
    this.#ledger = ledger;
  }

  /** The items of a target, read again once they may have changed; `sign`: a fingerprint that differs after a change. */
  async of(target: Target, sign: string): Promise<TargetItems> {
    const name = targetName(target);
    const known = this.#known.get(name);
    const age = Date.now() - (known?.readAt ?? 0);
    const isDue = known === undefined || age > longestMs || known.sign !== sign;
    if (known && !(isDue && age > Math.max(soonestMs, known.ms / share))) return known;
    const reading = this.#reading.get(name) ?? this.#read(target, sign).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  /** Items whose key, title or file name holds all words, keys that are the words themselves first; at most `most`. */
  find(words: string, most: number): FoundItem[] {
    const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
    const [exact, others]: [FoundItem[], FoundItem[]] = [[], []];
    if (parts.length === 0) return others;
    for (const [name, { items }] of this.#known) {
      const portal = name.slice(name.indexOf('@') + 1);
      for (const [key, item] of items) {
        if (key === words) exact.push({ ...item, key, portal });
        else if (others.length < most && isAbout(key, item, parts)) others.push({ ...item, key, portal });
      }
    }
    return [...exact, ...others].slice(0, most);
  }

  /** Resources of a dataset on a portal, at most `most`. */
  resourcesOf(dataset: string, target: Target, most: number): FoundItem[] {
    const all = this.#known.get(targetName(target))?.items.entries() ?? [];
    return Iterator.from(all)
      .filter(([key]) => isBelow(key, dataset))
      .take(most)
      .map(([key, item]) => ({ ...item, key, portal: target.portal }))
      .toArray();
  }

  async #read(target: Target, sign: string): Promise<TargetItems> {
    const name = targetName(target);
    const before = this.#known.get(name)?.items;
    const begun = Date.now();
    const items = new Map<string, KnownItem>();
    const counts: Partial<Record<ItemState, number>> = {};
    for await (const { brief, whole } of this.#ledger.each(target)) {
      const same = before?.get(brief.key);
      const item = same?.at === brief.syncedAt ? same : briefOf(brief, whole());
      if (items.has(brief.key)) continue; // a scan may return an entry twice
      items.set(brief.key, item);
      counts[item.state] = (counts[item.state] ?? 0) + 1;
    }
    const known = { items, counts, sign, readAt: Date.now(), ms: Date.now() - begun };
    this.#known.set(name, known);
    return known;
  }
}

const briefOf = (brief: IndexedEntry, entry: LedgerEntry | null): KnownItem => {
  const file = entry?.sourcePath ? basename(entry.sourcePath) : (entry?.file?.name ?? null);
  const { title = '' } = entry ?? {};
  const words = `${title}\n${file ?? ''}`.toLowerCase();
  return { title, file, words, state: itemStateOf(brief), code: brief.reason?.code ?? null, at: brief.syncedAt };
};

/** Keys have no capital letters. */
const isAbout = (key: string, { words }: KnownItem, parts: string[]): boolean =>
  parts.every((part) => key.includes(part) || words.includes(part));

export interface ItemView {
  target: KnownTarget;
  entry: LedgerEntry;
  /** Versions of its table, the live one last. */
  versions: TableVersion[];
  /** The run that processes it now, or did last; '' for none. */
  runId: string;
  /** Lines of its log, each with its time in front. */
  log: string[];
}

export const itemViews = async (runtime: Runtime, key: string): Promise<ItemView[]> => {
  const targets = await runtime.targetsOfKey(key);
  const views = await Promise.all(targets.map((target) => viewOf(runtime, target, key)));
  return views.filter((view) => view !== null);
};

const viewOf = async (runtime: Runtime, target: KnownTarget, key: string): Promise<ItemView | null> => {
  const { ledger, runs } = runtime;
  const entry = await ledger.entry(target.portal, key);
  if (entry === null) return null;
  const [former, runId] = await Promise.all([
    ledger.formerVersions(target.portal, key),
    lastRunOfKey(runtime, target, key),
  ]);
  const log = runId === null ? [] : await runs.log(itemId(runId, key));
  return { target, entry, versions: versionsOf(former, entry.version), runId: runId ?? '', log };
};

/** The run that processes a key now, else the last one that did. */
export const lastRunOfKey = async (
  { gate, runs, ledger }: Pick<Runtime, 'gate' | 'runs' | 'ledger'>,
  target: Target,
  key: string,
): Promise<string | null> => {
  const { current } = await gate.state(target);
  if (current !== null && (await runs.log(itemId(current, key))).length > 0) return current;
  return (await ledger.entry(target.portal, key))?.runId || null;
};
