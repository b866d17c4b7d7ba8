// The XML-RPC server over the same resources, off unless it is configured (specification 1).
import { escapeHtml } from '../util/html.ts';
import { isObject, recordOf } from '../util/json.ts';
import { type Answer, refusalOf } from './answer.ts';
import { readRaw } from './body.ts';
import { discard, keepBytes } from './media/multipart.ts';
import { type BodyParser, isForbiddenKey, MalformedBody, readText } from './media/value.ts';
import { escapeText, readXmlTree, type XmlElement, xmlDocument } from './media/xml.ts';
import type { Call, Operation, Resource } from './portal.ts';
import { Refusal } from './refusal.ts';
import { checkCall } from './resources/table.ts';

export const xmlrpcPath = '/api/xmlrpc';

const text = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

/** The value with bytes as the text they are; in a query numbers too, as a query string would have them. */
const asTexts = (value: unknown, isQuery = false): unknown => {
  if (Array.isArray(value)) return value.map((item) => asTexts(item, isQuery));
  if (Buffer.isBuffer(value)) return value.toString('utf8');
  if (!isObject(value)) return isQuery && value !== null ? String(value) : value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, asTexts(item, isQuery)]));
};

/** One of `files`: `{filename, file}`, the bytes as `<base64>` or as text in base64. */
const fileIn = (value: unknown): { filename: string; bytes: Buffer } => {
  const { filename, file } = recordOf(value);
  const bytes = typeof file === 'string' ? Buffer.from(file, 'base64') : file;
  if (typeof filename !== 'string' || filename === '' || !Buffer.isBuffer(bytes)) {
    throw new Refusal(400, 'A file needs a filename and its bytes as base64 in file.');
  }
  return { filename, bytes };
};

const operationOf = (resource: Resource, action: string): Operation | undefined => {
  const found = Object.hasOwn(resource, action) && action !== 'createOn' ? resource[action] : undefined;
  return found?.place === 'relationship' ? undefined : found;
};

const indexNames = ['page', 'fields', 'parameters', 'pagesize', 'options'];

/** What the parameters of a method say in place of a request. */
const requestOf = (action: string, { place }: Operation, params: unknown[]): Pick<Call, 'args' | 'query' | 'body'> => {
  const [first, second] = params.map((param) => asTexts(param));
  const request = { args: [text(first)], query: {}, body: recordOf(second) };
  if (place === 'targeted') return { ...request, args: [text(first), action] };
  if (place === 'action') return { ...request, args: [action], body: { username: first, password: second } };
  if (action === 'create') return { ...request, args: [], body: recordOf(first) };
  if (action !== 'index') return request;
  const sent = indexNames.flatMap((name, at) => ((params[at] ?? null) === null ? [] : [[name, params[at]]]));
  return { args: [], query: recordOf(asTexts(Object.fromEntries(sent), true)), body: {} };
};

const methodNames = (resources: ReadonlyMap<string, Resource>): string[] => {
  const named = [...resources].flatMap(([name, resource]) =>
    Object.keys(resource).flatMap((action) => (operationOf(resource, action) ? [`${name}.${action}`] : [])),
  );
  return ['system.listMethods', ...named];
};

const run = async (call: Call, { method, params }: RpcCall): Promise<unknown> => {
  const { store, limits, counts, resources } = call.portal;
  if (method === 'system.listMethods') return methodNames(resources);
  const [name = '', action = ''] = method.split('.');
  const operation = operationOf(resources.get(name) ?? {}, action);
  if (operation === undefined) throw new Refusal(404, `There is no method ${escapeHtml(method)}.`);
  counts[operation.writes ? 'writes' : 'reads'] += 1;
  Object.assign(call, requestOf(action, operation, params));
  checkCall(call, operation, action === 'index' || action === 'retrieve' ? 'GET' : 'POST');
  const { files } = recordOf(operation.takesFiles ? params[1] : null);
  try {
    for (const [index, file] of (Array.isArray(files) ? files : []).map(fileIn).entries()) {
      const upload = { part: `files[${index + 1}]`, ...file };
      call.files.push(await keepBytes(upload, { store, fileBytes: limits.fileBytes }));
    }
    const result = await operation.run(call);
    return 'value' in result ? result.value : true;
  } finally {
    await discard(call.files);
  }
};

/** The answer to an XML-RPC call: always 200, faults as the protocol has them (`faultCode` is the HTTP status of the REST server). */
export const xmlrpcAnswer = async (call: Call): Promise<Answer> => {
  let body: string;
  try {
    body = writeRpcAnswer(await run(call, parseRpcCall(await readRaw(call))));
  } catch (error) {
    const isMalformed = error instanceof MalformedBody;
    const refusal = isMalformed
      ? new Refusal(400, `Invalid XML-RPC. ${error.message}`)
      : refusalOf(error, call.portal.log);
    body = writeRpcFault(refusal.status, refusal.message);
  }
  return { status: 200, contentType: 'text/xml;charset=UTF-8', headers: call.headers, body };
};

/** A call: a method's name and its parameters in order; `<base64>` is a Buffer. */
interface RpcCall {
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
  const method = child(root, 'methodName').text.trim();
  return { method, params: params.map((param) => readValue(child(param, 'value'))) };
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
