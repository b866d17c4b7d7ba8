// Reads a manifest and resolves it: absolute paths, merged defaults, plain numbers; of several portals one manifest for each.
import { hash } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { heartbeatUrls } from '../../config/notify-schema.ts';
import { slugOf } from '../../dataset-api/slug.ts';
import { byPlace, ManifestError } from '../../model/errors.ts';
import type { ResourceSource } from '../../model/wish.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { parseYaml, readText } from '../../model/yaml/document.ts';
import { durationMs } from '../../util/quantity.ts';
import { crossProblems } from './cross-checks.ts';
import { resolveCatalogue, resolveDatapackage, resolveIndex } from './list-schemas.ts';
import { mergedGuard, resolveTable, shareOf, urlSource } from './resource-keys.ts';
import { resolveSchedule } from './schedule-schema.ts';
import {
  type DatasetSpec,
  type DropManifest,
  type Manifest,
  type ManifestBase,
  type ManifestFile,
  type ManifestNotify,
  manifestFileSchema,
  type ResourceDetails,
  type ResourceSpec,
} from './schema.ts';

/** Manifests still in use, by path: a command, its run and the notice of it read the same text. */
const lately = new Map<string, { sha256: string; manifest: WeakRef<Manifest> }>();

/**
 * Loads the manifest at `path` (relative to the working directory). Throws ManifestError with all problems at once. A data
 * file that does not exist is no problem of the manifest: it fails that one resource when it is run. The same object is
 * given to all who load the same text, so it must not be changed.
 */
export const loadManifest = async (path: string): Promise<Manifest> => {
  const read = await readText(path);
  if ('problem' in read) throw new ManifestError([read.problem]);
  const absolute = resolve(path);
  const sha256 = hash('sha256', read.text);
  const known = lately.get(absolute);
  const same = known?.sha256 === sha256 ? known.manifest.deref() : undefined;
  if (same) return same;
  const manifest = resolveManifest(checked(read.text, path), absolute);
  lately.set(absolute, { sha256, manifest: new WeakRef(manifest) });
  return manifest;
};

const checked = (text: string, path: string): ManifestFile => {
  const { document, problems } = parseYaml(text, path);
  if (document === null) throw new ManifestError(problems);
  const { value, problems: found } = checkDocument(document, manifestFileSchema);
  const all = [...found, ...crossProblems(document)];
  if (value === null || all.length > 0) throw new ManifestError(all.sort(byPlace));
  return value;
};

/** Names of the portals a manifest is published to, in its order. */
export const portalsOf = (manifest: Pick<Manifest, 'portal' | 'portals'>): string[] =>
  manifest.portals ?? [manifest.portal];

/** The manifest once for each of its portals; once for `chosen` where that is not null, whatever it names itself. */
export const perPortal = <M extends Pick<Manifest, 'portal' | 'portals'>>(manifest: M, chosen: string | null): M[] =>
  chosen === null ? portalsOf(manifest).map((portal) => ({ ...manifest, portal })) : [{ ...manifest, portal: chosen }];

const longestId = 64;

/**
 * The resources of one whose last steps hold a `split`, each with the value that the step keeps; any other resource
 * alone. Ids and titles are made of the values; `taken` holds the ids of the dataset and gets the new ones.
 */
const splitResource = (spec: ResourceSpec, taken: Set<string>): ResourceSpec[] => {
  const steps = spec.details.table ?? [];
  const split = steps.find((step) => step.split !== undefined)?.split;
  if (split === undefined) return [spec];
  const values = Array.isArray(split.values)
    ? split.values.map((value) => [String(value), `${spec.title}: ${value}`] as const)
    : Object.entries(split.values);
  return values.map(([value, title]) => {
    const id = idOf(spec.id, value, taken);
    taken.add(id);
    const { renamedFrom, ...rest } = spec;
    const table = steps.map((step) => (step.split === undefined ? step : { split: { ...split, only: value } }));
    return {
      ...rest,
      id,
      title,
      ...(renamedFrom === undefined ? {} : { renamedFrom: idOf(renamedFrom, value, new Set()) }),
      details: { ...spec.details, table },
    };
  });
};

/** Where no id can be made of a value, or it is taken, a hash of the value tells it apart. */
const idOf = (id: string, value: string, taken: ReadonlySet<string>): string => {
  const plain = `${id}-${slugOf(value) ?? ''}`;
  if (!plain.endsWith('-') && plain.length <= longestId && !taken.has(plain)) return plain;
  const digits = hash('sha256', value).slice(0, 8);
  return `${plain.slice(0, longestId - digits.length - 1).replace(/-$/, '')}-${digits}`;
};

type DatasetFile = NonNullable<ManifestFile['datasets']>[number];
type ResourceFile = NonNullable<DatasetFile['resources']>[number];

/** Resolves a checked file; `path` is its absolute path. */
const resolveManifest = (file: ManifestFile, path: string): Manifest => {
  const dir = dirname(path);
  const base: ManifestBase = {
    path,
    name: file.name,
    ...portalNames(file),
    ...(file.schedule === undefined ? {} : { schedule: resolveSchedule(file.schedule, file.timezone) }),
    ...(file.expectEvery === undefined ? {} : { expectMs: durationMs(file.expectEvery) }),
    ...(file.renamedFrom === undefined ? {} : { renamedFrom: file.renamedFrom }),
    priority: file.priority ?? 'normal',
    onMissing: file.onMissing ?? 'keep',
    missingForMs: file.missingFor === undefined ? 0 : durationMs(file.missingFor),
    onDrift: file.onDrift ?? 'hold',
    guard: {
      maxRemovals: shareOf(file.guard?.maxRemovals ?? '10%'),
      min: file.guard?.min ?? 5,
      maxUpdates: file.guard?.maxUpdates === undefined ? null : shareOf(file.guard.maxUpdates),
    },
    ...(file.notify === undefined ? {} : { notify: resolveNotify(file.notify) }),
    defaults: {
      dataset: file.defaults?.dataset ?? {},
      resource: resolveTable(withGuard(file, file.defaults?.resource ?? {}), dir),
    },
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

const portalNames = ({ portal, portals }: ManifestFile): Pick<ManifestBase, 'portal' | 'portals'> => {
  const [first, second] = portals ?? [];
  if (portals === undefined || second === undefined) return { portal: first ?? portal ?? 'local' };
  return { portal: first ?? second, portals };
};

const resolveNotify = ({ email, webhook, heartbeat }: NonNullable<ManifestFile['notify']>): ManifestNotify => ({
  email: listOf(email),
  webhook: webhook ?? null,
  ...(heartbeat === undefined ? {} : { heartbeat: heartbeatUrls(heartbeat) }),
});

const listOf = (value: string | string[] | undefined): string[] | null =>
  value === undefined ? null : typeof value === 'string' ? [value] : value;

/** What the manifest's guard says of tables is the default of every resource. */
const withGuard = ({ guard }: ManifestFile, details: ResourceDetails): ResourceDetails => {
  const { maxRemovals: _removals, min: _min, maxUpdates: _updates, ...ofTables } = guard ?? {};
  if (Object.keys(ofTables).length === 0) return details;
  return { ...details, guard: { ...ofTables, ...details.guard } };
};

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
    details: { ...defaults.resource, ...mergedGuard(defaults.resource, resolveTable(own, dir)) },
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
