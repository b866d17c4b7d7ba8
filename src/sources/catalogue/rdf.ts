// RDF in Turtle, N-Triples and RDF/XML, as the nodes that flattened JSON-LD has.
import type { Quad, Term } from 'n3';

/** Properties by address, each with its values; `@type` has addresses only. */
export type FlatNode = Record<string, unknown> & { '@id': string; '@type'?: string[] };

/** A document that cannot be read; `line` counts from 1 where it is known. */
export class Unreadable extends Error {
  readonly line: number;

  constructor(message: string, line = 1) {
    super(message);
    this.line = line;
  }
}

/** What documents are written in, as people call it; N-Triples are Turtle, too. */
export const syntaxes = { 'json-ld': 'JSON-LD', turtle: 'Turtle', 'rdf-xml': 'RDF/XML' };

/** Elements of RDF/XML inside each other, two for each thing in a thing: the parser needs longer for each level. */
const deepest = 100;

const parsers = {
  turtle: async (bytes: Uint8Array, base: string | null): Promise<Quad[]> => {
    const { Parser } = await import('n3'); // seldom needed, like the other one
    const parse = (text: string): Quad[] => new Parser(base === null ? {} : { baseIRI: base }).parse(text);
    const text = decoded(bytes, 'utf-8');
    try {
      return parse(text);
    } catch {
      // An address that is none is a fault of its entry, not of the document.
      return parse(text.replaceAll(/<https?:[^<>\n]*>/g, (iri) => iri.replaceAll(/[\s"{}|^`]/g, encodeURIComponent)));
    }
  },
  'rdf-xml': async (bytes: Uint8Array, base: string | null): Promise<Quad[]> => {
    const { RdfXmlParser } = await import('rdfxml-streaming-parser');
    let [depth, elements] = [0, 0];
    class BoundedParser extends RdfXmlParser {
      protected override onTag(tag: never): void {
        depth += 1;
        elements += 1;
        if (depth > deepest) throw this.newParseError(`elements are nested more than ${deepest} levels deep`);
        super.onTag(tag);
      }

      protected override onCloseTag(): void {
        depth -= 1;
        super.onCloseTag();
      }
    }
    const parser = new BoundedParser({
      trackPosition: true,
      validateUri: false,
      ...(base !== null && { baseIRI: base }),
    });
    const text = xmlText(bytes);
    parser.end(text);
    const quads = await parser.toArray();
    // It takes the end of the bytes for that of the document.
    if (depth > 0 || elements === 0)
      throw new Unreadable('it ends early, before its last tag', text.split('\n').length);
    return quads;
  },
};

/** Nodes by name; those without one are numbered in the order in which they are met. @throws Unreadable with its line */
export const nodesOfRdf = async (bytes: Uint8Array, syntax: keyof typeof parsers, base: string | null) => {
  const quads = await parsers[syntax](bytes, base).catch((cause: unknown) => {
    if (!(cause instanceof Error) || cause instanceof Unreadable) throw cause;
    // Each has its own way to say where: `on line 3.`, `Line 3 column 5: …`, `3:5: …`.
    const [, line] = /(?:\bline |^)(\d+)/i.exec(cause.message) ?? [];
    const what = cause.message.replace(/^(?:line \d+ column \d+|\d+:\d+): /i, '').replace(/ on line \d+\.?$/, '');
    throw new Unreadable(`it cannot be read as ${syntaxes[syntax]}: ${what}`, Number(line ?? 1));
  });
  return nodesOf(quads);
};

/** The text of XML in the encoding that it declares. */
const xmlText = (bytes: Uint8Array): string => {
  const start = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const declared = /^(?:\xef\xbb\xbf)?<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)/i.exec(start)?.[1] ?? 'utf-8';
  return decoded(bytes, /^utf-?16/i.test(declared) ? 'utf-8' : declared); // UTF-16 was made UTF-8 before
};

/** @throws Unreadable */
export const decoded = (bytes: Uint8Array, encoding: string): string => {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    const isUnknown = cause instanceof RangeError;
    throw new Unreadable(
      isUnknown ? `its encoding ${encoding} is not known` : `it is not valid ${encoding.toUpperCase()}`,
    );
  }
};

const rdfType = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type';

const nodesOf = (quads: readonly Quad[]): FlatNode[] => {
  const blanks = new Map<string, string>();
  const idOf = ({ termType, value }: Term): string => {
    if (termType !== 'BlankNode') return value;
    if (!blanks.has(value)) blanks.set(value, `_:b${blanks.size}`);
    return blanks.get(value) ?? value;
  };
  // A statement may be repeated: values are kept by what they are.
  const nodes = new Map<string, Map<string, Map<string, unknown>>>();
  for (const { subject, predicate, object } of quads) {
    const id = idOf(subject);
    const node = nodes.get(id) ?? new Map<string, Map<string, unknown>>();
    const values = node.get(predicate.value) ?? new Map<string, unknown>();
    const value = meaningOf(object, idOf);
    values.set(JSON.stringify(value), predicate.value === rdfType ? idOf(object) : value);
    nodes.set(id, node.set(predicate.value, values));
  }
  const flat = [...nodes].map(([id, node]): FlatNode => {
    const properties = [...node].map(([key, values]) => [key === rdfType ? '@type' : key, [...values.values()]]);
    return { '@id': id, ...Object.fromEntries(properties) };
  });
  return flat.toSorted((a, b) => (a['@id'] < b['@id'] ? -1 : 1));
};

const meaningOf = (object: Term, idOf: (term: Term) => string): object => {
  if (object.termType !== 'Literal') return { '@id': idOf(object) };
  return { '@value': object.value, ...(object.language !== '' && { '@language': object.language }) };
};
