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
import { dividedFields, fieldsOf, plainWriter, storedAs } from './redis/fields.ts';

const entriesAtOnce = 500;

/** In the text of an entry, in the order of its schema; parsing all entries would take most of the time of `status`. */
const merelyLive = '"live":true,"stale":false,"reason":null,"removed":null,"missingSince":null';

interface WrittenWith {
  sent?: SentNode | undefined;
  /** Versions of its table before the one that the entry holds; null to forget them. */
  former?: FormerVersions | null | undefined;
}

/** A cache of what the portals hold; it can be rebuilt from them, so an entry of an unknown shape is treated as absent. */
export interface Ledger extends ReturnType<typeof ledgerWith> {
  /**
   * The ledger for one job: what it writes is refused with JobLostError once another worker has the job. What a portal write
   * led to (`settle`, `put`) goes along with the next write: a kill before that finds the write pending.
   */
  forJob(writer: JobWriter | null): Ledger;
}

export const ledgerIn = (redis: Redis, keys: RedisKeys, writer: StateWriter | null = null): Ledger => ({
  ...ledgerWith(redis, keys, writer ?? plainWriter(redis)),
  forJob: (own) => ledgerIn(redis, keys, own),
});

const ledgerWith = (redis: Redis, keys: RedisKeys, writer: StateWriter) => {
  /**
   * The entries of a target, as they are read: only those of keys that begin with `start`, and that hold all `words`, in
   * lower case, anywhere. One that is written meanwhile may come twice.
   */
  async function* each(target: Target, { start = '', words = [] }: { start?: string; words?: readonly string[] } = {}) {
    const match = `${start.replaceAll(/[*?[\]\\]/g, '\\$&')}*`;
    const stored = words.map((word) => JSON.stringify(word).slice(1, -1));
    for await (const [, value] of fieldsOf(redis, keys.entries(target), match)) {
      const text = `${value}`;
      if (!stored.every((word) => text.toLowerCase().includes(word))) continue;
      const entry = storedAs(ledgerEntrySchema, text);
      if (entry) yield entry;
    }
  }

  const fieldOf = async <T>(hash: string, field: string, schema: z.ZodType<T>): Promise<T | null> =>
    storedAs(schema, await writer.read({ hash, field }, () => redis.hgetBuffer(hash, field)));

  const entry = (portal: string, key: string): Promise<LedgerEntry | null> =>
    fieldOf(keys.entries(targetOf(portal, key)), key, ledgerEntrySchema);

  const sentFor = (portal: string, key: string): Promise<SentNode | null> =>
    fieldOf(keys.sent(targetOf(portal, key)), key, sentNodeSchema);

  const entryField = (portal: string, entry: LedgerEntry): FieldWrite => ({
    hash: keys.entries(targetOf(portal, entry.key)),
    field: entry.key,
    value: JSON.stringify(entry),
  });

  /** Writes an entry, and what goes along with it, all or nothing. */
  const put = async (portal: string, entry: LedgerEntry, { sent, former }: WrittenWith = {}): Promise<LedgerEntry> => {
    const target = targetOf(portal, entry.key);
    await writer.writeLater([
      entryField(portal, entry),
      ...(sent ? [{ hash: keys.sent(target), field: entry.key, value: JSON.stringify(sent) }] : []),
      ...(former === undefined
        ? []
        : [{ hash: keys.history(target), field: entry.key, value: former && JSON.stringify(former) }]),
    ]);
    return entry;
  };

  /** Where what is known of a target is, the entries first. */
  const hashesOf = (target: Target): string[] => [keys.entries(target), keys.sent(target), keys.history(target)];

  const note = (hash: string, target: Target, value: string): Promise<void> =>
    writer.write([{ hash, field: targetName(target), value }]);

  return {
    each,
    entry,
    sentFor,
    put,

    entries: async (target: Target): Promise<Map<string, LedgerEntry>> =>
      new Map(await Array.fromAsync(each(target), (entry) => [entry.key, entry] as const)),

    /** The entries of a target by key, without those that are seen to be merely live, and how many these are. */
    exceptions: async (target: Target): Promise<{ entries: Map<string, LedgerEntry>; live: number }> => {
      const { having, others } = await dividedFields(redis, keys.entries(target), merelyLive);
      const entries = new Map<string, LedgerEntry>();
      for (const [key, value] of others) {
        const entry = storedAs(ledgerEntrySchema, value);
        if (entry) entries.set(key, entry);
      }
      return { entries, live: having.size };
    },

    index: async (target: Target): Promise<Map<string, IndexedEntry>> => {
      const index = new Map<string, IndexedEntry>();
      for await (const [key, value] of fieldsOf(redis, keys.entries(target))) {
        const entry = storedAs(indexedEntrySchema, value);
        if (entry) index.set(key, entry);
      }
      return index;
    },

    entriesOf: (portal: string, of: readonly string[]): Promise<(LedgerEntry | null)[]> =>
      Promise.all(of.map((key) => entry(portal, key))),

    putAll: async (portal: string, entries: readonly LedgerEntry[]): Promise<void> => {
      for (let at = 0; at < entries.length; at += entriesAtOnce)
        await writer.write(entries.slice(at, at + entriesAtOnce).map((entry) => entryField(portal, entry)));
    },

    /** Records that a write begins; must be awaited before the request is sent. */
    begin: async (portal: string, entry: LedgerEntry, write: Omit<Pending, 'at'>): Promise<LedgerEntry> => {
      const begun = { ...entry, pending: { ...write, at: Date.now() } };
      await writer.write([entryField(portal, begun)]);
      return begun;
    },

    /** As `put`, of an entry of which no write is pending any more. */
    settle: (portal: string, entry: LedgerEntry, more: WrittenWith = {}): Promise<LedgerEntry> =>
      put(portal, { ...entry, pending: null }, more),

    sentOf: (portal: string, of: readonly string[]): Promise<(SentNode | null)[]> =>
      Promise.all(of.map((key) => sentFor(portal, key))),

    /** Versions of the table of a key before the one that its entry holds; null where there are none. */
    formerVersions: (portal: string, key: string): Promise<FormerVersions | null> =>
      fieldOf(keys.history(targetOf(portal, key)), key, formerVersionsSchema),

    /** Moves everything known under one key to another, in one transaction; the node keeps its uuid. */
    rename: async (portal: string, from: LedgerEntry, to: string): Promise<void> => {
      const hashes = hashesOf(targetOf(portal, from.key));
      const [, ...others] = await Promise.all(hashes.map((hash) => redis.hgetBuffer(hash, from.key)));
      const moved = [JSON.stringify({ ...from, key: to, missingSince: null }), ...others];
      await writer.write([
        ...hashes.map((hash) => ({ hash, field: from.key, value: null })),
        ...hashes.map((hash, at) => ({ hash, field: to, value: moved[at] ?? null })),
      ]);
    },

    forget: (target: Target, key: string): Promise<void> =>
      writer.write(hashesOf(target).map((hash) => ({ hash, field: key, value: null }))),

    /** Address of the portal that the ledger of a target describes; null where it was not noted yet. */
    addressOf: (target: Target): Promise<string | null> => redis.hget(keys.addresses, targetName(target)),

    setAddress: (target: Target, url: string): Promise<void> => note(keys.addresses, target, url),

    /** Remembers when a target was compared with the portal's own listing, or first published, Unix milliseconds. */
    refreshed: (target: Target, at: number): Promise<void> => note(keys.refreshed, target, String(at)),

    /** When a target was last compared with the portal's listing; 0 where that is not known, null where nothing is published. */
    refreshedAt: async (target: Target): Promise<number | null> => {
      const known = await redis.hget(keys.refreshed, targetName(target));
      if (known !== null) return Number(known);
      return (await redis.hlen(keys.entries(target))) === 0 ? null : 0;
    },

    remember: (target: Target, manifestPath: string): Promise<void> => note(keys.targets, target, manifestPath),

    /** Every target that was ever run, with the path of its manifest. */
    targets: async (): Promise<(Target & { manifestPath: string })[]> => {
      const paths = Object.entries(await redis.hgetall(keys.targets)).sort(([a], [b]) => byName(a, b));
      return paths.flatMap(([name, manifestPath]) => {
        const target = targetOfName(name);
        return target.manifest && target.portal ? [{ ...target, manifestPath }] : [];
      });
    },
  };
};

const targetOf = (portal: string, key: string): Target => ({ manifest: manifestOfKey(key), portal });
