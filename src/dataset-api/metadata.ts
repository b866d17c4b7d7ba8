// The friendly keys that describe a dataset or a resource, with checks of their values. `fields.ts` turns them into node fields.
import { z } from 'zod';
import { optional, text, webAddress } from '../model/schema-parts.ts';
import { nodeFieldsSchema } from '../model/wish.ts';
import { accessLevels, frequencies, licenses } from './values.ts';

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

const description = text.meta({
  description: 'Description in Markdown or simple HTML.',
  examples: ['Planned spending of every department.'],
});

/** Friendly keys of a dataset. */
export const datasetMetadataShape = {
  description: description.exactOptional(),
  summary: optional(text, { description: 'Short form of the description.', examples: ['Spending by department'] }),
  tags: optional(z.array(shortText), { description: 'Keywords, by name.', examples: [['budget', 'finance']] }),
  topics: optional(z.array(shortText), {
    description: 'Topics of the portal, by name.',
    examples: [['City Planning']],
  }),
  // The table of licenses is not empty.
  license: optional(z.enum(Object.keys(licenses) as [keyof typeof licenses, ...(keyof typeof licenses)[]]), {
    description: 'License, by its code.',
    examples: ['cc-by'],
  }),
  frequency: optional(z.enum(frequencies.flatMap(({ code, words }) => [code, ...words])), {
    description: 'Update interval: a word or its code.',
    examples: ['annually'],
  }),
  contact: optional(
    z.strictObject({
      name: optional(shortText, { description: 'Who answers questions.', examples: ['Finance Office'] }),
      email: optional(z.email({ error: 'must be an e-mail address' }).max(maxText), {
        description: 'Where questions go.',
        examples: ['finance@example.org'],
      }),
    }),
    {
      description: 'Who answers questions about the data.',
      examples: [{ name: 'Finance Office', email: 'finance@example.org' }],
    },
  ),
  author: optional(shortText, { description: 'Who made the data.', examples: ['Finance Office'] }),
  access: optional(z.enum(accessLevels), {
    description: 'Access level; `restricted` and `private` need `rights`.',
    examples: ['public'],
  }),
  rights: optional(shortText, { description: 'Reason for limited access, or terms of use.', examples: ['none'] }),
  spatial: optional(
    z.strictObject({
      wkt: optional(
        z.string().refine(isWkt, { error: 'must be a well-known-text geometry such as `POINT (13.4 52.5)`' }),
        { description: 'Area as well-known text (longitude first).', examples: ['POINT (13.4 52.5)'] },
      ),
      label: optional(shortText, { description: 'Area in words.', examples: ['Harbour district'] }),
    }),
    {
      description: 'Area that the data covers, in words and as well-known text (longitude first).',
      examples: [{ label: 'Harbour district' }],
    },
  ),
  temporal: optional(
    z.strictObject({
      from: day.meta({ description: 'First day.', examples: ['2026-01-01'] }),
      to: optional(day, { description: 'Last day; the first by default.', examples: ['2026-12-31'] }),
    }),
    { description: 'First and last day that the data covers.', examples: [{ from: '2026-01-01', to: '2026-12-31' }] },
  ),
  granularity: optional(shortText, { description: 'Smallest unit of the data.', examples: ['Street'] }),
  language: optional(
    z.array(
      z
        .string()
        .regex(/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, { error: 'must be a language code such as `en` or `pt-br`' }),
    ),
    { description: 'Languages of the data, as codes.', examples: [['en']] },
  ),
  groups: optional(
    z.array(z.union([text, z.int().positive()], { error: 'must be the title or the node id of a group' })),
    {
      description: 'Groups on the portal that publish the dataset, by title or node id.',
      examples: [['Parks Department']],
    },
  ),
  landingPage: optional(webAddress, {
    description: 'Page about the data elsewhere.',
    examples: ['https://example.org/budget'],
  }),
  additionalInfo: optional(
    z.record(shortText, z.union([z.string(), z.number(), z.boolean()], { error: 'must be text' })),
    { description: 'Further facts, as name and value.', examples: [{ Source: 'Ledger of the city' }] },
  ),
  dataDictionary: optional(shortText, {
    description: 'Data dictionary: an address or text.',
    examples: ['https://example.org/columns.csv'],
  }),
  dataDictionaryType: optional(shortText, {
    description: 'Media type of the data dictionary.',
    examples: ['text/csv'],
  }),
  conformsTo: optional(webAddress, {
    description: 'Standard that the data follows.',
    examples: ['https://example.org/standard'],
  }),
  isPartOf: optional(text.max(512), {
    description: 'Collection that the dataset belongs to.',
    examples: ['City finances'],
  }),
  relatedContent: optional(
    z.array(
      z.strictObject({
        title: shortText.meta({ description: 'Text of the link.', examples: ['Budget debate'] }),
        url: webAddress.meta({ description: 'Address of the link.', examples: ['https://example.org/debate'] }),
      }),
    ),
    {
      description: 'Links to related pages.',
      examples: [[{ title: 'Budget debate', url: 'https://example.org/debate' }]],
    },
  ),
  themes: optional(z.array(shortText), { description: 'Project Open Data themes.', examples: [['Finance']] }),
  modified: optional(day, { description: 'When the source last changed the data.', examples: ['2026-02-01'] }),
} as const;

/** Friendly keys of a resource. */
export const resourceMetadataShape = {
  description: description.exactOptional(),
  format: optional(shortText, { description: 'Format that the portal shows, by name.', examples: ['csv'] }),
} as const;

const datasetMetadataSchema = z.object(datasetMetadataShape);
const resourceMetadataSchema = z.object(resourceMetadataShape);

/** What a manifest says about a dataset, in friendly keys. */
export type DatasetMetadata = z.infer<typeof datasetMetadataSchema>;

/** What a manifest says about a resource, in friendly keys. */
export type ResourceMetadata = z.infer<typeof resourceMetadataSchema>;

/** A fault in a combination of keys, each valid by itself; `path` leads from the dataset to the key at fault. */
interface MetadataFault {
  path: string[];
  message: string;
}

/**
 * Checks that span keys of a dataset: limited access needs `rights`, a period must not end before it begins. Takes raw
 * values and skips those of the wrong type, which the schema reports.
 */
export const datasetMetadataFaults = (metadata: {
  access?: unknown;
  rights?: unknown;
  temporal?: unknown;
}): MetadataFault[] => {
  const faults: MetadataFault[] = [];
  const { access, rights, temporal } = metadata;
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

function isWkt(value: string): boolean {
  const shape = /^(?:POINT|LINESTRING|POLYGON|MULTIPOINT|MULTILINESTRING|MULTIPOLYGON|GEOMETRYCOLLECTION)\s*\(.*\)$/is;
  if (!shape.test(value.trim())) return false;
  let depth = 0;
  for (const character of value) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}
