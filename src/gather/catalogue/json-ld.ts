// DCAT-AP catalogues in JSON-LD, as entries with the keys of a data.json, so that one mapping serves both.
import type { NodeObject } from 'jsonld';
import { CatalogueFaultError, sayingOf } from '../../errors.ts';
import { accessLevels, datasetKeys, dcat, inside, type Keys, languages, listed } from './json-ld-keys.ts';
import { type CatalogueEntry, catalogueLimits } from './read-catalogue.ts';
import { isObject } from './values.ts';

/** The whole document is read at once, and what it means is worked out in memory. */
const longestDocument = 30_000_000;

/**
 * Tells JSON-LD from a data.json by its beginning: a list of nodes, a `@graph`, or `dcat:dataset` where `dataset` would be.
 * `all` gives the bytes from the beginning.
 */
export const looked = async (
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ isJsonLd: boolean; all: AsyncIterable<Uint8Array> }> => {
  const source = bytes[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < enoughToTell) {
    const { value, done } = await source.next();
    if (done) break;
    first.push(value);
    length += value.length;
  }
  const begin = Buffer.concat(first)
    .toString('utf8')
    .replace(/^\uFEFF?\s*/, '');
  const isGraph = /"(?:@graph|dcat:dataset|http:\/\/www\.w3\.org\/ns\/dcat#dataset)"\s*:/.test(begin);
  const all = async function* (): AsyncGenerator<Uint8Array> {
    yield* first;
    yield* { [Symbol.asyncIterator]: () => source };
  };
  return { isJsonLd: begin.startsWith('[') || (isGraph && !/"dataset"\s*:/.test(begin)), all: all() };
};

/** Bytes; contexts that stand in the document are shorter. */
const enoughToTell = 65_536;

/**
 * The datasets of a JSON-LD document, in the order of their names. Its `@context` must stand in it: none is fetched.
 * References are followed from a dataset to what it names and no further, so a document cannot grow while it is read.
 *
 * @throws CatalogueFaultError when it is no JSON-LD, too large, or names no dataset at all
 */
export const readJsonLd = async (bytes: AsyncIterable<Uint8Array>, name: string): Promise<CatalogueEntry[]> => {
  const nodes = await flattened(await documentOf(bytes, name), name);
  const byId = new Map(nodes.map((node) => [node['@id'], node]));
  const datasets = nodes.filter((node) => node['@type']?.includes(`${dcat}Dataset`));
  if (datasets.length === 0) throw fault(name, 'it names no dataset: nothing in it is a `dcat:Dataset`');
  return datasets.map((node, at) => ({ index: at + 1, line: 0, value: entryOf(node, byId) }));
};

type FlatNode = Record<string, unknown> & { '@id': string; '@type'?: string[] };

const documentOf = async (bytes: AsyncIterable<Uint8Array>, name: string): Promise<NodeObject> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > longestDocument)
      throw fault(name, `as JSON-LD it may have at most ${longestDocument.toLocaleString('en')} bytes`);
    chunks.push(chunk);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw fault(name, 'it is not valid UTF-8', cause);
  }
  if (depthOf(text) > catalogueLimits.depth)
    throw fault(name, `objects and lists stand more than ${catalogueLimits.depth} deep inside each other`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fault(name, `it is not JSON: ${messageOf(cause)}`, cause);
  }
};

/** Deepest nesting of brackets outside of texts. */
const depthOf = (text: string): number => {
  let [depth, deepest] = [0, 0];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token === '[' || token === '{') deepest = Math.max(deepest, ++depth);
    else if (token === ']' || token === '}') depth -= 1;
  }
  return deepest;
};

const flattened = async (document: NodeObject, name: string): Promise<FlatNode[]> => {
  const { default: jsonld } = await import('jsonld'); // large, and seldom needed
  const documentLoader = async (url: string): Promise<never> => {
    throw new Error(`its @context is at ${url}, which is not fetched; the context must stand in the document`);
  };
  try {
    // Without a context to write it in, a flattened document is the list of its nodes.
    return (await jsonld.flatten(document, undefined, { documentLoader })) as unknown as FlatNode[];
  } catch (cause) {
    throw fault(name, `it cannot be read as JSON-LD: ${messageOf(cause)}`, cause);
  }
};

const messageOf = (error: unknown): string => {
  const details = isObject(error) && isObject(error.details) ? error.details : {};
  const inner = details.cause instanceof Error ? details.cause.message : null;
  return inner ?? sayingOf(error);
};

const fault = (name: string, what: string, cause?: unknown): CatalogueFaultError =>
  new CatalogueFaultError(
    `${name}:1:1: ${what}`,
    { line: 1, column: 1 },
    {
      hint: 'nothing of it was published, and nothing was taken down',
      ...(cause === undefined ? {} : { cause }),
    },
  );

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
