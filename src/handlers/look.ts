// Looks at everything a plan is made of: wishes, ledger, files, and when asked the portal's own listing. Writes nothing.
import { SluiceError } from '../errors.ts';
import type { Fetcher } from '../fetch/fetch.ts';
import { fingerprintFile } from '../intake/fingerprint.ts';
import type { LedgerEntry, SourceFingerprint } from '../ledger/entry.ts';
import type { Target } from '../ledger/keys.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Knowledge, ListedNode } from '../plan/plan.ts';
import type { Portal } from '../portal/client.ts';
import type { DatasetWish } from '../wish.ts';
import { lookAtAddresses } from './look-addresses.ts';

/** Files and list pages that are looked at together. */
const filesAtOnce = 8;
const pagesAtOnce = 4;
const pageSize = 20;

/** What is looked at. */
export interface LookParts {
  ledger: Ledger;
  target: Target;
  wishes: DatasetWish[];
  /** Asked for its listing; null: it is not asked. */
  portal: Portal | null;
  fetcher: Fetcher;
  /** Servers of addresses are not believed when they call a file unchanged. */
  isDoubted?: boolean;
  /** Files of resources without a node are left to their jobs, which read them anyway, where no other node may become theirs. */
  leavesNew?: boolean;
  /** Called as soon as it is known that something was never published, before the files are looked at. */
  onNews?: () => void;
}

/** Looks at ledger, files and addresses for the wishes of a target. */
export const lookAt = async (parts: LookParts, signal: AbortSignal): Promise<Knowledge> => {
  const { ledger, target, wishes, portal, fetcher, isDoubted = false, leavesNew = false, onNews } = parts;
  const [entries, sent] = await Promise.all([ledger.entries(target), ledger.sent(target)]);
  if (wishes.some(({ key }) => !entries.has(key))) onNews?.();
  const [sources, addresses, listed] = await Promise.all([
    lookAtFiles(leavesNew ? published(wishes, entries) : wishes, entries, signal),
    lookAtAddresses(wishes, entries, { fetcher, signal, isDoubted }),
    portal ? listNodes(portal, signal) : null,
  ]);
  for (const [key, source] of addresses.unchanged) sources.set(key, source);
  return { entries, sent, sources, listed, addresses: addresses.others };
};

/** Every node the listing shows, by nid; several pages at once until one comes back short. */
const listNodes = async (portal: Portal, signal: AbortSignal): Promise<Map<string, ListedNode>> => {
  const listed = new Map<string, ListedNode>();
  const fields = ['nid', 'uuid', 'vid', 'changed', 'status', 'title'];
  const orderBy = { column: 'nid', direction: 'ASC' } as const;
  for (let first = 0; ; first += pagesAtOnce) {
    const pages = await Promise.all(
      Array.from({ length: pagesAtOnce }, (_, index) =>
        portal.listNodes({ fields, page: first + index, pageSize, orderBy }, signal),
      ),
    );
    for (const row of pages.flat()) listed.set(row.nid, row);
    if (pages.some((page) => page.length < pageSize)) return listed;
  }
};

/** The wishes without the resources that have no node; all of them while a node that nobody wishes may be one of theirs. */
const published = (wishes: DatasetWish[], entries: ReadonlyMap<string, LedgerEntry>): DatasetWish[] => {
  const wished = new Set(wishes.flatMap((wish) => [wish, ...wish.resources]).map(({ key }) => key));
  if ([...entries.values()].some(({ key, nid }) => nid !== null && !wished.has(key))) return wishes;
  return wishes.map((wish) => ({ ...wish, resources: wish.resources.filter(({ key }) => entries.get(key)?.nid) }));
};

const lookAtFiles = async (
  wishes: DatasetWish[],
  entries: ReadonlyMap<string, LedgerEntry>,
  signal: AbortSignal,
): Promise<Map<string, SourceFingerprint | null>> => {
  const sources = new Map<string, SourceFingerprint | null>();
  const files = wishes.flatMap((wish) => wish.resources).filter((resource) => resource.source.kind === 'file');
  const next = files.values();
  const look = async (): Promise<void> => {
    for (const resource of next) {
      if (resource.source.kind !== 'file') continue;
      const known = entries.get(resource.key)?.source ?? null;
      sources.set(resource.key, await fingerprintOrNull(resource.source.path, known, signal));
    }
  };
  await Promise.all(Array.from({ length: filesAtOnce }, look));
  return sources;
};

/** A file that cannot be read is the fault of its own job, which tells the reason. */
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
