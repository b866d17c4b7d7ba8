// What files beside dropped data may not say: whoever may drop files need not have the rights that the worker has.
import { z } from 'zod';
import type { FileProblem } from '../../model/errors.ts';
import type { YamlDocument } from '../../model/yaml/document.ts';

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

/** The faults of a sidecar that nobody vouches for; `defaults` is what the manifest says for what it leaves out. */
export const untrustedProblems = (document: YamlDocument, defaults: { published?: boolean }): FileProblem[] => {
  const { value } = document;
  if (!isMapping(value)) return []; // said already
  const problems: FileProblem[] = [];
  if (value.groups !== undefined) problems.push(document.problem(['groups'], only('refers to nodes'), 'key'));
  if (value.published === true && defaults.published === false)
    problems.push(document.problem(['published'], only('releases what the manifest holds back'), 'key'));
  if (isMapping(value.fields)) {
    for (const [name, field] of Object.entries(value.fields)) {
      if (plainFields.has(name) && plainValue.safeParse(field).success) continue;
      const what = plainFields.has(name) ? 'holds more than plain text' : 'is no field of plain text';
      problems.push(document.problem(['fields', name], only(what), 'key'));
    }
  }
  return problems;
};

const only = (what: string): string =>
  `${what}: that may only stand in the manifest, or here with \`drop.trusted: true\``;

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
