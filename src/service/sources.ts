// Gathers the source of a manifest: its wishes, and the dropped files behind them.
import { join } from 'node:path';
import { z } from 'zod';
import type { RunRequest } from '../model/job.ts';
import { isChangeLog, resourceKey } from '../model/key.ts';
import { isPassing } from '../model/ledger-entry.ts';
import { type Reason, reasonSchema, saidOf } from '../model/report.ts';
import type { ResourceWish } from '../model/wish.ts';
import type { Gathered } from '../pipeline/handlers/deps.ts';
import { measuredWishes } from '../pipeline/plan/measured.ts';
import {
  archiveClaim,
  type Claim,
  foldersOf,
  listClaims,
  quarantineClaim,
  removeClaimFolder,
} from '../sources/drop/spool.ts';
import { loadManifest, portalsOf } from '../sources/manifest/load.ts';
import { type DropManifest, isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { gatherSource, type SourceTools } from '../sources/source-kinds.ts';
import { WishList } from '../sources/wish-list.ts';
import type { Ledger } from '../state/ledger.ts';
import type { SettledClaim } from '../state/run-work.ts';
import type { Connections } from './connections.ts';

/**
 * The wishes of a run's manifest as it is now. A dropped file that waits for other portals is left out once its portal has
 * decided about it, unless it is retried: it may leave the spool at any moment. One whose run was cancelled is left to
 * runs that a person requests.
 */
export const gatherSources = async (
  { manifestPath, portal, why, refresh }: Pick<RunRequest, 'manifestPath' | 'portal' | 'why' | 'refresh'>,
  tools: SourceTools,
  store: VerdictStore,
): Promise<Gathered> => {
  const manifest = await loadManifest(manifestPath);
  const gathered = await gatherManifestSources(manifest, { ...tools, refresh });
  if (!isDropManifest(manifest) || why === 'retry') return gathered;
  const verdicts = await verdictsOn(await claimsOf(manifest), store);
  const isDone = isShared(manifest, portal) ? hasDecided : () => false;
  const idsOf = (isMeant: (by: Verdicts) => boolean): Set<string> =>
    new Set(verdicts.flatMap(({ claim, by }) => (isMeant(by) ? [claim.id] : [])));
  const done = idsOf((by) => isDone(by, portal));
  const decided = idsOf((by) => isDone(by, portal) || (why === 'drop' && isCancelled(by, portal)));
  if (decided.size === 0) return gathered;
  const isOpen = ({ source }: ResourceWish): boolean =>
    source.kind !== 'file' || source.claim === undefined || !decided.has(source.claim);
  const wishes = (await gathered.wishes.all()).flatMap((wish) => {
    const resources = wish.resources.filter(isOpen);
    return resources.some(({ key }) => !isChangeLog(key)) ? [{ ...wish, resources }] : [];
  });
  return {
    ...gathered,
    wishes: WishList.of(wishes),
    superseded: gathered.superseded.filter(({ id }) => !done.has(id)),
    refused: gathered.refused.filter(({ claim }) => !decided.has(claim.id)),
  };
};

/** The wishes of a manifest; for a drop manifest those of the claimed files. The caller closes the list. */
export const gatherManifestSources = async (manifest: Manifest, tools: SourceTools): Promise<Gathered> => {
  const { wishes, ...stated } = await gatherSource(manifest, tools);
  const isDrop = isDropManifest(manifest);
  const isMeasured = manifest.metadata === 'measure';
  return {
    ...stated,
    wishes: isMeasured ? await measuredWishes(wishes, { ...tools, isWhole: !isDrop }) : wishes,
    isDrop,
    manifest,
  };
};

const isCancelled = (verdicts: Verdicts, portal: string): boolean => verdicts.get(portal)?.code === 'cancelled';

/** True when the portal has published the file or refused it. */
const hasDecided = (verdicts: Verdicts, portal: string): boolean =>
  verdicts.has(portal) && !isCancelled(verdicts, portal);

type VerdictStore = Pick<Connections, 'redis' | 'keys'>;

const verdictsSchema = z.record(z.string(), z.string());

/** What portals made of a dropped file: null where it was published, else why not. */
type Verdicts = ReadonlyMap<string, Reason | null>;

const verdictsIn = (rows: unknown): Verdicts => {
  const verdicts = Object.entries(verdictsSchema.parse(rows));
  return new Map(verdicts.map(([portal, text]) => [portal, reasonSchema.nullable().parse(JSON.parse(text))]));
};

/** Longer than a portal is down; a verdict that is gone is given again by the next run. */
const keepSeconds = 30 * 24 * 3600;

/** Returns all verdicts so far. Of several that are recorded at once, only the last caller sees them all: it moves the file. */
const recordVerdict = async (
  { redis, keys }: VerdictStore,
  claim: string,
  { portal, reason }: { portal: string; reason: Reason | null },
): Promise<Verdicts> => {
  const key = keys.verdicts(claim);
  const verdict = JSON.stringify(reason);
  const answers = await redis.multi().hset(key, portal, verdict).expire(key, keepSeconds).hgetall(key).exec();
  return verdictsIn(answers?.at(-1)?.[1]);
};

/** True where the portal is one of several that take the same dropped files. */
const isShared = (manifest: DropManifest, portal: string): boolean => {
  const portals = portalsOf(manifest);
  return portals.length > 1 && portals.includes(portal);
};

/** Archives or quarantines the files of a closed run once all portals have decided; one refusal suffices. Idempotent. */
export const settleDrops = async (
  { manifestPath, portal }: { manifestPath: string; portal: string },
  settled: SettledClaim[],
  { keep, ...store }: VerdictStore & { keep: number },
): Promise<void> => {
  const manifest = await loadManifest(manifestPath);
  if (!isDropManifest(manifest)) return;
  const { spool } = foldersOf(manifest.drop.folder);
  const claims = new Map((await listClaims(spool)).map((claim) => [claim.id, claim]));
  const portals = portalsOf(manifest);
  const shared = isShared(manifest, portal);
  for (const { claim: id, reason, fixes = [] } of settled) {
    const claim = claims.get(id);
    if (!claim) {
      // Settled before a kill, which may have left its record.
      await removeClaimFolder(join(spool, id), null);
      continue;
    }
    const key = store.keys.verdicts(id);
    if (reason && isPassing(reason)) {
      if (reason.code === 'cancelled') await recordVerdict(store, id, { portal, reason });
      else await store.redis.hdel(key, portal); // it is to be tried again
      continue;
    }
    const verdicts = shared ? await recordVerdict(store, id, { portal, reason }) : new Map([[portal, reason]]);
    if (shared && !portals.every((name) => hasDecided(verdicts, name))) continue;
    const refusals = [...verdicts].flatMap(([name, why]) =>
      why ? [shared ? { ...why, message: `${name}: ${saidOf(name, why.message)}` } : why] : [],
    );
    await store.redis.hdel(key, portal); // where the file cannot be moved now, this portal asks for it again
    if (refusals[0]) await quarantineClaim(claim, refusals[0]);
    else await archiveClaim(claim, { keep, fixes });
    await store.redis.del(key);
  }
};

/** Marks all files of the spool but `others` as cancelled with their run; see {@link gatherSources}. */
export const leaveDrops = async (
  { manifestPath, portal }: { manifestPath: string; portal: string },
  reason: Reason,
  { others = new Set(), ...store }: VerdictStore & { others?: ReadonlySet<string> },
): Promise<void> => {
  const manifest = await loadManifest(manifestPath).catch(() => null); // a faulty one takes no files
  if (manifest === null || !isDropManifest(manifest)) return;
  for (const { id } of await openClaims(await claimsOf(manifest), portal, store))
    if (!others.has(id)) await recordVerdict(store, id, { portal, reason });
};

const verdictsOn = (claims: Claim[], { redis, keys }: VerdictStore): Promise<{ claim: Claim; by: Verdicts }[]> =>
  Promise.all(claims.map(async (claim) => ({ claim, by: verdictsIn(await redis.hgetall(keys.verdicts(claim.id))) })));

/** The dropped files without a verdict of a portal; a cancelled run counts as one. */
export const openClaims = async (claims: Claim[], portal: string, store: VerdictStore): Promise<Claim[]> =>
  (await verdictsOn(claims, store)).flatMap(({ claim, by }) => (by.has(portal) ? [] : [claim]));

/** Portals without a verdict on some file in the spool, but for files that wait for a person. */
export const waitingPortals = async (
  manifest: DropManifest,
  { redis, keys, ledger }: VerdictStore & { ledger: Pick<Ledger, 'entry'> },
): Promise<string[]> => {
  const claims = await claimsOf(manifest);
  const isHeld = async ({ dataset, resource, fingerprint }: Claim, portal: string): Promise<boolean> => {
    const entry = await ledger.entry(portal, resourceKey(manifest.name, dataset, resource));
    return entry?.refused?.guard === 'held' && entry.refused.sha256 === fingerprint.sha256;
  };
  const waiting: string[] = [];
  for (const portal of portalsOf(manifest)) {
    const open = await openClaims(claims, portal, { redis, keys });
    if ((await Promise.all(open.map((claim) => isHeld(claim, portal)))).includes(false)) waiting.push(portal);
  }
  return waiting;
};

/** How many files of the spool wait for a person because a run for them was cancelled. */
export const countCancelled = async (manifest: DropManifest, store: VerdictStore): Promise<number> => {
  const verdicts = await verdictsOn(await claimsOf(manifest), store);
  return verdicts.filter(({ by }) => portalsOf(manifest).some((portal) => isCancelled(by, portal))).length;
};

const claimsOf = (manifest: DropManifest): Promise<Claim[]> => listClaims(foldersOf(manifest.drop.folder).spool);
