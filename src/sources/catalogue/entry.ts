// One entry of a catalogue (DCAT-US 1.1, and 3.0 where it has the same keys, series and services) as a dataset of a manifest, by
// one rule for each key, as `docs/reference/catalogue-mapping.md` lists them; or why it cannot be published.
import { type DatasetMetadata, titleSchema } from '../../dataset-api/metadata.ts';
import { accessLevels, catalogueAccess, frequencyCode, licenseCode } from '../../dataset-api/values.ts';
import type { NodeFields } from '../../model/wish.ts';
import { defined, isObject } from '../../util/json.ts';
import type { CatalogueManifest, DatasetSpec } from '../manifest/schema.ts';
import { areaOf, dayOf, spanOf } from './composed.ts';
import { resourcesOf } from './distributions.ts';
import {
  addressText,
  holdsPassword,
  identifierOf,
  idOfIdentifier,
  isNothing,
  keptText,
  listOf,
  longestText,
  oneLine,
  type Remark,
  referenceOf,
  shortLine,
  speller,
  textOf,
  textsOf,
  webAddressOf,
} from './values.ts';
import type { WalkedEntry } from './walk.ts';

export type CatalogueDataset = DatasetSpec & { identifier: string; alias: string | null };

export type EntryNames = ReturnType<typeof namesOf>;

export const namesOf = (value: unknown) => {
  if (!isObject(value)) return { identifier: null, title: null };
  const title = Array.isArray(value.title) ? '' : oneLine(textOf(value.title) ?? '');
  return { identifier: identifierOf(value), title: /[^\p{C}\p{Z}]/u.test(title) ? title : null };
};

/** The dataset of an entry without its faulty distributions, or all faults of the dataset itself. */
export const datasetOf = (
  value: unknown,
  { catalogue, defaults }: Pick<CatalogueManifest, 'catalogue' | 'defaults'>,
  remark: Remark,
) => {
  if (!isObject(value)) return { dataset: null, faults: ['it is not an object'] };
  const { identifier, title } = namesOf(value);
  if (identifier === null || title === null) {
    const unnamed = Array.isArray(value.title) && !isNothing(value.title);
    const titleFault = unnamed ? 'its title is a list; a title is one text' : 'it has no title';
    const faults = [identifier === null && identifierFault(value.identifier), title === null && titleFault];
    return { dataset: null, faults: faults.filter((fault) => fault !== false) };
  }
  const draft = draftOf(remark);
  const tools = { files: catalogue.files, defaults: defaults.resource, title, remark };
  const { resources, leftOut } = resourcesOf(value.distribution, tools);
  // The entry under its identifier, whatever that is in.
  const { 'adms:identifier': _other, ...rest } = value;
  applyRules({ ...(isNothing(value.identifier) ? rest : value), identifier }, draft);
  const { fields, ...details } = defaults.dataset;
  const own = identifierOf({ '@id': value['@id'] });
  const dataset: CatalogueDataset = {
    identifier,
    alias: own === identifier ? null : own,
    id: idOfIdentifier(identifier),
    title: draft.short('title', title),
    details: { ...details, ...draft.metadata, fields: { ...draft.fields, ...fields } },
    resources,
  };
  return { faults: null, leftOut, dataset };
};

const identifierFault = (value: unknown): string => {
  if (isNothing(value)) return 'it has no identifier';
  if (isObject(value)) return 'its identifier is an object without `@id` and `notation`';
  if (Array.isArray(value)) return 'its identifier is a list; an identifier is one text';
  if (typeof value === 'number') return 'its identifier is a number too large to be read exactly; write it as text';
  return 'its identifier is not text of at most 2,000 characters';
};

const applyRules = (entry: Record<string, unknown>, draft: Draft): void => {
  const { distribution: _itself, description: _text, ...others } = entry;
  const secret = Object.keys(others).filter((key) => holdsPassword(others[key]));
  for (const key of secret) draft.remark(key, 'left out: it holds a user name or password, which would be published');
  const value = { ...entry, ...Object.fromEntries(secret.map((key) => [key, null])) };
  for (const [key, take] of Object.entries(datasetRules)) if (!isNothing(value[key])) take(value[key], draft);
  const { field_harvest_source_modified: modified } = draft.fields;
  if (isNothing(value.issued) && modified !== undefined) draft.fields.field_harvest_source_issued = modified;
  const { access } = draft.metadata;
  // Portals ask for a reason where access is limited.
  if (access !== undefined && access !== 'public')
    draft.metadata.rights ??= oneLine(textOf(value.accessLevel) ?? access);
  for (const [key, item] of Object.entries(value)) {
    // Of things with properties only a person can say what readers need.
    const texts = listOf(item).some(isObject) ? [] : textsOf(item);
    if (!ruled.has(key) && !isNothing(item))
      draft.keep(key, key.replace(/^.*[/#:](?=.)/, ''), texts, 'has no field on the portal');
  }
  if (Object.keys(draft.info).length > 0) draft.metadata.additionalInfo = draft.info;
};

/** An entry, or the member of a series that is written inside it: its place from 1; 0 for the entry itself. */
export type DescribedEntry = WalkedEntry & { member: number };

/** The entry, and of a series also its members: those that are written inside it, and those that it only names. */
export const describedIn = (entry: WalkedEntry): DescribedEntry[] => {
  const { value } = entry;
  const itself = { ...entry, member: 0 };
  if (!isObject(value) || !isSeries(value)) return [itself];
  const inSeries = identifierOf(value) ?? value.title;
  const members = membersOf(value).map((member, at) => ({
    ...entry,
    isService: false,
    member: at + 1,
    value:
      isObject(member) && isNothing(referenceOf(member) ?? member.isPartOf ?? member.inSeries)
        ? { ...member, inSeries }
        : member,
  }));
  return [itself, ...members];
};

/** The entry under the keys of a dataset; `isService` says that it is in a list of services. */
export const asDataset = (described: unknown, isService: boolean): unknown => {
  const value = spelled(described);
  if (!isObject(value)) return value;
  if (isSeries(value)) {
    const { first: _first, last: _last, seriesMember: _members, ...series } = value;
    return series;
  }
  if (!isService && !hasType(value, 'DataService')) return value;
  const { endpointURL, ...service } = value;
  return { ...service, distribution: service.distribution ?? textsOf(endpointURL).map((accessURL) => ({ accessURL })) };
};

const isSeries = (value: Record<string, unknown>): boolean =>
  hasType(value, 'DatasetSeries') || !isNothing(value.seriesMember);

const hasType = (value: Record<string, unknown>, type: string): boolean =>
  textsOf(value['@type']).some((text) => text.replace(/^.*[:/#]/, '') === type);

/** `first` and `last` are among the others, if these are written there. */
const membersOf = ({ first, seriesMember, last }: Record<string, unknown>): unknown[] => {
  const members = listOf(seriesMember);
  const namesIn = (value: unknown) => (isObject(value) ? textsOf([identifierOf(value), value['@id']]) : textsOf(value));
  const names = new Set(members.flatMap(namesIn));
  const isOther = (value: unknown): boolean => !namesIn(value).some((name) => names.has(name));
  return [...listOf(first).filter(isOther), ...members, ...listOf(last).filter(isOther)];
};

type Draft = ReturnType<typeof draftOf>;

/** A dataset under construction: values mapped from one entry, and remarks about those that could not be mapped. */
const draftOf = (remark: Remark) => {
  const metadata: { -readonly [Key in keyof DatasetMetadata]: DatasetMetadata[Key] } = {};
  const fields: NodeFields = {};
  /** What the portal shows as further facts about the dataset. */
  const info: Record<string, string> = {};

  /** One line of text that fits a plain field; what is too long is cut, with a remark. */
  const short = (part: string, text: string, longest = longestText): string =>
    shortLine(text, longest, (what) => remark(part, what));

  /** Adds a further fact. An address that is too long is left out, because half an address leads nowhere. */
  const addInfo = (part: string, name: string, text: string): void => {
    const isAddress = /^[a-z]+:\/\//i.test(text);
    if (isAddress && text.length > longestText) remark(part, 'left out: the address is too long for the portal');
    else info[short(part, name)] = short(part, text);
  };

  /** Keeps what no field of the portal holds as a further fact, and reports it. */
  const keep = (part: string, name: string, values: readonly unknown[], why: string): void => {
    const texts = values.map(keptText);
    if (texts.length > 0) addInfo(part, name, [...listOf(info[name]), ...texts].join('; '));
    remark(part, texts.length > 0 ? `${why}; kept in Additional info` : why);
  };
  return { metadata, fields, info, remark, short, addInfo, keep };
};

type Take = (value: unknown, draft: Draft) => void;

const noCode = 'portals have no code for it';
const noLink = 'not an address that portals link to';
const onlyFirst = 'only the first of several is published';

/** A key that goes as text into the further facts about a dataset. */
const fact =
  (from: string, name: string): Take =>
  (value, draft) => {
    const texts = textsOf(value);
    draft.addInfo(from, name, texts.length > 0 ? texts.join(', ') : keptText(value));
  };

/** A key whose text, as `read` has it, goes into a plain field. */
const line =
  (
    from: string,
    key: 'rights' | 'isPartOf' | 'dataDictionary' | 'dataDictionaryType',
    read: (value: unknown) => string | null,
    longest?: number,
  ): Take =>
  (value, draft) => {
    const text = read(value);
    if (text !== null) draft.metadata[key] = draft.short(from, text, longest);
  };

/** A day or time into a field; any other text becomes a further fact of that name. */
const takeDate =
  (from: string, name: string): Take =>
  (value, draft) => {
    const [date, time = '00:00:00'] = dayOf(textOf(value) ?? '')?.split('T') ?? [];
    if (date === undefined) draft.keep(from, name, [value], 'is no date');
    else draft.fields[`field_harvest_source_${from}`] = { und: [{ value: `${date} ${time}` }] };
  };

const takeAccess =
  (from: string): Take =>
  (value, draft) => {
    const text = oneLine(textOf(value) ?? '').toLowerCase();
    const level = accessLevels.find((each) => catalogueAccess[each] === text);
    if (level !== undefined) draft.metadata.access = level;
    else draft.keep(from, 'Access level', [text || value], noCode);
  };

const nameOf = (value: unknown): string | null => textOf(isObject(value) ? (value.name ?? value.prefLabel) : value);

/** A period in the form of ISO 8601, with `..` for an open end; what it is otherwise where it has neither date. */
const periodText = (value: unknown): string => {
  const { startDate, endDate, ...other } = isObject(value) ? value : {};
  const [begin, end] = [textOf(startDate ?? other['dcat:startDate']), textOf(endDate ?? other['dcat:endDate'])];
  return begin === null && end === null ? keptText(value) : `${begin ?? '..'}/${end ?? '..'}`;
};

const linkTitle = (item: unknown, url: string, draft: Draft): string => {
  const title = isObject(item) ? textOf(item.title) : null;
  if (title !== null) return draft.short('references', title);
  return titleSchema.safeParse(url).success ? url : new URL(url).hostname;
};

const takeLinks =
  (from: string): Take =>
  (value, draft) => {
    const items = typeof value === 'string' ? value.split(/[,\s]+(?=https?:)/) : listOf(value);
    const links = items.flatMap((item) => {
      const url = webAddressOf(item);
      return url === null ? [] : [{ title: linkTitle(item, url, draft), url }];
    });
    const others = items.filter((item) => webAddressOf(item) === null);
    if (others.length > 0) draft.keep(from, 'References', others, noLink);
    if (links.length > 0) draft.metadata.relatedContent = [...(draft.metadata.relatedContent ?? []), ...links];
  };

const languageOf = (text: string): string | undefined =>
  /^([a-z]{2,3})(?:[-_][a-z0-9]+)*$/i.exec(text)?.[1]?.toLowerCase();

/** What puts the value of a key into the draft, in this order: a later one may look at what an earlier one made. */
export const datasetRules: Readonly<Record<string, Take>> = {
  identifier: (value, draft) => draft.addInfo('identifier', 'Identifier', textOf(value) ?? ''),
  title: () => undefined,
  description: (value, { metadata }) => {
    const text = textOf(value);
    if (text !== null) metadata.description = text;
  },
  keyword: (value, draft) => {
    const words = typeof value === 'string' ? (textOf(value) ?? '').split(',') : textsOf(value);
    const terms = words.map((word) => draft.short('keyword', word)).filter((term) => term !== '');
    const spelt = Map.groupBy(terms, (term) => term.toLowerCase());
    if (terms.length > 0) draft.metadata.tags = [...spelt.values()].flatMap(([first = '']) => first);
  },
  theme: (value, draft) => {
    const themes = textsOf(value).map((theme) => draft.short('theme', theme));
    if (themes.length > 0) draft.metadata.themes = [...new Set(themes)];
  },
  publisher: (value, draft) => {
    const [publisher, ...more] = listOf(value);
    const name = nameOf(publisher);
    if (name !== null) draft.metadata.author = draft.short('publisher', name);
    else draft.remark('publisher', 'has no name');
    if (more.length > 0) draft.keep('publisher', 'Further publishers', more, onlyFirst);
    const above: string[] = [];
    let next = isObject(publisher) ? publisher.subOrganizationOf : undefined;
    for (let level = 0; isObject(next) && level < 10; level += 1) {
      above.push(...textsOf(nameOf(next)));
      next = next.subOrganizationOf;
    }
    if (above.length > 0) draft.addInfo('publisher.subOrganizationOf', 'Part of', above.join(', '));
  },
  creator: fact('creator', 'Creator'),
  contactPoint: (value, draft) => {
    const [contact, ...more] = listOf(value);
    const name = textOf(isObject(contact) ? (contact.fn ?? contact.name ?? contact['organization-name']) : contact);
    const email = isObject(contact) ? addressText(contact.hasEmail)?.replaceAll(/^mailto:|\?.*$/gi, '') : undefined;
    draft.metadata.contact = defined({
      name: name === null ? undefined : draft.short('contactPoint.fn', name),
      email: email ? draft.short('contactPoint.hasEmail', email) : undefined,
    });
    if (more.length > 0) draft.keep('contactPoint', 'Further contacts', more, onlyFirst);
  },
  accessLevel: takeAccess('accessLevel'),
  // DCAT-US 3.0 has another name for it.
  accessRights: (value, draft) => {
    if (draft.metadata.access === undefined) takeAccess('accessRights')(value, draft);
  },
  rights: line('rights', 'rights', (value) => textsOf(value).join('; ') || null),
  license: (value, draft) => {
    const text = addressText(value) ?? '';
    const code = licenseCode(text);
    if (code !== null) draft.metadata.license = code;
    else draft.keep('license', 'License', [text || value], noCode);
  },
  accrualPeriodicity: (value, draft) => {
    const text = textOf(value) ?? '';
    const code = frequencyCode(text.replace(/^.*\/(?=[A-Z_]+$)/i, '').replaceAll('_', ' ')) ?? frequencyCode(text);
    if (code !== undefined) draft.metadata.frequency = code;
    else draft.keep('accrualPeriodicity', 'Frequency', [text || value], noCode);
  },
  issued: takeDate('issued', 'Issued'),
  // A day or time, or a rule of repetition, which says how often the data is renewed.
  modified: (value, draft) => {
    const text = textOf(value) ?? '';
    const code = frequencyCode(text);
    if (!text.startsWith('R/')) takeDate('modified', 'Modified')(value, draft);
    else if (code === undefined || draft.metadata.frequency !== undefined)
      draft.keep('modified', 'Modified', [text], 'is a repetition, not a date');
    else draft.metadata.frequency = code;
  },
  // The first period that has both ends: portals store no other.
  temporal: (value, draft) => {
    const texts = listOf(value).map(periodText);
    const at = texts.findIndex((text) => spanOf(text) !== null);
    const span = spanOf(texts[at] ?? '');
    if (span !== null) draft.metadata.temporal = span;
    const others = texts.filter((_, index) => index !== at);
    if (others.length > 0)
      draft.keep('temporal', 'Temporal', others, span ? onlyFirst : 'has no begin and end that portals can store');
  },
  spatial: (value, draft) => {
    const { wkt, label } = areaOf(value);
    if (wkt === undefined && label === undefined) return draft.keep('spatial', 'Spatial', [value], 'not understood');
    draft.metadata.spatial = defined({ wkt, label: label && draft.short('spatial', label) });
  },
  landingPage: (value, draft) => {
    const url = webAddressOf(value);
    if (url !== null) draft.metadata.landingPage = url;
    else draft.keep('landingPage', 'Landing page', [value], noLink);
  },
  language: (value, draft) => {
    const texts = textsOf(value);
    const known = texts.flatMap((text) => languageOf(text) ?? []);
    const others = texts.filter((text) => languageOf(text) === undefined);
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
  isPartOf: line('isPartOf', 'isPartOf', (value) => addressText(value) ?? textOf(value), 512),
  inSeries: (value, draft) => {
    const [series, ...more] = listOf(value);
    const others = [...(draft.metadata.isPartOf === undefined ? [] : [series]), ...more];
    if (others.length > 0) draft.keep('inSeries', 'Series', others, 'only the first collection is published');
    const read = (): string | null => (isObject(series) ? identifierOf(series) : null) ?? textOf(series);
    if (draft.metadata.isPartOf === undefined) line('inSeries', 'isPartOf', read, 512)(series, draft);
  },
  describedBy: (value, draft) => {
    line('describedBy', 'dataDictionary', addressText)(value, draft);
    const type = isObject(value) ? textOf(value.mediaType) : null;
    if (type !== null) draft.metadata.dataDictionaryType = draft.short('describedBy.mediaType', type);
  },
  endpointDescription: (value, draft) => {
    const url = webAddressOf(value);
    if (url !== null && draft.metadata.dataDictionary === undefined)
      draft.metadata.dataDictionary = draft.short('endpointDescription', url);
    else draft.addInfo('endpointDescription', 'Endpoint', textsOf(value).join(', '));
  },
  describedByType: line('describedByType', 'dataDictionaryType', textOf),
  references: takeLinks('references'),
  // DCAT-US 3.0 has another name for them.
  page: takeLinks('page'),
  bureauCode: fact('bureauCode', 'Bureau code'),
  programCode: fact('programCode', 'Program code'),
  dataQuality: fact('dataQuality', 'Data quality'),
  systemOfRecords: fact('systemOfRecords', 'System of records'),
  primaryITInvestmentUII: fact('primaryITInvestmentUII', 'Primary IT investment UII'),
  version: fact('version', 'Version'),
  servesDataset: fact('servesDataset', 'Serves'),
};

const ruled = new Set(['distribution', '@type', '@id', '@context', ...Object.keys(datasetRules)]);
const spelled = speller(ruled);
