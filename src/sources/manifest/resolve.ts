// Turns a checked manifest file into a manifest: defaults merged in, paths absolute.
import { basename, dirname, resolve } from 'node:path';
import type { ResourceSource } from '../../model/wish.ts';
import { durationMs } from '../../util/quantity.ts';
import { resolveDatapackage } from '../datapackage/datapackage-schema.ts';
import { resolveCatalogue } from './catalogue-schema.ts';
import { resolveIndex } from './index-schema.ts';
import { resolveSchedule } from './schedule-schema.ts';
import type { DatasetSpec, DropManifest, Manifest, ManifestBase, ManifestFile, ResourceSpec } from './schema.ts';
import { splitResource } from './split.ts';
import { resolveTable } from './table-schema.ts';
import { urlSource } from './url-schema.ts';

type DatasetFile = NonNullable<ManifestFile['datasets']>[number];
type ResourceFile = NonNullable<DatasetFile['resources']>[number];

/** Resolves a checked file; `path` is its absolute path. */
export const resolveManifest = (file: ManifestFile, path: string): Manifest => {
  const dir = dirname(path);
  const base: ManifestBase = {
    path,
    name: file.name,
    ...portalsOf(file),
    ...(file.schedule === undefined ? {} : { schedule: resolveSchedule(file.schedule, file.timezone) }),
    ...(file.renamedFrom === undefined ? {} : { renamedFrom: file.renamedFrom }),
    onMissing: file.onMissing ?? 'keep',
    missingForMs: file.missingFor === undefined ? 0 : durationMs(file.missingFor),
    onDrift: file.onDrift ?? 'hold',
    guard: {
      maxRemovals: shareOf(file.guard?.maxRemovals ?? '10%'),
      min: file.guard?.min ?? 5,
      maxUpdates: file.guard?.maxUpdates === undefined ? null : shareOf(file.guard.maxUpdates),
    },
    ...(file.notify === undefined
      ? {}
      : { notify: { email: listOf(file.notify.email), webhook: file.notify.webhook ?? null } }),
    defaults: { dataset: file.defaults?.dataset ?? {}, resource: resolveTable(file.defaults?.resource ?? {}, dir) },
  };
  if (file.datapackage !== undefined) return { ...base, datapackages: resolveDatapackage(file.datapackage, dir) };
  if (file.index !== undefined) return { ...base, index: resolveIndex(file.index, dir) };
  if (file.catalogue !== undefined) return { ...base, catalogue: resolveCatalogue(file.catalogue, dir) };
  if (file.drop === undefined)
    return { ...base, datasets: (file.datasets ?? []).map((dataset) => resolveDataset(dataset, base, dir)) };
  return { ...base, drop: resolveDrop(file.drop, dir) };
};

const resolveDrop = (file: NonNullable<ManifestFile['drop']>, dir: string): DropManifest['drop'] => {
  const { folder, files = '**/*.csv', folders, settle, marker, trusted } = file;
  return {
    folder: resolve(dir, folder),
    files: typeof files === 'string' ? [files] : files,
    settleMs: settle === undefined ? null : durationMs(settle),
    ...(marker === undefined ? {} : { marker }),
    ...(folders === undefined ? {} : { folders }),
    ...(trusted === undefined ? {} : { trusted }),
  };
};

const portalsOf = ({ portal, portals }: ManifestFile): Pick<ManifestBase, 'portal' | 'portals'> => {
  const [first, second] = portals ?? [];
  if (portals === undefined || second === undefined) return { portal: first ?? portal ?? 'local' };
  return { portal: first ?? second, portals };
};

const listOf = (value: string | string[] | undefined): string[] | null =>
  value === undefined ? null : typeof value === 'string' ? [value] : value;

/** `10%` as 0.1. */
const shareOf = (text: string): number => Number.parseFloat(text) / 100;

/** Resolves a checked dataset; its paths are relative to `dir`. */
export const resolveDataset = (
  file: DatasetFile,
  { defaults }: Pick<ManifestBase, 'defaults'>,
  dir: string,
): DatasetSpec => {
  const { id, title, renamedFrom, resources, ...own } = file;
  const ids = new Set(resources?.map((resource) => resource.id));
  return {
    id,
    title,
    ...(renamedFrom === undefined ? {} : { renamedFrom }),
    details: { ...defaults.dataset, ...own },
    resources: (resources ?? []).flatMap((resource) => splitResource(resolveResource(resource, defaults, dir), ids)),
  };
};

const resolveResource = (file: ResourceFile, defaults: ManifestBase['defaults'], dir: string): ResourceSpec => {
  const { id, title, renamedFrom, file: local, url, name, link, api, ...own } = file;
  return {
    id,
    title: title ?? id,
    ...(renamedFrom === undefined ? {} : { renamedFrom }),
    source: url === undefined ? sourceOf({ local, link, api }, dir) : urlSource(url, name),
    details: { ...defaults.resource, ...resolveTable(own, dir) },
  };
};

/** The one source that is given; `crossProblems` saw to it that there is exactly one. */
const sourceOf = (
  { local, link, api }: Record<'local' | 'link' | 'api', string | undefined>,
  dir: string,
): ResourceSource => {
  if (local !== undefined) return { kind: 'file', path: resolve(dir, local), name: basename(local) };
  return link === undefined ? { kind: 'api', url: api ?? '' } : { kind: 'link', url: link };
};
