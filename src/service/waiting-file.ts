// Files of watched folders that are not published yet: what of them is known, and why they wait.
import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isBelow, manifestOfKey, resourceKey } from '../model/key.ts';
import type { LedgerEntry } from '../model/ledger-entry.ts';
import { placeRule } from '../sources/drop/drop-target.ts';
import { type Claim, foldersOf, inSpool, listClaims } from '../sources/drop/spool.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { durationWords } from '../util/quantity.ts';
import { type InboxViewOfService, readInboxViews } from './inboxes.ts';
import type { Runtime } from './runtime.ts';

const anyPlace = placeRule({ files: ['**'] });

const takenText =
  'not live yet: taken from the inbox\n-> `sluice runs` shows its run; if that was cancelled, `sluice run-now` publishes the file';

/** `settleMs` is null where nobody watches the inbox. */
type KnownInbox = Pick<InboxViewOfService, 'manifest' | 'folder' | 'left' | 'settling'> & { settleMs: number | null };

const passedOver =
  'hidden files, locks and unfinished files are passed over (names that begin with `.` or `~`, or end in `~`, `.part` or `.tmp`): rename it, or move it';

const unwatched = { left: [], settling: [], settleMs: null };

/** Inboxes as the services that watch them see them, and what those of the manifests are to a path. */
export const inboxesFor = async (runtime: Runtime, path: string, manifests: readonly Manifest[]) => {
  const views = await readInboxViews(runtime);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile();
  const drops = manifests.filter(isDropManifest);
  const others = views.filter(({ manifest }) => !drops.some(({ name }) => manifest === name));
  const known = drops.map(({ name: manifest, drop }) => {
    const view = views.find((each) => each.manifest === manifest) ?? { ...unwatched, manifest, folder: drop.folder };
    const dropped = relative(drop.folder, path);
    const place = isFile ? placeRule(drop)(dropped) : null;
    const isPassedOver = place?.kind === 'ignored' && !dropped.startsWith('_faulty/');
    const reason = place?.kind === 'left' ? place.reason : isPassedOver ? passedOver : null;
    return reason === null ? view : { ...view, left: [...view.left, { path: dropped, reason }] };
  });
  return [...others, ...known];
};

/** Of an item whose inbox no service watches, that inbox, by the path of its file in the spool. */
const withOwn = (known: readonly KnownInbox[], of: Wanted): readonly KnownInbox[] => {
  const spooled = 'key' in of ? inSpool(of.sourcePath ?? '') : null;
  const manifest = 'key' in of ? manifestOfKey(of.key) : '';
  if (spooled === null || known.some((each) => each.manifest === manifest)) return known;
  return [{ ...unwatched, manifest, folder: spooled.folders.inbox }];
};

const waitOf = ({ manifest, settleMs }: KnownInbox) => {
  const settles = `not live yet: waiting until the file is complete: unchanged for ${durationWords(settleMs ?? 0)}`;
  const waits = `not live yet: waits in the inbox of ${manifest}, which nobody watches\n-> \`sluice start\` takes it, or \`sluice run-now ${manifest}\` now`;
  return settleMs === null
    ? ({ state: 'unwatched', why: waits } as const)
    : ({ state: 'settling', why: settles } as const);
};

type Wanted = { what: string; path: string; items?: LedgerEntry[] } | Pick<LedgerEntry, 'key' | 'sourcePath'>;

/** The path in a watched folder, '' where only the key is known; null where the folder is none for it. */
const placeIn = (folder: string, manifest: string, of: Wanted): string | null => {
  const unknown = isBelow('key' in of ? of.key : of.what, manifest) ? '' : null;
  if ('key' in of) return unknown === null ? null : (inSpool(of.sourcePath ?? '')?.dropped ?? '');
  const dropped = relative(folder, of.path);
  return dropped.startsWith('..') ? unknown : dropped;
};

/** A file of watched folders that is not published yet, by its path, or newer than that of an item; null for none. */
export const waitingFile = async (known: readonly KnownInbox[], of: Wanted) => {
  // Items that are known are each looked up by their key; beside them only the path counts.
  const [what, key] = 'key' in of ? [of.key, of.key] : [of.what, of.items ? null : of.what];
  for (const inbox of withOwn(known, of)) {
    const { folder, manifest, left, settling } = inbox;
    const dropped = placeIn(folder, manifest, of);
    if (dropped === null) continue;
    const waiting = { what, manifest, portal: null, runId: null, since: null };
    const ignored = left.find(({ path }) => path === dropped);
    if (ignored)
      return { ...waiting, state: 'ignored' as const, why: `not live: ignored in the inbox: ${ignored.reason}` };
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
    // What a view of a second ago has seen may have been taken since, and be published; else it is being recorded.
    const isPublished = !seen || 'key' in of || of.items?.some(({ syncedAt }) => syncedAt > seen.since);
    if (!found?.isFile() && isPublished) continue;
    return { ...waiting, since: seen?.since ?? null, ...waitOf(inbox) };
  }
  return null;
};
