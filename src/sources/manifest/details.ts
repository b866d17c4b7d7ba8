// The small YAML files beside dropped data, which refine titles and fields: `dataset.yaml` and `<resource>.yaml`.
import { z } from 'zod';
import { datasetMetadataFaults } from '../../dataset-api/metadata.ts';
import { type FileProblem, ManifestError } from '../../model/errors.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { readYaml, type YamlDocument } from '../../model/yaml/document.ts';
import { isObject } from '../../util/json.ts';
import { mergedGuard } from './guard-schema.ts';
import {
  type DatasetDetails,
  datasetDetailsFileSchema,
  type ResourceDetails,
  resourceDetailsFileSchema,
} from './schema.ts';

/** Fields of plain text, which refer to nothing, release nothing and choose no text format. */
const plainFields = new Set([
  'field_additional_info',
  'field_author',
  'field_conforms_to',
  'field_contact_email',
  'field_contact_name',
  'field_data_dictionary',
  'field_data_dictionary_type',
  'field_frequency',
  'field_granularity',
  'field_is_part_of',
  'field_landing_page',
  'field_language',
  'field_license',
  'field_pod_theme',
  'field_public_access_level',
  'field_related_content',
  'field_rights',
  'field_spatial_geographical_cover',
]);

/** What these fields hold: texts, under the names that the API has for them. */
const plainValue = z.strictObject({
  und: z.array(
    z.strictObject({
      value: z.string().exactOptional(),
      url: z.string().exactOptional(),
      title: z.string().exactOptional(),
      first: z.string().exactOptional(),
      second: z.string().exactOptional(),
    }),
  ),
});

/** The faults of an untrusted sidecar; `defaults` is what the manifest says for what it leaves out. */
const untrustedProblems = (document: YamlDocument, defaults: { published?: boolean }): FileProblem[] => {
  const { value } = document;
  if (!isObject(value)) return []; // said already
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
): Promise<Titled<ResourceDetails>> => {
  const loaded = await load<ResourceDetails>(path, resourceDetailsFileSchema, defaults, beyond(rights, defaults));
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
