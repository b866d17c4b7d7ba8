// The inbox: a watched folder whose settled files are claimed, each once, none partial, and handed over in batches.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { lstat, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/config.ts';
import { SourceRefusedError } from '../../model/errors.ts';
import { resourceKey } from '../../model/key.ts';
import type { Log } from '../../model/log.ts';
import { gone, makeFolder, unless, writeDurably } from '../../util/files.ts';
import type { DropManifest } from '../manifest/schema.ts';
import { completeClaims, isSpooled, takeFile } from './claim.ts';
import {
  collisionFinder,
  defaultMarker,
  droppedNames,
  listedFolders,
  type Placed,
  placeOf,
  placeRule,
} from './drop-target.ts';
import { describedBadly } from './gather-drop.ts';
import { type InboxView, inboxView, isMarked, lookAt, type Settler, snapshotOf, watchFolder } from './inbox-view.ts';
import {
  adoptUnfinished,
  beat,
  beatMs,
  type Claim,
  claimId,
  claimPaths,
  foldersOf,
  type InboxFolders,
  listClaims,
  pairSpool,
  parseClaimId,
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

const eventMs = 25;
const afterFailureMs = 5000;

/** Unix ms that never runs backwards while the process lives. */
const now = (): number => Math.round(performance.timeOrigin + performance.now());

/**
 * Opens the inbox of a drop manifest: makes its folders, pairs the spool, takes over what a killed watcher left, and watches
 * until closed. Claims found complete in the spool are handed over (again) with the first batch.
 *
 * @throws StateMismatchError when the spool belongs to another Redis
 * @throws SourceRefusedError when the folder cannot be made or written, or its `.sluice` or `_faulty` is not a plain folder
 */
export const openInbox = async (options: InboxOptions): Promise<Inbox> => {
  const folders = await makeFolders(options.manifest.drop.folder, options.log);
  await pairSpool(folders.spool, options.spoolId);
  const inbox = new Inbox(options, folders);
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
    const made = await makeFolder(folder);
    if (made !== undefined)
      log.warn({ inbox: folder }, 'the watched folder did not exist and was created: is its name right?');
    const folders = foldersOf(await realpath(folder));
    await makeFolder(folders.spool);
    for (const own of [join(folders.inbox, '.sluice'), folders.spool, folders.faulty]) {
      const stats = await unless(lstat(own), ['ENOENT'], null);
      if (stats?.isDirectory() === false) throw new Error(`${own} is not a plain folder`);
    }
    return folders;
  } catch (cause) {
    throw new SourceRefusedError(`the inbox ${folder} cannot be used: ${String(cause)}`, {
      hint: 'name a folder that sluice may write to, and in which `.sluice` and `_faulty` are plain folders, not links',
      cause,
    });
  }
};

export class Inbox {
  readonly #options: InboxOptions;
  readonly #folders: InboxFolders;
  readonly #token = randomBytes(4).toString('hex');
  readonly #log: Log;
  readonly #marker: string;
  readonly #listed: string[];
  readonly #placed: (path: string) => Placed;
  readonly #view: InboxView;
  readonly #beats: NodeJS.Timeout;
  readonly #stop = new AbortController();
  readonly #firstScan = Promise.withResolvers<void>();
  /** Resolves when all that stood in the folder at the opening has been seen once (or the inbox was closed). */
  readonly scanned = this.#firstScan.promise;
  #watch: { close(): Promise<void> } | null = null;
  #dirty = new Set<string>();
  #rescanAt = 0;
  /** Another watcher is working on a claim, or was killed a moment ago. */
  #isShared = false;
  #timer: NodeJS.Timeout | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #turn: Promise<void> = Promise.resolve();
  #lastClaim = 0;
  /** Claims of the present batch, and when the first of their files was last seen to move (Unix ms). */
  #batch = new Map<string, Claim>();
  #batchSince = Number.POSITIVE_INFINITY;
  /** Ids of the claims in the spool that were handed over. */
  readonly #told = new Set<string>();
  #telling: Promise<void> | null = null;

  constructor(options: InboxOptions, folders: InboxFolders) {
    const { drop, name } = options.manifest;
    this.#options = options;
    this.#folders = folders;
    this.#log = options.log.child({ manifest: name, inbox: folders.inbox });
    this.#marker = drop.marker ?? defaultMarker;
    this.#listed = listedFolders(drop);
    this.#placed = placeRule(drop);
    this.#view = inboxView({
      inbox: folders.inbox,
      placed: this.#placed,
      marker: { ending: this.#marker, isRequired: drop.marker !== undefined },
      settleMs: drop.settleMs ?? options.settings.settleMs,
      log: this.#log,
    });
    // Claims in progress, in the spool without a record yet, must not be taken over.
    this.#beats = setInterval(() => {
      for (const { folder } of this.#view.settlers.values().filter(isSpooled)) beat(folder).catch(() => undefined);
    }, beatMs).unref();
  }

  /** False while files settle here or in the hands of another watcher. */
  get isSettled(): boolean {
    return !this.#isShared && this.#view.settlers.values().every(({ marker }) => marker === 'never');
  }

  async start(): Promise<void> {
    this.#watch = await watchFolder(this.#folders.inbox, {
      poll: this.#options.settings.poll,
      depth: 2 + Math.max(0, ...this.#listed.map((path) => path.split('/').length)),
      onChange: (path, isGone) => {
        // What was left may be taken now: its description was fixed, or the name that collided with it is free.
        const mayBeFixed = isGone || this.#placed(path).kind === 'sidecar';
        this.#touch([path, ...(mayBeFixed ? this.#view.left.keys() : [])]);
      },
      onError: (error) => {
        this.#log.warn({ err: error }, 'could not watch the whole inbox; the rescan finds missed files');
      },
    });
    for (const claim of await listClaims(this.#folders.spool)) this.#join(claim, now());
    this.#wake(now());
  }

  /** Files that settle, what is left and why, and how many claims wait for their run; paths are relative to the inbox. */
  state() {
    const { waiting = [], settling = [] } = Object.groupBy(this.#view.settlers.values(), ({ marker }) =>
      marker === 'never' ? 'waiting' : 'settling',
    );
    return {
      settling: settling.map(({ path, place: { dataset, resource }, still, since }) => {
        const key = resourceKey(this.#options.manifest.name, dataset, resource);
        return { key, path, bytes: still.bytes, since };
      }),
      left: [
        ...[...this.#view.left].map(([path, reason]) => ({ path, reason })),
        ...waiting.map(({ path }) => ({ path, reason: `waits for its marker ${basename(path)}${this.#marker}` })),
      ],
      spooled: this.#countSpooled(),
    };
  }

  #countSpooled(): number {
    try {
      const names = readdirSync(this.#folders.spool).filter((name) => parseClaimId(name) !== null);
      return names.filter((name) => existsSync(join(this.#folders.spool, name, 'claim.json'))).length;
    } catch {
      return 0; // the folder is away for the moment; the rescan says so
    }
  }

  /** Stops watching; a claim in progress is finished by the next start. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#firstScan.resolve();
    clearTimeout(this.#timer);
    await this.#watch?.close();
    await this.#turn;
    await this.#telling;
    clearInterval(this.#beats);
  }

  #touch(paths: Iterable<string>): void {
    for (const path of paths) this.#dirty.add(path);
    if (this.#dirty.size > 0) this.#wake(now() + eventMs);
  }

  /** Asks for a turn at `at` or earlier; turns never overlap. */
  #wake(at: number): void {
    if (this.#stop.signal.aborted || at >= this.#wakeAt) return;
    clearTimeout(this.#timer);
    this.#wakeAt = at;
    this.#timer = setTimeout(
      () => {
        this.#wakeAt = Number.POSITIVE_INFINITY;
        this.#turn = this.#turn.then(() => this.#takeTurn());
      },
      Math.max(0, at - now()),
    );
  }

  async #takeTurn(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    try {
      if (this.#rescanAt <= now()) await this.#rescan();
      const touched = this.#dirty;
      this.#dirty = new Set();
      for (const path of touched) await this.#view.look(path, now());
      this.#firstScan.resolve();
      await this.#takeDue();
      await this.#completeDue();
      this.#tell();
      this.#wake(Math.min(this.#rescanAt, this.#view.nextDue()));
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#log.error({ err: error }, 'could not process the inbox; retrying shortly');
      this.#wake(now() + afterFailureMs);
    }
  }

  async #rescan(): Promise<void> {
    const { inbox, spool } = this.#folders;
    await this.#view.scan(now);
    await pairSpool(spool, this.#options.spoolId);
    const own = { token: this.#token, marker: this.#marker, busy: (id: string) => this.#view.settlers.has(id) };
    const { unfinished, othersUntil } = await adoptUnfinished({ inbox, spool, ...own });
    for (const { folder, dropped } of unfinished) {
      await this.#settleInSpool(folder, dropped);
      this.#log.info({ path: dropped, claim: basename(folder) }, 'went on with a file that was taken before');
    }
    const claims = await listClaims(spool);
    const present = new Set(claims.map(({ id }) => id));
    for (const id of this.#told) if (!present.has(id)) this.#told.delete(id);
    for (const claim of claims) this.#join(claim, now());
    const { rescanMs } = this.#options.settings;
    this.#isShared = othersUntil < Number.POSITIVE_INFINITY;
    this.#rescanAt = Math.min(now() + rescanMs, othersUntil);
  }

  async #takeDue(): Promise<void> {
    const due = this.#view.due(now()).filter(({ folder }) => folder === null);
    const collides = collisionFinder(this.#folders.inbox, this.#placed, this.#listed);
    for (const settler of due) {
      if (this.#stop.signal.aborted) return;
      const { path, place, still } = settler;
      const sight = await lookAt(this.#folders.inbox, path);
      if (sight.kind !== 'file' || !isDeepStrictEqual(snapshotOf(sight.stats), still)) {
        await this.#view.look(path, now());
        continue;
      }
      const other = await collides(path, place);
      const reason =
        other === null
          ? await describedBadly(this.#options.manifest, path)
          : `gives the same id as ${other}: rename or remove one of them`;
      if (reason === null) await this.#take(settler);
      else this.#view.leave(path, reason);
    }
  }

  async #take(settler: Settler): Promise<void> {
    const { inbox, spool } = this.#folders;
    const { path, still } = settler;
    this.#lastClaim = Math.max(now(), this.#lastClaim + 1);
    const id = claimId(this.#lastClaim, this.#token);
    const folder = join(spool, id);
    // A marker that appeared since the file was checked is taken along: left alone it would vouch for a later file.
    const comesAlong = settler.marker === 'now' || (await isMarked(inbox, path, this.#marker));
    const marker = comesAlong ? path + this.#marker : null;
    // Should this fail, the next rescan adopts whatever got into the spool.
    const taken = await takeFile({ inbox, dropped: path, settled: still, folder, marker });
    this.#view.settlers.delete(path);
    if (taken.outcome === 'taken') this.#view.settlers.set(id, { ...settler, folder });
    else if (taken.outcome === 'left') this.#view.leave(path, taken.reason);
    else this.#touch([path]);
  }

  /** Lets a file settle in the spool, as it would in the inbox. */
  async #settleInSpool(folder: string, dropped: string): Promise<void> {
    const id = basename(folder);
    const placed = placeOf(dropped, this.#listed);
    const stats = await unless(lstat(claimPaths(folder, dropped).file, { bigint: true }), gone, null);
    this.#view.settlers.delete(id);
    if (stats === null || placed.kind !== 'file') return;
    const seen = { place: placed.place, still: snapshotOf(stats), since: now(), marker: 'none' as const };
    this.#view.settlers.set(id, { path: dropped, folder, ...seen });
  }

  /** Records every file that has settled in the spool; what still moves there settles again. */
  async #completeDue(): Promise<void> {
    const due = this.#view.due(now()).filter(isSpooled);
    const { claims, moving } = await completeClaims(due, this.#stop.signal);
    for (const claim of claims) {
      const { id, dropped, fingerprint } = claim;
      const { bytes, sha256 } = fingerprint;
      this.#join(claim, this.#view.settlers.get(id)?.since ?? now());
      this.#view.settlers.delete(id);
      this.#log.info({ path: dropped, claim: id, bytes, sha256 }, 'took a file');
    }
    for (const { folder, path } of moving) await this.#settleInSpool(folder, path);
  }

  #join(claim: Claim, movedAt: number): void {
    if (this.#told.has(claim.id) || this.#batch.has(claim.id)) return;
    this.#batchSince = this.#batch.size === 0 ? movedAt : Math.min(this.#batchSince, movedAt);
    this.#batch.set(claim.id, claim);
  }

  /** Hands over the batch once it is whole: no file settles any more that was dropped together with its first one. */
  #tell(): void {
    if (this.#batch.size === 0 || this.#telling !== null || this.#view.mayJoin(this.#batchSince)) return;
    const claims = [...this.#batch.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#batch = new Map();
    for (const { id } of claims) this.#told.add(id);
    this.#telling = this.#options
      .onClaimed(claims)
      .catch((error: unknown) => {
        for (const { id } of claims) this.#told.delete(id);
        this.#log.warn(
          { err: error, claims: claims.length },
          'no run could be requested for files; the next rescan retries',
        );
      })
      .finally(() => {
        this.#telling = null;
        this.#wake(now());
      });
  }
}

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
