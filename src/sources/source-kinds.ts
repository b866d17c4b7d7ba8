// The kinds of sources: by the key that a manifest has, how its datasets are gathered.
import { join } from 'node:path';
import type { Log } from '../model/log.ts';
import type { DatasetWish } from '../model/wish.ts';
import { type GatheredDrop, gatherDrop } from './drop/gather-drop.ts';
import { foldersOf, listClaims } from './drop/spool.ts';
import type { Fetcher } from './fetch/fetch.ts';
import { gatherPackages } from './gather/datapackages.ts';
import { type GatheredList, gatherManifest } from './gather/dataset-wish.ts';
import { gatherIndex } from './index/gather-index.ts';
import type { Manifest } from './manifest/schema.ts';
import { WishList } from './wish-list.ts';

export interface SourceTools {
  fetcher: Fetcher;
  stateDir: string;
  signal: AbortSignal;
  log: Log;
  refresh?: boolean;
}

/** What was gathered of a source; the list must be closed. */
export interface GatheredSource extends Omit<GatheredList & GatheredDrop, 'wishes'> {
  wishes: WishList;
}

/** What most kinds of sources lack; a manifest names all its datasets. */
const nothing = { superseded: [], refused: [], skipped: [], remarks: [], complete: true as const };

const listed = ({ wishes, ...rest }: Partial<GatheredList & GatheredDrop> & { wishes: DatasetWish[] }) => ({
  ...nothing,
  ...rest,
  wishes: WishList.of(wishes),
});

/** Gathers the source of a manifest as it is now; of a watched folder the files that were claimed. */
export const gatherSource = async (
  manifest: Manifest,
  { stateDir, ...tools }: SourceTools,
): Promise<GatheredSource> => {
  if ('index' in manifest) return listed(await gatherIndex(manifest));
  if ('datapackages' in manifest) return listed(await gatherPackages(manifest));
  if ('drop' in manifest) {
    const claims = await listClaims(foldersOf(manifest.drop.folder).spool);
    const complete = 'what is published of a watched folder has left it';
    return listed({ ...(await gatherDrop(manifest, claims)), complete });
  }
  if (!('catalogue' in manifest)) return listed({ wishes: await gatherManifest(manifest) });
  // Most manifests need no reader of catalogues.
  const { webCatalogue } = await import('./catalogue/catalogue-bytes.ts');
  const { gatherCatalogue } = await import('./catalogue/gather-catalogue.ts');
  const source = webCatalogue(manifest.catalogue.from, { ...tools, cacheDir: join(stateDir, 'catalogues') });
  const wishes = new WishList(join(stateDir, 'plans'));
  try {
    return { ...nothing, ...(await gatherCatalogue(manifest, source, (wish) => wishes.add(wish))), wishes };
  } catch (error) {
    await wishes.close();
    throw error;
  }
};
