// What DCAT-US 3.0 has beside datasets, as entries that the mapping of datasets takes: series with their members, and services.
import { isObject } from '../../util/json.ts';
import type { CatalogueEntry } from './read-catalogue.ts';
import { identifierOf, isNothing, listOf, textsOf } from './values.ts';

/** An entry, or a member that is written inside a series. */
export interface DescribedEntry extends CatalogueEntry {
  /** Place among the members of the series, from 1; 0 for the entry itself. */
  member: number;
}

/** The entry, and of a series also the members that are written inside it; those it only refers to are elsewhere. */
export const describedIn = (entry: CatalogueEntry): DescribedEntry[] => {
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

/** The entry under the keys of a dataset; `isService` says that it stands in a list of services. */
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
