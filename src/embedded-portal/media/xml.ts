// Writes XML: keys become elements, lists `<item>` elements below `is_array="true"`.
import { phpNumeric } from './php-numbers.ts';
import type { Value, WriteStyle } from './value.ts';

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
