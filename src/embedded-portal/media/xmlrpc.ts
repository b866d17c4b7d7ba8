// XML-RPC messages: calls are read, answers and faults written.
import {
  type BodyParser,
  defaultParseLimits,
  isForbiddenKey,
  MalformedBody,
  openBudget,
  readText,
  type Spend,
} from './value.ts';
import { escapeText, readXmlTree, type XmlElement } from './xml.ts';

/** A call: a method's name and its parameters in order; `<base64>` is a Buffer. */
export interface RpcCall {
  method: string;
  params: unknown[];
}

const child = ({ name, children }: XmlElement, wanted: string): XmlElement => {
  const found = children.find((one) => one.name === wanted);
  if (found === undefined) throw new MalformedBody(`<${name}> has no <${wanted}>`);
  return found;
};

const readStruct = (element: XmlElement, depth: number, spend: Spend): Record<string, unknown> => {
  const struct: Record<string, unknown> = {};
  for (const member of element.children) {
    const name = child(member, 'name').text;
    if (isForbiddenKey(name)) throw new MalformedBody(`the name ${name} is not accepted`);
    struct[name] = readValue(child(member, 'value'), depth + 1, spend);
  }
  return struct;
};

const readValue = (element: XmlElement, depth: number, spend: Spend): unknown => {
  spend(depth);
  const [typed] = element.children;
  if (typed === undefined) return element.text;
  const { name, text } = typed;
  switch (name) {
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
      return child(typed, 'data').children.map((item) => readValue(item, depth + 1, spend));
    case 'base64':
      return Buffer.from(text, 'base64');
    case 'string':
    case 'dateTime.iso8601':
      return text;
    default:
      throw new MalformedBody(`<${name.slice(0, 40)}> is no type of XML-RPC`);
  }
};

/** Elements around each value: `value`, its type, and what its type has around the values within (`member`, `name`). */
const elementsPerValue = 5;

/** Reads a `methodCall`; throws {@link MalformedBody} and nothing else. */
export const parseRpcCall: BodyParser<RpcCall> = (body, limits = defaultParseLimits) => {
  const { bytes, depth, values } = limits;
  const most = { bytes, depth: (depth + 1) * elementsPerValue, values: (values + 1) * elementsPerValue };
  const root = readXmlTree(readText(body, limits), most);
  if (root.name !== 'methodCall') throw new MalformedBody('there is no <methodCall>');
  const spend = openBudget(limits);
  const params = root.children.find(({ name }) => name === 'params')?.children ?? [];
  return {
    method: child(root, 'methodName').text.trim(),
    params: params.map((param) => readValue(child(param, 'value'), 0, spend)),
  };
};

const writeValue = (value: unknown): string => {
  if (value === null || value === undefined) return '<value><nil/></value>';
  if (typeof value === 'boolean') return `<value><boolean>${value ? 1 : 0}</boolean></value>`;
  if (typeof value === 'number') {
    const type = Number.isInteger(value) ? 'int' : 'double';
    return `<value><${type}>${value}</${type}></value>`;
  }
  if (Array.isArray(value)) return `<value><array><data>${value.map(writeValue).join('')}</data></array></value>`;
  if (typeof value !== 'object') return `<value><string>${escapeText(String(value))}</string></value>`;
  const members = Object.entries(value).map(
    ([name, item]) => `<member><name>${escapeText(name)}</name>${writeValue(item)}</member>`,
  );
  return `<value><struct>${members.join('')}</struct></value>`;
};

const declaration = '<?xml version="1.0" encoding="utf-8"?>\n';

export const writeRpcAnswer = (value: unknown): string =>
  `${declaration}<methodResponse><params><param>${writeValue(value)}</param></params></methodResponse>\n`;

export const writeRpcFault = (code: number, message: string): string =>
  `${declaration}<methodResponse><fault>${writeValue({ faultCode: code, faultString: message })}</fault></methodResponse>\n`;
