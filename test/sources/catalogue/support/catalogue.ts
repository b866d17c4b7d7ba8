// Small catalogues for tests, made of what matters in each.
import type { DatasetWish } from '../../../../src/model/wish.ts';
import type { CatalogueSource } from '../../../../src/sources/catalogue/catalogue-bytes.ts';
import { type GatheredCatalogue, gatherCatalogue } from '../../../../src/sources/catalogue/gather-catalogue.ts';
import { noPaging } from '../../../../src/sources/catalogue/paging.ts';
import type { catalogueLimits } from '../../../../src/sources/catalogue/read-catalogue.ts';
import type { CatalogueSpec } from '../../../../src/sources/manifest/list-schemas.ts';
import { type CatalogueManifest, defaultRules } from '../../../../src/sources/manifest/schema.ts';

/** A manifest of a catalogue with the given parts. */
export const catalogueManifest = (
  catalogue: Partial<CatalogueSpec> = {},
  more: Partial<Omit<CatalogueManifest, 'catalogue'>> = {},
): CatalogueManifest => ({
  path: '/jobs/m.yaml',
  name: 'm',
  portal: 'local',
  ...defaultRules,
  defaults: { dataset: {}, resource: {} },
  ...more,
  catalogue: { from: 'a.json', files: 'link', filters: {}, excludes: {}, overrides: {}, defaults: {}, ...catalogue },
});

/** Text as a stream of chunks of `size` bytes. */
export async function* chunksOf(text: string | Uint8Array, size = 7): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text as string); // either of its overloads
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Everything that comes, as a list. */
export const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
};

/** A catalogue of one document. */
const sourceOf = (bytes: AsyncIterable<Uint8Array>, from: string): CatalogueSource => ({
  open: async (address) => (address === from ? { bytes, url: null, paging: noPaging } : null),
  maxBytes: Number.POSITIVE_INFINITY,
});

/** Gathers a catalogue with all its wishes. */
export const gatherAll = async (
  manifest: CatalogueManifest,
  bytes: AsyncIterable<Uint8Array>,
  limits?: typeof catalogueLimits,
): Promise<GatheredCatalogue & { wishes: DatasetWish[] }> => {
  const wishes: DatasetWish[] = [];
  const source = sourceOf(bytes, manifest.catalogue.from);
  const gathered = await gatherCatalogue(manifest, source, async (wish) => void wishes.push(wish), limits);
  return { ...gathered, wishes };
};

/** Gathers a catalogue of the given entries. */
export const gatherEntries = (
  entries: unknown[],
  manifest: CatalogueManifest = catalogueManifest(),
  limits?: typeof catalogueLimits,
): Promise<GatheredCatalogue & { wishes: DatasetWish[] }> =>
  gatherAll(manifest, chunksOf(JSON.stringify({ dataset: entries }), 4096), limits);

/** A sound entry. */
export const entry = (identifier: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  identifier,
  title: `Title of ${identifier}`,
  ...more,
});
