// XML-RPC messages: calls in, answers and faults out.
import { XMLParser } from 'fast-xml-parser';
import { type BodyParser, checkLength, decodeUtf8, defaultParseLimits, isForbiddenKey, openBudget } from './limits.ts';
import { MalformedBody } from './malformed.ts';

/** A call: a method's name and its parameters in order; `<base64>` is a Buffer. */
export interface RpcCall {
  method: string;
  params: unknown[];
}

/** An element as the parser gives it: its name, and its children under that name. */
type Element = Record<string, unknown>;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: true,
  parseTagValue: false,
  trimValues: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
});

const textName = '#text';

const nameOf = (element: Element): string => Object.keys(element)[0] ?? '';

const childrenOf = (element: Element): Element[] => {
  const children = element[nameOf(element)];
  return Array.isArray(children) ? children : [];
};

const elementsOf = (element: Element): Element[] => childrenOf(element).filter((child) => nameOf(child) !== textName);

const textOf = (element: Element): string =>
  childrenOf(element)
    .filter((child) => nameOf(child) === textName)
    .map((child) => String(child[textName]))
    .join('');

const child = (element: Element, name: string): Element => {
  const found = elementsOf(element).find((one) => nameOf(one) === name);
  if (found === undefined) throw new MalformedBody(`<${nameOf(element)}> has no <${name}>`);
  return found;
};

type Spend = (depth: number) => string | null;

const readStruct = (element: Element, depth: number, spend: Spend): Record<string, unknown> => {
  const struct: Record<string, unknown> = {};
  for (const member of elementsOf(element)) {
    const name = textOf(child(member, 'name'));
    if (isForbiddenKey(name)) throw new MalformedBody(`the name ${name} is not accepted`);
    struct[name] = readValue(child(member, 'value'), depth + 1, spend);
  }
  return struct;
};

const readValue = (element: Element, depth: number, spend: Spend): unknown => {
  const fault = spend(depth);
  if (fault !== null) throw new MalformedBody(fault);
  const [typed] = elementsOf(element);
  if (typed === undefined) return textOf(element);
  const text = textOf(typed);
  switch (nameOf(typed)) {
    case 'int':
    case 'i4':
    case 'i8':
      if (!/^\s*[+-]?\d{1,15}\s*$/.test(text)) throw new MalformedBody('an <int> holds no whole number');
      return Number(text);
    case 'double':
      if (!Number.isFinite(Number(text)) || text.trim() === '') throw new MalformedBody('a <double> holds no number');
      return Number(text);
    case 'boolean':
      return text.trim() === '1';
    case 'nil':
      return null;
    case 'struct':
      return readStruct(typed, depth, spend);
    case 'array':
      return elementsOf(child(typed, 'data')).map((item) => readValue(item, depth + 1, spend));
    case 'base64':
      return Buffer.from(text, 'base64');
    case 'string':
    case 'dateTime.iso8601':
      return text;
    default:
      throw new MalformedBody(`<${nameOf(typed).slice(0, 40)}> is no type of XML-RPC`);
  }
};

const parse = (text: string): Element[] => {
  // Entities of its own are refused, so that none can name a file or grow.
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) throw new MalformedBody('a document type is not accepted');
  try {
    return parser.parse(text, true) as Element[]; // the shape that preserveOrder makes
  } catch (error) {
    throw new MalformedBody((error as Error).message);
  }
};

/** Reads a `methodCall`; throws {@link MalformedBody} and nothing else. */
export const parseRpcCall: BodyParser<RpcCall> = (body, limits = defaultParseLimits) => {
  checkLength(body, limits);
  const root = parse(decodeUtf8(body)).find((element) => nameOf(element) === 'methodCall');
  if (root === undefined) throw new MalformedBody('there is no <methodCall>');
  const { spend } = openBudget(limits);
  const params = elementsOf(root).find((element) => nameOf(element) === 'params');
  const values = params === undefined ? [] : elementsOf(params);
  return {
    method: textOf(child(root, 'methodName')).trim(),
    params: values.map((param) => readValue(child(param, 'value'), 0, spend)),
  };
};

const escapeXml = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no place for these
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');

const writeValue = (value: unknown): string => {
  if (value === null || value === undefined) return '<value><nil/></value>';
  if (typeof value === 'boolean') return `<value><boolean>${value ? 1 : 0}</boolean></value>`;
  if (typeof value === 'number') {
    return Number.isInteger(value) ? `<value><int>${value}</int></value>` : `<value><double>${value}</double></value>`;
  }
  if (Array.isArray(value)) return `<value><array><data>${value.map(writeValue).join('')}</data></array></value>`;
  if (typeof value !== 'object') return `<value><string>${escapeXml(String(value))}</string></value>`;
  const members = Object.entries(value).map(
    ([name, item]) => `<member><name>${escapeXml(name)}</name>${writeValue(item)}</member>`,
  );
  return `<value><struct>${members.join('')}</struct></value>`;
};

const declaration = '<?xml version="1.0" encoding="utf-8"?>\n';

/** A `methodResponse` with a value. */
export const writeRpcAnswer = (value: unknown): string =>
  `${declaration}<methodResponse><params><param>${writeValue(value)}</param></params></methodResponse>\n`;

/** A `methodResponse` with a fault. */
export const writeRpcFault = (code: number, message: string): string =>
  `${declaration}<methodResponse><fault>${writeValue({ faultCode: code, faultString: message })}</fault></methodResponse>\n`;
