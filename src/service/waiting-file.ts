// Files of watched folders that are not published yet: what of them is known, and why they wait.
import { stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isBelow, resourceKey } from '../model/key.ts';
import type { LedgerEntry } from '../model/ledger-entry.ts';
import { placeRule } from '../sources/drop/drop-target.ts';
import { type Claim, foldersOf, inSpool, listClaims } from '../sources/drop/spool.ts';
import { type DropManifest, isDropManifest } from '../sources/manifest/schema.ts';
import { durationWords } from '../util/quantity.ts';
import { type InboxViewOfService, readInboxViews } from './inboxes.ts';
import { knownManifests } from './manifests.ts';
import type { Runtime } from './runtime.ts';

const anyPlace = placeRule({ files: ['**'] });

const takenText =
  'not live yet: taken from the inbox\n-> `sluice runs` shows its run; if that was cancelled, `sluice run-now` publishes the file';

/** `drop` of an inbox that nobody watches: its rules; null where a service does. */
type KnownInbox = Pick<InboxViewOfService, 'manifest' | 'folder' | 'left' | 'settling' | 'settleMs'> & {
  drop: DropManifest['drop'] | null;
};

/** Inboxes as the services that watch them see them, and those of known manifests that nobody watches. */
export const knownInboxes = async (runtime: Runtime): Promise<KnownInbox[]> => {
  const views = await readInboxViews(runtime);
  const drops = (await knownManifests(runtime)).filter(isDropManifest);
  const others = drops.filter(({ name }) => !views.some(({ manifest }) => manifest === name));
  const unseen = { left: [], settling: [], settleMs: 0 };
  return [
    ...views.map((view) => ({ ...view, drop: null })),
    ...others.map(({ name, drop }) => ({ manifest: name, folder: drop.folder, drop, ...unseen })),
  ];
};

/** Why a file waits that has not been taken. */
const waitOf = ({ manifest, settleMs, drop }: KnownInbox, path: string) => {
  const settle = `not live yet: waiting until the file is complete: unchanged for ${durationWords(settleMs)}`;
  if (drop === null) return { state: 'settling' as const, why: settle };
  const place = placeRule(drop)(path);
  if (place.kind === 'left') return ignoredFor(place);
  const todo = `\`sluice start\` takes it, or \`sluice run-now ${manifest}\` now`;
  const why = `not live yet: waits in the inbox of ${manifest}, which nobody watches\n-> ${todo}`;
  return { state: 'unwatched' as const, why };
};

const ignoredFor = ({ reason }: { reason: string }) => ({
  state: 'ignored' as const,
  why: `not live: ignored in the inbox: ${reason}`,
});

type Wanted = { what: string; path: string; items?: LedgerEntry[] } | Pick<LedgerEntry, 'key' | 'sourcePath'>;

/** The path in a watched folder, '' where only the key is known; null where the folder is none for it. */
const placeIn = (folder: string, manifest: string, of: Wanted): string | null => {
  const unknown = isBelow('key' in of ? of.key : of.what, manifest) ? '' : null;
  if ('key' in of) return unknown === null ? null : (inSpool(of.sourcePath ?? '')?.dropped ?? '');
  const dropped = relative(folder, of.path);
  return dropped.startsWith('..') ? unknown : dropped;
};

/** A file of watched folders that is not published yet, by its path, or newer than that of an item; null for none. */
export const waitingFile = async (inboxes: readonly KnownInbox[], of: Wanted) => {
  // Items that are known are each looked up by their key; beside them only the path counts.
  const [what, key] = 'key' in of ? [of.key, of.key] : [of.what, of.items ? null : of.what];
  for (const inbox of inboxes) {
    const { folder, manifest, left, settling } = inbox;
    const dropped = placeIn(folder, manifest, of);
    if (dropped === null) continue;
    const waiting = { what, manifest, portal: null, runId: null, since: null };
    const ignored = left.find(({ path }) => path === dropped);
    if (ignored) return { ...waiting, ...ignoredFor(ignored) };
    // In the spool is also what an item is made of, and its run says how that goes on; of a new one that is all there is.
    const isMeant = (claim: Claim): boolean => {
      const isOfKey = resourceKey(manifest, claim.dataset, claim.resource) === key;
      if ('key' in of) return isOfKey && dropped !== '' && claim.path !== of.sourcePath;
      return (isOfKey || claim.dropped === dropped) && !of.items?.some(({ sourcePath }) => sourcePath === claim.path);
    };
    const claimed = (await listClaims(foldersOf(folder).spool)).findLast(isMeant);
    if (claimed) return { ...waiting, state: 'in progress' as const, since: claimed.claimedAt, why: takenText };
    const seen = settling.find((file) => file.path === dropped || file.key === key);
    const path = seen?.path ?? dropped;
    // By their names, no inbox takes faulty and unfinished files, metadata and markers.
    const isForInbox = ['file', 'left'].includes(anyPlace(path).kind);
    const found = isForInbox ? await stat(join(folder, path)).catch(() => null) : null;
    // What a view of a second ago has seen may have been taken since; of a path that means it is being recorded.
    if (!found?.isFile() && (!seen || 'key' in of)) continue;
    return { ...waiting, since: seen?.since ?? null, ...waitOf(inbox, path) };
  }
  return null;
};
