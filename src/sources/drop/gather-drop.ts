// The wishes of dropped files: the newest claim of each resource, described by its path in the inbox, the manifest, and the
// small files beside it.
import { basename, join } from 'node:path';
import { z } from 'zod';
import { plainFields } from '../../dataset-api/fields.ts';
import { datasetMetadataFaults } from '../../dataset-api/metadata.ts';
import { titleOfName } from '../../dataset-api/names.ts';
import {
  type FileProblem,
  fileProblem,
  ManifestError,
  reasonOf,
  SluiceError,
  SourceRefusedError,
} from '../../model/errors.ts';
import type { Reason } from '../../model/report.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { type PlacedValue, readYaml, type YamlDocument } from '../../model/yaml/document.ts';
import { isObject, recordOf } from '../../util/json.ts';
import { packageDraft } from '../datapackage/package.ts';
import { datasetWish } from '../gather/dataset-wish.ts';
import { datasetProblems } from '../manifest/cross-checks.ts';
import { mergedGuard } from '../manifest/resource-keys.ts';
import {
  type DatasetDetails,
  type DropManifest,
  datasetDetailsFileSchema,
  datasetSchema,
  type ResourceDetails,
  type ResourceSpec,
  resourceDetailsFileSchema,
} from '../manifest/schema.ts';
import { droppedNames, listedFolders } from './drop-target.ts';
import { lookAt } from './inbox-view.ts';
import type { Claim } from './spool.ts';

/** What claims ask for. Every claim is in exactly one place: in a wish (its source names it), superseded, or refused. */
export interface GatheredDrop {
  wishes: DatasetWish[];
  /** Older claims of a resource that a newer one replaces, whether or not that one is refused. */
  superseded: Claim[];
  refused: { claim: Claim; reason: Reason }[];
}

/** The wishes of claims, by key. A faulty `dataset.yaml` refuses all files of its dataset, a `<resource>.yaml` one. */
export const gatherDrop = async (manifest: DropManifest, claims: readonly Claim[]): Promise<GatheredDrop> => {
  const oldestFirst = claims.toSorted((a, b) => a.claimedAt - b.claimedAt || (a.id < b.id ? -1 : 1));
  const newest = new Map(oldestFirst.map((claim) => [`${claim.dataset}/${claim.resource}`, claim]));
  const current = new Set(newest.values());
  const superseded = oldestFirst.filter((claim) => !current.has(claim));
  const gathered: GatheredDrop = { wishes: [], superseded, refused: [] };
  const files = oldestFirst.filter((claim) => current.has(claim));
  const byDataset = Map.groupBy(files, ({ dataset }) => dataset);
  for (const dataset of [...byDataset.keys()].sort())
    await gatherDataset(manifest, byDataset.get(dataset) ?? [], gathered);
  return gathered;
};

const gatherDataset = async (manifest: DropManifest, files: Claim[], gathered: GatheredDrop): Promise<void> => {
  const newest = files.at(-1);
  if (newest === undefined) return;
  const described = await orReason(datasetOfDrop(manifest, newest.dropped));
  if ('reason' in described) {
    gathered.refused.push(...files.map((claim) => ({ claim, reason: described.reason })));
    return;
  }
  const resources: ResourceSpec[] = [];
  for (const claim of files.toSorted((a, b) => (a.resource < b.resource ? -1 : 1))) {
    const resource = await orReason(resourceOfDrop(manifest, claim.dropped));
    if ('reason' in resource) gathered.refused.push({ claim, reason: resource.reason });
    else {
      const { id, name, path } = claim;
      resources.push({ id: claim.resource, ...resource.value, source: { kind: 'file', path, name, claim: id } });
    }
  }
  if (resources.length === 0) return;
  gathered.wishes.push(datasetWish(manifest, { id: newest.dataset, ...described.value, resources }));
};

/** Faults of sidecars become reasons; anything else (an unreadable disk) is no fault of the files and passes through. */
const orReason = async <T>(pending: Promise<T>): Promise<{ value: T } | { reason: Reason }> => {
  try {
    return { value: await pending };
  } catch (error) {
    if (error instanceof SluiceError) return { reason: reasonOf(error) };
    throw error;
  }
};

type Titled<Details> = Details & { title?: string };

/** What a file of the inbox says; where there is none, what is known without it. A link or folder could lead anywhere. */
const ifThere = async <Details>(
  inbox: string,
  path: string,
  details: Details,
  load: (file: string, details: Details) => Promise<Details>,
): Promise<Details> => {
  const { kind } = await lookAt(inbox, path);
  if (kind === 'absent') return details;
  if (kind === 'file') return load(join(inbox, path), details);
  throw new SourceRefusedError(`${join(inbox, path)} is not a plain file in a plain folder`, {
    hint: 'put the file itself there, not a link to it; then drop the data again',
  });
};

/**
 * Title and details of a dropped file's dataset, each refining the previous one: the defaults of the manifest, `dataset.yaml`
 * in the inbox, the folders around the dataset as the manifest lists them and the `dataset.yaml` in each, and in the
 * dataset's own folder (of a file `x.csv` without one: in `x/`) `datapackage.json` and `dataset.yaml`; their title, or the name.
 *
 * @throws ManifestError when one of the files is faulty, SourceRefusedError when it is a link
 */
const datasetOfDrop = async (manifest: DropManifest, dropped: string) => {
  const { folder: inbox, folders = {} } = manifest.drop;
  const { around, path, dataset } = droppedNames(dropped, listedFolders(manifest.drop));
  const ofYaml = (file: string, details: DatasetDetails) => loadDatasetDetails(file, details, manifest.drop);
  let shared: Titled<DatasetDetails> = manifest.defaults.dataset;
  for (const folder of ['', ...around]) {
    const file = join(folder, 'dataset.yaml');
    const { title, ...details } = await ifThere(inbox, file, { ...shared, ...folders[folder] }, ofYaml);
    const message = 'a title is for one dataset: put it into the `dataset.yaml` in the folder of that dataset';
    if (title !== undefined) throw new ManifestError([fileProblem(join(inbox, file), message, 'title')]);
    shared = details;
  }
  const packaged = await ifThere(inbox, `${path}/datapackage.json`, shared, loadPackagedDataset);
  const { title = titleOfName(dataset), ...details } = await ifThere(inbox, `${path}/dataset.yaml`, packaged, ofYaml);
  return { title, details };
};

/** As {@link datasetOfDrop}: the defaults, `datapackage.json` in the same folder, `<resource>.yaml`. */
const resourceOfDrop = async ({ drop, defaults }: DropManifest, dropped: string) => {
  const { folder, path, resource } = droppedNames(dropped, listedFolders(drop));
  const ofPackage = (file: string, details: ResourceDetails) => loadPackagedResource(file, basename(dropped), details);
  const ofYaml = (file: string, details: ResourceDetails) => loadResourceDetails(file, details, drop);
  let known: Titled<ResourceDetails> = defaults.resource;
  if (folder === path) known = await ifThere(drop.folder, `${folder}/datapackage.json`, known, ofPackage);
  if (resource !== 'dataset') known = await ifThere(drop.folder, join(folder, `${resource}.yaml`), known, ofYaml);
  const { title = titleOfName(resource), ...details } = known;
  return { title, details };
};

/** What is wrong with the sidecars of the file dropped at `path`, with file, line and column; null when nothing is. */
export const describedBadly = async (manifest: DropManifest, path: string): Promise<string | null> => {
  const described = await orReason(datasetOfDrop(manifest, path).then(() => resourceOfDrop(manifest, path)));
  return 'reason' in described ? `waits until its description is fixed: ${described.reason.message}` : null;
};

/** What the package says of its dataset, over `defaults`. Throws ManifestError with all problems at once. */
const loadPackagedDataset = async (path: string, defaults: DatasetDetails): Promise<Titled<DatasetDetails>> => {
  const { draft, hasTitle } = await packageDraft(path, () => false);
  const others = [...draft.problems, ...datasetProblems(draft, defaults)];
  const value = checkedValue(draft, datasetSchema, draft.value, others);
  const { id: _id, title, resources: _resources, renamedFrom: _former, ...details } = value;
  return { ...defaults, ...details, ...(hasTitle ? { title } : {}) };
};

/** What the package says of the file `name` in its folder, over `defaults`. Throws ManifestError with all problems at once. */
const loadPackagedResource = async (path: string, name: string, defaults: ResourceDetails) => {
  const isMeant = (paths: string[]): boolean => paths.some((each) => each.replace(/^\.\//, '') === name);
  const { draft } = await packageDraft(path, isMeant);
  const [resource] = draft.value.resources;
  if (draft.problems.length === 0 && resource === undefined) return defaults;
  const { id: _id, file: _file, ...own } = resource ?? {};
  const schema = z.object({ resources: z.tuple([resourceDetailsFileSchema]) });
  return { ...defaults, ...checkedValue(draft, schema, { resources: [own] }, draft.problems).resources[0] };
};

/** The value of a document that follows the schema. Throws ManifestError with all problems, also the other ones. */
const checkedValue = <T>(document: PlacedValue, schema: z.ZodType<T>, value: unknown, others: FileProblem[]): T => {
  const checked = checkDocument(document, schema, value);
  if (checked.value !== null && others.length === 0) return checked.value;
  throw new ManifestError([...checked.problems, ...others]);
};

const plainValue = z.strictObject({
  und: z.array(z.partialRecord(z.enum(['value', 'url', 'title', 'first', 'second']), z.string())),
});

/** What a sidecar may not say unless the manifest trusts everyone who may write it; `defaults` are of the manifest. */
const rightsProblems = (document: YamlDocument, defaults: { published?: boolean }): FileProblem[] => {
  const { value } = document;
  if (!isObject(value)) return []; // reported already
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

type Rights = Pick<DropManifest['drop'], 'trusted'>;

/** Loads `dataset.yaml` over `defaults`. @throws ManifestError with all problems, also when there is no file */
export const loadDatasetDetails = (path: string, defaults: DatasetDetails, rights: Rights = {}) =>
  load<DatasetDetails>(path, datasetDetailsFileSchema, { defaults, ...rights }, datasetMetadataFaults);

/** Loads `<resource>.yaml` over `defaults` (a manifest's `defaults.resource`). Throws as {@link loadDatasetDetails}. */
export const loadResourceDetails = async (path: string, defaults: ResourceDetails, rights: Rights = {}) => {
  const loaded = await load<ResourceDetails>(path, resourceDetailsFileSchema, { defaults, ...rights }, () => []);
  return mergedGuard<Titled<ResourceDetails>>(defaults, loaded);
};

const load = async <Details extends { published?: boolean }>(
  path: string,
  schema: z.ZodType<Titled<Details>>,
  { defaults, trusted }: Rights & { defaults: Details },
  faultsOf: typeof datasetMetadataFaults,
): Promise<Titled<Details>> => {
  const { document, problems } = await readYaml(path, maxBytes);
  if (document === null) throw new ManifestError(problems);
  const all: Record<string, unknown> = { ...defaults, ...recordOf(document.value) };
  const others = faultsOf(all).map((fault) => document.problem(fault.path, fault.message));
  if (!trusted) others.push(...rightsProblems(document, defaults));
  return { ...defaults, ...checkedValue(document, schema, document.value, others) };
};
