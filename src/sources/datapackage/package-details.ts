// `datapackage.json` beside dropped files: as the description of its folder, it says nothing about what is published.
import { basename, dirname } from 'node:path';
import { ManifestError } from '../../model/errors.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { datasetProblems } from '../manifest/cross-checks.ts';
import type { Titled } from '../manifest/details.ts';
import {
  type DatasetDetails,
  datasetSchema,
  type ResourceDetails,
  resourceDetailsFileSchema,
} from '../manifest/schema.ts';
import { mapPackage } from './map-package.ts';
import type { PackageDraft } from './package-draft.ts';
import { readPackage } from './read-package.ts';

/** What the package says of its dataset, over `defaults`. Throws ManifestError with all problems at once. */
export const loadPackagedDataset = async (path: string, defaults: DatasetDetails): Promise<Titled<DatasetDetails>> => {
  const { draft, hasTitle } = await draftOf(path, () => false);
  const checked = checkDocument(draft, datasetSchema);
  const problems = [...checked.problems, ...datasetProblems(draft, defaults)];
  if (checked.value === null || problems.length > 0) throw new ManifestError(problems);
  const { id: _id, title, resources: _resources, renamedFrom: _former, ...details } = checked.value;
  return { ...(hasTitle ? { title } : {}), details: { ...defaults, ...details } };
};

/** What the package says of the file `name` in its folder, over `defaults`. Throws ManifestError with all problems at once. */
export const loadPackagedResource = async (
  path: string,
  name: string,
  defaults: ResourceDetails,
): Promise<Titled<ResourceDetails>> => {
  const { draft } = await draftOf(path, (paths) => paths.some((each) => each.replace(/^\.\//, '') === name));
  const [resource] = draft.value.resources;
  if (resource === undefined) return { details: defaults };
  const { id: _id, file: _file, ...own } = resource;
  const checked = checkDocument(draft.within(['resources', 0], own), resourceDetailsFileSchema);
  if (checked.value === null) throw new ManifestError(checked.problems);
  const { title, ...details } = checked.value;
  return { ...(title === undefined ? {} : { title }), details: { ...defaults, ...details } };
};

const draftOf = async (
  path: string,
  only: (paths: string[]) => boolean,
): Promise<{ draft: PackageDraft; hasTitle: boolean }> => {
  const read = await readPackage(path);
  const draft = mapPackage(read, { folder: basename(dirname(path)), only });
  if (draft.problems.length > 0) throw new ManifestError(draft.problems);
  return { draft, hasTitle: read.value.title !== undefined && read.value.title.trim() !== '' };
};
