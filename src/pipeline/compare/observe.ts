// Observes what a plan compares with the ledger: files, addresses, tables, the listing of the portal. Writes nothing.
import { datastoreState } from '../../dataset-api/values.ts';
import { SluiceError } from '../../model/errors.ts';
import type { LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { isAnswer, isForbidden, type Portal, type TableSize } from '../../portal-client/client.ts';
import { fileOf } from '../../portal-client/replies.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import type { Fetcher } from '../../sources/fetch/fetch.ts';
import { acceptFor } from '../../sources/fetch/fetched-files.ts';
import { shown } from '../../sources/fetch/policy.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import {
  type AddressLook,
  type FileDrift,
  type KnownState,
  type ListedNode,
  type Observed,
  otherAddress,
} from '../plan/plan.ts';
import { sameUuid } from './node.ts';
import { brokenFile, brokenTable, fileFault } from './prove.ts';

/** Files and list pages that are checked together. */
const filesAtOnce = 8;
const pagesAtOnce = 4;

interface ObserveOptions {
  fetcher: Fetcher;
  /** The portal's listing by uuid in lower case, to which hidden nodes are added; null: it was not asked. */
  listed?: Map<string, ListedNode> | null;
  /** Asked for the sizes of imported tables, and for nodes that it does not list; null: it is not asked. */
  portal?: Portal | null;
  /** True: the state of each datastore is requested as well, one request for each. */
  readsStates?: boolean;
  /** The portal's files are looked at, one request for each; those that servers call unchanged are fetched and compared all the same. */
  isDoubted?: boolean;
  /** Skips files of resources without a node: their jobs read them anyway. */
  leavesNew?: boolean;
}

/** Observes the files, addresses and tables of wishes. */
export const observe = async (
  wishes: readonly DatasetWish[],
  entries: KnownState['entries'],
  options: ObserveOptions,
  signal: AbortSignal,
): Promise<Observed> => {
  const { listed = null, portal = null } = options;
  const sources = new Map<string, SourceFingerprint | null>();
  const addresses = new Map<string, AddressLook>();
  const resources = wishes.flatMap((wish) => wish.resources);
  const [, , drift] = await Promise.all([
    eachAtOnce(resources, filesAtOnce, async ({ key, source }) => {
      const entry = entries.get(key);
      // A file that the portal did not accept is only sent again once it changes.
      const isNew = !entry?.nid && !entry?.refused;
      if (source.kind !== 'file' || (options.leavesNew && isNew)) return;
      sources.set(key, await fingerprintOrNull(source.path, entry?.source ?? null, signal));
    }),
    eachAtOnce(resources, addressesAtOnce, async ({ key, source }) => {
      const entry = entries.get(key);
      // New ones are fetched anyway.
      if (source.kind !== 'url' || !entry?.source || !entry.fetched) return;
      const look = await observeAddress(source.url, entry.fetched, options, signal);
      if (look === null) sources.set(key, entry.source);
      else addresses.set(key, look);
    }),
    portal ? observeResources(portal, publishedOf(wishes, entries), options, signal) : undefined,
    portal && listed ? addHidden(portal, listed, { wishes, entries }, signal) : null,
  ]);
  return { entries, sources, listed, addresses, ...(drift ? { drift } : {}) };
};

type Published = LedgerEntry & { nid: string };

const publishedOf = (wishes: readonly DatasetWish[], entries: ReadonlyMap<string, LedgerEntry>): Published[] =>
  wishes.flatMap(({ resources }) =>
    resources.flatMap(({ key }) => {
      const entry = entries.get(key);
      return entry?.nid && entry.removed === null ? [{ ...entry, nid: entry.nid }] : [];
    }),
  );

/** Adds live nodes that lists hide from this account, such as what was unpublished by hand. */
const addHidden = async (
  portal: Portal,
  listed: Map<string, ListedNode>,
  { wishes, entries }: { wishes: readonly DatasetWish[]; entries: ReadonlyMap<string, LedgerEntry> },
  signal: AbortSignal,
): Promise<void> => {
  const all = wishes.flatMap((wish) => [wish, ...wish.resources]).flatMap(({ key }) => entries.get(key) ?? []);
  const hidden = all.filter(({ uuid, live }) => live && !listed.has(uuid.toLowerCase()));
  await eachAtOnce(hidden, pagesAtOnce, async ({ nid, uuid }) => {
    const node = nid === null ? null : await portal.nodes.visible(nid, signal);
    if (node && sameUuid(node.uuid, uuid)) listed.set(uuid.toLowerCase(), node);
  });
};

/** What others did to files and imported tables. */
const observeResources = async (
  portal: Portal,
  entries: readonly Published[],
  { readsStates, isDoubted }: ObserveOptions,
  signal: AbortSignal,
): Promise<Map<string, FileDrift>> => {
  const drift = new Map<string, FileDrift>();
  const uuids = entries.filter(({ datastore }) => datastore === 'imported').map(({ uuid }) => uuid);
  const sizes = uuids.length === 0 ? new Map() : await portal.datastore.tableSizes(uuids, signal);
  await eachAtOnce(entries, pagesAtOnce, async (entry) => {
    const ofFile = isDoubted ? await faultOfFile(portal, entry, signal) : null;
    if (ofFile !== null) drift.set(entry.key, { why: ofFile, broken: brokenFile });
    if (ofFile !== null || entry.datastore !== 'imported') return;
    const ofTable =
      faultOfRows(entry, sizes.get(entry.uuid)) ?? (readsStates ? await stateFault(portal, entry.nid, signal) : null);
    if (ofTable !== null) drift.set(entry.key, { why: ofTable, broken: brokenTable });
  });
  return drift;
};

const faultOfFile = async (portal: Portal, entry: Published, signal: AbortSignal): Promise<string | null> => {
  const node = entry.file && (await portal.nodes.visible(entry.nid, signal));
  return node && entry.file && sameUuid(node.uuid, entry.uuid) ? fileFault(fileOf(node), entry.file) : null;
};

const faultOfRows = ({ rows }: Published, size: TableSize | null | undefined): string | null =>
  size === undefined || rows === null || (size?.rows ?? 0) === rows
    ? null
    : `its datastore holds ${size?.rows ?? 'no'} rows, ${rows} were imported`;

/** Why the state of a table does not show that it is imported; null where it does, or its node is gone. */
const stateFault = async (portal: Portal, nid: string, signal: AbortSignal): Promise<string | null> => {
  try {
    const status = await portal.datastore.status(nid, signal);
    const state = status === null ? 'imported' : datastoreState(status);
    return state === 'imported' ? null : `its datastore is not imported (${state})`;
  } catch (error) {
    if (isAnswer(error, 'node-gone')) return null;
    if (isForbidden(error)) return `its datastore cannot be read: ${error.message}`;
    throw error;
  }
};

/** Every node the listing shows, by uuid in lower case. */
export const listNodes = async (portal: Portal, signal: AbortSignal): Promise<Map<string, ListedNode>> => {
  const fields = ['nid', 'uuid', 'vid', 'changed', 'status', 'title'];
  const { rows } = await portal.nodes.all({ fields }, { signal, atOnce: pagesAtOnce });
  return new Map(rows.values().map((row) => [row.uuid.toLowerCase(), row]));
};

/** An unreadable file is reported by its own job. */
const fingerprintOrNull = async (
  path: string,
  known: SourceFingerprint | null,
  signal: AbortSignal,
): Promise<SourceFingerprint | null> => {
  try {
    return await fingerprintFile(path, known, signal);
  } catch (error) {
    if (error instanceof SluiceError) return null;
    throw error;
  }
};

/** Addresses that are requested at once; each host also has its own limit. */
const addressesAtOnce = 16;

/** Null where the published version is still current. What cannot be read is reported by its own job. */
const observeAddress = async (
  url: string,
  known: NonNullable<LedgerEntry['fetched']>,
  { fetcher, isDoubted }: ObserveOptions,
  signal: AbortSignal,
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
