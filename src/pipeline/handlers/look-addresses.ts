// Asks the servers of `url` resources whether they still give the version that is published. Nothing is fetched.
import { SluiceError } from '../../model/errors.ts';
import type { LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { shown } from '../../sources/fetch/failures.ts';
import type { Fetcher } from '../../sources/fetch/fetch.ts';
import { acceptFor } from '../../sources/fetch/fetched-files.ts';
import { eachAtOnce } from '../../util/each-at-once.ts';
import { type AddressLook, otherAddress } from '../plan/plan.ts';

/** Addresses that are asked together; each host has its own pace besides. */
const addressesAtOnce = 16;

/** What was found out: the published fingerprint where the address still gives it, else what is known of the change. */
export interface AddressesSeen {
  unchanged: Map<string, SourceFingerprint>;
  others: Map<string, AddressLook>;
}

/** How they are asked. */
export interface LookHow {
  fetcher: Fetcher;
  signal: AbortSignal;
  /** What servers say about versions is not trusted: everything is fetched and compared. */
  isDoubted: boolean;
}

/** Asks for all resources with a `url` that were published before; new ones are fetched anyway. */
export const lookAtAddresses = async (
  wishes: readonly DatasetWish[],
  entries: ReadonlyMap<string, LedgerEntry>,
  { fetcher, signal, isDoubted }: LookHow,
): Promise<AddressesSeen> => {
  const seen: AddressesSeen = { unchanged: new Map(), others: new Map() };
  const resources = wishes.flatMap((wish) => wish.resources);
  await eachAtOnce(resources, addressesAtOnce, async ({ key, source }) => {
    const entry = entries.get(key);
    if (source.kind !== 'url' || !entry?.source || !entry.fetched) return;
    const look = await lookAtAddress(source.url, entry.fetched, { fetcher, signal, isDoubted });
    if (look === null) seen.unchanged.set(key, entry.source);
    else seen.others.set(key, look);
  });
  return seen;
};

/** Null where the known version is the present one. What cannot be read is the fault of its own job, which reports the reason. */
const lookAtAddress = async (
  url: string,
  known: NonNullable<LedgerEntry['fetched']>,
  { fetcher, signal, isDoubted }: LookHow,
): Promise<AddressLook | null> => {
  if (known.url !== url) return onlyBytesTell(otherAddress);
  if (isDoubted) return onlyBytesTell('fetched and compared, as requested');
  if (known.etag === null && known.lastModified === null)
    return onlyBytesTell('its server offers no versions: fetched and compared');
  try {
    const looked = await fetcher.look(url, { known, signal, name: known.name, accept: acceptFor(known.name) });
    if (looked.status === 'unchanged') return null;
    const version = [looked.validators.etag, looked.validators.lastModified].filter(Boolean).join(' ') || null;
    return { isOther: true, bytes: looked.bytes ?? 0, why: `${shown(new URL(url))} gives another version`, version };
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return onlyBytesTell(error.message);
  }
};

const onlyBytesTell = (why: string): AddressLook => ({ isOther: false, bytes: 0, why, version: null });
