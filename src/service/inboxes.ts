// The watched folders of the service: each batch of claimed files requests a run; a one-off run scans its folder once.
import { access, constants, stat } from 'node:fs/promises';
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
export const inboxesOf = (runtime: Runtime) => {
  const { redis, keys, config, log } = runtime;
  const open = new Map<string, { manifest: DropManifest; inbox: Inbox }>();
  /** Folders that are looked at just now. */
  const checked = new Set<string>();
  /** When a target was last seen without a run or was tried again, by its name; absent while it has one. */
  const lastTry = new Map<string, number>();
  /** Files of each manifest whose run was cancelled, as of the end of the last run or the last try. */
  const cancelledOf = new Map<string, number>();
  let ends: (() => Promise<void>)[] = [];

  const end = async (name: string): Promise<void> => {
    await open.get(name)?.inbox.close();
    open.delete(name);
    await redis.hdel(keys.inboxes, name);
  };

  const watch = (manifest: DropManifest): Promise<Inbox> =>
    inboxOf(runtime, manifest, async (claims) => {
      for (const portal of portalsOf(manifest)) {
        // Includes files that a former service left in the spool.
        const files = (await openClaims(claims, portal, runtime)).length;
        if (files === 0) continue;
        const { runId } = await runtime.requestRun(targetOf({ ...manifest, portal }), 'drop');
        log.info({ manifest: manifest.name, portal, runId, files }, 'files were dropped');
      }
    });

  /** Retries files that stayed in the spool, once per `rescan`. Returns how many wait for a person instead. */
  const runAgain = async (manifest: DropManifest): Promise<number> => {
    for (const portal of portalsOf(manifest)) {
      const target = { manifest: manifest.name, portal };
      const name = targetName(target);
      if ((await runtime.gate.state(target)).current !== null) {
        lastTry.delete(name);
        continue;
      }
      const last = lastTry.get(name);
      const isTime = last !== undefined && Date.now() - last >= config.inbox.rescanMs;
      if (last !== undefined && !isTime) continue;
      lastTry.set(name, Date.now());
      cancelledOf.set(manifest.name, await countCancelled(manifest, runtime));
      if (isTime && (await waitingPortals(manifest, runtime)).includes(portal))
        await runtime.requestRun(targetOf({ ...manifest, portal }), 'drop');
    }
    return cancelledOf.get(manifest.name) ?? 0;
  };

  const publish = async (): Promise<void> => {
    for (const [name, { manifest, inbox }] of open) {
      const state = inbox.state();
      const cancelled = state.spooled > 0 ? await runAgain(manifest) : 0;
      const { folder, settleMs: own } = manifest.drop;
      const settleMs = own ?? config.inbox.settleMs;
      const view: InboxViewOfService = { manifest: name, folder, ...state, settleMs, cancelled, at: Date.now() };
      await redis.hset(keys.inboxes, name, JSON.stringify(view));
    }
  };

  /** Apart from the views: a folder that hangs, as on a dead network drive, does not delay the others. */
  const signsOfLife = async (): Promise<void> => {
    for (const [name, { manifest }] of open) {
      if (checked.has(name)) continue;
      checked.add(name);
      const renewed = () => ({ member: expectedOf.inbox(name), at: Date.now() + config.watch.everyMs });
      void isUsable(manifest.drop.folder)
        .then((usable) => (usable && open.has(name) ? runtime.deadlines.keepPromise(renewed()) : undefined))
        .catch(() => undefined) // without Redis, nothing else works either
        .finally(() => checked.delete(name));
    }
  };

  return {
    /** Makes the watched folders those of `manifests`; a changed manifest is opened again. */
    sync: async (manifests: DropManifest[]): Promise<void> => {
      const wanted = new Map(manifests.map((manifest) => [manifest.name, manifest]));
      for (const [name, { manifest }] of open)
        if (JSON.stringify(wanted.get(name)) !== JSON.stringify(manifest)) await end(name);
      for (const [name, manifest] of wanted)
        if (!open.has(name)) open.set(name, { manifest, inbox: await watch(manifest) });
      const failed = (err: unknown): void => log.debug({ err }, 'inbox state could not be shown');
      if (ends.length === 0) ends = [publish, signsOfLife].map((each) => repeat(publishMs, each, failed));
      await publish();
    },

    close: async (): Promise<void> => {
      await Promise.all(ends.map((each) => each()));
      for (const name of open.keys()) await end(name);
    },
  };
};

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

type Wanted = { what: string; path: string } | Pick<LedgerEntry, 'key' | 'sourcePath'>;

/** The path in a watched folder; null where the folder is none for it. */
const placeIn = (folder: string, manifest: string, of: Wanted): string | null => {
  if ('key' in of) return isBelow(of.key, manifest) ? (inSpool(of.sourcePath ?? '')?.dropped ?? '') : null;
  const dropped = relative(folder, of.path);
  return dropped.startsWith('..') ? null : dropped;
};

/** A file of a watched folder that is not published yet, by its path, or newer than that of an item; null for none. */
export const waitingFile = async (runtime: Runtime, of: Wanted) => {
  const [what, key] = 'key' in of ? [of.key, of.key] : [of.what, null];
  for (const { folder, manifest, left, settling, settleMs } of await readInboxViews(runtime)) {
    const dropped = placeIn(folder, manifest, of);
    if (dropped === null) continue;
    const waiting = { what, manifest, portal: null, runId: null, since: null };
    const ignored = left.find(({ path }) => path === dropped);
    if (ignored)
      return { ...waiting, state: 'ignored' as const, why: `not live: ignored in the inbox: ${ignored.reason}` };
    // In the spool is also what an item is made of, and its run says how that goes on.
    const claims = key === null ? await listClaims(foldersOf(folder).spool) : [];
    const claimed = claims.findLast((claim) => claim.dropped === dropped);
    if (claimed) return { ...waiting, state: 'in progress' as const, since: claimed.claimedAt, why: takenText };
    const seen = settling.find((file) => file.path === dropped || file.key === key);
    const path = seen?.path ?? dropped;
    const found = isForInbox(path) ? await stat(join(folder, path)).catch(() => null) : null;
    // What a view of a second ago has seen may have been taken since; of a path that means it is being recorded.
    if (!found?.isFile() && (!seen || key !== null)) continue;
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
