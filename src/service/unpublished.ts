// What is asked for and not published: what manifests name and no run has published, and local files that have changed since.
import { stat } from 'node:fs/promises';
import { isWithin, resourceKey } from '../model/key.ts';
import type { KnownTarget } from '../model/redis-keys.ts';
import { fingerprintFile } from '../sources/drop/fingerprint.ts';
import { inSpool } from '../sources/drop/spool.ts';
import { targetOf } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import type { KnownEntry } from './items.ts';
import { isUnattended, waitsForWorker } from './run-list.ts';
import type { Runtime } from './runtime.ts';

/** The manifest that names a file or key or is meant itself, with the first key that is meant; null for none. */
export const namedBy = (manifests: readonly Manifest[], what: string, path: string) => {
  for (const manifest of manifests) {
    const named = 'datasets' in manifest ? manifest.datasets : [];
    const resources = named.flatMap((dataset) =>
      dataset.resources.map(({ id, source }) => ({ key: resourceKey(manifest.name, dataset.id, id), source })),
    );
    const isOfPath = ({ source }: (typeof resources)[number]) => source.kind === 'file' && source.path === path;
    const meant = resources.find((each) => isWithin(each.key, what) || isOfPath(each));
    if (meant || manifest.name === what || manifest.path === path)
      return { manifest, key: meant?.key ?? manifest.name };
  }
  return null;
};

/** What nobody has published, of a manifest that names it. */
export const neverPublished = async (
  runtime: Runtime,
  what: string,
  { manifest, key }: NonNullable<ReturnType<typeof namedBy>>,
) => {
  const target = targetOf(manifest);
  const why = `not live: no run has published ${key} of ${manifest.path}`;
  return { ...(await unpublished(runtime, target, why)), what };
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
