// XML replies and bodies: keys are elements, `is_array="true"` makes a list of an element's children.
import { type BodyParser, defaultParseLimits, readText } from './body-parser.ts';
import { phpNumeric, type Value, type ValueMap, type WriteStyle } from './value.ts';
import { readXmlTree, type XmlElement, xmlFault } from './xml-tree.ts';

// What XML 1.0 cannot hold at all, not even as a reference.
const unspeakable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const references: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };

const escapeText = (text: string): string =>
  text.replace(unspeakable, '\ufffd').replace(/[&<>\r]/g, (char) => references[char] ?? char);

/** Keys that look like numbers are list items; others keep ASCII letters, digits and `_`, one `_` for each other byte. */
const elementName = (key: string): string => {
  if (phpNumeric(key)) return 'item';
  const clean = Buffer.from(key, 'utf8')
    .toString('latin1')
    .replace(/[^A-Za-z0-9_]/g, '_');
  return /^[A-Za-z_]/.test(clean) ? clean : `_${clean}`;
};

const scalarText = (value: boolean | number | string): string => {
  if (typeof value === 'boolean') return value ? '1' : '';
  return typeof value === 'number' ? String(value) : escapeText(value);
};

const element = (name: string, value: Value): string => {
  if (value === null) return `<${name}/>`;
  if (typeof value !== 'object') return `<${name}>${scalarText(value)}</${name}>`;
  const entries = Object.entries(value).map(([key, child]): [string, Value] => [elementName(key), child]);
  if (entries.length === 0) return `<${name}/>`;
  const list = Object.keys(value).every(phpNumeric) ? ' is_array="true"' : '';
  return `<${name}${list}>${entries.map(([key, child]) => element(key, child)).join('')}</${name}>`;
};

/** The same without the elements of a map, as release A writes it: what is left of one looks like an empty list. */
const keyless = (name: string, value: Value): string => {
  if (value === null || typeof value !== 'object') return element(name, value);
  const keys = Object.keys(value);
  if (keys.length === 0) return `<${name}/>`;
  const items = Object.entries(value).filter(([key]) => phpNumeric(key));
  if (items.length === 0) return `<${name} is_array="true"/>`;
  return `<${name} is_array="true">${items.map(([, child]) => keyless('item', child)).join('')}</${name}>`;
};

/**
 * An XML document with the root `result`. Null, empty lists and empty maps are `<x/>`, true is `1`, false and the
 * empty text `<x></x>`; characters that XML cannot hold become U+FFFD. Source: recorded behaviour 3 (release B).
 */
export const writeXml = (value: Value, style: WriteStyle = 'sound'): string => {
  const root = style === 'keyless' ? keyless('result', value) : element('result', value);
  return `<?xml version="1.0" encoding="utf-8"?>\n${root}\n`;
};

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
export const parseXml: BodyParser<Value> = (body, limits = defaultParseLimits) => {
  const document = readText(body, limits);
  return body.byteLength === 0 ? null : valueIn(readXmlTree(document, limits), document);
};
