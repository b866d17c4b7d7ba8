// The ledger in Redis: what is known to be published under each key, how entries are stored, and pending writes.
import type { Redis } from 'ioredis';
import type { ZodType } from 'zod';
import { kindOfKey, manifestOfKey, uuidOfKey } from '../model/key.ts';
import type { FieldWrite, JobWriter } from '../model/lease.ts';
import {
  type IndexedEntry,
  type Intent,
  indexedEntrySchema,
  intentSchema,
  type LedgerEntry,
  ledgerEntrySchema,
  newEntry,
  type SentNode,
  sentNodeSchema,
} from '../model/ledger-entry.ts';
import { type RedisKeys, type Target, targetName, targetOfName } from '../model/redis-keys.ts';
import { type FormerVersions, formerVersionsSchema } from '../model/table-history.ts';
import { parsedJson } from '../util/json.ts';
import { fieldsOf, matching, readField, writeFields } from './redis/fields.ts';
import { RedisScript } from './redis/script.ts';

/** Entries that go in one write. */
const entriesAtOnce = 500;

/** What is recorded together with an entry. */
interface SettledWith {
  /** What was sent by the write. */
  sent?: SentNode | undefined;
  /** Versions of its table before the one that the entry holds; null to forget them. */
  former?: FormerVersions | null | undefined;
}

/** A cache of what the portals hold; it can be rebuilt from them, so an entry of an unknown shape is treated as absent. */
export class Ledger {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #writer: JobWriter | null;

  constructor(redis: Redis, keys: RedisKeys, writer: JobWriter | null = null) {
    this.#redis = redis;
    this.#keys = keys;
    this.#writer = writer;
  }

  /**
   * The ledger in the name of a job: what it writes is refused with JobLostError once another worker has the job. What a
   * portal write led to ({@link settle}, {@link put}) goes along with the next write: a kill before that finds the intent open.
   */
  inNameOf(writer: JobWriter | null): Ledger {
    return new Ledger(this.#redis, this.#keys, writer);
  }

  /** All entries of a target, by key. */
  async entries(target: Target): Promise<Map<string, LedgerEntry>> {
    const entries = new Map<string, LedgerEntry>();
    for await (const [key, value] of fieldsOf(this.#redis, this.#keys.entries(target))) {
      const entry = entryOfStored(key, value);
      if (entry) entries.set(key, entry);
    }
    return entries;
  }

  /** The entries of a target that are not merely live, by key, and how many others there are: Redis sends only the former. */
  async exceptions(target: Target): Promise<{ entries: Map<string, LedgerEntry>; live: number }> {
    const hash = this.#keys.entries(target);
    const sent = new Set<string>();
    const entries = new Map<string, LedgerEntry>();
    for await (const [key, value] of fieldsOf(this.#redis, hash, scanExceptions)) {
      sent.add(key);
      const entry = entryOfStored(key, value);
      if (entry) entries.set(key, entry);
    }
    return { entries, live: Math.max(0, (await this.#redis.hlen(hash)) - sent.size) };
  }

  /** What is known of each key of a target in brief, read in pieces. */
  async index(target: Target): Promise<Map<string, IndexedEntry>> {
    const index = new Map<string, IndexedEntry>();
    for await (const { brief } of this.each(target)) index.set(brief.key, brief);
    return index;
  }

  /**
   * What is known of each key of a target (that begins with `start`) in brief, as it is read; `whole` reads the rest. One
   * that is written meanwhile may come twice.
   */
  async *each(target: Target, start = ''): AsyncGenerator<{ brief: IndexedEntry; whole: () => LedgerEntry | null }> {
    const scan = matching(`${start.replaceAll(/[*?[\]\\]/g, '\\$&')}*`);
    for await (const [key, value] of fieldsOf(this.#redis, this.#keys.entries(target), scan)) {
      const brief = indexedOfStored(key, value);
      if (brief) yield { brief, whole: () => entryOfStored(key, value) };
    }
  }

  /** The entry of a key on a portal, or null. */
  async entry(portal: string, key: string): Promise<LedgerEntry | null> {
    const value = await this.#field(this.#keys.entries(targetOf(portal, key)), key);
    return value && entryOfStored(key, value);
  }

  /** The entries of several keys on a portal, in the order of the keys. */
  entriesOf(portal: string, keys: readonly string[]): Promise<(LedgerEntry | null)[]> {
    return Promise.all(keys.map((key) => this.entry(portal, key)));
  }

  /** Writes any number of entries. */
  async putAll(portal: string, entries: readonly LedgerEntry[]): Promise<void> {
    for (let at = 0; at < entries.length; at += entriesAtOnce) {
      const fields = entries.slice(at, at + entriesAtOnce).map((entry) => this.#entryField(portal, entry));
      await writeFields(this.#redis, this.#writer, fields);
    }
  }

  /** Writes an entry. */
  async put(portal: string, entry: LedgerEntry): Promise<void> {
    await this.#writeLater([this.#entryField(portal, entry)]);
  }

  /** The open intent of a key, or null. */
  async intent(portal: string, key: string): Promise<Intent | null> {
    return intentOf(await this.#field(this.#keys.intents(targetOf(portal, key)), key));
  }

  /** Entry and open intent of a key as of one moment. */
  async known(portal: string, key: string): Promise<{ entry: LedgerEntry | null; intent: Intent | null }> {
    const target = targetOf(portal, key);
    // Both are written together, so that neither is read before the other is sent.
    await this.#writer?.catchUp({ hash: this.#keys.entries(target), field: key });
    const read = this.#redis
      .multi()
      .hgetBuffer(this.#keys.entries(target), key)
      .hgetBuffer(this.#keys.intents(target), key);
    const [entry, intent] = ((await read.exec()) ?? []).map(([error, value]) => {
      if (error) throw error;
      return value as Buffer | null; // what HGET gives
    });
    return { entry: entry ? entryOfStored(key, entry) : null, intent: intentOf(intent ?? null) };
  }

  /** Records that a write begins; must be awaited before the request is sent. */
  async begin(portal: string, key: string, intent: Intent): Promise<void> {
    const write = { hash: this.#keys.intents(targetOf(portal, key)), field: key, value: JSON.stringify(intent) };
    await writeFields(this.#redis, this.#writer, [write]);
  }

  /** Records what a write led to, and what goes along with it, and closes its intent, all or nothing. */
  async settle(portal: string, entry: LedgerEntry, { sent, former }: SettledWith = {}): Promise<void> {
    const target = targetOf(portal, entry.key);
    await this.#writeLater([
      this.#entryField(portal, entry),
      { hash: this.#keys.intents(target), field: entry.key, value: null },
      ...(sent ? [{ hash: this.#keys.sent(target), field: entry.key, value: JSON.stringify(sent) }] : []),
      ...(former === undefined
        ? []
        : [{ hash: this.#keys.history(target), field: entry.key, value: former && JSON.stringify(former) }]),
    ]);
  }

  #entryField(portal: string, entry: LedgerEntry): FieldWrite {
    return { hash: this.#keys.entries(targetOf(portal, entry.key)), field: entry.key, value: storedEntry(entry) };
  }

  async #writeLater(writes: FieldWrite[]): Promise<void> {
    if (this.#writer) this.#writer.writeLater(writes);
    else await writeFields(this.#redis, null, writes);
  }

  #field(hash: string, field: string): Promise<Buffer | null> {
    return readField(this.#redis, hash, field, this.#writer);
  }

  /** What was sent last for a key, or null. */
  async sentFor(portal: string, key: string): Promise<SentNode | null> {
    const value = await this.#field(this.#keys.sent(targetOf(portal, key)), key);
    return (value && sentNodeSchema.safeParse(parsedJson(`${value}`)).data) ?? null;
  }

  /** What was sent last for several keys, in the order of the keys. */
  sentOf(portal: string, keys: readonly string[]): Promise<(SentNode | null)[]> {
    return Promise.all(keys.map((key) => this.sentFor(portal, key)));
  }

  /** Versions of the table of a key before the one that its entry holds; null where there are none. */
  async formerVersions(portal: string, key: string): Promise<FormerVersions | null> {
    const value = await this.#field(this.#keys.history(targetOf(portal, key)), key);
    return (value && formerVersionsSchema.safeParse(parsedJson(`${value}`)).data) ?? null;
  }

  /** Moves everything known under one key to another, in one transaction; the node keeps its uuid. */
  async rename(portal: string, from: LedgerEntry, to: string): Promise<void> {
    const target = targetOf(portal, from.key);
    const [sent, former] = await Promise.all(
      [this.#keys.sent(target), this.#keys.history(target)].map((hash) => this.#redis.hgetBuffer(hash, from.key)),
    );
    const moved = (hash: string, value: FieldWrite['value']): FieldWrite[] => [
      { hash, field: from.key, value: null },
      ...(value ? [{ hash, field: to, value }] : []),
    ];
    await writeFields(this.#redis, this.#writer, [
      ...moved(this.#keys.entries(target), storedEntry({ ...from, key: to, missingSince: null })),
      ...moved(this.#keys.sent(target), sent ?? null),
      ...moved(this.#keys.history(target), former ?? null),
      { hash: this.#keys.intents(target), field: from.key, value: null },
    ]);
  }

  /** Address of the portal that the ledger of a target describes; null where it was not noted yet. */
  addressOf(target: Target): Promise<string | null> {
    return this.#redis.hget(this.#keys.addresses, targetName(target));
  }

  /** Notes the address of the portal that the ledger of a target describes. */
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

  /** Remembers where the manifest of a target is. */
  async remember(target: Target, manifestPath: string): Promise<void> {
    await this.#note(this.#keys.targets, target, manifestPath);
  }

  #note(hash: string, target: Target, value: string): Promise<void> {
    return writeFields(this.#redis, this.#writer, [{ hash, field: targetName(target), value }]);
  }

  /** Every target that was ever run, with the path of its manifest. */
  async targets(): Promise<(Target & { manifestPath: string })[]> {
    const paths = await this.#redis.hgetall(this.#keys.targets);
    return Object.entries(paths)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, manifestPath]) => {
        const target = targetOfName(name);
        return target.manifest && target.portal ? [{ ...target, manifestPath }] : [];
      });
  }
}

/**
 * KEYS: the entries of a target. ARGV: cursor and count of HSCAN. The first line of an entry tells those that are live with
 * nothing else to say of them, see {@link storedEntry}.
 */
const exceptionsScript = new RedisScript(`
local reply = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local found = {}
for at = 2, #reply[2], 2 do
  local value = reply[2][at]
  local head = string.sub(value, 1, (string.find(value, '\\n', 1, true) or 1) - 1)
  local has = function(text) return string.find(head, text, 1, true) end
  if not has('"live":true') or has('"reason":') or has('"removed":') or has('"missingSince":') then
    found[#found + 1] = reply[2][at - 1]
    found[#found + 1] = value
  end
end
return {reply[1], found}
`);

const scanExceptions = (redis: Redis, hash: string, cursor: string, count: number) =>
  exceptionsScript.runBuffer(redis, [hash], [cursor, count]) as Promise<[Buffer, Buffer[]]>; // what the script gives

const targetOf = (portal: string, key: string): Target => ({ manifest: manifestOfKey(key), portal });

const intentOf = (value: Buffer | null): Intent | null =>
  (value && intentSchema.safeParse(JSON.parse(value.toString())).data) ?? null;

/** The value of an entry in the hash of its target: what {@link IndexedEntry} holds as JSON, and on the next line the rest; without what is empty. */
export const storedEntry = (entry: LedgerEntry): string => {
  const empty: Stored = { ...emptyEntry(entry.key) };
  const known = Object.entries(entry).filter(([name, value]) => name === 'title' || !isSame(value, empty[name]));
  const { head = [], rest = [] } = Object.groupBy(known, ([name]) =>
    name in indexedEntrySchema.shape ? 'head' : 'rest',
  );
  return [head, rest].map((fields) => JSON.stringify(Object.fromEntries(fields))).join('\n');
};

/** The entry of a stored value; null for one of an unknown shape. */
export const entryOfStored = (key: string, value: Buffer): LedgerEntry | null => {
  const lines = value.toString().split('\n');
  const [head, rest] = lines.map((line) => parsedJson(line) as Stored | null | undefined);
  if (rest?.title === undefined) return null;
  return parsed(ledgerEntrySchema, { ...emptyEntry(key), ...head, ...rest });
};

/** What {@link IndexedEntry} holds of a stored value; null for one of an unknown shape. */
export const indexedOfStored = (key: string, value: Buffer): IndexedEntry | null => {
  const head = parsedJson(value.toString().split('\n', 1)[0] ?? '') as Stored | null | undefined;
  return parsed(indexedEntrySchema, { ...emptyBrief, key, uuid: uuidOfKey(key), ...head });
};

const emptyBrief = indexedEntrySchema
  .omit({ key: true, uuid: true })
  .parse(newEntry({ key: '', kind: 'dataset', uuid: '', title: '' }));

type Stored = Record<string, unknown>;

const emptyEntry = (key: string): LedgerEntry =>
  newEntry({ key, kind: kindOfKey(key), uuid: uuidOfKey(key), title: '' });

/** Empty lists and objects are the same wherever they stand. */
const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));

const parsed = <T>(schema: ZodType<T>, stored: object): T | null => schema.safeParse(stored).data ?? null;
