// Worker-thread entry: finds the datasets of a document of linked data, with bounded memory and time.
import type { NodeObject } from 'jsonld';
import { type EuList, fromEuCode } from '../../dataset-api/values.ts';
import { errorMessage } from '../../model/errors.ts';
import { isDeeperThan } from '../../model/yaml/document.ts';
import { isObject } from '../../util/json.ts';
import { countText } from '../../util/plural.ts';
import { beat, type Cancellable } from '../../util/worker-pool.ts';
import { joined, noPaging, type Paging, pagingOf } from './paging.ts';
import { decoded, type FlatNode, nodesOfRdf, type syntaxes, Unreadable } from './rdf.ts';
import { type CatalogueEntry, catalogueLimits, type Said } from './read-catalogue.ts';

/** Contexts that apply at one place: in one list, or inside each other. Real documents have a few. */
const mostContexts = 100;
/** Terms of these contexts together; the largest vocabularies in use have some thousands. */
const mostTerms = 20_000;

type Refusal = { fault: string; hint: string } | null;

/** What is wrong with the contexts in a value, below as many contexts and terms, and what to do; null when it may be expanded. */
const refusalIn = (value: unknown, path: (string | number)[], contexts = 0, terms = 0): Refusal => {
  if (value === null || typeof value !== 'object') return null;
  const own = '@context' in value ? [value['@context']].flat() : [];
  const all = contexts + own.length;
  const allTerms = own.reduce((sum: number, each) => sum + (isObject(each) ? Object.keys(each).length : 0), terms);
  const what =
    all > mostContexts ? `${countText(mostContexts)} contexts apply` : `${countText(mostTerms)} terms are defined`;
  if (all > mostContexts || allTerms > mostTerms)
    return {
      fault: `at \`${[...path, '@context'].join('.')}\` more than ${what} at once`,
      hint: 'use one context with only the terms that the document uses; nothing was published or removed',
    };
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const found = refusalIn(inner, [...path, key], all, allTerms);
    if (found !== null) return found;
  }
  return null;
};

const dcat = 'http://www.w3.org/ns/dcat#';
const dct = 'http://purl.org/dc/terms/';
const hydra = 'http://www.w3.org/ns/hydra/core#';

/** Keys by property: of a namespace its names, each with the key it becomes where that is another one. */
const keysIn = (namespace: string, names: string): [string, string][] =>
  names.split(' ').map((each) => {
    const [name = '', key = name] = each.split('=');
    return [namespace + name, key];
  });

const keyOf: ReadonlyMap<string, string> = new Map([
  ...keysIn(
    dct,
    'identifier title description publisher creator accessRights=accessLevel rights license accrualPeriodicity',
  ),
  ...keysIn(dct, 'issued modified temporal spatial language conformsTo isPartOf format'),
  ...keysIn(dcat, 'keyword theme contactPoint landingPage inSeries endpointURL endpointDescription servesDataset'),
  ...keysIn(dcat, 'version distribution accessService downloadURL accessURL mediaType startDate endDate bbox'),
  ...keysIn('http://xmlns.com/foaf/0.1/', 'page=references name'),
  ...keysIn('http://www.w3.org/2006/vcard/ns#', 'fn hasEmail'),
  ...keysIn('http://schema.org/', 'startDate endDate'),
  ...keysIn('http://www.w3.org/2004/02/skos/core#', 'prefLabel notation'),
  ...keysIn('http://www.w3.org/2000/01/rdf-schema#', 'label'),
  ...keysIn('http://www.w3.org/1999/02/22-rdf-syntax-ns#', 'value=@value'),
  ...keysIn('http://www.w3.org/ns/locn#', 'geometry'),
  ...keysIn('http://www.w3.org/2002/07/owl#', 'versionInfo=version'),
  ...keysIn('http://www.w3.org/ns/adms#', 'identifier=adms:identifier'),
]);

const labels = ['prefLabel', 'label', 'name'];
const ofAgent = [...labels, 'fn', 'hasEmail'];
/** What is read of a thing without a name, wherever it stands. */
const words = [...labels, 'fn', 'title', 'notation', '@value'];

/** Keys whose values are things with properties of their own, with the keys of these. */
const inside: Readonly<Record<string, readonly string[]>> = {
  theme: labels,
  publisher: ofAgent,
  creator: ofAgent,
  references: ['title'],
  contactPoint: ofAgent,
  temporal: ['startDate', 'endDate'],
  spatial: [...labels, 'bbox', 'geometry'],
  distribution: 'accessService downloadURL accessURL title description format mediaType license'.split(' '),
  identifier: ['notation'],
  'adms:identifier': ['notation'],
  accessService: ['endpointURL'],
};

/** Keys whose addresses are entries of a list of the European Union: their last part is the code, for some lists of ours. */
const listed: ReadonlyMap<string, EuList | null> = new Map([
  ['accessLevel', 'access-right'],
  ['accrualPeriodicity', 'frequency'],
  ['language', 'language'],
  ['format', null],
  ['theme', null],
]);

export interface LinkedDataTask {
  bytes: Uint8Array;
  syntax: keyof typeof syntaxes;
  base: string | null;
}

/** Its entries and what else it says, or what is wrong with it, in words; `hint` where there is more to do than to fix it. */
export type LinkedDataAnswer =
  | { entries: CatalogueEntry[]; said: Said }
  | { fault: string; hint?: string; line?: number };

export const readDocument = async (task: Cancellable<LinkedDataTask>): Promise<LinkedDataAnswer> => {
  const { bytes, syntax, base, cancelled } = task;
  beat(cancelled);
  try {
    if (syntax !== 'json-ld') return answerOf(await nodesOfRdf(bytes, syntax, base));
    const document = documentOf(bytes);
    return refusalIn(document, []) ?? answerOf(await flattened(document, base), document);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const hint = 'fix the document, or ask its publisher to; nothing was published or removed';
    return { fault: error.message, line: error.line, hint };
  }
};

const answerOf = (nodes: FlatNode[], document?: NodeObject): LinkedDataAnswer => ({
  entries: entriesOf(nodes),
  said: { paging: pagingIn(document, nodes), parts: partsIn(nodes) },
});

const documentOf = (bytes: Uint8Array): NodeObject => {
  const text = decoded(bytes, 'utf-8');
  let document: NodeObject;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new Unreadable(`it is not JSON: ${errorMessage(cause)}`);
  }
  if (isDeeperThan(catalogueLimits.depth, document))
    throw new Unreadable(`objects and lists are nested more than ${catalogueLimits.depth} levels deep`);
  return document;
};

const flattened = async (document: NodeObject, base: string | null): Promise<FlatNode[]> => {
  const { default: jsonld } = await import('jsonld'); // large, and seldom needed
  const documentLoader = async (url: string): Promise<never> => {
    throw new Error(`its @context is at ${url}, which is not fetched; include the context in the document`);
  };
  try {
    // Without a context to write it in, a flattened document is the list of its nodes.
    const options = { documentLoader, ...(base === null ? {} : { base }) };
    return (await jsonld.flatten(document, undefined, options)) as unknown as FlatNode[];
  } catch (cause) {
    const details = isObject(cause) && isObject(cause.details) ? cause.details : {};
    throw new Unreadable(`it cannot be read as JSON-LD: ${errorMessage(details.cause ?? cause)}`);
  }
};

/** Datasets and services, and what a catalogue lists as such: all that is not described is an entry with an `@id` only. */
const entriesOf = (nodes: FlatNode[]): CatalogueEntry[] => {
  const byId = describedIn(nodes);
  const bare = nodes.filter((node) => isDataset(node) && !isDescribed(node)).map((node) => node['@id']);
  const named = new Set([...bare, ...nodes.flatMap((node) => idsIn(node, listKeys))]);
  // Many services only give access to one distribution; those of a catalogue are published.
  const services = new Set(nodes.flatMap((node) => idsIn(node, [`${dcat}service`])));
  const isEntry = (node: FlatNode): boolean =>
    isDataset(node) || services.has(node['@id']) || (named.has(node['@id']) && !isCatalogue(node));
  const described = [...byId.values()].filter(isEntry).map((node) => ({
    isService: services.has(node['@id']) && !isDataset(node),
    value: entryOf(node, byId),
  }));
  const others = [...new Set([...named, ...services])].filter((id) => !byId.has(id));
  const all = [...described, ...others.map((id) => ({ isService: false, value: { '@id': id } }))];
  return all.map((entry, at) => ({ index: at + 1, line: 0, ...entry }));
};

const datasetTypes = [`${dcat}Dataset`, `${dcat}DatasetSeries`];
/** Properties with the datasets of a catalogue, and with catalogues inside it. */
const listKeys = [`${dcat}dataset`, `${dcat}resource`, `${hydra}member`];
const catalogueKeys = [`${dcat}catalog`, `${dct}hasPart`];
const contents = [...listKeys, ...catalogueKeys, `${dcat}service`];

const isDataset = (node: FlatNode): boolean => datasetTypes.some((type) => node['@type']?.includes(type));

const isCatalogue = (node: FlatNode): boolean =>
  !!node['@type']?.includes(`${dcat}Catalog`) ||
  [...listKeys, `${dcat}service`, `${dcat}catalog`].some((key) => key in node);

const describedIn = (nodes: FlatNode[]): Map<unknown, FlatNode> =>
  new Map(nodes.filter(isDescribed).map((node) => [node['@id'], node]));

/** True where more is said of a node than what it is. */
const isDescribed = (node: FlatNode): boolean => Object.keys(node).some((key) => !key.startsWith('@'));

const idsIn = (node: FlatNode, keys: readonly string[]): string[] =>
  keys
    .flatMap((key) => node[key] ?? [])
    .map((value) => String(isObject(value) ? (value['@id'] ?? value['@value']) : value));

const partsIn = (nodes: FlatNode[]): string[] => {
  const byId = describedIn(nodes);
  const isElsewhere = (id: string): boolean => {
    const node = byId.get(id);
    return node === undefined || (isCatalogue(node) && !contents.some((key) => key in node));
  };
  const inside = nodes.filter(isCatalogue).flatMap((node) => idsIn(node, [...catalogueKeys, ...listKeys]));
  const named = new Set(nodes.filter(isCatalogue).flatMap((node) => idsIn(node, catalogueKeys)));
  const pages = nodes.flatMap((node) => idsIn(node, ['https://w3id.org/tree#node'])); // as TREE relates them
  return [...new Set(inside)].filter((id) => isElsewhere(id) && (named.has(id) || byId.has(id))).concat(pages);
};

const pagers = [hydra, 'http://www.w3.org/1999/xhtml/vocab#', 'https://www.w3.org/ns/activitystreams#'];

/** What the document says about pages: at its top, also without a context, and in the nodes of vocabularies for it. */
const pagingIn = (document: unknown, nodes: FlatNode[]): Paging => {
  const all = nodes.map((node) =>
    pagingOf(Object.fromEntries(Object.entries(node).filter(([key]) => pagers.some((pager) => key.startsWith(pager))))),
  );
  return [isObject(document) ? pagingOf(document) : noPaging, ...all].reduce(joined);
};

const entryOf = (node: FlatNode, byId: ReadonlyMap<unknown, FlatNode>): Record<string, unknown> => {
  const entry = keyed(node, null, byId);
  entry['@id'] = node['@id'];
  if (node['@type']) entry['@type'] = node['@type'].map(lastPart);
  // DCAT-AP lets the identifier be that of the thing itself.
  if (entry.identifier === undefined && !node['@id'].startsWith('_:')) entry.identifier = node['@id'];
  if (Array.isArray(entry.identifier)) [entry.identifier] = entry.identifier;
  return entry;
};

/** The properties of a node under the keys of a data.json; those without one keep their address as key. */
const keyed = (node: FlatNode, keys: readonly string[] | null, byId: ReadonlyMap<unknown, FlatNode>) => {
  const result: Record<string, unknown> = {};
  for (const [property, values] of Object.entries(node)) {
    if (property.startsWith('@') || !Array.isArray(values)) continue;
    const known = keyOf.get(property);
    const key = known !== undefined && keys?.includes(known) !== false ? known : property;
    const read = inOneLanguage(values).map((value) => meantBy(value, key, byId));
    result[key] ??= read.length === 1 ? read[0] : read;
  }
  return result;
};

/** Of a text in several languages the English one, else the first; keywords and other plain values all. */
const inOneLanguage = (values: unknown[]): unknown[] => {
  const languages = values.map((value) => (isObject(value) ? value['@language'] : undefined));
  const [first] = languages;
  if (first === undefined) return values;
  const chosen = languages.find((language) => typeof language === 'string' && /^en\b/i.test(language)) ?? first;
  return values.filter((_, at) => languages[at] === chosen);
};

const meantBy = (value: unknown, key: string, byId: ReadonlyMap<unknown, FlatNode>): unknown => {
  if (!isObject(value)) return value;
  if ('@value' in value) return value['@value'];
  const id = value['@id'];
  const node = byId.get(id);
  const keys = inside[key];
  if (keys && node && Object.keys(node).some((property) => keys.includes(keyOf.get(property) ?? '')))
    return { ...keyed(node, keys, byId), ...(String(id).startsWith('_:') ? {} : { '@id': id }) };
  if (String(id).startsWith('_:')) return node === undefined ? null : keyed(node, words, new Map());
  const list = listed.get(key);
  if (list === undefined || typeof id !== 'string') return id;
  return (list && fromEuCode(list, lastPart(id))) ?? lastPart(id);
};

const lastPart = (address: string): string =>
  address.slice(Math.max(address.lastIndexOf('/'), address.lastIndexOf('#')) + 1);
