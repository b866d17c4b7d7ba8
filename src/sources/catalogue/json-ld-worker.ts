// Worker-thread entry: works out which datasets a JSON-LD document describes; memory and time are bounded around it.
import type { NodeObject } from 'jsonld';
import { sayingOf } from '../../model/errors.ts';
import { isDeeperThan } from '../../model/yaml/depth.ts';
import { beat, type Cancellable } from '../../tables/worker-pool.ts';
import { refusedContexts } from './json-ld-contexts.ts';
import { accessLevels, datasetKeys, dcat, inside, type Keys, languages, listed } from './json-ld-keys.ts';
import { type CatalogueEntry, catalogueLimits } from './read-catalogue.ts';
import { isObject } from './values.ts';

/** A document to be read. */
export interface JsonLdTask {
  bytes: Uint8Array;
}

/** Its entries, or in words what is wrong with it; `hint` where there is more to do than to mend it. */
export type JsonLdAnswer = { entries: CatalogueEntry[] } | { fault: string; hint?: string };

/** What is wrong with the document, in words. */
class Unreadable extends Error {}

/** Reads one document; never throws for what is wrong with it. */
export const readDocument = async ({ bytes, cancelled }: Cancellable<JsonLdTask>): Promise<JsonLdAnswer> => {
  beat(cancelled);
  try {
    const document = documentOf(bytes);
    const refused = refusedContexts(document);
    if (refused !== null) return refused;
    return { entries: entriesOf(await flattened(document)) };
  } catch (error) {
    if (error instanceof Unreadable) return { fault: error.message };
    throw error;
  }
};

type FlatNode = Record<string, unknown> & { '@id': string; '@type'?: string[] };

const documentOf = (bytes: Uint8Array): NodeObject => {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Unreadable('it is not valid UTF-8');
  }
  let document: NodeObject;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new Unreadable(`it is not JSON: ${messageOf(cause)}`);
  }
  if (isDeeperThan(catalogueLimits.depth, document))
    throw new Unreadable(`objects and lists stand more than ${catalogueLimits.depth} deep inside each other`);
  return document;
};

const flattened = async (document: NodeObject): Promise<FlatNode[]> => {
  const { default: jsonld } = await import('jsonld'); // large, and seldom needed
  const documentLoader = async (url: string): Promise<never> => {
    throw new Error(`its @context is at ${url}, which is not fetched; the context must stand in the document`);
  };
  try {
    // Without a context to write it in, a flattened document is the list of its nodes.
    return (await jsonld.flatten(document, undefined, { documentLoader })) as unknown as FlatNode[];
  } catch (cause) {
    throw new Unreadable(`it cannot be read as JSON-LD: ${messageOf(cause)}`);
  }
};

const messageOf = (error: unknown): string => {
  const details = isObject(error) && isObject(error.details) ? error.details : {};
  const inner = details.cause instanceof Error ? details.cause.message : null;
  return inner ?? sayingOf(error);
};

const entriesOf = (nodes: FlatNode[]): CatalogueEntry[] => {
  const byId = new Map(nodes.map((node) => [node['@id'], node]));
  const datasets = nodes.filter((node) => node['@type']?.includes(`${dcat}Dataset`));
  if (datasets.length === 0) throw new Unreadable('it names no dataset: nothing in it is a `dcat:Dataset`');
  return datasets.map((node, at) => ({ index: at + 1, line: 0, value: entryOf(node, byId) }));
};

const entryOf = (node: FlatNode, byId: ReadonlyMap<unknown, FlatNode>): Record<string, unknown> => {
  const entry = keyed(node, datasetKeys, byId);
  // DCAT-AP lets the identifier be that of the thing itself.
  if (entry.identifier === undefined && !node['@id'].startsWith('_:')) entry.identifier = node['@id'];
  if (Array.isArray(entry.identifier)) [entry.identifier] = entry.identifier;
  if (typeof entry.accessLevel === 'string') entry.accessLevel = accessLevels[entry.accessLevel] ?? entry.accessLevel;
  return entry;
};

/** The properties of a node under the keys of a data.json; those without one keep their address as key. */
const keyed = (node: FlatNode, keys: Keys, byId: ReadonlyMap<unknown, FlatNode>): Record<string, unknown> => {
  const result: Record<string, unknown> = {};
  for (const [property, values] of Object.entries(node)) {
    if (property.startsWith('@') || !Array.isArray(values)) continue;
    const key = keys[property] ?? property;
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
  if (keys !== undefined && node !== undefined && Object.keys(node).some((property) => property in keys))
    return { ...keyed(node, keys, byId), ...(String(id).startsWith('_:') ? {} : { '@id': id }) };
  if (typeof id === 'string' && listed.has(key)) return languages[lastPart(id)] ?? lastPart(id);
  return id;
};

const lastPart = (address: string): string =>
  address.slice(Math.max(address.lastIndexOf('/'), address.lastIndexOf('#')) + 1);
