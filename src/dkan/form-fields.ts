// Fields that older portals, whose API goes through the editing form, do not take (recorded-behaviour 8a).
import { formFrequency } from './values.ts';

/** Fields whose parts of the form see nothing that the API sends, or refuse it: maps, dates and two texts. */
const unseen: ReadonlySet<string> = new Set([
  'field_spatial',
  'field_temporal_coverage',
  'field_modified_source_date',
  'field_harvest_source_issued',
  'field_harvest_source_modified',
  'field_is_part_of',
  'field_pod_theme',
]);

/** True when a form portal takes this value of a field. */
export const isTakenByForm = (name: string, value: unknown): boolean => {
  if (unseen.has(name)) return false;
  if (name !== 'field_frequency') return true;
  const items = (value as { und?: { value?: unknown }[] } | null)?.und ?? []; // as `fields.ts` makes it
  return items.every(({ value: code }) => typeof code === 'string' && formFrequency(code) !== null);
};
