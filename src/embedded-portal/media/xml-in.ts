// Reads XML bodies: elements become keys, `is_array="true"` makes a list of an element's children.
// A reader of its own, because the bytes come from strangers: no document types, no entities, every step bounded,
// and nothing is dropped in silence.
import {
  type BodyParser,
  type Budget,
  checkLength,
  decodeUtf8,
  defaultParseLimits,
  isForbiddenKey,
  openBudget,
} from './limits.ts';
import type { Value, ValueMap } from './value.ts';
import {
  type Cursor,
  decodeText,
  expectMark,
  failAt,
  looksAt,
  plainText,
  readName,
  readTo,
  skipBlanks,
} from './xml-text.ts';

interface Reader extends Cursor {
  budget: Budget;
  /** How many `is_raw` elements are open; inside one, elements are checked but make no values. */
  raw: number;
}

const spend = (reader: Reader, depth: number): void => {
  const fault = reader.budget.spend(depth);
  if (fault !== null) failAt(reader, fault);
};

const noDoctype = 'document types and entities are not accepted';

/** Steps over one comment or processing instruction; false where there is none. */
const skipAside = (reader: Reader): boolean => {
  if (looksAt(reader, '<!--')) {
    reader.at += 4;
    readTo(reader, '-->', 'a comment');
    return true;
  }
  if (!looksAt(reader, '<?')) return false;
  reader.at += 2;
  const start = reader.at;
  if (/^xml$/i.test(readName(reader))) failAt(reader, 'the XML declaration stands only at the very start', start);
  readTo(reader, '?>', 'a processing instruction');
  return true;
};

const skipAsides = (reader: Reader): void => {
  do skipBlanks(reader);
  while (skipAside(reader));
  if (looksAt(reader, '<!')) failAt(reader, noDoctype);
};

const readDeclaration = (reader: Reader): void => {
  if (!/^<\?xml[ \t\r\n]/.test(reader.text)) return;
  const declaration = readTo(reader, '?>', 'the XML declaration');
  const encoding = /encoding\s*=\s*["']([^"']*)["']/.exec(declaration)?.[1];
  if (encoding !== undefined && !/^(?:utf-?8|us-ascii|ascii)$/i.test(encoding)) {
    failAt(reader, `the encoding ${encoding.slice(0, 40)} is not accepted; send UTF-8`, 0);
  }
};

type Attributes = Map<string, string>;

const readAttributes = (reader: Reader, depth: number): Attributes => {
  const attributes: Attributes = new Map();
  for (;;) {
    const blank = skipBlanks(reader);
    if (looksAt(reader, '>') || looksAt(reader, '/>')) return attributes;
    if (!blank) failAt(reader, 'expected a blank, > or />');
    spend(reader, depth);
    const start = reader.at;
    const name = readName(reader);
    if (attributes.has(name)) failAt(reader, `the attribute ${name} is there twice`, start);
    skipBlanks(reader);
    expectMark(reader, '=', `after the attribute ${name}`);
    skipBlanks(reader);
    const quote = reader.text.charAt(reader.at);
    if (quote !== '"' && quote !== "'") failAt(reader, 'expected a quoted value');
    reader.at += 1;
    const from = reader.at;
    const raw = readTo(reader, quote, `the value of ${name}`);
    if (raw.includes('<')) failAt(reader, 'a < in an attribute must be written &lt;', from);
    attributes.set(name, decodeText(reader, raw, from));
  }
};

const isOn = (value: string | undefined): boolean => value === 'true' || value === '1';

const isRaw = (attributes: Attributes): boolean => isOn(attributes.get('is_raw'));

interface Content {
  text: string;
  children: [name: string, value: Value, at: number][];
  raw: string;
}

const readPlainText = (reader: Reader): string => {
  const start = reader.at;
  const raw = readTo(reader, '<', 'an element');
  reader.at -= 1; // the < opens what comes next
  if (raw.includes(']]>')) failAt(reader, ']]> must be written ]]&gt;', start + raw.indexOf(']]>'));
  return decodeText(reader, raw, start);
};

const readCdata = (reader: Reader): string => {
  reader.at += '<![CDATA['.length;
  const start = reader.at;
  const raw = readTo(reader, ']]>', 'a CDATA section');
  return plainText(reader, raw, start);
};

/** Everything up to the end tag of `name`, which is skipped. */
const readContent = (reader: Reader, name: string, depth: number): Content => {
  const start = reader.at;
  const content: Content = { text: '', children: [], raw: '' };
  for (;;) {
    if (looksAt(reader, '</')) break;
    if (looksAt(reader, '<![CDATA[')) content.text += readCdata(reader);
    else if (looksAt(reader, '<!') && !looksAt(reader, '<!--')) failAt(reader, noDoctype);
    else if (!looksAt(reader, '<')) content.text += readPlainText(reader);
    else if (!skipAside(reader)) content.children.push(readElement(reader, depth + 1));
  }
  content.raw = reader.text.slice(start, reader.at);
  reader.at += 2;
  const closedAt = reader.at;
  const closed = readName(reader);
  if (closed !== name) failAt(reader, `<${name}> is closed by </${closed}>`, closedAt);
  skipBlanks(reader);
  expectMark(reader, '>', `behind </${name}`);
  return content;
};

const mapOf = (reader: Reader, children: Content['children']): ValueMap => {
  const map: ValueMap = {};
  for (const [name, value, at] of children) {
    if (Object.hasOwn(map, name)) failAt(reader, `<${name}> is there twice; a list needs is_array="true"`, at);
    map[name] = value;
  }
  return map;
};

const contentValue = (reader: Reader, content: Content, attributes: Attributes, at: number): Value => {
  if (isRaw(attributes)) return content.raw;
  if (reader.raw > 0) return null;
  const list = isOn(attributes.get('is_array'));
  if (content.children.length === 0 && !list) return content.text;
  if (/[^ \t\r\n]/.test(content.text)) failAt(reader, 'an element holds text beside elements', at);
  return list ? content.children.map(([, value]) => value) : mapOf(reader, content.children);
};

const readElement = (reader: Reader, depth: number): [name: string, value: Value, at: number] => {
  spend(reader, depth);
  const at = reader.at;
  expectMark(reader, '<', 'to open an element');
  const name = readName(reader);
  if (isForbiddenKey(name)) failAt(reader, `the key ${name} is not accepted`, at);
  const attributes = readAttributes(reader, depth);
  if (looksAt(reader, '/>')) {
    reader.at += 2;
    return [name, contentValue(reader, { text: '', children: [], raw: '' }, attributes, at), at];
  }
  reader.at += 1;
  const step = isRaw(attributes) ? 1 : 0;
  reader.raw += step;
  const content = readContent(reader, name, depth);
  reader.raw -= step;
  return [name, contentValue(reader, content, attributes, at), at];
};

/**
 * The value of an XML body (`application/xml`, `text/xml`, spec 1), an empty one null. The root's name is free; an element with child
 * elements is a map, with `is_array="true"` a list of them, with `is_raw="true"` its inner XML as text, else its text:
 * numbers stay texts, an empty element is the empty text. Document types, other entities, repeated elements outside a
 * list, text beside elements and `__proto__` are malformed. Throws `MalformedBody` with line and column.
 * Source: recorded behaviour 4.
 */
export const parseXml: BodyParser<Value> = (body, limits = defaultParseLimits) => {
  checkLength(body, limits);
  if (body.byteLength === 0) return null;
  const reader: Reader = { text: decodeUtf8(body), at: 0, budget: openBudget(limits), raw: 0 };
  readDeclaration(reader);
  skipAsides(reader);
  const [, value] = readElement(reader, 0);
  skipAsides(reader);
  if (reader.at < reader.text.length) failAt(reader, 'there is something behind the root element');
  return value;
};
