// Reads an XML document into a tree of elements. It comes from strangers: no document types, no entities of its own,
// every step bounded.
import { SaxesParser } from 'saxes';
import { isForbiddenKey, MalformedBody, openBudget, type ParseLimits, positionAt } from './body-parser.ts';

/** An element. */
export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: XmlElement[];
  /** Its own text, CDATA sections included; that of its children is theirs. */
  text: string;
  /** Index of its `<` in the document. */
  at: number;
  /** What stands between its tags, as it was written. */
  inner: string;
}

/** Throws {@link MalformedBody} with line and column of `index`. */
export const xmlFault = (document: string, index: number, reason: string): never => {
  throw new MalformedBody(reason, positionAt(document, index));
};

const longestName = 200;

const encodings = /^(?:utf-?8|us-ascii|ascii)$/i;

/** The root element of a document. Elements and attributes count as values. Throws {@link MalformedBody} with the place. */
export const readXmlTree = (document: string, limits: ParseLimits): XmlElement => {
  const parser = new SaxesParser({ xmlns: false, position: false, defaultXMLVersion: '1.0', forceXMLVersion: true });
  // What is wrong shows when its last character has been read.
  const fail = (reason: string, index = parser.position - 1): never => xmlFault(document, index, reason);
  const spend = openBudget(limits, fail);
  const open: (XmlElement & { begin: number })[] = [];
  let root: XmlElement | null = null;
  const count = (name: string): void => {
    spend(open.length);
    if (name.length > longestName) fail(`a name is longer than ${longestName} characters`);
  };
  const addText = (text: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.text += text;
  };
  parser.on('error', ({ message }) => fail(message.replace(/\.$/, '')));
  parser.on('doctype', () => fail('document types and entities are not accepted'));
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !encodings.test(encoding)) {
      fail(`the encoding ${encoding.slice(0, 40)} is not accepted; send UTF-8`, 0);
    }
  });
  parser.on('attribute', ({ name }) => count(name));
  parser.on('opentag', ({ name, attributes }) => {
    count(name);
    const begin = parser.position;
    const at = document.lastIndexOf(`<${name}`, begin - 1);
    if (isForbiddenKey(name)) fail(`the key ${name} is not accepted`, at);
    const element = { name, attributes, children: [], text: '', at, inner: '', begin };
    root ??= element;
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('closetag', ({ isSelfClosing }) => {
    const element = open.pop();
    if (element === undefined || isSelfClosing) return;
    element.inner = document.slice(element.begin, document.lastIndexOf('</', parser.position - 1));
  });
  parser.write(document).close();
  return root ?? fail('there is no root element');
};
