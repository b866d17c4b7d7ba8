// Ledger entries as they are stored: without what is empty or follows from the key; what every plan reads in front.
import type { ZodType } from 'zod';
import { kindOfKey, uuidOfKey } from '../model/key.ts';
import {
  type IndexedEntry,
  indexedEntrySchema,
  type LedgerEntry,
  ledgerEntrySchema,
  newEntry,
} from '../model/ledger-entry.ts';
import { pack, unpack, unpackHead, withOwnUuid, withoutOwnUuid } from './packed.ts';

/** The value of an entry in the hash of its target. */
export const storedEntry = (entry: LedgerEntry): Buffer => {
  const empty: Stored = { ...emptyEntry(entry.key) };
  const known = Object.entries(entry).filter(([name, value]) => name === 'title' || !isSame(value, empty[name]));
  const { head = [], rest = [] } = Object.groupBy(known, ([name]) =>
    name in indexedEntrySchema.shape ? 'head' : 'rest',
  );
  return pack(withoutOwnUuid(entry.key, Object.fromEntries(rest)), Object.fromEntries(head));
};

/** The entry of a stored value; null for one of an unknown shape. */
export const entryOfStored = (key: string, value: Buffer): LedgerEntry | null => {
  const stored = withOwnUuid(key, withNamesOfToday(unpack(value) as Stored));
  return 'title' in stored ? parsed(ledgerEntrySchema, { ...emptyEntry(key), ...stored }) : null;
};

/** What {@link IndexedEntry} holds of a stored value; null for one of an unknown shape. */
export const indexedOfStored = (key: string, value: Buffer): IndexedEntry | null => {
  const head = unpackHead(value) as Stored;
  return parsed(indexedEntrySchema, { ...emptyBrief, key, uuid: head.uuid ?? uuidOfKey(key), ...head });
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

/** Earlier versions had other names for two of them. */
const withNamesOfToday = (stored: Stored): Stored => {
  const refused = stored.refused as Stored | null | undefined;
  if (!('beside' in stored) && !(refused && 'offer' in refused)) return stored;
  const { beside, ...others } = stored;
  const { offer, ...file } = refused ?? {};
  return {
    ...others,
    ...(beside === undefined ? {} : { baseline: beside }),
    ...(offer === undefined ? {} : { refused: { ...file, importFingerprint: offer } }),
  };
};

const parsed = <T>(schema: ZodType<T>, stored: object): T | null => schema.safeParse(stored).data ?? null;
