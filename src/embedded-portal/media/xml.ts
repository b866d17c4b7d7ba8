// XML replies and bodies: keys are elements, `is_array="true"` makes a list of an element's children.
import { SaxesParser } from 'saxes';
import {
  type BodyParser,
  isForbiddenKey,
  MalformedBody,
  openBudget,
  phpNumeric,
  placeOf,
  readText,
  type Value,
  type ValueMap,
} from './value.ts';

// What XML 1.0 cannot hold at all, not even as a reference.
const unspeakable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const references: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };

/** A text as XML holds it; what it cannot hold becomes U+FFFD. */
export const escapeText = (text: string): string =>
  text.replace(unspeakable, '\ufffd').replace(/[&<>\r]/g, (char) => references[char] ?? char);

/** Keys that look like numbers are list items; others keep ASCII letters, digits and `_`, one `_` for each other byte. */
const elementName = (key: string): string => {
  if (phpNumeric(key)) return 'item';
  const clean = Buffer.from(key, 'utf8')
    .toString('latin1')
    .replace(/[^A-Za-z0-9_]/g, '_');
  return /^[A-Za-z_]/.test(clean) ? clean : `_${clean}`;
};

export const element = (name: string, value: Value): string => {
  if (value === null) return `<${name}/>`;
  if (typeof value === 'boolean') return `<${name}>${value ? '1' : ''}</${name}>`;
  if (typeof value !== 'object') return `<${name}>${escapeText(String(value))}</${name}>`;
  const entries = Object.entries(value).map(([key, child]): [string, Value] => [elementName(key), child]);
  if (entries.length === 0) return `<${name}/>`;
  const list = Object.keys(value).every(phpNumeric) ? ' is_array="true"' : '';
  return `<${name}${list}>${entries.map(([key, child]) => element(key, child)).join('')}</${name}>`;
};

export const xmlDocument = (root: string): string => `<?xml version="1.0" encoding="utf-8"?>\n${root}\n`;

/**
 * An XML document with the root `result`. Null, empty lists and empty maps are `<x/>`, true is `1`, false and the
 * empty text `<x></x>`; characters that XML cannot hold become U+FFFD. Source: recorded behaviour 3 (release B).
 */
export const writeXml = (value: Value): string => xmlDocument(element('result', value));

const isOn = (value: string | undefined): boolean => value === 'true' || value === '1';

const mapOf = (children: XmlElement[], document: string): Value => {
  const map: ValueMap = {};
  for (const child of children) {
    const { name, at } = child;
    if (Object.hasOwn(map, name)) xmlFault(document, at, `<${name}> is there twice; a list needs is_array="true"`);
    map[name] = valueIn(child, document);
  }
  return map;
};

const valueIn = ({ attributes, children, text, inner, at }: XmlElement, document: string): Value => {
  if (isOn(attributes.is_raw)) return inner;
  const isList = isOn(attributes.is_array);
  if (children.length === 0 && !isList) return text;
  if (/[^ \t\r\n]/.test(text)) xmlFault(document, at, 'an element holds text beside elements');
  return isList ? children.map((child) => valueIn(child, document)) : mapOf(children, document);
};

/**
 * The value of an XML body (`application/xml`, `text/xml`, spec 1), an empty one null. The root's name is free; an element with child
 * elements is a map, with `is_array="true"` a list of them, with `is_raw="true"` its inner XML as text, else its text:
 * numbers stay texts, an empty element is the empty text. Document types, other entities, repeated elements outside a
 * list, text beside elements and `__proto__` are malformed. Throws `MalformedBody` with line and column.
 * Source: recorded behaviour 4.
 */
export const parseXml: BodyParser<Value> = (body) => {
  const document = readText(body);
  return document === '' ? null : valueIn(readXmlTree(document), document);
};

export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: XmlElement[];
  /** Its own text, CDATA sections included; that of its children is theirs. */
  text: string;
  /** Index of its `<` in the document. */
  at: number;
  /** What is between its tags, as it was written. */
  inner: string;
}

/** Throws {@link MalformedBody} with line and column of `index`. */
const xmlFault = (document: string, index: number, reason: string): never => {
  const before = document.slice(0, index).split('\n');
  throw new MalformedBody(`${reason}${placeOf(before.length, (before.at(-1)?.length ?? 0) + 1)}`);
};

const longestName = 200;

/** The root element of a document. Elements and attributes count as values. Throws {@link MalformedBody} with the place. */
export const readXmlTree = (document: string): XmlElement => {
  const parser = new SaxesParser({ xmlns: false, position: false, defaultXMLVersion: '1.0', forceXMLVersion: true });
  // What is wrong shows when its last character has been read.
  const fail = (reason: string, index = parser.position - 1): never => xmlFault(document, index, reason);
  const spend = openBudget(fail);
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
    if (encoding !== undefined && !/^(?:utf-?8|us-ascii|ascii)$/i.test(encoding)) {
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
