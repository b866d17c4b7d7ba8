// Reads a manifest and resolves it: absolute paths, merged defaults, plain numbers; of several portals one manifest for each.
import { hash } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { slugOf } from '../../dataset-api/names.ts';
import { byPlace, ManifestError } from '../../model/errors.ts';
import type { KnownTarget } from '../../model/redis-keys.ts';
import type { ResourceSource } from '../../model/wish.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { parseYaml, readText } from '../../model/yaml/document.ts';
import { defined } from '../../util/json.ts';
import { crossProblems } from './cross-checks.ts';
import { resolveCatalogue, resolveIndex } from './list-schemas.ts';
import { mergedGuard, resolveTable, urlSource } from './resource-keys.ts';
import {
  type DatasetSpec,
  type Manifest,
  type ManifestBase,
  type ManifestFile,
  manifestFileSchema,
  type ResourceSpec,
  resolveBase,
  resolveDrop,
} from './schema.ts';

/** Manifests still in use, by path: a command, its run and its notice read the same text. */
const inUse = new Map<string, { sha256: string; manifest: WeakRef<Manifest> }>();

/**
 * Loads the manifest at `path` (relative to the working directory); all who load the same text get one object, which must not
 * be changed. That a data file exists is not checked here. @throws ManifestError with all problems at once
 */
export const loadManifest = async (path: string): Promise<Manifest> => {
  const read = await readText(path);
  if ('problem' in read) throw new ManifestError([read.problem]);
  const absolute = resolve(path);
  const sha256 = hash('sha256', read.text);
  const known = inUse.get(absolute);
  const same = known?.sha256 === sha256 ? known.manifest.deref() : undefined;
  if (same) return same;
  const manifest = resolveManifest(checked(read.text, path), absolute);
  inUse.set(absolute, { sha256, manifest: new WeakRef(manifest) });
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

export const targetOf = ({ path, name, portal }: Pick<Manifest, 'path' | 'name' | 'portal'>): KnownTarget => ({
  manifestPath: path,
  manifest: name,
  portal,
});

export const portalsOf = (manifest: Pick<Manifest, 'portal' | 'portals'>): string[] =>
  manifest.portals ?? [manifest.portal];

/** The manifest once for each of its portals; only for `chosen` unless that is null. */
export const perPortal = <M extends Pick<Manifest, 'portal' | 'portals'>>(manifest: M, chosen: string | null): M[] =>
  chosen === null ? portalsOf(manifest).map((portal) => ({ ...manifest, portal })) : [{ ...manifest, portal: chosen }];

const longestId = 64;

/** Of a resource with a step `split`, one for each of its values. `taken`: the ids of the dataset, also the new ones. */
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
    const former = spec.renamedFrom === undefined ? {} : { renamedFrom: idOf(spec.renamedFrom, value, new Set()) };
    const table = steps.map((step) => (step.split === undefined ? step : { split: { ...split, only: value } }));
    return { ...spec, ...former, id, title, details: { ...spec.details, table } };
  });
};

/** Where no id can be derived from a value, or it is taken, a hash of the value makes it unique. */
const idOf = (id: string, value: string, taken: ReadonlySet<string>): string => {
  const plain = `${id}-${slugOf(value) ?? ''}`;
  if (!plain.endsWith('-') && plain.length <= longestId && !taken.has(plain)) return plain;
  const digits = hash('sha256', value).slice(0, 8);
  return `${plain.slice(0, longestId - digits.length - 1).replace(/-$/, '')}-${digits}`;
};

type DatasetFile = NonNullable<ManifestFile['datasets']>[number];
type ResourceFile = NonNullable<DatasetFile['resources']>[number];

const resolveManifest = (file: ManifestFile, path: string): Manifest => {
  const dir = dirname(path);
  const base = resolveBase(file, path);
  if (file.datapackage !== undefined)
    return { ...base, datapackages: [file.datapackage].flat().map((each) => resolve(dir, each)) };
  if (file.index !== undefined) return { ...base, index: resolveIndex(file.index, dir) };
  if (file.catalogue !== undefined) return { ...base, catalogue: resolveCatalogue(file.catalogue, dir) };
  if (file.drop !== undefined) return { ...base, drop: resolveDrop(file.drop, dir) };
  return { ...base, datasets: (file.datasets ?? []).map((dataset) => resolveDataset(dataset, base.defaults, dir)) };
};

export const resolveDataset = (file: DatasetFile, defaults: ManifestBase['defaults'], dir: string): DatasetSpec => {
  const { id, title, renamedFrom, resources = [], ...own } = file;
  const ids = new Set(resources.map((resource) => resource.id));
  return {
    id,
    title,
    ...defined({ renamedFrom }),
    details: { ...defaults.dataset, ...own },
    resources: resources.flatMap((resource) => splitResource(resolveResource(resource, defaults, dir), ids)),
  };
};

const resolveResource = (file: ResourceFile, defaults: ManifestBase['defaults'], dir: string): ResourceSpec => {
  const { id, title = id, renamedFrom, file: local, url, name, link, api = '', ...own } = file;
  // The one source that is given; `crossProblems` saw to it that there is exactly one.
  const sourceOf = (): ResourceSource => {
    if (local !== undefined) return { kind: 'file', path: resolve(dir, local), name: basename(local) };
    if (url !== undefined) return urlSource(url, name);
    return link === undefined ? { kind: 'api', url: api } : { kind: 'link', url: link };
  };
  return {
    id,
    title,
    ...defined({ renamedFrom }),
    source: sourceOf(),
    details: { ...defaults.resource, ...mergedGuard(defaults.resource, resolveTable(own, dir)) },
  };
};
