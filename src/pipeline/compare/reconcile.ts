// Verifies all wishes of a manifest against the portal; results may be written to the ledger.
import { PortalError, PortalLoginError } from '../../model/errors.ts';
import { type LedgerEntry, newEntry, type SourceFingerprint } from '../../model/ledger-entry.ts';
import type { Target } from '../../model/redis-keys.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import type { Portal, PortalNode } from '../../portal-client/client.ts';
import { fileOf } from '../../portal-client/replies.ts';
import type { Fetcher } from '../../sources/fetch/fetch.ts';
import type { Ledger } from '../../state/ledger.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { ownersOf, withKnownNames, withKnownUuids } from '../plan/known-wish.ts';
import { type FindOptions, type Found, findNode } from './find.ts';
import { type KnownFile, type LocalFile, type LocalTools, withLocalFile } from './local-file.ts';
import { linkedNids, type NodeWish, nodeOf } from './node.ts';
import { observe } from './observe.ts';
import { type Proof, proveGroups, proveLinks, proveNodeOnly, proveResource } from './prove.ts';

export interface Reconciled {
  key: string;
  found: Found | { how: 'known'; nid: string };
  /** Null where no node was found that this key may have. */
  proof: Proof | null;
}

export interface ReconcileOptions extends LocalTools {
  target: Target;
  wishes: DatasetWish[];
  ledger: Ledger;
  portal: Portal;
  fetcher: Fetcher;
  /** How nodes are searched for; null: only those in the ledger are checked. */
  find: FindOptions | null;
  /** Download and hash the files. */
  content: boolean;
  concurrency: number;
}

interface Reconciling extends ReconcileOptions {
  entries: ReadonlyMap<string, LedgerEntry>;
  sources: ReadonlyMap<string, SourceFingerprint | null>;
  /** Uuids of all resources. */
  wished: ReadonlySet<string>;
}

/** Proves every wish; writes nothing, neither to the portal nor to the ledger. */
export const reconcile = async (options: ReconcileOptions): Promise<Reconciled[]> => {
  const { signal } = options;
  const entries = await options.ledger.entries(options.target);
  const { sources } = await observe(options.wishes, entries, { fetcher: options.fetcher }, signal);
  const named = withKnownNames(options.wishes, { entries, sources });
  const wishes = options.find ? named : withKnownUuids(named, entries, ownersOf(entries.values()));
  const wished = new Set(wishes.flatMap(({ resources }) => resources.map(({ uuid }) => uuid)));
  const all = { ...options, entries, sources, wished };
  const results = await eachAtOnce(wishes, options.concurrency, (wish) => reconcileDataset(all, wish));
  return oneKeyEach(results.flat(), entries);
};

/** A node belongs to one key: by the ledger, then by identity, then by title; one that two match by title is neither's. */
const oneKeyEach = (results: Reconciled[], entries: ReadonlyMap<string, LedgerEntry>): Reconciled[] => {
  const owners = new Map<string, string>();
  for (const { key, nid } of entries.values()) if (nid !== null) owners.set(nid, key);
  for (const { key, found } of results) {
    if ((found.how === 'uuid' || found.how === 'mark' || found.how === 'mapping') && !owners.has(found.nid))
      owners.set(found.nid, key);
  }
  const titled = Map.groupBy(results, ({ found }) => (found.how === 'title' ? found.nid : null));
  return results.map((result) => {
    const { key, found } = result;
    if (!('nid' in found) || found.how === 'known') return result;
    const rival = found.how === 'title' ? titled.get(found.nid)?.find((other) => other.key !== key) : null;
    const by = owners.get(found.nid) ?? rival?.key ?? key;
    return by === key ? result : { key, found: { how: 'taken', node: found.nid, by }, proof: null };
  });
};

const reconcileDataset = async (all: Reconciling, wish: DatasetWish): Promise<Reconciled[]> => {
  const node = nodeOf('dataset', wish, await all.portal.resolveGroups(wish.fields, all.signal));
  const found = await locate(all, node, null);
  const nid = 'nid' in found ? found.nid : null;
  const proof =
    nid === null
      ? null
      : await orFault(node, () => proveNodeOnly(all, node, { nid, known: all.entries.get(wish.key) }));
  const resources = await Array.fromAsync(wish.resources, async (resource) =>
    proveFound(all, resource, await locate(all, nodeOf('resource', resource), nid)),
  );
  if (all.find?.byTitle === false && proof?.node) {
    // Those that were not found may be our nodes below the dataset that hold the same bytes.
    const lost = wish.resources.filter((_, at) => resources[at]?.found.how === 'none');
    const renamed = await findRenamed(all, proof.node, lost);
    for (const [at, resource] of wish.resources.entries()) {
      const under = renamed.get(resource.key);
      if (under !== undefined) resources[at] = await proveFound(all, resource, { how: 'content', nid: under });
    }
  }
  const links = resources.flatMap(({ proof: resource }) => resource?.entry.nid ?? []);
  const nodes = resources.flatMap((resource) => resource.proof?.node ?? []);
  const linked = proof && proveGroups(proveLinks(proof, links), node, nodes);
  // Nodes are not kept until all datasets are done.
  return [{ key: wish.key, found, proof: linked }, ...resources].map((result) => ({
    ...result,
    proof: result.proof && { ...result.proof, node: null },
  }));
};

/**
 * Nodes of resources that were not found by identity, by key: of those below the dataset that we wrote for this manifest and
 * that no wish names any more. They belong together when the last write was that of the wish, or else their bytes are the same
 * and no other node or wish has them.
 */
const findRenamed = async (all: Reconciling, dataset: PortalNode, wishes: ResourceWish[]) => {
  const { portal, signal, wished, target } = all;
  const found = new Map<string, string>();
  if (wishes.length === 0) return found;
  const listed = await Promise.all(linkedNids(dataset).map((nid) => portal.nodes.read(nid, signal)));
  const nodes = listed.filter(({ uuid, log }) => !wished.has(uuid) && log.startsWith(`sluice ${target.manifest}/`));
  const idIn = (name = ''): string | undefined => name.split('/').at(-1); // the dataset may have had another name
  for (const { key } of wishes) {
    const node = nodes.find(({ log }) => idIn(log.split(' ')[1]) === idIn(key));
    if (node) found.set(key, node.nid);
  }
  const taken = new Set(found.values());
  const free = nodes.filter(({ nid }) => !taken.has(nid));
  const same: { key: string; nid: string }[] = [];
  for (const wish of free.length === 0 ? [] : wishes.filter(({ key }) => !found.has(key))) {
    const sent = await withLocalFile(wish, knownFile(all, wish), all, async (local) => local.sent);
    for (const node of free)
      if (await hasBytes(node, sent, portal, signal)) same.push({ key: wish.key, nid: node.nid });
  }
  const isOnly = (name: 'key' | 'nid', value: string): boolean =>
    same.filter((each) => each[name] === value).length === 1;
  for (const { key, nid } of same) if (isOnly('key', key) && isOnly('nid', nid)) found.set(key, nid);
  return found;
};

const hasBytes = async (node: PortalNode, sent: LocalFile['sent'], portal: Portal, signal: AbortSignal) => {
  const file = fileOf(node);
  if (!sent || file?.filesize !== sent.bytes) return false;
  return (await portal.fileHash(typeof file.uri === 'string' ? file.uri : '', signal)) === sent.sha256;
};

const proveFound = async (all: Reconciling, wish: ResourceWish, found: Reconciled['found']): Promise<Reconciled> => {
  const { key } = wish;
  if (!('nid' in found)) return { key, found, proof: null };
  const node = nodeOf('resource', wish);
  const at = { nid: found.nid, known: all.entries.get(key) };
  const prove = () => withLocalFile(wish, knownFile(all, wish), all, (local) => proveResource(all, node, at, local));
  return { key, found, proof: await orFault(node, prove) };
};

/** A request that fails on the portal is a fault of that item; the others are still checked. */
const orFault = async ({ key, uuid, title, type }: NodeWish, prove: () => Promise<Proof>): Promise<Proof> => {
  try {
    return await prove();
  } catch (error) {
    if (!(error instanceof PortalError) || error instanceof PortalLoginError || error.request.status === undefined)
      throw error;
    const entry = newEntry({ key, uuid, title, kind: type });
    return { entry, faults: [`cannot be read: ${error.message}`], sent: null, broken: null, node: null };
  }
};

const knownFile = ({ target, entries, sources }: Reconciling, { key }: ResourceWish): KnownFile => ({
  portal: target.portal,
  entry: entries.get(key),
  source: sources.get(key) ?? null,
});

const locate = async ({ find, portal, signal, entries }: Reconciling, wish: NodeWish, within: string | null) => {
  const nid = entries.get(wish.key)?.nid ?? null;
  if (nid !== null) return { how: 'known' as const, nid };
  return find ? findNode(portal, { wish, within }, find, signal) : { how: 'none' as const };
};
