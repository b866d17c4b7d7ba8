// The watched folders of the service: each batch of claimed files requests a run; a one-off run scans its folder once.
import { randomUUID } from 'node:crypto';
import { access, constants } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { oneLine } from '../model/errors.ts';
import { targetName } from '../model/redis-keys.ts';
import { type Inbox, openInbox } from '../sources/drop/inbox.ts';
import type { Claim } from '../sources/drop/spool.ts';
import { portalsOf, targetOf } from '../sources/manifest/load.ts';
import type { DropManifest } from '../sources/manifest/schema.ts';
import { expectedOf } from '../state/deadlines.ts';
import { storedAs } from '../state/redis/fields.ts';
import { repeat } from '../util/concurrency.ts';
import type { Runtime } from './runtime.ts';
import { countCancelled, openClaims, waitingPortals } from './sources.ts';

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
  /** Unix milliseconds by the clock of Redis, which all hosts share. */
  at: z.number(),
});

export type InboxViewOfService = z.infer<typeof inboxViewSchema>;

type Opened = { manifest: DropManifest; inbox: Inbox };

/** Opens and closes watched folders as manifests come and go. */
export const inboxesOf = (runtime: Runtime) => {
  const { redis, keys, config, deadlines, log } = runtime;
  const open = new Map<string, Opened>();
  const runAgain = spoolRetries(runtime);
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

  const show = async (name: string, opened: Opened): Promise<void> => {
    const { manifest, inbox } = opened;
    const spooled = await inbox.spooled();
    const cancelled = spooled > 0 ? await runAgain(manifest) : 0;
    const settleMs = manifest.drop.settleMs ?? config.inbox.settleMs;
    const facts = { manifest: name, folder: manifest.drop.folder, settleMs, spooled, cancelled };
    const view: InboxViewOfService = { ...inbox.state(), ...facts, at: await redisNow(redis) };
    if (open.get(name) === opened) await redis.hset(keys.inboxes, name, JSON.stringify(view));
  };

  const showLife = async (name: string, { manifest }: Opened): Promise<void> => {
    const renewed = () => ({ member: expectedOf.inbox(name), at: Date.now() + config.watch.everyMs });
    if ((await isUsable(manifest.drop.folder)) && open.has(name)) await deadlines.keepPromise(renewed());
  };

  const failed = (err: unknown): void => log.debug({ err }, 'inbox state could not be shown');

  /** Each folder apart: one that hangs, as on a dead network drive, does not delay the others. */
  const eachApart = (work: typeof show) => {
    const busy = new Set<string>();
    return async (): Promise<void> => {
      for (const [name, opened] of open) {
        if (busy.has(name)) continue;
        busy.add(name);
        void work(name, opened)
          .catch(failed)
          .finally(() => busy.delete(name));
      }
    };
  };

  return {
    /** Makes the watched folders those of `manifests`; a changed manifest is opened again. Throws when all that can be opened are. */
    sync: async (manifests: DropManifest[]): Promise<void> => {
      const wanted = new Map(manifests.map((manifest) => [manifest.name, manifest]));
      for (const [name, { manifest }] of open)
        if (JSON.stringify(wanted.get(name)) !== JSON.stringify(manifest)) await end(name);
      const faults: unknown[] = [];
      for (const [name, manifest] of wanted) {
        const inbox =
          open.get(name)?.inbox ?? (await watch(manifest).catch((fault: unknown) => void faults.push(fault)));
        if (inbox) open.set(name, { manifest, inbox });
      }
      if (ends.length === 0) ends = [show, showLife].map((work) => repeat(1000, eachApart(work), failed));
      await Promise.all([...open].map(([name, opened]) => show(name, opened)));
      if (faults.length > 0) throw faults[0];
    },

    close: async (): Promise<void> => {
      await Promise.all(ends.map((each) => each()));
      for (const name of open.keys()) await end(name);
    },
  };
};

/** Retries files that stayed in the spool of a manifest, once per `rescan`; tells how many wait for a person instead. */
const spoolRetries = (runtime: Runtime) => {
  /** When a target was last seen without a run or was tried again, by its name; absent while it has one. */
  const lastTry = new Map<string, number>();
  /** Files of each manifest whose run was cancelled, as of the end of the last run or the last try. */
  const cancelled = new Map<string, number>();

  return async (manifest: DropManifest): Promise<number> => {
    for (const portal of portalsOf(manifest)) {
      const target = { manifest: manifest.name, portal };
      const name = targetName(target);
      if ((await runtime.gate.state(target)).current !== null) {
        lastTry.delete(name);
        continue;
      }
      const last = lastTry.get(name);
      const isTime = last !== undefined && Date.now() - last >= runtime.config.inbox.rescanMs;
      if (last !== undefined && !isTime) continue;
      lastTry.set(name, Date.now());
      cancelled.set(manifest.name, await countCancelled(manifest, runtime));
      if (isTime && (await waitingPortals(manifest, runtime)).includes(portal))
        await runtime.requestRun(targetOf({ ...manifest, portal }), 'drop');
    }
    return cancelled.get(manifest.name) ?? 0;
  };
};

const inboxOf = async (runtime: Runtime, manifest: DropManifest, onClaimed: (claims: Claim[]) => Promise<void>) => {
  const { config, log } = runtime;
  return openInbox({ manifest, settings: config.inbox, spoolId: await spoolIdIn(runtime), onClaimed, log });
};

/** The id that pairs spool folders with this Redis, made at first use. */
const spoolIdIn = async ({ redis, keys }: Runtime): Promise<string> => {
  await redis.setnx(keys.spoolId, randomUUID());
  return (await redis.get(keys.spoolId)) ?? '';
};

export const isUsable = (folder: string): Promise<boolean> =>
  access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

const redisNow = async (redis: Runtime['redis']): Promise<number> => Number((await redis.time())[0]) * 1000;

/** A view that is older was left behind by a service that was killed. */
const staleMs = 10_000;

/** The state of watched folders as the services that watch them report it. */
export const readInboxViews = async ({ redis, keys }: Runtime): Promise<InboxViewOfService[]> => {
  const [now, texts] = await Promise.all([redisNow(redis), redis.hvals(keys.inboxes)]);
  return texts.flatMap((text) => storedAs(inboxViewSchema, text) ?? []).filter(({ at }) => now - at < staleMs);
};

/** Claims every file of the inbox, until none is settling, nor left by a watcher that was killed. Returns what it ignores, as lines. */
export const takeDropped = async (runtime: Runtime, manifest: DropManifest, signal: AbortSignal): Promise<string[]> => {
  const inbox = await inboxOf(runtime, manifest, async () => undefined); // the run that follows takes all claims
  try {
    await inbox.scanned;
    while (!signal.aborted && !inbox.isSettled()) await sleep(50, undefined, { signal }).catch(() => undefined);
    return inbox.state().left.map(({ path, reason }) => `ignored ${oneLine(path)}: ${reason}`);
  } finally {
    await inbox.close();
  }
};
