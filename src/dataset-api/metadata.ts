// The friendly keys that describe a dataset or a resource, with checks of their values. `fields.ts` turns them into node fields.
import { z } from 'zod';
import { keysOf, needed, optional, text, webAddress } from '../model/schema-parts.ts';
import { nodeFieldsSchema } from '../model/wish.ts';
import { accessLevels, frequencies, licenses } from './values.ts';
import { parseWkt, plainWkt } from './wkt.ts';

/** Longest plain text field of a portal (recorded-behaviour 15). */
const maxText = 255;

const shortText = text.max(maxText);
const day = z
  .string({ error: 'must be a date such as `2026-01-31`' })
  .regex(/^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?$/, {
    error: 'must be a date such as `2026-01-31` or `2026-01-31 09:30`',
  })
  .refine(isRealDate, { error: 'is not an existing date or time' });

/** Title of a node: one line, at most 255 characters (recorded-behaviour 8). */
export const titleSchema = shortText
  .regex(/^[^\r\n]*$/, { error: 'must be one line' })
  .meta({ description: 'Title, as people read it.', examples: ['City budget 2026'] });

/** Node fields in the API's own structure, merged over everything else. */
export const passedFieldsSchema = nodeFieldsSchema.meta({
  description: "Any node field in the API's own structure, passed through and merged last.",
  examples: [{ field_granularity: { und: [{ value: 'Street' }] } }],
});

const description = [text, 'Description in Markdown or simple HTML.', 'Planned spending of every department.'] as const;

const contact = keysOf({
  name: [shortText, 'Who answers questions.', 'Finance Office'],
  email: [z.email({ error: 'must be an e-mail address' }).max(maxText), 'Where questions go.', 'finance@example.org'],
});

const wkt = z.string().refine(isWkt, { error: 'must be a well-known-text geometry such as `POINT (13.4 52.5)`' });
const spatial = keysOf({
  wkt: [wkt, 'Area as well-known text (longitude first).', 'POINT (13.4 52.5)'],
  label: [shortText, 'Area in words.', 'Harbour district'],
});

const relatedLink = z.strictObject({
  title: needed(shortText, 'Text of the link.', 'Budget debate'),
  url: needed(webAddress, 'Address of the link.', 'https://example.org/debate'),
});

const languageCode = z
  .string()
  .regex(/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, { error: 'must be a language code such as `en` or `pt-br`' });
const group = z.union([text, z.int().positive()], { error: 'must be the title or the node id of a group' });
const fact = z.union([z.string(), z.number(), z.boolean()], { error: 'must be text' });
// The table of licenses is not empty.
const licenseCodes = Object.keys(licenses) as [keyof typeof licenses, ...(keyof typeof licenses)[]];

export const datasetMetadataShape = keysOf({
  description,
  summary: [text, 'Short form of the description.', 'Spending by department'],
  tags: [z.array(shortText), 'Keywords, by name.', ['budget', 'finance']],
  topics: [z.array(shortText), 'Topics of the portal, by name.', ['City Planning']],
  license: [z.enum(licenseCodes), 'License, by its code.', 'cc-by'],
  frequency: [
    z.enum(frequencies.flatMap(({ code, words }) => [code, ...words])),
    'Update interval: a word or its code.',
    'annually',
  ],
  contact: [
    z.strictObject(contact),
    'Who answers questions about the data.',
    { name: 'Finance Office', email: 'finance@example.org' },
  ],
  author: [shortText, 'Who made the data.', 'Finance Office'],
  access: [z.enum(accessLevels), 'Access level; `restricted` and `private` need `rights`.', 'public'],
  rights: [shortText, 'Reason for limited access, or terms of use.', 'none'],
  spatial: [
    z.strictObject(spatial),
    'Area that the data covers, in words and as well-known text (longitude first).',
    { label: 'Harbour district' },
  ],
  temporal: [
    z.strictObject({
      from: needed(day, 'First day.', '2026-01-01'),
      to: optional(day, { description: 'Last day; the first by default.', examples: ['2026-12-31'] }),
    }),
    'First and last day that the data covers.',
    { from: '2026-01-01', to: '2026-12-31' },
  ],
  granularity: [shortText, 'Smallest unit of the data.', 'Street'],
  language: [z.array(languageCode), 'Languages of the data, as codes.', ['en']],
  groups: [z.array(group), 'Groups on the portal that publish the dataset, by title or node id.', ['Parks Department']],
  landingPage: [webAddress, 'Page about the data elsewhere.', 'https://example.org/budget'],
  additionalInfo: [z.record(shortText, fact), 'Further facts, as name and value.', { Source: 'Accounts of the city' }],
  dataDictionary: [shortText, 'Data dictionary: an address or text.', 'https://example.org/columns.csv'],
  dataDictionaryType: [shortText, 'Media type of the data dictionary.', 'text/csv'],
  conformsTo: [webAddress, 'Standard that the data follows.', 'https://example.org/standard'],
  isPartOf: [text.max(512), 'Collection that the dataset belongs to.', 'City finances'],
  relatedContent: [
    z.array(relatedLink),
    'Links to related pages.',
    [{ title: 'Budget debate', url: 'https://example.org/debate' }],
  ],
  themes: [z.array(shortText), 'Project Open Data themes.', ['Finance']],
  modified: [day, 'When the source last changed the data.', '2026-02-01'],
});

export const resourceMetadataShape = keysOf({
  description,
  format: [shortText, 'Format that the portal shows, by name.', 'csv'],
});

export type DatasetMetadata = z.infer<z.ZodObject<typeof datasetMetadataShape>>;

export type ResourceMetadata = z.infer<z.ZodObject<typeof resourceMetadataShape>>;

/** A fault in a combination of keys, each valid by itself; `path` leads from the dataset to the key at fault. */
type MetadataFault = { path: string[]; message: string };

/** Checks that span keys of a dataset, of raw values: those of the wrong type are skipped, as the schema reports them. */
export const datasetMetadataFaults = ({
  access,
  rights,
  temporal,
}: Partial<Record<'access' | 'rights' | 'temporal', unknown>>): MetadataFault[] => {
  const faults: MetadataFault[] = [];
  if ((access === 'restricted' || access === 'private') && rights === undefined)
    faults.push({ path: ['access'], message: `\`${access}\` needs the key \`rights\`: say why access is limited` });
  const { from, to } = spanSchema.safeParse(temporal).data ?? {};
  if (from !== undefined && to !== undefined && isBefore(to, from))
    faults.push({ path: ['temporal', 'to'], message: `must not be before \`from\` (${from})` });
  return faults;
};

const spanSchema = z.object({ from: z.string(), to: z.string() });

/** True when `a` is before `b`; compares days alone where one of them has no time. */
const isBefore = (a: string, b: string): boolean => {
  const length = Math.min(a.length, b.length);
  return a.slice(0, length).replace('T', ' ') < b.slice(0, length).replace('T', ' ');
};

function isRealDate(value: string): boolean {
  const [date = '', time = '00:00'] = value.split(/[T ]/);
  const parsed = new Date(`${date}T${time}Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date);
}

/** Portals take no reference system in front. */
function isWkt(value: string): boolean {
  return parseWkt(value) !== null && plainWkt(value) === value.trim();
}
