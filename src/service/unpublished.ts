// What is asked for and not published: what manifests name and no run has published, and local files that have changed since.
import { stat } from 'node:fs/promises';
import { datasetKey, isWithin, manifestOfKey, resourceKey } from '../model/key.ts';
import type { KnownTarget } from '../model/redis-keys.ts';
import { fingerprintFile } from '../sources/drop/fingerprint.ts';
import { inSpool } from '../sources/drop/spool.ts';
import { targetOf } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import type { KnownEntry } from './items.ts';
import { isUnattended, waitsForWorker } from './run-list.ts';
import type { Runtime } from './runtime.ts';

/** The manifests that name a file or key, or are meant themselves, each with the keys that are meant, the widest first. */
export const namedBy = (manifests: readonly Manifest[], what: string, path: string) =>
  manifests.flatMap((manifest) => {
    const isWhole = manifest.name === what || manifest.path === path;
    const named = ('datasets' in manifest ? manifest.datasets : []).flatMap(({ id: dataset, resources }) => [
      { key: datasetKey(manifest.name, dataset), source: null },
      ...resources.map(({ id, source }) => ({ key: resourceKey(manifest.name, dataset, id), source })),
    ]);
    const isMeant = ({ key, source }: (typeof named)[number]): boolean =>
      isWhole || isWithin(key, what) || (source?.kind === 'file' && source.path === path);
    const keys = [...(isWhole ? [manifest.name] : []), ...named.filter(isMeant).map(({ key }) => key)];
    return keys.length > 0 ? [{ manifest, keys }] : [];
  });

/** What nobody has published, of a manifest that names it. */
export const neverPublished = async (runtime: Runtime, manifest: Manifest, keys: readonly string[], what = keys[0]) => {
  const rest = keys.length > 1 ? ` and ${keys.length - 1} more` : '';
  const why = `not live: no run has published ${keys[0]}${rest} of ${manifest.path}`;
  return { ...(await unpublished(runtime, targetOf(manifest), why)), what: `${what}` };
};

/** What manifests name beside what was `found`, and no run has published. */
export const othersNamed = (runtime: Runtime, named: ReturnType<typeof namedBy>, found: readonly KnownEntry[]) => {
  const known = new Set(found.flatMap(({ key }) => [key, manifestOfKey(key)]));
  const missing = named.flatMap(({ manifest, keys }) => {
    const unknown = keys.filter((key) => !known.has(key));
    return unknown.length > 0 ? [{ manifest, keys: unknown }] : [];
  });
  return Promise.all(missing.map(({ manifest, keys }) => neverPublished(runtime, manifest, keys)));
};

/** A local file that is not what was last read of it; null while it is, and for other sources. */
export const changedFile = async (runtime: Runtime, { key, portal, source, sourcePath, fetched }: KnownEntry) => {
  if (!source || !sourcePath || fetched || inSpool(sourcePath)) return null;
  const isSame = async (): Promise<boolean> =>
    (await stat(sourcePath)).size === source.bytes &&
    (await fingerprintFile(sourcePath, source)).sha256 === source.sha256;
  if (await isSame().catch(() => true)) return null; // one that cannot be read is told by the next run
  const target = (await runtime.targetsOfKey(key)).find((each) => each.portal === portal);
  const why = 'not live yet: the file has changed since it was last read';
  return target ? { ...(await unpublished(runtime, target, why)), what: key } : null;
};

const unpublished = async (runtime: Runtime, target: KnownTarget, why: string) => {
  const { manifest, portal, manifestPath } = target;
  const { current } = await runtime.gate.state(target);
  const run =
    current && `; run ${current} ${(await isUnattended(runtime, portal)) ? waitsForWorker : 'is in progress'}`;
  const todo = run ?? `\n-> \`sluice publish ${manifestPath}\` publishes it`;
  return { state: 'unpublished' as const, manifest, portal, runId: current, since: null, why: `${why}${todo}` };
};
