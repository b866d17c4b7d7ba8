// Metadata of dropped files: from their path in the inbox, the manifest, and the small YAML files beside them.
import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { datasetMetadataFaults } from '../../dataset-api/metadata.ts';
import { titleOfName } from '../../dataset-api/names.ts';
import { type FileProblem, fileProblem, ManifestError, SluiceError, SourceRefusedError } from '../../model/errors.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { readYaml, type YamlDocument } from '../../model/yaml/document.ts';
import { gone, unless } from '../../util/durable.ts';
import { isObject, recordOf } from '../../util/json.ts';
import { packageDraft } from '../datapackage/package.ts';
import { datasetProblems } from '../manifest/cross-checks.ts';
import type { DatasetDraft } from '../manifest/dataset-draft.ts';
import { mergedGuard } from '../manifest/resource-keys.ts';
import {
  type DatasetDetails,
  type DropManifest,
  datasetDetailsFileSchema,
  datasetSchema,
  type ResourceDetails,
  resourceDetailsFileSchema,
} from '../manifest/schema.ts';
import { droppedNames, listedFolders } from './drop-target.ts';

type Described<Details> = Required<Titled<Details>>;

/** True when a plain file is there. Throws SourceRefusedError for a link, folder or the like, which could lead anywhere. */
const standsAt = async (inbox: string, path: string): Promise<boolean> => {
  const segments = path.split('/');
  for (const depth of segments.keys()) {
    const at = join(inbox, ...segments.slice(0, depth + 1));
    const stats = await unless(lstat(at), gone, null);
    const last = depth === segments.length - 1;
    if (stats === null || (!last && stats.isFile())) return false;
    if (last ? stats.isFile() : stats.isDirectory()) continue;
    throw new SourceRefusedError(`${at} is not a plain ${last ? 'file' : 'folder'}`, {
      hint: 'put the file itself there, not a link to it; then drop the data again',
    });
  }
  return true;
};

/**
 * Title and details of a dropped file's dataset, each refining the previous one: the defaults of the manifest, `dataset.yaml`
 * in the inbox, the folders around the dataset as the manifest lists them and the `dataset.yaml` in each, and in the
 * dataset's own folder `datapackage.json` and `dataset.yaml` (for a file `x.csv` without a folder that is `x/`). Without a
 * title in the last two the name makes one.
 *
 * @throws ManifestError when one of the files is faulty, SourceRefusedError when it is a link
 */
export const datasetOfDrop = async (manifest: DropManifest, dropped: string): Promise<Described<DatasetDetails>> => {
  const { folder: inbox, folders = {} } = manifest.drop;
  const rights = rightsIn(manifest);
  const { around, path, dataset } = droppedNames(dropped, listedFolders(manifest.drop));
  let shared = await inherited({ inbox, path: 'dataset.yaml', rights }, manifest.defaults.dataset);
  for (const folder of around) {
    shared = await inherited({ inbox, path: `${folder}/dataset.yaml`, rights }, { ...shared, ...folders[folder] });
  }
  const packaged = (await standsAt(inbox, `${path}/datapackage.json`))
    ? await loadPackagedDataset(join(inbox, path, 'datapackage.json'), shared)
    : { details: shared };
  const own = (await standsAt(inbox, `${path}/dataset.yaml`))
    ? await loadDatasetDetails(join(inbox, path, 'dataset.yaml'), packaged.details, rights)
    : packaged;
  return { title: titleOfName(dataset), ...packaged, ...own };
};

const rightsIn = ({ drop }: DropManifest): SidecarRights => (drop.trusted === true ? 'all' : 'plain');

/** Details from a `dataset.yaml` above the datasets that it describes, so it has no title. */
const inherited = async (
  { inbox, path, rights }: { inbox: string; path: string; rights: SidecarRights },
  defaults: DatasetDetails,
): Promise<DatasetDetails> => {
  if (!(await standsAt(inbox, path))) return defaults;
  const { title, details } = await loadDatasetDetails(join(inbox, path), defaults, rights);
  if (title === undefined) return details;
  const message = 'a title is for one dataset: put it into the `dataset.yaml` in the folder of that dataset';
  throw new ManifestError([fileProblem(join(inbox, path), message, 'title')]);
};

/**
 * Title and details of a dropped file itself, each refining the previous one: the manifest's defaults, its entry in
 * `datapackage.json` in the same folder, `<resource>.yaml` beside it. (`dataset.yaml` always describes datasets, so a file
 * `dataset.csv` has no sidecar of its own.) Throws as {@link datasetOfDrop}.
 */
export const resourceOfDrop = async (manifest: DropManifest, dropped: string): Promise<Described<ResourceDetails>> => {
  const inbox = manifest.drop.folder;
  const { folder, path, resource } = droppedNames(dropped, listedFolders(manifest.drop));
  const defaults = manifest.defaults.resource;
  const described = folder === path && (await standsAt(inbox, `${folder}/datapackage.json`));
  const packaged = described
    ? await loadPackagedResource(join(inbox, folder, 'datapackage.json'), basename(dropped), defaults)
    : { details: defaults };
  const beside = folder === '' ? `${resource}.yaml` : `${folder}/${resource}.yaml`;
  const own = resource !== 'dataset' && (await standsAt(inbox, beside));
  const loaded = own ? await loadResourceDetails(join(inbox, beside), packaged.details, rightsIn(manifest)) : packaged;
  return { title: titleOfName(resource), ...packaged, ...loaded };
};

/** What is wrong with the sidecars of the file dropped at `path`, with file, line and column; null when nothing is. */
export const describedBadly = async (manifest: DropManifest, path: string): Promise<string | null> => {
  try {
    await datasetOfDrop(manifest, path);
    await resourceOfDrop(manifest, path);
    return null;
  } catch (error) {
    if (error instanceof SluiceError) return `waits until its description is fixed: ${error.message}`;
    throw error;
  }
};

/** What the package says of its dataset, over `defaults`. Throws ManifestError with all problems at once. */
const loadPackagedDataset = async (path: string, defaults: DatasetDetails): Promise<Titled<DatasetDetails>> => {
  const { draft, hasTitle } = await draftOf(path, () => false);
  const checked = checkDocument(draft, datasetSchema);
  const problems = [...checked.problems, ...datasetProblems(draft, defaults)];
  if (checked.value === null || problems.length > 0) throw new ManifestError(problems);
  const { id: _id, title, resources: _resources, renamedFrom: _former, ...details } = checked.value;
  return { ...(hasTitle ? { title } : {}), details: { ...defaults, ...details } };
};

/** What the package says of the file `name` in its folder, over `defaults`. Throws ManifestError with all problems at once. */
const loadPackagedResource = async (
  path: string,
  name: string,
  defaults: ResourceDetails,
): Promise<Titled<ResourceDetails>> => {
  const { draft } = await draftOf(path, (paths) => paths.some((each) => each.replace(/^\.\//, '') === name));
  const [resource] = draft.value.resources;
  if (resource === undefined) return { details: defaults };
  const { id: _id, file: _file, ...own } = resource;
  const schema = z.object({ resources: z.tuple([resourceDetailsFileSchema]) });
  const checked = checkDocument(draft, schema, { resources: [own] });
  if (checked.value === null) throw new ManifestError(checked.problems);
  const { title, ...details } = checked.value.resources[0];
  return { ...(title === undefined ? {} : { title }), details: { ...defaults, ...details } };
};

const draftOf = async (
  path: string,
  only: (paths: string[]) => boolean,
): Promise<{ draft: DatasetDraft; hasTitle: boolean }> => {
  const read = await packageDraft(path, basename(dirname(path)), only);
  if (read.draft.problems.length > 0) throw new ManifestError(read.draft.problems);
  return read;
};

/** Fields of plain text, which refer to nothing, release nothing and choose no text format. */
const plainFields = new Set(
  [
    'additional_info author conforms_to contact_email contact_name data_dictionary data_dictionary_type',
    'frequency granularity is_part_of landing_page language license pod_theme public_access_level',
    'related_content rights spatial_geographical_cover',
  ].flatMap((names) => names.split(' ').map((name) => `field_${name}`)),
);

/** What these fields hold: texts, under the names that the API has for them. */
const plainValue = z.strictObject({
  und: z.array(z.partialRecord(z.enum(['value', 'url', 'title', 'first', 'second']), z.string())),
});

/** What a sidecar may not say; `defaults` has the values of the manifest for keys that it leaves out. */
const rightsProblems = (
  document: YamlDocument,
  rights: SidecarRights,
  defaults: { published?: boolean },
): FileProblem[] => {
  const { value } = document;
  if (rights === 'all' || !isObject(value)) return []; // what is no mapping is reported already
  const problems: FileProblem[] = [];
  if (value.groups !== undefined) problems.push(document.problem(['groups'], only('refers to nodes'), 'key'));
  if (value.published === true && defaults.published === false)
    problems.push(document.problem(['published'], only('releases what the manifest holds back'), 'key'));
  if (isObject(value.fields)) {
    for (const [name, field] of Object.entries(value.fields)) {
      if (plainFields.has(name) && plainValue.safeParse(field).success) continue;
      const what = plainFields.has(name) ? 'holds more than plain text' : 'is not a plain text field';
      problems.push(document.problem(['fields', name], only(what), 'key'));
    }
  }
  return problems;
};

const only = (what: string): string =>
  `${what}: this is only allowed in the manifest, or here with \`drop.trusted: true\``;

const maxBytes = 1024 * 1024;

/** `all`: the manifest trusts everyone who may write the file; `plain`: it may not refer to nodes or publish what is held back. */
type SidecarRights = 'plain' | 'all';

interface Titled<Details> {
  title?: string;
  details: Details;
}

/**
 * Loads `dataset.yaml` over `defaults` (a manifest's `defaults.dataset`). Throws ManifestError with all problems at once,
 * also when the file is missing.
 */
export const loadDatasetDetails = async (
  path: string,
  defaults: DatasetDetails,
  rights: SidecarRights = 'plain',
): Promise<Titled<DatasetDetails>> =>
  await load(path, datasetDetailsFileSchema, defaults, (document) => [
    ...datasetMetadataFaults({ ...defaults, ...recordOf(document.value) }).map((fault) =>
      document.problem(fault.path, fault.message),
    ),
    ...rightsProblems(document, rights, defaults),
  ]);

/** Loads `<resource>.yaml` over `defaults` (a manifest's `defaults.resource`). Throws as {@link loadDatasetDetails}. */
export const loadResourceDetails = async (
  path: string,
  defaults: ResourceDetails,
  rights: SidecarRights = 'plain',
): Promise<Titled<ResourceDetails>> => {
  const loaded = await load<ResourceDetails>(path, resourceDetailsFileSchema, defaults, (document) =>
    rightsProblems(document, rights, defaults),
  );
  return { ...loaded, details: mergedGuard(defaults, loaded.details) };
};

const load = async <Details extends object>(
  path: string,
  schema: z.ZodType<Details & { title?: string }>,
  defaults: Details,
  cross: (document: YamlDocument) => FileProblem[],
): Promise<Titled<Details>> => {
  const { document, problems } = await readYaml(path, maxBytes);
  if (document === null) throw new ManifestError(problems);
  const checked = checkDocument(document, schema);
  const all = [...checked.problems, ...cross(document)];
  if (checked.value === null || all.length > 0) throw new ManifestError(all);
  const { title, ...details } = checked.value;
  const merged = { ...defaults, ...details } as Details; // rest of a Details & {title}
  return title === undefined ? { details: merged } : { title, details: merged };
};
