// All known items, in brief and in memory: counted by state and searched, without reading the ledger again; one item
// in full.
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { itemId } from '../model/job.ts';
import { isBelow, kindOfKey } from '../model/key.ts';
import type { IndexedEntry, LedgerEntry } from '../model/ledger-entry.ts';
import { type Target, targetName } from '../model/redis-keys.ts';
import { type TableVersion, versionsOf } from '../model/table-history.ts';
import { outcomeOf } from '../pipeline/handlers/item.ts';
import type { Ledger } from '../state/ledger.ts';
import type { KnownTarget, Runtime } from './runtime.ts';

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

/** The state of an item. */
export const itemStateOf = ({ key, live, reason, removed, nid }: IndexedEntry): ItemState => {
  if (reason?.code === 'held' && kindOfKey(key) === 'resource') return 'held';
  if (live) return 'live';
  if (removed !== null) return 'removed';
  if (reason === null) return nid === null ? 'pending' : 'draft';
  const outcome = outcomeOf(reason);
  return outcome === 'done' || outcome === 'unchanged' ? 'failed' : outcome;
};

/** An item in brief. */
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

/** The items of a target. */
export interface TargetItems {
  /** When they were read, Unix milliseconds. */
  readAt: number;
  items: ReadonlyMap<string, KnownItem>;
  counts: Readonly<Partial<Record<ItemState, number>>>;
}

/** A search result. */
export interface FoundItem extends KnownItem {
  key: string;
  portal: string;
}

interface Known extends TargetItems {
  /** Fingerprint of the target when it was read. */
  sign: string;
  /** How long that took, milliseconds. */
  ms: number;
}

/** Share of the time that rereading may take at most. */
const share = 1 / 20;
const soonestMs = 1000;
/** How long a request waits for a read, and the longest previous read that is worth waiting for, milliseconds. */
const [patienceMs, quickMs] = [500, 80];
/** Targets that are read at once, so that a thousand of them leave time for requests. */
const lanes = 4;
/** Age after which a target is reread even if no run has changed it. */
const longestMs = 5 * 60_000;

const nothing: Known = { items: new Map(), counts: {}, sign: '', readAt: 0, ms: 0 };

/**
 * Reads the ledger of a target on demand once a run has changed it; only changed entries are read in full. Takes some 400
 * bytes of memory per item until {@link KnownItems.forget}.
 */
export class KnownItems {
  readonly #ledger: Pick<Ledger, 'each'>;
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<void>>();
  readonly #lanes: Promise<void>[] = [];
  #turns = 0;

  constructor(ledger: Pick<Ledger, 'each'>) {
    this.#ledger = ledger;
  }

  /**
   * The items of a target as of its last read, null before the first has ended. `sign`: a fingerprint that differs after a
   * change.
   */
  of(target: Target, sign: string): TargetItems | null {
    const name = targetName(target);
    const known = this.#known.get(name);
    const age = Date.now() - (known?.readAt ?? 0);
    const isDue =
      known === undefined || age > longestMs || (known.sign !== sign && age > Math.max(soonestMs, known.ms / share));
    if (isDue && !this.#reading.has(name)) {
      const lane = this.#turns++ % lanes;
      const reading = (this.#lanes[lane] ?? Promise.resolve())
        .then(() => this.#read(target, sign))
        .finally(() => this.#reading.delete(name));
      this.#lanes[lane] = reading.catch(() => undefined);
      reading.catch(() => undefined); // reported to those who wait
      this.#reading.set(name, reading);
    }
    return known ?? null;
  }

  /** As {@link KnownItems.of}, but waits up to `waitMs` for a first read, and for later ones if they are quick. */
  async latest(target: Target, sign: string, waitMs = patienceMs): Promise<TargetItems | null> {
    this.of(target, sign);
    const name = targetName(target);
    const isQuick = (this.#known.get(name)?.ms ?? 0) <= quickMs;
    const reading = this.#reading.get(name);
    if (reading && isQuick) await Promise.race([reading, sleep(waitMs)]);
    return this.#known.get(name) ?? null;
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
    const found: FoundItem[] = [];
    for (const [key, item] of this.#known.get(targetName(target))?.items ?? []) {
      if (found.length === most) break;
      if (isBelow(key, dataset)) found.push({ ...item, key, portal: target.portal });
    }
    return found;
  }

  /** Frees what is kept. */
  forget(): void {
    this.#known.clear();
  }

  async #read(target: Target, sign: string): Promise<void> {
    const name = targetName(target);
    const before = this.#known.get(name) ?? nothing;
    const begun = Date.now();
    const items = new Map<string, KnownItem>();
    const counts: Partial<Record<ItemState, number>> = {};
    for await (const { brief, whole } of this.#ledger.each(target)) {
      const known = before.items.get(brief.key);
      const item = known?.at === brief.syncedAt ? known : briefOf(brief, whole());
      if (items.has(brief.key)) continue; // a scan may return an entry twice
      items.set(brief.key, item);
      counts[item.state] = (counts[item.state] ?? 0) + 1;
    }
    this.#known.set(name, { items, counts, sign, readAt: Date.now(), ms: Date.now() - begun });
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

/** An item on one portal. */
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

/** An item on each portal where it is known. */
export const itemViews = async (runtime: Runtime, key: string): Promise<ItemView[]> => {
  const targets = await runtime.targetsOfKey(key);
  const views = await Promise.all(targets.map((target) => viewOf(runtime, target, key)));
  return views.filter((view) => view !== null);
};

const viewOf = async (runtime: Runtime, target: KnownTarget, key: string): Promise<ItemView | null> => {
  const { ledger, jobLogs } = runtime;
  const entry = await ledger.entry(target.portal, key);
  if (entry === null) return null;
  const [former, runId] = await Promise.all([
    ledger.formerVersions(target.portal, key),
    lastRunOfKey(runtime, target, key),
  ]);
  const log = runId === null ? [] : await jobLogs.read(itemId(runId, key));
  return { target, entry, versions: versionsOf(former, entry.version), runId: runId ?? '', log };
};

/** The run that processes a key now, else the last one that did. */
export const lastRunOfKey = async (
  { gate, jobLogs, ledger }: Pick<Runtime, 'gate' | 'jobLogs' | 'ledger'>,
  target: Target,
  key: string,
): Promise<string | null> => {
  const { current } = await gate.state(target);
  if (current !== null && (await jobLogs.read(itemId(current, key))).length > 0) return current;
  return (await ledger.entry(target.portal, key))?.runId || null;
};
