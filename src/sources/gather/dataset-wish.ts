// The wishes of datasets, their fingerprints, and entries that cannot be published.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { datasetFields, resourceFields } from '../../dataset-api/fields.ts';
import { frequencyMs } from '../../dataset-api/values.ts';
import { EntryFaultError, type FileProblem, problemLine, reasonOf, unreadable } from '../../model/errors.ts';
import { changeLogId, datasetKey, resourceKey, uuidOfKey } from '../../model/key.ts';
import type { ImportMode } from '../../model/policy.ts';
import { isConvertible, isTabular, type TableRecipe } from '../../model/recipe/recipe.ts';
import type { Step } from '../../model/recipe/steps.ts';
import { type TableSchema, tableSchemaSchema } from '../../model/recipe/table-schema.ts';
import type { Reason } from '../../model/report.ts';
import type { DatasetWish, NodeFields, ResourceSource, ResourceWish } from '../../model/wish.ts';
import { defined, wellFormed } from '../../util/json.ts';
import { durationMs } from '../../util/quantity.ts';
import { guardOf, shareOf, type TableDetails } from '../manifest/resource-keys.ts';
import type { DatasetSpec, Manifest, ManifestBase, ResourceSpec } from '../manifest/schema.ts';

/** Changes whenever the same recipe gives other bytes, so that what was sent before is recreated. */
const version = 2;

/**
 * The recipe for a resource, or null when its file is sent as it is. A schema file and modules are read here, because they
 * are part of the fingerprint; one that cannot be read is the fault of that one resource, reported by its job.
 */
export const recipeOf = (details: TableDetails, source: ResourceSource, mode: ImportMode): TableRecipe | null => {
  if (!('name' in source)) return null;
  const { sheet = null, member = null, badRows = 'fail', maxBadRows = '0.5%' } = details;
  const steps = stepsOf(details, source.name);
  const own = /\.zip$/i.test(source.name) ? (details.table ?? []) : steps;
  const asked =
    own.length > 0 || sheet !== null || member !== null || details.schema !== undefined || badRows !== 'fail';
  const isFixed = details.mend === 'safe' && (textTable.test(source.name) || isConvertible(source.name));
  const isWanted = isConvertible(source.name) || (isFixed && isTabular(source.name));
  if (!asked && (mode !== 'auto' || !isWanted)) return null;
  const faults: string[] = [];
  const schema = schemaOf(details.schema, faults);
  const modules = steps.flatMap(({ transform }) => (transform === undefined ? [] : [hashOf(transform, faults)]));
  const limit = typeof maxBadRows === 'number' ? { rows: maxBadRows } : { share: shareOf(maxBadRows) };
  const plain = { asked, sheet, member, steps, badRows, maxBadRows: limit, schema };
  const recipe = { ...plain, ...(isFixed ? { mend: 'safe' as const } : {}) };
  const fingerprint = hash('sha256', JSON.stringify({ version, ...recipe, modules }));
  return { fingerprint, ...recipe, fault: faults[0] ?? null };
};

/** Names of text files, and of archives that may hold one. */
const textTable = /\.(?:(?:csv|tsv|txt|tab)(?:\.gz)?|zip)$/i;

/** The steps of a table after the input keys beside them; a step of the same name takes precedence. */
const stepsOf = ({ encoding, skipRows, table = [] }: TableDetails, name: string): Step[] => {
  const isText = textTable.test(name);
  if (!isText && !/\.xls[xm]$/i.test(name)) return table;
  const has = (key: keyof Step): boolean => table.some((step) => step[key] !== undefined);
  return [
    ...(encoding === undefined || !isText || has('encoding') ? [] : [{ encoding }]),
    ...(skipRows === undefined || has('skipRows') ? [] : [{ skipRows }]),
    ...table,
  ];
};

const schemaOf = (schema: TableDetails['schema'], faults: string[]): TableSchema | null => {
  if (typeof schema !== 'string') return schema ?? null;
  try {
    const parsed = tableSchemaSchema.safeParse(JSON.parse(readFileSync(schema, 'utf8')));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    faults.push(`${schema} is not a Table Schema: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
  } catch (error) {
    faults.push(`${schema} cannot be read as JSON: ${unreadable(error).why}`);
  }
  return null;
};

const hashOf = (path: string, faults: string[]): string => {
  try {
    return hash('sha256', readFileSync(path));
  } catch (error) {
    faults.push(`the module ${path} cannot be read: ${unreadable(error).why}`);
    return '';
  }
};

/** sha256 (hex) over the canonical JSON of what the portal shall hold. */
export const metadataFingerprint = (node: Pick<DatasetWish, 'title' | 'published' | 'fields'>): string =>
  hash('sha256', canonicalJson(node));

export const withFields = <W extends ResourceWish | DatasetWish>(wish: W, more: NodeFields): W => {
  const fields = { ...wish.fields, ...more };
  const { title, published } = wish;
  return { ...wish, fields, metadataFingerprint: metadataFingerprint({ title, published, fields }) };
};

/** JSON without spaces and with the keys of every object sorted; `undefined` entries are left out. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
  return `{${entries.join(',')}}`;
};

/** A faulty entry of a catalogue or list, or a faulty resource of a sound one. */
export interface SkippedEntry {
  /** Key it would have; of an unknown dataset, `<manifest>/entry#<number>`, of a resource `<dataset>/distribution#<number>`. */
  key: string;
  uuid: string;
  title: string;
  reason: Reason;
  problems: FileProblem[];
  /** False when its identity is unknown: then it may be any of those that seem to be missing, of a resource any of its dataset. */
  isKnown: boolean;
  /** True where the key is made of a name that may be another one than that of the identity: right where it is published. */
  isGuessed?: boolean;
}

/** True where a source names everything that it has; otherwise why it may not. */
export type Completeness = true | string;

export const unprovenRemark = (why: string): string => `nothing counts as missing: ${why}`;

export interface Stated {
  complete: Completeness;
  /** Looks at the source once more, where only that can tell; requested before an absence is believed. */
  confirm?: () => Promise<Completeness>;
  /** Faulty datasets; what they published before stays as it is. */
  skipped: SkippedEntry[];
  /** Keys of what is only named, without a fault; `<dataset>/distribution#<number>` may be any resource of its dataset. */
  spared?: string[];
  /** Why the dataset of this title and these names may still be offered, asked of its server; null where nothing says so. */
  offered?: ((title: string, names: string[]) => Promise<string | null>) | undefined;
}

export interface GatheredList extends Stated {
  wishes: DatasetWish[];
  /** What is not published, or not as it is in the list. */
  remarks: string[];
}

type KeyOwner = Pick<ManifestBase, 'name' | 'renamedFrom'>;

/** Keys follow the present names, the uuid the former ones: the nodes are found again after a rename. */
export const datasetWish = (owner: KeyOwner, described: DatasetSpec): DatasetWish => {
  const spec = wellFormed(described);
  const key = datasetKey(owner.name, spec.id);
  const { published = true, expectEvery, changes, fields, ...metadata } = spec.details;
  const node = { title: spec.title, published, fields: datasetFields(metadata, fields) };
  const isLogged = (resource: ResourceSpec): boolean => !!changes && published && resource.details.published !== false;
  return {
    key,
    uuid: uuidOfKey(datasetKey(owner.renamedFrom ?? owner.name, spec.renamedFrom ?? spec.id)),
    ...node,
    ...defined({ expectMs: expectation(spec) ?? undefined }),
    metadataFingerprint: metadataFingerprint(node),
    resources: [
      ...spec.resources.map((resource) => ({
        ...resourceWish(owner, spec, resource),
        ...(isLogged(resource) && { isLogged: true as const }),
      })),
      ...(changes ? [resourceWish(owner, spec, changeLogOf(published))] : []),
    ],
  };
};

const changeLogOf = (published: boolean): ResourceSpec => ({
  id: changeLogId,
  title: 'Change log',
  source: { kind: 'changes', name: 'change-log.csv' },
  details: {
    published,
    format: 'csv',
    description: 'The versions of the tables of this dataset, and the rows that changed with each of them.',
  },
});

/** What the dataset says itself takes precedence over its frequency, which is that of its files. */
const expectation = ({ details, resources }: DatasetSpec): number | null => {
  const { expectEvery, frequency } = details;
  if (expectEvery !== undefined) return expectEvery === 'never' ? null : durationMs(expectEvery);
  const hasFiles = resources.some(({ source }) => 'name' in source);
  return hasFiles && frequency !== undefined ? frequencyMs(frequency) : null;
};

const resourceWish = (owner: KeyOwner, dataset: DatasetSpec, spec: ResourceSpec): ResourceWish => {
  const { published = true, import: mode = 'auto', guard: limits, fields, ...metadata } = spec.details;
  const node = { title: spec.title, published, fields: resourceFields(metadata, spec.source, fields) };
  const recipe = recipeOf(metadata, spec.source, mode);
  const guard = guardOf(limits);
  const { encoding, skipRows, mend, key } = metadata;
  const reading = defined({ encoding, skipRows, mend });
  const isOpen = !recipe?.asked && Object.keys(reading).length > 0;
  const [formerOwner, formerDataset] = [owner.renamedFrom ?? owner.name, dataset.renamedFrom ?? dataset.id];
  return {
    key: resourceKey(owner.name, dataset.id, spec.id),
    uuid: uuidOfKey(resourceKey(formerOwner, formerDataset, spec.renamedFrom ?? spec.id)),
    datasetKey: datasetKey(owner.name, dataset.id),
    ...node,
    source: spec.source,
    import: mode,
    ...defined({
      byAddress: spec.byAddress,
      recipe: recipe ?? undefined,
      guard: guard ?? undefined,
      rowKey: key,
      reading: isOpen ? reading : undefined,
    }),
    metadataFingerprint: metadataFingerprint(node),
  };
};

/** The wishes of the datasets listed in a manifest, in its order; none for the other kinds, which are gathered elsewhere. */
export const gatherManifest = async (manifest: Manifest): Promise<DatasetWish[]> =>
  'datasets' in manifest ? manifest.datasets.map((dataset) => datasetWish(manifest, dataset)) : [];

/** A faulty dataset; `id` is null where it is unknown which one it is, and `entry` names it then. */
export const skippedDataset = (
  { name, renamedFrom }: KeyOwner,
  { id, formerId = id, entry, ...said }: Said,
  { problems, hint }: { problems: FileProblem[]; hint: string },
): SkippedEntry => ({
  key: datasetKey(name, id ?? `entry#${entry}`),
  uuid: formerId === null ? '' : uuidOfKey(datasetKey(renamedFrom ?? name, formerId)),
  reason: reasonOf(new EntryFaultError(problems.map(problemLine).join('\n'), { hint })),
  problems,
  ...said,
});

interface Said extends Pick<SkippedEntry, 'title' | 'isKnown'> {
  id: string | null;
  formerId?: string | null;
  entry: string | number;
}
