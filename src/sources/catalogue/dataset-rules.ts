// The mapping of a catalogue's datasets (DCAT-US 1.1, and 3.0 where it has the same keys) as a table: one rule for each key.
// `docs/reference/catalogue-mapping.md` shows this table; a test keeps the page in step.
import { frequencyCode, licenseCode } from '../../dataset-api/values.ts';
import { isObject } from '../../util/json.ts';
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

interface Rule {
  from: string;
  to: string;
  /** What is done with the value, for the documentation. */
  how: string;
  /** Puts the value, of which something is there, into the draft. */
  take(value: unknown, draft: Draft): void;
}

/** A key that goes as text into the further facts about a dataset. */
const fact = (from: string, name: string): Rule => ({
  from,
  to: 'field_additional_info',
  how: 'Text.',
  take: (value, draft) => {
    const texts = textsOf(value);
    draft.addInfo(from, name, texts.length > 0 ? texts.join(', ') : keptText(value));
  },
});

/** All rules, in the order they are applied: a later one may look at what an earlier one made. */
export const datasetRules: readonly Rule[] = [
  {
    from: 'identifier',
    to: '`uuid`, field_additional_info',
    how: 'Required: the permanent identity. Of an object its `@id`, else its `notation`. Without it, `adms:identifier` or the `@id` of the entry.',
    take: (value, draft) => draft.addInfo('identifier', 'Identifier', textOf(value) ?? ''),
  },
  {
    from: 'title',
    to: 'title',
    how: 'Required. One line, cut at 255 characters.',
    take: () => {}, // read with the identity
  },
  {
    from: 'description',
    to: 'body',
    how: 'Unchanged; the portal shows Markdown and simple HTML.',
    take: (value, draft) => {
      const text = textOf(value);
      if (text !== null) draft.metadata.description = text;
    },
  },
  {
    from: 'keyword',
    to: 'field_tags',
    how: 'Terms by name, ignoring case; text is split at commas.',
    take: (value, draft) => {
      const words = typeof value === 'string' ? value.split(',') : textsOf(value);
      const terms = new Map<string, string>();
      for (const word of words) {
        const term = draft.short('keyword', word);
        if (term !== '' && !terms.has(term.toLowerCase())) terms.set(term.toLowerCase(), term);
      }
      if (terms.size > 0) draft.metadata.tags = [...terms.values()];
    },
  },
  {
    from: 'theme',
    to: 'field_pod_theme',
    how: 'Texts, or the words of concepts.',
    take: (value, draft) => {
      const themes = textsOf(value).map((theme) => draft.short('theme', theme));
      if (themes.length > 0) draft.metadata.themes = [...new Set(themes)];
    },
  },
  {
    from: 'publisher',
    to: 'field_author, field_additional_info',
    how: 'Its name; the organizations above it (`subOrganizationOf`) are shown as "Part of".',
    take: takePublisher,
  },
  {
    from: 'contactPoint',
    to: 'field_contact_name, field_contact_email',
    how: '`fn` and `hasEmail` without `mailto:`; of several contacts the first.',
    take: takeContact,
  },
  {
    from: 'accessLevel',
    to: 'field_public_access_level, field_additional_info',
    how: '`public`; `restricted public` as `restricted`, `non-public` as `private`.',
    take: (value, draft) => {
      const text = oneLine(textOf(value) ?? '').toLowerCase();
      const level = accessLevels[text];
      if (level !== undefined) draft.metadata.access = level;
      else draft.keep('accessLevel', 'Access level', [text || keptText(value)], noCode);
    },
  },
  {
    from: 'rights',
    to: 'field_rights',
    how: 'Text; where access is limited and none is given, the access level itself.',
    take: (value, draft) => {
      const text = textsOf(value).join('; ');
      if (text !== '') draft.metadata.rights = draft.short('rights', text);
    },
  },
  {
    from: 'license',
    to: 'field_license, field_additional_info',
    how: 'The code of a known license (Creative Commons, Open Data Commons, …).',
    take: (value, draft) => {
      const text = addressText(value) ?? '';
      const code = licenseCode(text);
      if (code !== null) draft.metadata.license = code;
      else draft.keep('license', 'License', [text || keptText(value)], noCode);
    },
  },
  {
    from: 'accrualPeriodicity',
    to: 'field_frequency, field_additional_info',
    how: 'A code such as `R/P1W` or a plain word.',
    take: (value, draft) => {
      const text = textOf(value) ?? '';
      const code = frequencyCode(text.replace(/^.*\/(?=[A-Z_]+$)/, '').replaceAll('_', ' ')) ?? frequencyCode(text);
      if (code !== undefined)
        draft.metadata.frequency = code as NonNullable<typeof draft.metadata.frequency>; // its codes are these
      else draft.keep('accrualPeriodicity', 'Frequency', [text || keptText(value)], noCode);
    },
  },
  {
    from: 'issued',
    to: 'field_harvest_source_issued, field_additional_info',
    how: 'A day or time, else that of `modified`.',
    take: (value, draft) =>
      takeDate(value, draft, { from: 'issued', field: 'field_harvest_source_issued', name: 'Issued' }),
  },
  {
    from: 'modified',
    to: 'field_harvest_source_modified, field_frequency, field_additional_info',
    how: 'A day or time; a repetition such as `R/P1D` is the frequency where none is given.',
    take: takeModified,
  },
  {
    from: 'temporal',
    to: 'field_temporal_coverage, field_additional_info',
    how: '`2014-01-01/2015-12-31`, `2014/P1Y`, `2014`, or start and end dates; one without an end is kept as text.',
    take: takeTemporal,
  },
  {
    from: 'spatial',
    to: 'field_spatial, field_spatial_geographical_cover',
    how: 'A box `west,south,east,north`, well-known text or GeoJSON as area; any other text as name.',
    take: (value, draft) => {
      const { wkt, label } = areaOf(value);
      if (wkt === undefined && label === undefined)
        return draft.keep('spatial', 'Spatial', [keptText(value)], 'not understood');
      draft.metadata.spatial = {
        ...(wkt === undefined ? {} : { wkt }),
        ...(label === undefined ? {} : { label: draft.short('spatial', label) }),
      };
    },
  },
  {
    from: 'landingPage',
    to: 'field_landing_page, field_additional_info',
    how: 'An http(s) address.',
    take: (value, draft) => {
      const url = webAddressOf(value);
      if (url !== null) draft.metadata.landingPage = url;
      else draft.keep('landingPage', 'Landing page', [keptText(value)], 'not an address that portals link to');
    },
  },
  {
    from: 'language',
    to: 'field_language',
    how: 'The codes without their region: `en` of `en-US`.',
    take: (value, draft) => {
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
  },
  {
    from: 'conformsTo',
    to: 'field_conforms_to, field_additional_info',
    how: 'An http(s) address.',
    take: (value, draft) => {
      const [first, ...more] = listOf(value);
      const url = webAddressOf(first);
      if (url !== null) draft.metadata.conformsTo = url;
      const rest = [...(url === null ? [first] : []), ...more].flatMap(
        (item) => addressText(item) ?? textOf(item) ?? [],
      );
      if (rest.length > 0) draft.keep('conformsTo', 'Conforms to', rest, 'only the first address is published');
    },
  },
  {
    from: 'isPartOf',
    to: 'field_is_part_of',
    how: 'The identifier of the collection, as text.',
    take: (value, draft) => {
      const text = addressText(value) ?? textOf(value);
      if (text !== null) draft.metadata.isPartOf = draft.short('isPartOf', text, 512);
    },
  },
  {
    from: 'inSeries',
    to: 'field_is_part_of',
    how: 'The identifier of the first series, where there is no `isPartOf`.',
    take: (value, draft) => {
      const [series, ...more] = listOf(value);
      const text = isObject(series) ? (identifierOf(series) ?? textOf(series)) : textOf(series);
      const others = [...(draft.metadata.isPartOf === undefined ? [] : [series]), ...more].map(keptText);
      if (others.length > 0) draft.keep('inSeries', 'Series', others, 'only the first collection is published');
      if (text !== null) draft.metadata.isPartOf ??= draft.short('inSeries', text, 512);
    },
  },
  {
    from: 'describedBy',
    to: 'field_data_dictionary',
    how: 'The address of the data dictionary.',
    take: (value, draft) => {
      const text = addressText(value);
      if (text !== null) draft.metadata.dataDictionary = draft.short('describedBy', text);
    },
  },
  {
    from: 'endpointDescription',
    to: 'field_data_dictionary, field_additional_info',
    how: 'Of a service, where there is no `describedBy`: an http(s) address.',
    take: (value, draft) => {
      const url = webAddressOf(value);
      if (url !== null && draft.metadata.dataDictionary === undefined)
        draft.metadata.dataDictionary = draft.short('endpointDescription', url);
      else draft.addInfo('endpointDescription', 'Endpoint', textsOf(value).join(', '));
    },
  },
  {
    from: 'describedByType',
    to: 'field_data_dictionary_type',
    how: 'The media type of the data dictionary.',
    take: (value, draft) => {
      const text = textOf(value);
      if (text !== null) draft.metadata.dataDictionaryType = draft.short('describedByType', text);
    },
  },
  {
    from: 'references',
    to: 'field_related_content',
    how: 'Each http(s) address as a link; text is split at commas.',
    take: takeReferences,
  },
  fact('bureauCode', 'Bureau code'),
  fact('programCode', 'Program code'),
  fact('dataQuality', 'Data quality'),
  fact('systemOfRecords', 'System of records'),
  fact('primaryITInvestmentUII', 'Primary IT investment UII'),
  fact('version', 'Version'),
  fact('servesDataset', 'Serves'),
];

const noCode = 'portals have no code for it';

/** The access levels of catalogues (DCAT-US 1.1) as those of portals. */
const accessLevels: Record<string, 'public' | 'restricted' | 'private'> = {
  public: 'public',
  'restricted public': 'restricted',
  'non-public': 'private',
};
