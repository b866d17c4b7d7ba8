// The watched folders of the service: each batch of claimed files requests a run; a one-off run scans its folder
// once.
import { statSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isBelow } from '../model/key.ts';
import type { LedgerEntry } from '../model/ledger-entry.ts';
import { targetName } from '../model/redis-keys.ts';
import { placeRule } from '../sources/drop/drop-target.ts';
import { type Inbox, openInbox } from '../sources/drop/inbox.ts';
import { type Claim, foldersOf, inSpool, listClaims } from '../sources/drop/spool.ts';
import { portalsOf, targetOf } from '../sources/manifest/load.ts';
import type { DropManifest } from '../sources/manifest/schema.ts';
import { expectedOf } from '../state/deadlines.ts';
import { repeat } from '../util/concurrency.ts';
import { durationWords } from '../util/quantity.ts';
import type { Runtime } from './runtime.ts';
import { countCancelled, openClaims, waitingPortals } from './sources.ts';

const publishMs = 1000;

const inboxViewSchema = z.object({
  manifest: z.string(),
  folder: z.string(),
  settling: z.array(z.object({ key: z.string().default(''), path: z.string(), bytes: z.number(), since: z.number() })),
  left: z.array(z.object({ path: z.string(), reason: z.string() })),
  spooled: z.number(),
  /** For how long a file must be unchanged before it is taken. */
  settleMs: z.number().default(0),
  /** Spooled files that wait for a person because their run was cancelled. */
  cancelled: z.number().default(0),
  /** Unix milliseconds. */
  at: z.number(),
});

export type InboxViewOfService = z.infer<typeof inboxViewSchema>;

/** Opens and closes watched folders as manifests come and go. */
export class Inboxes {
  readonly #runtime: Runtime;
  readonly #open = new Map<string, { manifest: DropManifest; inbox: Inbox }>();
  #ends: (() => Promise<void>)[] = [];

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Makes the watched folders those of `manifests`; a changed manifest is opened again. */
  async sync(manifests: DropManifest[]): Promise<void> {
    const wanted = new Map(manifests.map((manifest) => [manifest.name, manifest]));
    for (const [name, { manifest }] of this.#open)
      if (JSON.stringify(wanted.get(name)) !== JSON.stringify(manifest)) await this.#end(name);
    for (const [name, manifest] of wanted) {
      if (this.#open.has(name)) continue;
      this.#open.set(name, { manifest, inbox: await this.#watch(manifest) });
    }
    const failed = (err: unknown): void => this.#runtime.log.debug({ err }, 'inbox state could not be shown');
    if (this.#ends.length === 0) {
      const work = [() => this.#publish(), async () => this.#signsOfLife()];
      this.#ends = work.map((each) => repeat(publishMs, each, failed));
    }
    await this.#publish();
  }

  async close(): Promise<void> {
    await Promise.all(this.#ends.map((end) => end()));
    for (const name of this.#open.keys()) await this.#end(name);
  }

  async #end(name: string): Promise<void> {
    await this.#open.get(name)?.inbox.close();
    this.#open.delete(name);
    await this.#runtime.redis.hdel(this.#runtime.keys.inboxes, name);
  }

  #watch(manifest: DropManifest): Promise<Inbox> {
    return inboxOf(this.#runtime, manifest, async (claims) => {
      for (const portal of portalsOf(manifest)) {
        // Includes files that a former service left in the spool.
        const open = await openClaims(claims, portal, this.#runtime);
        if (open.length === 0) continue;
        const { runId } = await this.#runtime.requestRun(targetOf({ ...manifest, portal }), 'drop');
        this.#runtime.log.info({ manifest: manifest.name, portal, runId, files: open.length }, 'files were dropped');
      }
    });
  }

  async #publish(): Promise<void> {
    for (const [name, { manifest, inbox }] of this.#open) {
      const state = inbox.state();
      const cancelled = state.spooled > 0 ? await this.#runAgain(manifest) : 0;
      const { folder } = manifest.drop;
      const settleMs = manifest.drop.settleMs ?? this.#runtime.config.inbox.settleMs;
      const view: InboxViewOfService = { manifest: name, folder, ...state, settleMs, cancelled, at: Date.now() };
      await this.#runtime.redis.hset(this.#runtime.keys.inboxes, name, JSON.stringify(view));
    }
  }

  readonly #checked = new Set<string>();

  /** Apart from the views: a folder that hangs, as on a dead network drive, does not delay the others. */
  #signsOfLife(): void {
    const { deadlines, config } = this.#runtime;
    for (const [name, { manifest }] of this.#open) {
      if (this.#checked.has(name)) continue;
      this.#checked.add(name);
      const renewed = () => ({ member: expectedOf.inbox(name), at: Date.now() + config.watch.everyMs });
      void isUsable(manifest.drop.folder)
        .then((usable) => (usable && this.#open.has(name) ? deadlines.keepPromise(renewed()) : undefined))
        .catch(() => undefined) // without Redis, nothing else works either
        .finally(() => this.#checked.delete(name));
    }
  }

  /** When a target was last seen without a run or was tried again, by its name; absent while it has one. */
  readonly #lastTry = new Map<string, number>();
  /** Files of each manifest whose run was cancelled, as of the end of the last run or the last try. */
  readonly #cancelled = new Map<string, number>();

  /** Retries files that stayed in the spool, once per `rescan`. Returns how many wait for a person instead. */
  async #runAgain(manifest: DropManifest): Promise<number> {
    for (const portal of portalsOf(manifest)) {
      const target = { manifest: manifest.name, portal };
      const name = targetName(target);
      if ((await this.#runtime.gate.state(target)).current !== null) {
        this.#lastTry.delete(name);
        continue;
      }
      const last = this.#lastTry.get(name);
      const isTime = last !== undefined && Date.now() - last >= this.#runtime.config.inbox.rescanMs;
      if (last !== undefined && !isTime) continue;
      this.#lastTry.set(name, Date.now());
      this.#cancelled.set(manifest.name, await countCancelled(manifest, this.#runtime));
      if (isTime && (await waitingPortals(manifest, this.#runtime)).includes(portal))
        await this.#runtime.requestRun(targetOf({ ...manifest, portal }), 'drop');
    }
    return this.#cancelled.get(manifest.name) ?? 0;
  }
}

const inboxOf = async (
  runtime: Runtime,
  manifest: DropManifest,
  onClaimed: (claims: Claim[]) => Promise<void>,
): Promise<Inbox> => {
  const { config, log } = runtime;
  return openInbox({ manifest, settings: config.inbox, spoolId: await runtime.spoolId(), onClaimed, log });
};

export const isUsable = (folder: string): Promise<boolean> =>
  access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

/** The state of watched folders as their services report it; a view older than a few seconds is of a service that ended. */
export const readInboxViews = async (runtime: Runtime): Promise<InboxViewOfService[]> =>
  Object.values(await runtime.redis.hgetall(runtime.keys.inboxes)).flatMap((text) => {
    const parsed = inboxViewSchema.safeParse(JSON.parse(text));
    return parsed.success ? [parsed.data] : [];
  });

const anyPlace = placeRule({ files: ['**'] });

/** False for what no inbox takes, by its name: faulty and unfinished files, metadata, markers. */
const isForInbox = (dropped: string): boolean => ['file', 'left'].includes(anyPlace(dropped).kind);

const takenText =
  'not live yet: taken from the inbox\n-> `sluice runs` shows its run; if that was cancelled, `sluice run-now` publishes the file';

type Wanted = { path: string } | Pick<LedgerEntry, 'key' | 'sourcePath'>;

/** The path in a watched folder; null where the folder is none for it. */
const placeIn = (folder: string, manifest: string, of: Wanted): string | null => {
  if ('key' in of) return isBelow(of.key, manifest) ? (inSpool(of.sourcePath ?? '')?.dropped ?? '') : null;
  const dropped = relative(folder, of.path);
  return dropped.startsWith('..') ? null : dropped;
};

/** A file of a watched folder that is not published yet, by its path, or newer than that of an item; null for none. */
export const waitingFile = async (runtime: Runtime, of: Wanted) => {
  const key = 'key' in of ? of.key : null;
  for (const { folder, manifest, left, settling, settleMs } of await readInboxViews(runtime)) {
    const dropped = placeIn(folder, manifest, of);
    if (dropped === null) continue;
    const waiting = { manifest, portal: null, runId: null, since: null };
    const ignored = left.find(({ path }) => path === dropped);
    if (ignored)
      return { ...waiting, state: 'ignored' as const, why: `not live: ignored in the inbox: ${ignored.reason}` };
    // In the spool is also what an item is made of, and its run says how that goes on.
    const claims = key === null ? await listClaims(foldersOf(folder).spool) : [];
    const claimed = claims.findLast((claim) => claim.dropped === dropped);
    if (claimed) return { ...waiting, state: 'in progress' as const, since: claimed.claimedAt, why: takenText };
    const seen = settling.find((file) => file.path === dropped || file.key === key);
    const isThere = isForInbox(dropped) && statSync(join(folder, dropped), { throwIfNoEntry: false })?.isFile();
    if (!seen && !isThere) continue;
    const why = `not live yet: waiting until the file is complete: unchanged for ${durationWords(settleMs)}`;
    return { ...waiting, state: 'settling' as const, since: seen?.since ?? null, why };
  }
  return null;
};

/** Claims every file of the inbox, until none is settling, nor left by a watcher that was killed. Returns what it ignores, as lines. */
export const takeDropped = async (runtime: Runtime, manifest: DropManifest, signal: AbortSignal): Promise<string[]> => {
  const inbox = await inboxOf(runtime, manifest, async () => undefined); // the run that follows takes all claims
  try {
    await inbox.scanned;
    while (!signal.aborted && !inbox.isSettled) await sleep(50, undefined, { signal }).catch(() => undefined);
    return inbox.state().left.map(({ path, reason }) => `ignored ${path}: ${reason}`);
  } finally {
    await inbox.close();
  }
};
