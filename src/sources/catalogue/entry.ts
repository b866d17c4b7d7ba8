// One entry of a catalogue as a dataset of a manifest, or why it cannot be published; DCAT-US 3.0 adds series and
// services.
import { isObject } from '../../util/json.ts';
import type { CatalogueManifest, DatasetSpec } from '../manifest/schema.ts';
import { Draft, datasetRules, type Remark } from './dataset-rules.ts';
import { type LeftOut, resourcesOf } from './distributions.ts';
import { identifierOf, idOfIdentifier, isNothing, listOf, oneLine, textOf, textsOf } from './values.ts';
import type { WalkedEntry } from './walk.ts';

export interface CatalogueDataset extends DatasetSpec {
  identifier: string;
}

export interface EntryNames {
  identifier: string | null;
  title: string | null;
}

export const namesOf = (value: unknown): EntryNames => {
  if (!isObject(value)) return { identifier: null, title: null };
  const title = Array.isArray(value.title) ? null : textOf(value.title);
  return { identifier: identifierOf(value), title: title === null ? null : oneLine(title) };
};

/** The dataset of an entry without its faulty distributions, or all faults of the dataset itself. */
export const datasetOf = (
  value: unknown,
  { catalogue, defaults }: Pick<CatalogueManifest, 'catalogue' | 'defaults'>,
  remark: Remark,
):
  | { dataset: CatalogueDataset; leftOut: LeftOut[]; faults: null }
  | { dataset: null; leftOut?: never; faults: string[] } => {
  if (!isObject(value)) return { dataset: null, faults: ['it is not an object'] };
  const { identifier, title } = namesOf(value);
  if (identifier === null || title === null) {
    const unnamed = Array.isArray(value.title) && !isNothing(value.title);
    const titleFault = unnamed ? 'its title is a list; a title is one text' : 'it has no title';
    const faults = [identifier === null && identifierFault(value.identifier), title === null && titleFault];
    return { dataset: null, faults: faults.filter((fault) => fault !== false) };
  }
  const draft = new Draft(remark);
  const tools = { files: catalogue.files, defaults: defaults.resource, title, remark };
  const { resources, leftOut } = resourcesOf(value.distribution, tools);
  // The entry under its identifier, whatever that is in.
  const { 'adms:identifier': _other, ...rest } = value;
  applyRules({ ...(isNothing(value.identifier) ? rest : value), identifier }, draft);
  const { fields, ...details } = defaults.dataset;
  const dataset = {
    identifier,
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
  return 'its identifier is not text of at most 2,000 characters';
};

const ruled = new Set(['distribution', '@type', '@id', '@context', ...Object.keys(datasetRules)]);

const applyRules = (value: Record<string, unknown>, draft: Draft): void => {
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

/** The entry, and of a series also the members that are written inside it; those it only refers to are elsewhere. */
export const describedIn = (entry: WalkedEntry): DescribedEntry[] => {
  const { value } = entry;
  const itself = { ...entry, member: 0 };
  if (!isObject(value) || !isSeries(value)) return [itself];
  const inSeries = identifierOf(value) ?? value.title;
  const members = membersOf(value).map((member, at) => ({
    ...entry,
    isService: false,
    member: at + 1,
    value: isNothing(member.isPartOf ?? member.inSeries) ? { ...member, inSeries } : member,
  }));
  return [itself, ...members];
};

/** The entry under the keys of a dataset; `isService` says that it is in a list of services. */
export const asDataset = (value: unknown, isService: boolean): unknown => {
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
const membersOf = ({ first, seriesMember, last }: Record<string, unknown>): Record<string, unknown>[] => {
  const members = listOf(seriesMember).filter(isObject);
  const isListed = (value: Record<string, unknown>): boolean =>
    members.some((each) => identifierOf(each) === identifierOf(value) || (value['@id'] ?? null) === each['@id']);
  const [before, after] = [first, last].map((value) => (isObject(value) && !isListed(value) ? [value] : []));
  return [...(before ?? []), ...members, ...(after ?? [])];
};
