// Observes what a plan compares with the ledger: files, addresses, tables, the listing of the portal. Writes nothing.
import { orNull, PortalGoneError, SluiceError } from '../../model/errors.ts';
import type { LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import type { DatasetWish } from '../../model/wish.ts';
import type { Portal, PortalTable } from '../../portal-client/client.ts';
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
import { brokenFile, brokenTable, fileFault, toldOf } from './prove.ts';

/** What is looked at together: files, list pages, and addresses, of which each host also has its own limit. */
const [filesAtOnce, pagesAtOnce, addressesAtOnce] = [8, 4, 16];

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
  const known = [...wishes, ...resources].flatMap(({ key }) => entries.get(key) ?? []);
  const [, , drift] = await Promise.all([
    eachAtOnce(resources, filesAtOnce, async ({ key, source }) => {
      const entry = entries.get(key);
      // A file that the portal did not accept is only sent again once it changes.
      const isNew = !entry?.nid && !entry?.refused;
      // It is made once the tables of its dataset are published.
      if (source.kind === 'changes' && entry?.source) sources.set(key, entry.source);
      if (source.kind !== 'file' || (options.leavesNew && isNew)) return;
      // An unreadable file is reported by its own job.
      sources.set(key, await orNull(fingerprintFile(source.path, entry?.source ?? null, signal)));
    }),
    eachAtOnce(resources, addressesAtOnce, async ({ key, source }) => {
      const entry = entries.get(key);
      // New ones are fetched anyway.
      if (source.kind !== 'url' || !entry?.source || !entry.fetched) return;
      const look = await observeAddress(source.url, entry.fetched, options, signal);
      if (look === null) sources.set(key, entry.source);
      else addresses.set(key, look);
    }),
    portal ? observeResources(portal, known, options, signal) : undefined,
    portal && listed ? addHidden(portal, listed, known, signal) : null,
  ]);
  return { entries, sources, listed, addresses, ...(drift ? { drift } : {}) };
};

/** Adds live nodes that lists hide from this account, such as what was unpublished by hand. */
const addHidden = async (
  portal: Portal,
  listed: Map<string, ListedNode>,
  entries: readonly LedgerEntry[],
  signal: AbortSignal,
): Promise<void> => {
  const hidden = entries.filter(({ uuid, live }) => live && !listed.has(uuid.toLowerCase()));
  await eachAtOnce(hidden, pagesAtOnce, async ({ nid, uuid }) => {
    const node = nid === null ? null : await portal.nodes.visible(nid, signal);
    if (node && sameUuid(node.uuid, uuid)) listed.set(uuid.toLowerCase(), node);
  });
};

const observeResources = async (
  portal: Portal,
  entries: readonly LedgerEntry[],
  { readsStates, isDoubted }: ObserveOptions,
  signal: AbortSignal,
): Promise<Map<string, FileDrift>> => {
  const drift = new Map<string, FileDrift>();
  const published = entries.filter(({ kind, nid, removed }) => kind === 'resource' && nid && removed === null);
  const uuids = published.filter(({ datastore }) => datastore === 'imported').map(({ uuid }) => uuid);
  const sizes = await portal.datastore.tables(uuids, signal);
  await eachAtOnce(published, pagesAtOnce, async ({ key, nid, uuid, file, datastore, rows }) => {
    const node = isDoubted && file ? await portal.nodes.visible(nid ?? '', signal) : null;
    const ofFile = node && file && sameUuid(node.uuid, uuid) ? fileFault(fileOf(node), file) : null;
    if (ofFile !== null) drift.set(key, { why: ofFile, broken: brokenFile });
    if (ofFile !== null || datastore !== 'imported') return;
    const why = rowsFault(rows, sizes.get(uuid)) ?? (readsStates ? await stateFault(portal, nid ?? '', signal) : null);
    if (why !== null) drift.set(key, { why, broken: brokenTable });
  });
  return drift;
};

const rowsFault = (rows: number | null, size: PortalTable | null | undefined): string | null =>
  size === undefined || rows === null || (size?.rows ?? 0) === rows
    ? null
    : `its datastore holds ${size?.rows ?? 'no'} rows, ${rows} were imported`;

/** Why the state of a table does not show that it is imported; null where it does, or its node is gone. */
const stateFault = async (portal: Portal, nid: string, signal: AbortSignal): Promise<string | null> =>
  (await orNull(toldOf(portal, nid, signal), [PortalGoneError]))?.fault ?? null;

/** Every node the listing shows, by uuid in lower case. */
export const listNodes = async (portal: Portal, signal: AbortSignal): Promise<Map<string, ListedNode>> => {
  const fields = ['nid', 'uuid', 'vid', 'changed', 'status', 'title'];
  const { rows } = await portal.nodes.all({ fields }, { signal, atOnce: pagesAtOnce });
  return new Map(rows.values().map((row) => [row.uuid.toLowerCase(), row]));
};

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
