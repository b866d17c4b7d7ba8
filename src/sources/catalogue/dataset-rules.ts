// The mapping of a catalogue's datasets (DCAT-US 1.1, and 3.0 where it has the same keys) as a table: one rule for each key.
// `docs/reference/catalogue-mapping.md` shows this table; a test keeps the page in step.
import { accessLevels, catalogueAccess, frequencyCode, licenseCode } from '../../dataset-api/values.ts';
import { defined, isObject } from '../../util/json.ts';
import {
  areaOf,
  takeContact,
  takeDate,
  takeModified,
  takePublisher,
  takeReferences,
  takeTemporal,
} from './composed.ts';
import {
  addressText,
  type Draft,
  identifierOf,
  keptText,
  listOf,
  oneLine,
  textOf,
  textsOf,
  webAddressOf,
} from './values.ts';

type Take = (value: unknown, draft: Draft) => void;

/** A key that goes as text into the further facts about a dataset. */
const fact =
  (from: string, name: string): Take =>
  (value, draft) => {
    const texts = textsOf(value);
    draft.addInfo(from, name, texts.length > 0 ? texts.join(', ') : keptText(value));
  };

/** What puts the value of a key, of which something is there, into the draft. */
const takes = {
  identifier: (value, draft) => draft.addInfo('identifier', 'Identifier', textOf(value) ?? ''),
  title: () => undefined,
  description: (value, draft) => {
    const text = textOf(value);
    if (text !== null) draft.metadata.description = text;
  },
  keyword: (value, draft) => {
    const words = typeof value === 'string' ? value.split(',') : textsOf(value);
    const terms = new Map<string, string>();
    for (const word of words) {
      const term = draft.short('keyword', word);
      if (term !== '' && !terms.has(term.toLowerCase())) terms.set(term.toLowerCase(), term);
    }
    if (terms.size > 0) draft.metadata.tags = [...terms.values()];
  },
  theme: (value, draft) => {
    const themes = textsOf(value).map((theme) => draft.short('theme', theme));
    if (themes.length > 0) draft.metadata.themes = [...new Set(themes)];
  },
  publisher: takePublisher,
  contactPoint: takeContact,
  accessLevel: (value, draft) => {
    const text = oneLine(textOf(value) ?? '').toLowerCase();
    const level = accessLevels.find((each) => catalogueAccess[each] === text);
    if (level !== undefined) draft.metadata.access = level;
    else draft.keep('accessLevel', 'Access level', [text || keptText(value)], noCode);
  },
  rights: (value, draft) => {
    const text = textsOf(value).join('; ');
    if (text !== '') draft.metadata.rights = draft.short('rights', text);
  },
  license: (value, draft) => {
    const text = addressText(value) ?? '';
    const code = licenseCode(text);
    if (code !== null) draft.metadata.license = code;
    else draft.keep('license', 'License', [text || keptText(value)], noCode);
  },
  accrualPeriodicity: (value, draft) => {
    const text = textOf(value) ?? '';
    const code = frequencyCode(text.replace(/^.*\/(?=[A-Z_]+$)/, '').replaceAll('_', ' ')) ?? frequencyCode(text);
    if (code !== undefined)
      draft.metadata.frequency = code as NonNullable<typeof draft.metadata.frequency>; // its codes are these
    else draft.keep('accrualPeriodicity', 'Frequency', [text || keptText(value)], noCode);
  },
  issued: (value, draft) =>
    takeDate(value, draft, { from: 'issued', field: 'field_harvest_source_issued', name: 'Issued' }),
  modified: takeModified,
  temporal: takeTemporal,
  spatial: (value, draft) => {
    const { wkt, label } = areaOf(value);
    if (wkt === undefined && label === undefined)
      return draft.keep('spatial', 'Spatial', [keptText(value)], 'not understood');
    draft.metadata.spatial = defined({ wkt, label: label && draft.short('spatial', label) });
  },
  landingPage: (value, draft) => {
    const url = webAddressOf(value);
    if (url !== null) draft.metadata.landingPage = url;
    else draft.keep('landingPage', 'Landing page', [keptText(value)], 'not an address that portals link to');
  },
  language: (value, draft) => {
    const codeOf = (text: string): string[] =>
      /^([a-z]{2,3})(?:[-_][a-z0-9]+)*$/i
        .exec(text)
        ?.slice(1)
        .map((code) => code.toLowerCase()) ?? [];
    const texts = textsOf(value);
    const known = texts.flatMap(codeOf);
    const others = texts.filter((text) => codeOf(text).length === 0);
    if (others.length > 0) draft.keep('language', 'Language', others, noCode);
    if (known.length > 0) draft.metadata.language = [...new Set(known)];
  },
  conformsTo: (value, draft) => {
    const [first, ...more] = listOf(value);
    const url = webAddressOf(first);
    if (url !== null) draft.metadata.conformsTo = url;
    const rest = [...(url === null ? [first] : []), ...more].flatMap((item) => addressText(item) ?? textOf(item) ?? []);
    if (rest.length > 0) draft.keep('conformsTo', 'Conforms to', rest, 'only the first address is published');
  },
  isPartOf: (value, draft) => {
    const text = addressText(value) ?? textOf(value);
    if (text !== null) draft.metadata.isPartOf = draft.short('isPartOf', text, 512);
  },
  inSeries: (value, draft) => {
    const [series, ...more] = listOf(value);
    const text = isObject(series) ? (identifierOf(series) ?? textOf(series)) : textOf(series);
    const others = [...(draft.metadata.isPartOf === undefined ? [] : [series]), ...more].map(keptText);
    if (others.length > 0) draft.keep('inSeries', 'Series', others, 'only the first collection is published');
    if (text !== null) draft.metadata.isPartOf ??= draft.short('inSeries', text, 512);
  },
  describedBy: (value, draft) => {
    const text = addressText(value);
    if (text !== null) draft.metadata.dataDictionary = draft.short('describedBy', text);
  },
  endpointDescription: (value, draft) => {
    const url = webAddressOf(value);
    if (url !== null && draft.metadata.dataDictionary === undefined)
      draft.metadata.dataDictionary = draft.short('endpointDescription', url);
    else draft.addInfo('endpointDescription', 'Endpoint', textsOf(value).join(', '));
  },
  describedByType: (value, draft) => {
    const text = textOf(value);
    if (text !== null) draft.metadata.dataDictionaryType = draft.short('describedByType', text);
  },
  references: takeReferences,
  bureauCode: fact('bureauCode', 'Bureau code'),
  programCode: fact('programCode', 'Program code'),
  dataQuality: fact('dataQuality', 'Data quality'),
  systemOfRecords: fact('systemOfRecords', 'System of records'),
  primaryITInvestmentUII: fact('primaryITInvestmentUII', 'Primary IT investment UII'),
  version: fact('version', 'Version'),
  servesDataset: fact('servesDataset', 'Serves'),
} satisfies Record<string, Take>;

/** Key of the entry, field of the portal, and what is done with the value, for the documentation. */
const rows: readonly (readonly [from: keyof typeof takes, to: string, how: string])[] = [
  [
    'identifier',
    '`uuid`, field_additional_info',
    'Required: the permanent identity. Of an object its `@id`, else its `notation`. Without it, `adms:identifier` or the `@id` of the entry.',
  ],
  ['title', 'title', 'Required. One line, cut at 255 characters.'],
  ['description', 'body', 'Unchanged; the portal shows Markdown and simple HTML.'],
  ['keyword', 'field_tags', 'Terms by name, ignoring case; text is split at commas.'],
  ['theme', 'field_pod_theme', 'Texts, or the words of concepts.'],
  [
    'publisher',
    'field_author, field_additional_info',
    'Its name; the organizations above it (`subOrganizationOf`) are shown as "Part of".',
  ],
  [
    'contactPoint',
    'field_contact_name, field_contact_email',
    '`fn` and `hasEmail` without `mailto:`; of several contacts the first.',
  ],
  [
    'accessLevel',
    'field_public_access_level, field_additional_info',
    '`public`; `restricted public` as `restricted`, `non-public` as `private`.',
  ],
  ['rights', 'field_rights', 'Text; where access is limited and none is given, the access level itself.'],
  [
    'license',
    'field_license, field_additional_info',
    'The code of a known license (Creative Commons, Open Data Commons, …).',
  ],
  ['accrualPeriodicity', 'field_frequency, field_additional_info', 'A code such as `R/P1W` or a plain word.'],
  ['issued', 'field_harvest_source_issued, field_additional_info', 'A day or time, else that of `modified`.'],
  [
    'modified',
    'field_harvest_source_modified, field_frequency, field_additional_info',
    'A day or time; a repetition such as `R/P1D` is the frequency where none is given.',
  ],
  [
    'temporal',
    'field_temporal_coverage, field_additional_info',
    '`2014-01-01/2015-12-31`, `2014/P1Y`, `2014`, or start and end dates; one without an end is kept as text.',
  ],
  [
    'spatial',
    'field_spatial, field_spatial_geographical_cover',
    'A box `west,south,east,north`, well-known text or GeoJSON as area; any other text as name.',
  ],
  ['landingPage', 'field_landing_page, field_additional_info', 'An http(s) address.'],
  ['language', 'field_language', 'The codes without their region: `en` of `en-US`.'],
  ['conformsTo', 'field_conforms_to, field_additional_info', 'An http(s) address.'],
  ['isPartOf', 'field_is_part_of', 'The identifier of the collection, as text.'],
  ['inSeries', 'field_is_part_of', 'The identifier of the first series, where there is no `isPartOf`.'],
  ['describedBy', 'field_data_dictionary', 'The address of the data dictionary.'],
  [
    'endpointDescription',
    'field_data_dictionary, field_additional_info',
    'Of a service, where there is no `describedBy`: an http(s) address.',
  ],
  ['describedByType', 'field_data_dictionary_type', 'The media type of the data dictionary.'],
  ['references', 'field_related_content', 'Each http(s) address as a link; text is split at commas.'],
  ['bureauCode', 'field_additional_info', 'Text.'],
  ['programCode', 'field_additional_info', 'Text.'],
  ['dataQuality', 'field_additional_info', 'Text.'],
  ['systemOfRecords', 'field_additional_info', 'Text.'],
  ['primaryITInvestmentUII', 'field_additional_info', 'Text.'],
  ['version', 'field_additional_info', 'Text.'],
  ['servesDataset', 'field_additional_info', 'Text.'],
];

/** All rules, in the order they are applied: a later one may look at what an earlier one made. */
export const datasetRules = rows.map(([from, to, how]) => ({ from, to, how, take: takes[from] as Take }));

const noCode = 'portals have no code for it';
