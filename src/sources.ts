// What a manifest stands for at this moment: its wishes, and the dropped files behind them.
import type { ErrorCode } from './errors.ts';
import { gatherDrop } from './gather/drop.ts';
import { gatherManifest } from './gather/manifest.ts';
import type { Gathered } from './handlers/deps.ts';
import { foldersOf } from './intake/claim.ts';
import { archiveClaim, listClaims, quarantineClaim } from './intake/spool.ts';
import type { SettledClaim } from './ledger/runs.ts';
import { loadManifest } from './manifest/load.ts';
import { isDropManifest, type Manifest } from './manifest/schema.ts';

/** Reasons that are not the fault of a dropped file; it stays in the spool and is tried again. */
const passingReasons: ReadonlySet<string> = new Set<ErrorCode>([
  'portal-unreachable',
  'portal-session',
  'portal-login',
  'portal-reply',
  'portal-not-api',
  'import-timeout',
  'job-lost',
  'interrupted',
  'held',
  'drift',
  'plan-moved',
]);

/** The wishes of a manifest as it is now; for a drop manifest those of the claimed files. */
export const gatherSources = async (manifestPath: string): Promise<Gathered> =>
  gatherManifestSources(await loadManifest(manifestPath));

/** As {@link gatherSources}, of a manifest that was loaded just now. */
export const gatherManifestSources = async (manifest: Manifest): Promise<Gathered> => {
  if (!isDropManifest(manifest)) {
    return { wishes: await gatherManifest(manifest), superseded: [], refused: [], isDrop: false, manifest };
  }
  const claims = await listClaims(foldersOf(manifest.drop.folder).spool);
  return { ...(await gatherDrop(manifest, claims)), isDrop: true, manifest };
};

/** Archives or quarantines the dropped files of a closed run; `keep` versions of each stay in the archive. Idempotent. */
export const settleDrops = async (manifestPath: string, settled: SettledClaim[], keep: number): Promise<void> => {
  const manifest = await loadManifest(manifestPath);
  if (!isDropManifest(manifest)) return;
  const claims = new Map((await listClaims(foldersOf(manifest.drop.folder).spool)).map((claim) => [claim.id, claim]));
  for (const { claim: id, reason } of settled) {
    const claim = claims.get(id);
    if (!claim) continue; // settled before a kill
    if (reason && passingReasons.has(reason.code)) continue;
    if (reason) await quarantineClaim(claim, reason);
    else await archiveClaim(claim, { keep });
  }
};
