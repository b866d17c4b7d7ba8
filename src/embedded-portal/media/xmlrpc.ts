// XML-RPC messages: calls are read, answers and faults written.
import { type BodyParser, isForbiddenKey, MalformedBody, readText } from './value.ts';
import { escapeText, readXmlTree, type XmlElement, xmlDocument } from './xml.ts';

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

const integer = (text: string): number => {
  if (!/^\s*[+-]?\d{1,15}\s*$/.test(text)) throw new MalformedBody('an <int> holds no whole number');
  return Number(text);
};

const double = (text: string): number => {
  if (text.trim() === '' || !Number.isFinite(Number(text))) throw new MalformedBody('a <double> holds no number');
  return Number(text);
};

const scalars = new Map<string, (text: string) => unknown>([
  ...['int', 'i4', 'i8'].map((name) => [name, integer] as const),
  ['double', double],
  ['boolean', (text) => text.trim() === '1'],
  ['nil', () => null],
  ['string', (text) => text],
  ['dateTime.iso8601', (text) => text],
  ['base64', (text) => Buffer.from(text, 'base64')],
]);

const readMember = (member: XmlElement): [string, unknown] => {
  const name = child(member, 'name').text;
  if (isForbiddenKey(name)) throw new MalformedBody(`the name ${name} is not accepted`);
  return [name, readValue(child(member, 'value'))];
};

const readValue = ({ children: [typed], text: bare }: XmlElement): unknown => {
  if (typed === undefined) return bare;
  const { name, text, children } = typed;
  if (name === 'struct') return Object.fromEntries(children.map(readMember));
  if (name === 'array') return child(typed, 'data').children.map(readValue);
  const read = scalars.get(name);
  if (read === undefined) throw new MalformedBody(`<${name.slice(0, 40)}> is no type of XML-RPC`);
  return read(text);
};

/** Reads a `methodCall`, whose elements have the limits of any XML; throws {@link MalformedBody} and nothing else. */
export const parseRpcCall: BodyParser<RpcCall> = (body) => {
  const root = readXmlTree(readText(body));
  if (root.name !== 'methodCall') throw new MalformedBody('there is no <methodCall>');
  const params = root.children.find(({ name }) => name === 'params')?.children ?? [];
  return {
    method: child(root, 'methodName').text.trim(),
    params: params.map((param) => readValue(child(param, 'value'))),
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

export const writeRpcAnswer = (value: unknown): string =>
  xmlDocument(`<methodResponse><params><param>${writeValue(value)}</param></params></methodResponse>`);

export const writeRpcFault = (code: number, message: string): string =>
  xmlDocument(
    `<methodResponse><fault>${writeValue({ faultCode: code, faultString: message })}</fault></methodResponse>`,
  );
