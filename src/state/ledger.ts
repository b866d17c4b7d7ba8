// The ledger in Redis: what is known to be published under each key, with the write that is pending.
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import { manifestOfKey } from '../model/key.ts';
import type { FieldWrite, JobWriter, StateWriter } from '../model/lease.ts';
import {
  type IndexedEntry,
  indexedEntrySchema,
  type LedgerEntry,
  ledgerEntrySchema,
  type Pending,
  type SentNode,
  sentNodeSchema,
} from '../model/ledger-entry.ts';
import { type RedisKeys, type Target, targetName, targetOfName } from '../model/redis-keys.ts';
import { type FormerVersions, formerVersionsSchema } from '../model/table-history.ts';
import { byName } from '../util/natural.ts';
import { fieldsOf, plainWriter, storedAs } from './redis/fields.ts';

const entriesAtOnce = 500;

/** In the text of an entry, in the order of its schema; parsing all entries would take most of the time of `status`. */
const merelyLive = '"live":true,"stale":false,"reason":null,"removed":null,"missingSince":null';

interface WrittenWith {
  sent?: SentNode | undefined;
  /** Versions of its table before the one that the entry holds; null to forget them. */
  former?: FormerVersions | null | undefined;
}

/** A cache of what the portals hold; it can be rebuilt from them, so an entry of an unknown shape is treated as absent. */
export class Ledger {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #writer: StateWriter;

  constructor(redis: Redis, keys: RedisKeys, writer: JobWriter | null = null) {
    this.#redis = redis;
    this.#keys = keys;
    this.#writer = writer ?? plainWriter(redis);
  }

  /**
   * The ledger for one job: what it writes is refused with JobLostError once another worker has the job. What a portal write
   * led to ({@link settle}, {@link put}) goes along with the next write: a kill before that finds the write pending.
   */
  forJob(writer: JobWriter | null): Ledger {
    return new Ledger(this.#redis, this.#keys, writer);
  }

  async entries(target: Target): Promise<Map<string, LedgerEntry>> {
    const entries = new Map<string, LedgerEntry>();
    for await (const entry of this.each(target)) entries.set(entry.key, entry);
    return entries;
  }

  /** The entries of a target by key, without those that are seen to be merely live, and how many these are. */
  async exceptions(target: Target): Promise<{ entries: Map<string, LedgerEntry>; live: number }> {
    const entries = new Map<string, LedgerEntry>();
    const live = new Set<string>();
    for await (const [key, value] of fieldsOf(this.#redis, this.#keys.entries(target))) {
      const entry = value.includes(merelyLive) ? 'live' : storedAs(ledgerEntrySchema, value);
      if (entry === 'live') live.add(key);
      else if (entry) entries.set(key, entry);
    }
    return { entries, live: live.size };
  }

  async index(target: Target): Promise<Map<string, IndexedEntry>> {
    const index = new Map<string, IndexedEntry>();
    for await (const [key, value] of fieldsOf(this.#redis, this.#keys.entries(target))) {
      const entry = storedAs(indexedEntrySchema, value);
      if (entry) index.set(key, entry);
    }
    return index;
  }

  /**
   * The entries of a target, as they are read: only those of keys that begin with `start`, and that hold all `words`, in
   * lower case, anywhere. One that is written meanwhile may come twice.
   */
  async *each(
    target: Target,
    { start = '', words = [] }: { start?: string; words?: readonly string[] } = {},
  ): AsyncGenerator<LedgerEntry> {
    const match = `${start.replaceAll(/[*?[\]\\]/g, '\\$&')}*`;
    const stored = words.map((word) => JSON.stringify(word).slice(1, -1));
    for await (const [, value] of fieldsOf(this.#redis, this.#keys.entries(target), match)) {
      const text = `${value}`;
      if (!stored.every((word) => text.toLowerCase().includes(word))) continue;
      const entry = storedAs(ledgerEntrySchema, text);
      if (entry) yield entry;
    }
  }

  async entry(portal: string, key: string): Promise<LedgerEntry | null> {
    return this.#field(this.#keys.entries(targetOf(portal, key)), key, ledgerEntrySchema);
  }

  entriesOf(portal: string, keys: readonly string[]): Promise<(LedgerEntry | null)[]> {
    return Promise.all(keys.map((key) => this.entry(portal, key)));
  }

  async putAll(portal: string, entries: readonly LedgerEntry[]): Promise<void> {
    for (let at = 0; at < entries.length; at += entriesAtOnce)
      await this.#writer.write(entries.slice(at, at + entriesAtOnce).map((entry) => this.#entryField(portal, entry)));
  }

  /** Writes an entry, and what goes along with it, all or nothing. */
  async put(portal: string, entry: LedgerEntry, { sent, former }: WrittenWith = {}): Promise<LedgerEntry> {
    const target = targetOf(portal, entry.key);
    await this.#writer.writeLater([
      this.#entryField(portal, entry),
      ...(sent ? [{ hash: this.#keys.sent(target), field: entry.key, value: JSON.stringify(sent) }] : []),
      ...(former === undefined
        ? []
        : [{ hash: this.#keys.history(target), field: entry.key, value: former && JSON.stringify(former) }]),
    ]);
    return entry;
  }

  /** Records that a write begins; must be awaited before the request is sent. */
  async begin(portal: string, entry: LedgerEntry, write: Omit<Pending, 'at'>): Promise<LedgerEntry> {
    const begun = { ...entry, pending: { ...write, at: Date.now() } };
    await this.#writer.write([this.#entryField(portal, begun)]);
    return begun;
  }

  /** As {@link put}, of an entry of which no write is pending any more. */
  settle(portal: string, entry: LedgerEntry, more: WrittenWith = {}): Promise<LedgerEntry> {
    return this.put(portal, { ...entry, pending: null }, more);
  }

  #entryField(portal: string, entry: LedgerEntry): FieldWrite {
    return { hash: this.#keys.entries(targetOf(portal, entry.key)), field: entry.key, value: JSON.stringify(entry) };
  }

  async #field<T>(hash: string, field: string, schema: z.ZodType<T>): Promise<T | null> {
    return storedAs(schema, await this.#writer.read({ hash, field }, () => this.#redis.hgetBuffer(hash, field)));
  }

  async sentFor(portal: string, key: string): Promise<SentNode | null> {
    return this.#field(this.#keys.sent(targetOf(portal, key)), key, sentNodeSchema);
  }

  sentOf(portal: string, keys: readonly string[]): Promise<(SentNode | null)[]> {
    return Promise.all(keys.map((key) => this.sentFor(portal, key)));
  }

  /** Versions of the table of a key before the one that its entry holds; null where there are none. */
  async formerVersions(portal: string, key: string): Promise<FormerVersions | null> {
    return this.#field(this.#keys.history(targetOf(portal, key)), key, formerVersionsSchema);
  }

  /** Moves everything known under one key to another, in one transaction; the node keeps its uuid. */
  async rename(portal: string, from: LedgerEntry, to: string): Promise<void> {
    const hashes = this.#hashesOf(targetOf(portal, from.key));
    const [, ...others] = await Promise.all(hashes.map((hash) => this.#redis.hgetBuffer(hash, from.key)));
    const moved = [JSON.stringify({ ...from, key: to, missingSince: null }), ...others];
    await this.#writer.write([
      ...hashes.map((hash) => ({ hash, field: from.key, value: null })),
      ...hashes.map((hash, at) => ({ hash, field: to, value: moved[at] ?? null })),
    ]);
  }

  async forget(target: Target, key: string): Promise<void> {
    await this.#writer.write(this.#hashesOf(target).map((hash) => ({ hash, field: key, value: null })));
  }

  /** Where what is known of a target is, the entries first. */
  #hashesOf(target: Target): string[] {
    return [this.#keys.entries(target), this.#keys.sent(target), this.#keys.history(target)];
  }

  /** Address of the portal that the ledger of a target describes; null where it was not noted yet. */
  addressOf(target: Target): Promise<string | null> {
    return this.#redis.hget(this.#keys.addresses, targetName(target));
  }

  async setAddress(target: Target, url: string): Promise<void> {
    await this.#note(this.#keys.addresses, target, url);
  }

  /** Remembers when a target was compared with the portal's own listing, or first published, Unix milliseconds. */
  async refreshed(target: Target, at: number): Promise<void> {
    await this.#note(this.#keys.refreshed, target, String(at));
  }

  /** When a target was last compared with the portal's listing; 0 where that is not known, null where nothing is published. */
  async refreshedAt(target: Target): Promise<number | null> {
    const known = await this.#redis.hget(this.#keys.refreshed, targetName(target));
    if (known !== null) return Number(known);
    return (await this.#redis.hlen(this.#keys.entries(target))) === 0 ? null : 0;
  }

  async remember(target: Target, manifestPath: string): Promise<void> {
    await this.#note(this.#keys.targets, target, manifestPath);
  }

  #note(hash: string, target: Target, value: string): Promise<void> {
    return this.#writer.write([{ hash, field: targetName(target), value }]);
  }

  /** Every target that was ever run, with the path of its manifest. */
  async targets(): Promise<(Target & { manifestPath: string })[]> {
    const paths = await this.#redis.hgetall(this.#keys.targets);
    return Object.entries(paths)
      .sort(([a], [b]) => byName(a, b))
      .flatMap(([name, manifestPath]) => {
        const target = targetOfName(name);
        return target.manifest && target.portal ? [{ ...target, manifestPath }] : [];
      });
  }
}

const targetOf = (portal: string, key: string): Target => ({ manifest: manifestOfKey(key), portal });
