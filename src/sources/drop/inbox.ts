// The inbox: a watched folder whose settled files are claimed, each once, none partial, and handed over in batches.
import { randomBytes } from 'node:crypto';
import { lstat, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/config.ts';
import { errorMessage, SourceRefusedError } from '../../model/errors.ts';
import { resourceKey } from '../../model/key.ts';
import type { Log } from '../../model/log.ts';
import { gone, makeFolder, unless, writeDurably } from '../../util/files.ts';
import type { DropManifest } from '../manifest/schema.ts';
import { completeClaims, isSpooled, takeFile } from './claim.ts';
import { collisionFinder, defaultMarker, droppedNames, listedFolders, placeOf, placeRule } from './drop-target.ts';
import { describedBadly } from './gather-drop.ts';
import { inboxView, isMarked, lookAt, type Settler, snapshotOf, watchFolder } from './inbox-view.ts';
import {
  adoptUnfinished,
  beat,
  beatMs,
  type Claim,
  claimId,
  claimPaths,
  countClaims,
  foldersOf,
  type InboxFolders,
  listClaims,
  pairSpool,
} from './spool.ts';

interface InboxOptions {
  manifest: DropManifest;
  settings: Config['inbox'];
  /** Pairs the spool with one Redis. */
  spoolId: string;
  /** One call per batch of files that settled together; a batch that throws is handed over again by the next rescan. */
  onClaimed: (claims: Claim[]) => Promise<void>;
  log: Log;
}

const [eventMs, afterFailureMs] = [25, 5000];

/** Unix ms that never runs backwards while the process lives. */
const now = (): number => Math.round(performance.timeOrigin + performance.now());

export type Inbox = Awaited<ReturnType<typeof openInbox>>;

/**
 * Opens the inbox of a drop manifest: makes its folders, pairs the spool, takes over what a killed watcher left, and watches
 * until closed. Claims found complete in the spool are handed over (again) with the first batch.
 *
 * @throws StateMismatchError when the spool belongs to another Redis
 * @throws SourceRefusedError when the folder cannot be made or written, or its `.sluice` or `_faulty` is not a plain folder
 */
export const openInbox = async (options: InboxOptions) => {
  const folders = await makeFolders(options.manifest.drop.folder, options.log);
  await pairSpool(folders.spool, options.spoolId);
  const inbox = inboxIn(folders, options);
  try {
    await inbox.start();
    return inbox;
  } catch (error) {
    await inbox.close();
    throw error;
  }
};

const makeFolders = async (folder: string, log: Log): Promise<InboxFolders> => {
  try {
    if ((await makeFolder(folder)) !== undefined)
      log.warn({ inbox: folder }, 'the watched folder did not exist and was created: is its name right?');
    const folders = foldersOf(await realpath(folder));
    await makeFolder(folders.spool);
    for (const own of [join(folders.inbox, '.sluice'), folders.spool, folders.faulty]) {
      const stats = await unless(lstat(own), ['ENOENT'], null);
      if (stats?.isDirectory() === false) throw new Error(`${own} is not a plain folder`);
    }
    return folders;
  } catch (cause) {
    throw new SourceRefusedError(`the inbox ${folder} cannot be used: ${errorMessage(cause)}`, {
      hint: 'name a folder that sluice may write to, and in which `.sluice` and `_faulty` are plain folders, not links',
      cause,
    });
  }
};

const inboxIn = (folders: InboxFolders, { manifest, settings, spoolId, onClaimed, log: ofService }: InboxOptions) => {
  const { inbox, spool } = folders;
  const { drop, name } = manifest;
  const log = ofService.child({ manifest: name, inbox });
  const token = randomBytes(4).toString('hex');
  const marker = drop.marker ?? defaultMarker;
  const listed = listedFolders(drop);
  const placed = placeRule(drop);
  const view = inboxView({
    inbox,
    placed,
    marker: { ending: marker, isRequired: drop.marker !== undefined },
    settleMs: drop.settleMs ?? settings.settleMs,
    log,
  });
  const stop = new AbortController();
  const firstScan = Promise.withResolvers<void>();
  let watch: { close(): Promise<void> } | null = null;
  let dirty = new Set<string>();
  let rescanAt = 0;
  /** Another watcher is working on a claim, or was killed a moment ago. */
  let isShared = false;
  let timer: NodeJS.Timeout | undefined;
  let wakeAt = Number.POSITIVE_INFINITY;
  let turn: Promise<void> = Promise.resolve();
  let lastClaim = 0;
  /** Claims of the present batch, and when the first of their files was last seen to move (Unix ms). */
  let batch = new Map<string, Claim>();
  let batchSince = Number.POSITIVE_INFINITY;
  /** Ids of the claims in the spool that were handed over. */
  const told = new Set<string>();
  let telling: Promise<void> | null = null;
  // Claims in progress, in the spool without a record yet, must not be taken over.
  const beats = setInterval(() => {
    for (const { folder } of view.settlers.values().filter(isSpooled)) beat(folder).catch(() => undefined);
  }, beatMs).unref();

  const touch = (paths: Iterable<string>): void => {
    for (const path of paths) dirty.add(path);
    if (dirty.size > 0) wake(now() + eventMs);
  };

  /** Asks for a turn at `at` or earlier; turns never overlap. */
  const wake = (at: number): void => {
    if (stop.signal.aborted || at >= wakeAt) return;
    clearTimeout(timer);
    wakeAt = at;
    const begin = (): void => {
      wakeAt = Number.POSITIVE_INFINITY;
      turn = turn.then(takeTurn);
    };
    timer = setTimeout(begin, Math.max(0, at - now()));
  };

  const takeTurn = async (): Promise<void> => {
    if (stop.signal.aborted) return;
    try {
      if (rescanAt <= now()) await rescan();
      const touched = dirty;
      dirty = new Set();
      for (const path of touched) await view.look(path, now());
      firstScan.resolve();
      await takeDue();
      await completeDue();
      tell();
      wake(Math.min(rescanAt, view.nextDue()));
    } catch (error) {
      if (stop.signal.aborted) return;
      log.error({ err: error }, 'could not process the inbox; retrying shortly');
      wake(now() + afterFailureMs);
    }
  };

  const rescan = async (): Promise<void> => {
    await view.scan(now);
    await pairSpool(spool, spoolId);
    const own = { token, marker, busy: (id: string) => view.settlers.has(id) };
    const { unfinished, othersUntil } = await adoptUnfinished({ inbox, spool, ...own });
    for (const { folder, dropped } of unfinished) {
      await settleInSpool(folder, dropped);
      log.info({ path: dropped, claim: basename(folder) }, 'went on with a file that was taken before');
    }
    const claims = await listClaims(spool);
    const present = new Set(claims.map(({ id }) => id));
    for (const id of told) if (!present.has(id)) told.delete(id);
    for (const claim of claims) addToBatch(claim, now());
    isShared = othersUntil < Number.POSITIVE_INFINITY;
    rescanAt = Math.min(now() + settings.rescanMs, othersUntil);
  };

  const takeDue = async (): Promise<void> => {
    const due = view.due(now()).filter(({ folder }) => folder === null);
    const collides = collisionFinder(inbox, placed, listed);
    for (const settler of due) {
      if (stop.signal.aborted) return;
      const { path, place, still } = settler;
      const sight = await lookAt(inbox, path);
      if (sight.kind !== 'file' || !isDeepStrictEqual(snapshotOf(sight.stats), still)) {
        await view.look(path, now());
        continue;
      }
      const other = await collides(path, place);
      const reason =
        other === null
          ? await describedBadly(manifest, path)
          : `gives the same id as ${other}: rename or remove one of them`;
      if (reason === null) await take(settler);
      else view.leave(path, reason);
    }
  };

  const take = async (settler: Settler): Promise<void> => {
    const { path, still } = settler;
    lastClaim = Math.max(now(), lastClaim + 1);
    const id = claimId(lastClaim, token);
    const folder = join(spool, id);
    // A marker that appeared since the file was checked is taken along: left alone it would vouch for a later file.
    const comesAlong = settler.marker === 'now' || (await isMarked(inbox, path, marker));
    const along = comesAlong ? path + marker : null;
    // Should this fail, the next rescan adopts whatever got into the spool.
    const taken = await takeFile({ inbox, dropped: path, settled: still, folder, marker: along });
    view.settlers.delete(path);
    if (taken.outcome === 'taken') view.settlers.set(id, { ...settler, folder });
    else if (taken.outcome === 'left') view.leave(path, taken.reason);
    else touch([path]);
  };

  /** Lets a file settle in the spool, as it would in the inbox. */
  const settleInSpool = async (folder: string, dropped: string): Promise<void> => {
    const id = basename(folder);
    const where = placeOf(dropped, listed);
    const stats = await unless(lstat(claimPaths(folder, dropped).file, { bigint: true }), gone, null);
    view.settlers.delete(id);
    if (stats === null || where.kind !== 'file') return;
    const seen = { place: where.place, still: snapshotOf(stats), since: now(), marker: 'none' as const };
    view.settlers.set(id, { path: dropped, folder, ...seen });
  };

  /** Records every file that has settled in the spool; what still moves there settles again. */
  const completeDue = async (): Promise<void> => {
    const due = view.due(now()).filter(isSpooled);
    const { claims, moving } = await completeClaims(due, stop.signal);
    for (const claim of claims) {
      const { id, dropped, fingerprint } = claim;
      const { bytes, sha256 } = fingerprint;
      addToBatch(claim, view.settlers.get(id)?.since ?? now());
      view.settlers.delete(id);
      log.info({ path: dropped, claim: id, bytes, sha256 }, 'took a file');
    }
    for (const { folder, path } of moving) await settleInSpool(folder, path);
  };

  const addToBatch = (claim: Claim, movedAt: number): void => {
    if (told.has(claim.id) || batch.has(claim.id)) return;
    batchSince = batch.size === 0 ? movedAt : Math.min(batchSince, movedAt);
    batch.set(claim.id, claim);
  };

  /** Hands over the batch once it is whole: no file settles any more that was dropped together with its first one. */
  const tell = (): void => {
    if (batch.size === 0 || telling !== null || view.mayJoin(batchSince)) return;
    const claims = [...batch.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    batch = new Map();
    for (const { id } of claims) told.add(id);
    telling = onClaimed(claims)
      .catch((err: unknown) => {
        for (const { id } of claims) told.delete(id);
        log.warn({ err, claims: claims.length }, 'no run could be requested for files; the next rescan retries');
      })
      .finally(() => {
        telling = null;
        wake(now());
      });
  };

  return {
    /** Resolves when all that stood in the folder at the opening has been seen once (or the inbox was closed). */
    scanned: firstScan.promise,

    /** False while files settle here or in the hands of another watcher. */
    isSettled: (): boolean => !isShared && view.settlers.values().every((settler) => settler.marker === 'never'),

    start: async (): Promise<void> => {
      watch = await watchFolder(inbox, {
        poll: settings.poll,
        depth: 2 + Math.max(0, ...listed.map((path) => path.split('/').length)),
        onChange: (path, isGone) => {
          // What was left may be taken now: its description was fixed, or the name that collided with it is free.
          const mayBeFixed = isGone || placed(path).kind === 'sidecar';
          touch([path, ...(mayBeFixed ? view.left.keys() : [])]);
        },
        onError: (err) => log.warn({ err }, 'could not watch the whole inbox; the rescan finds missed files'),
      });
      for (const claim of await listClaims(spool)) addToBatch(claim, now());
      wake(now());
    },

    /** Files that settle, and what is left and why; paths are relative to the inbox. */
    state: () => {
      const { waiting = [], settling = [] } = Object.groupBy(view.settlers.values(), (settler) =>
        settler.marker === 'never' ? 'waiting' : 'settling',
      );
      return {
        settling: settling.map(({ path, place: { dataset, resource }, still, since }) => {
          const key = resourceKey(name, dataset, resource);
          return { key, path, bytes: still.bytes, since };
        }),
        left: [
          ...[...view.left].map(([path, reason]) => ({ path, reason })),
          ...waiting.map(({ path }) => ({ path, reason: `waits for its marker ${basename(path)}${marker}` })),
        ],
      };
    },

    /** How many claims wait for their run; 0 while the folder is away, as the rescan says. */
    spooled: (): Promise<number> => countClaims(spool).catch(() => 0),

    /** Stops watching; a claim in progress is finished by the next start. Idempotent. */
    close: async (): Promise<void> => {
      stop.abort();
      firstScan.resolve();
      clearTimeout(timer);
      await watch?.close();
      await turn;
      await telling;
      clearInterval(beats);
    },
  };
};

/**
 * Writes `content` into the inbox as a new version of the file that was `dropped` there, with the ending of `name`. Returns
 * the path in the inbox. @throws SourceRefusedError where it does not take such a file, or a link is in its place
 */
export const putIntoInbox = async (
  { drop }: DropManifest,
  { dropped, name }: { dropped: string; name: string },
  content: AsyncIterable<Uint8Array>,
): Promise<string> => {
  const { folder, marker } = drop;
  const stemOf = (of: string): string => droppedNames(of, []).resource;
  const path = join(dirname(dropped), stemOf(dropped) + name.slice(stemOf(name).length));
  const placed = placeRule(drop)(path);
  const sight = await lookAt(folder, path);
  const reason = placed.kind === 'left' ? placed.reason : sight.kind === 'left' ? sight.reason : '';
  if (placed.kind !== 'file' || (sight.kind !== 'file' && sight.kind !== 'absent'))
    throw new SourceRefusedError(`${path} ${reason || 'is not taken by this inbox'}`, {
      hint: 'upload a file with the same ending',
    });
  const target = join(folder, path);
  await makeFolder(dirname(target));
  await writeDurably(target, content);
  if (marker !== undefined) await writeFile(target + marker, '');
  return path;
};
