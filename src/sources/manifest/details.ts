// The small YAML files beside dropped data, which refine titles and fields: `dataset.yaml` and `<resource>.yaml`.
import type { z } from 'zod';
import { datasetMetadataFaults } from '../../dataset-api/metadata.ts';
import { type FileProblem, ManifestError } from '../../model/errors.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { readYaml, type YamlDocument } from '../../model/yaml/document.ts';
import {
  type DatasetDetails,
  datasetDetailsFileSchema,
  type ResourceDetails,
  resourceDetailsFileSchema,
} from './schema.ts';
import { untrustedProblems } from './untrusted.ts';

/** Largest file that describes dropped data, bytes. */
const maxBytes = 1024 * 1024;

/** `all`: the manifest vouches for whoever may write the file; `plain`: it may not refer to nodes or release anything. */
export type SidecarRights = 'plain' | 'all';

/** Details with the title that the file may give. */
export interface Titled<Details> {
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
    ...limitedAccess(defaults)(document),
    ...beyond(rights, defaults)(document),
  ]);

/** Loads `<resource>.yaml` over `defaults` (a manifest's `defaults.resource`). Throws as {@link loadDatasetDetails}. */
export const loadResourceDetails = async (
  path: string,
  defaults: ResourceDetails,
  rights: SidecarRights = 'plain',
): Promise<Titled<ResourceDetails>> => await load(path, resourceDetailsFileSchema, defaults, beyond(rights, defaults));

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

const beyond =
  (rights: SidecarRights, defaults: { published?: boolean }) =>
  (document: YamlDocument): FileProblem[] =>
    rights === 'all' ? [] : untrustedProblems(document, defaults);

const limitedAccess =
  (defaults: DatasetDetails) =>
  (document: YamlDocument): FileProblem[] => {
    const own = document.value !== null && typeof document.value === 'object' ? document.value : {};
    const { access, rights, temporal } = { ...defaults, ...own };
    return datasetMetadataFaults({ access, rights, temporal }).map(({ path, message }) =>
      document.problem(path, message),
    );
  };
