// The kinds of sources: by the key that a manifest has, how its datasets are gathered.
import { join } from 'node:path';
import type { Log } from '../model/log.ts';
import type { Reason } from '../model/report.ts';
import type { DatasetWish } from '../model/wish.ts';
import { webCatalogue } from './catalogue/catalogue-bytes.ts';
import { gatherCatalogue } from './catalogue/gather-catalogue.ts';
import { gatherDrop } from './drop/gather-drop.ts';
import { type Claim, foldersOf, listClaims } from './drop/spool.ts';
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
}

/** What was gathered of a source; the list must be closed. */
interface GatheredSource extends Omit<GatheredList, 'wishes'> {
  wishes: WishList;
  /** Dropped files that a newer drop of the same name replaced. */
  superseded: Claim[];
  refused: { claim: Claim; reason: Reason }[];
}

type Gather<M> = (manifest: M, tools: SourceTools) => Promise<GatheredSource>;

const kinds: {
  [K in 'datasets' | 'drop' | 'catalogue' | 'index' | 'datapackages']: Gather<Extract<Manifest, Record<K, unknown>>>;
} = {
  datasets: async (manifest) => listed({ wishes: await gatherManifest(manifest) }),
  index: async (manifest) => listed(await gatherIndex(manifest)),
  datapackages: async (manifest) => listed(await gatherPackages(manifest)),
  drop: async (manifest) => {
    const claims = await listClaims(foldersOf(manifest.drop.folder).spool);
    const complete = 'what is published of a watched folder has left it';
    return listed({ ...(await gatherDrop(manifest, claims)), complete });
  },
  catalogue: async (manifest, { stateDir, ...tools }) => {
    const source = webCatalogue(manifest.catalogue.from, { ...tools, cacheDir: join(stateDir, 'catalogues') });
    const wishes = new WishList(join(stateDir, 'plans'));
    try {
      return { ...nothing, ...(await gatherCatalogue(manifest, source, (wish) => wishes.add(wish))), wishes };
    } catch (error) {
      await wishes.close();
      throw error;
    }
  },
};

/** What most kinds of sources lack; a manifest names all its datasets. */
const nothing = { superseded: [], refused: [], skipped: [], remarks: [], complete: true as const };

const listed = ({ wishes, ...rest }: Partial<Omit<GatheredSource, 'wishes'>> & { wishes: DatasetWish[] }) => ({
  ...{ ...nothing, ...rest },
  wishes: WishList.of(wishes),
});

/** Gathers the source of a manifest as it is now; of a watched folder the files that were claimed. */
export const gatherSource = (manifest: Manifest, tools: SourceTools): Promise<GatheredSource> => {
  const [, gather] = Object.entries(kinds).find(([key]) => key in manifest) ?? []; // every manifest has one of these keys
  return (gather as Gather<Manifest>)(manifest, tools); // the one of its kind
};
