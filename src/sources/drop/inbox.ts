// The inbox: a watched folder whose settled files are claimed, each once, none partial, and handed over in batches.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { SourceRefusedError } from '../../model/errors.ts';
import type { Log } from '../../model/log.ts';
import { makeFolder } from '../../util/make-folder.ts';
import type { DropManifest } from '../manifest/schema.ts';
import { Claimer } from './claimer.ts';
import { listedFolders, type Placed, placeRule } from './drop-target.ts';
import { InboxView } from './inbox-view.ts';
import { Announcer, Settling, watchFolder } from './settling.ts';
import { describedBadly } from './sidecars.ts';
import { type Claim, foldersOf, type InboxFolders, listClaims, pairSpool, parseClaimId } from './spool.ts';
import { adoptUnfinished, silentMs } from './take.ts';

/** What an inbox shows of itself. Paths are relative to the inbox, with `/`. */
interface InboxState {
  /** Files that must stand still for a while longer; `since` is when they were last seen to move, Unix ms. */
  settling: { path: string; bytes: number; since: number }[];
  /** What is not taken as it stands, and why. */
  left: { path: string; reason: string }[];
  /** Claims that wait for their run. */
  spooled: number;
}

export interface Inbox {
  /** Resolves when all that stood in the folder at the opening has been seen once (or the inbox was closed). */
  readonly scanned: Promise<void>;
  state(): InboxState;
  /** Stops watching; a claim in progress is finished by the next start. Idempotent. */
  close(): Promise<void>;
}

interface InboxOptions {
  manifest: DropManifest;
  settings: Config['inbox'];
  /** Pairs the spool with one Redis. */
  spoolId: string;
  /** One call per batch of files that settled together; a batch that throws is handed over again by the next rescan. */
  onClaimed: (claims: Claim[]) => Promise<void>;
  log: Log;
}

const defaultMarker = '.done';
const eventMs = 25;
const afterFailureMs = 5000;

/** Unix ms that never runs backwards while the process lives. */
const now = (): number => Math.round(performance.timeOrigin + performance.now());

/**
 * Opens the inbox of a drop manifest: makes its folders, pairs the spool, takes over what a killed watcher left, and watches
 * until closed. Claims found complete in the spool are handed over (again) with the first batch.
 *
 * @throws StateMismatchError when the spool belongs to another Redis
 * @throws SourceRefusedError when the folder cannot be made or written, or its `.sluice` is not a plain folder
 */
export const openInbox = async (options: InboxOptions): Promise<Inbox> => {
  const folders = await makeFolders(options.manifest.drop.folder, options.log);
  await pairSpool(folders.spool, options.spoolId);
  const watcher = new InboxWatcher(options, folders);
  try {
    await watcher.start();
    return watcher;
  } catch (error) {
    await watcher.close();
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
    for (const own of [join(folders.inbox, '.sluice'), folders.spool]) {
      if (!(await lstat(own)).isDirectory()) throw new Error(`${own} is a symbolic link`);
    }
    return folders;
  } catch (cause) {
    throw new SourceRefusedError(`the inbox ${folder} cannot be used: ${String(cause)}`, {
      hint: 'name a folder that sluice may write to, with a plain folder (no link) `.sluice` in it',
      cause,
    });
  }
};

class InboxWatcher implements Inbox {
  readonly #options: InboxOptions;
  readonly #folders: InboxFolders;
  /** Part of the ids of this watcher's claims. */
  readonly #token = randomBytes(4).toString('hex');
  readonly #log: Log;
  readonly #marker: string;
  readonly #placed: (path: string) => Placed;
  readonly #settling: Settling;
  readonly #view: InboxView;
  readonly #announcer: Announcer;
  readonly #claimer: Claimer;
  readonly #stop = new AbortController();
  readonly #firstScan = Promise.withResolvers<void>();
  #watch: { close(): Promise<void> } | null = null;
  #dirty = new Set<string>();
  #rescanAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #wakeAt = Number.POSITIVE_INFINITY;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: InboxOptions, folders: InboxFolders) {
    const { drop, name } = options.manifest;
    this.#options = options;
    this.#folders = folders;
    this.#log = options.log.child({ manifest: name, inbox: folders.inbox });
    this.#marker = drop.marker ?? defaultMarker;
    const listed = listedFolders(drop);
    this.#placed = placeRule({ files: drop.files, marker: this.#marker, folders: listed });
    this.#settling = new Settling(drop.settleMs ?? options.settings.settleMs);
    this.#view = new InboxView({
      inbox: folders.inbox,
      placed: this.#placed,
      marker: { ending: this.#marker, required: drop.marker !== undefined },
      settling: this.#settling,
      log: this.#log,
    });
    this.#announcer = new Announcer(options.onClaimed, this.#log);
    this.#claimer = new Claimer({
      folders,
      token: this.#token,
      placed: this.#placed,
      listed,
      marker: this.#marker,
      settling: this.#settling,
      view: this.#view,
      describedBadly: (path) => describedBadly(options.manifest, path),
      onClaimed: (claim, movedAt) => this.#announcer.add(claim, movedAt),
      onLost: (path) => this.#touch([path]),
      log: this.#log,
    });
  }

  get scanned(): Promise<void> {
    return this.#firstScan.promise;
  }

  async start(): Promise<void> {
    this.#watch = await watchFolder(this.#folders.inbox, {
      poll: this.#options.settings.poll,
      depth: 2 + Math.max(0, ...listedFolders(this.#options.manifest.drop).map((path) => path.split('/').length)),
      onPath: (path) => {
        const fixed = this.#placed(path).kind === 'sidecar' ? this.#view.left.keys() : [];
        this.#touch([path, ...fixed]);
      },
      onRemoved: () => this.#touch(this.#view.left.keys()),
      onError: (error) => {
        this.#log.warn({ err: error }, 'could not watch the whole inbox; the rescan finds missed files');
      },
    });
    this.#announcer.retry(await listClaims(this.#folders.spool), now());
    this.#wake(now());
  }

  state(): InboxState {
    const settlers = this.#settling.entries().map(([, settler]) => settler);
    const waiting = settlers.filter(({ marker }) => marker === 'never');
    return {
      settling: settlers
        .filter(({ marker }) => marker !== 'never')
        .map(({ path, still, since }) => ({ path, bytes: still.bytes, since })),
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

  async close(): Promise<void> {
    this.#stop.abort();
    this.#firstScan.resolve();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#watch?.close();
    await this.#turn;
    await this.#announcer.idle();
    this.#claimer.close();
  }

  #touch(paths: Iterable<string>): void {
    for (const path of paths) this.#dirty.add(path);
    if (this.#dirty.size > 0) this.#wake(now() + eventMs);
  }

  /** Asks for a turn at `at` or earlier; turns never overlap. */
  #wake(at: number): void {
    if (this.#stop.signal.aborted || at >= this.#wakeAt) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
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
      await this.#lookAtTouched();
      this.#firstScan.resolve();
      await this.#claimer.takeDue(now, this.#stop.signal);
      await this.#claimer.completeDue(now, this.#stop.signal);
      this.#announce();
      this.#wake(Math.min(this.#rescanAt, this.#settling.nextDue()));
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
    const busy = (id: string): boolean => this.#claimer.busy(id);
    const { unfinished, areMore } = await adoptUnfinished({
      inbox,
      spool,
      token: this.#token,
      marker: this.#marker,
      busy,
    });
    for (const { folder, dropped } of unfinished) {
      await this.#claimer.settleInSpool(folder, dropped, now());
      this.#log.info({ path: dropped, claim: basename(folder) }, 'resumed a claim that was not finished');
    }
    this.#announcer.retry(await listClaims(spool), now());
    const { rescanMs } = this.#options.settings;
    this.#rescanAt = now() + (areMore ? Math.min(rescanMs, silentMs) : rescanMs);
  }

  async #lookAtTouched(): Promise<void> {
    const touched = this.#dirty;
    this.#dirty = new Set();
    for (const path of touched) await this.#view.look(path, now());
  }

  /** A batch is whole once no file settles any more that was dropped together with its first one. */
  #announce(): void {
    const { first } = this.#announcer;
    if (first !== null && !this.#settling.mayJoin(first)) this.#announcer.flush(() => this.#wake(now()));
  }
}
