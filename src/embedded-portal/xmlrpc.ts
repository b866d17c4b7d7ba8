// The XML-RPC server over the same resources, off unless it is configured (specification 1).
import { escapeHtml } from '../util/html.ts';
import { isObject } from '../util/json.ts';
import { type Answer, refusalOf } from './answer.ts';
import { readRaw } from './body.ts';
import { discard, keepBytes } from './media/multipart.ts';
import {
  type BodyParser,
  defaultParseLimits,
  isForbiddenKey,
  MalformedBody,
  openBudget,
  readText,
  type Spend,
} from './media/value.ts';
import { readXmlTree, type XmlElement } from './media/xml.ts';
import type { Call, Operation, Resource } from './portal.ts';
import { Refusal } from './refusal.ts';
import { checkCall, resolveOperation } from './resources/table.ts';

/** Where the XML-RPC server answers. */
export const xmlrpcPath = '/api/xmlrpc';

/** What a method means as a request of the REST server. */
interface Meaning {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  args: string[];
  query?: Record<string, unknown>;
  body?: unknown;
  /** Files of an upload. */
  files?: SentFile[];
}

interface SentFile {
  filename: string;
  bytes: Buffer;
}

const text = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

/** Numbers as texts, as a query string would have them. */
const asQuery = (value: unknown): unknown => {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, asQuery(item)]));
};

const indexNames = ['page', 'fields', 'parameters', 'pagesize', 'options'];

const indexOf = (params: unknown[]): Meaning => ({
  method: 'GET',
  args: [],
  query: Object.fromEntries(
    indexNames.flatMap((name, index) => (params[index] === undefined ? [] : [[name, asQuery(params[index])]])),
  ),
});

const onId =
  (method: Meaning['method'], action?: string) =>
  ([id, body]: unknown[]): Meaning => ({ method, args: action === undefined ? [text(id)] : [text(id), action], body });

const isMap = (value: unknown): value is Record<string, unknown> => isObject(value) && !Buffer.isBuffer(value);

/** Bytes as the text they are, for everything but files. */
const asText = (value: unknown): unknown => {
  if (Buffer.isBuffer(value)) return value.toString('utf8');
  if (Array.isArray(value)) return value.map(asText);
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, asText(item)]));
};

/** One of `files`: `{filename, file}`, the bytes as `<base64>` or as text in base64. */
const fileIn = (value: unknown): SentFile => {
  const { filename, file } = isMap(value) ? value : {};
  const bytes = typeof file === 'string' ? Buffer.from(file, 'base64') : file;
  if (typeof filename !== 'string' || filename === '' || !Buffer.isBuffer(bytes)) {
    throw new Refusal(400, 'A file needs a filename and its bytes as base64 in file.');
  }
  return { filename, bytes };
};

const attachMeaning = ([id, body]: unknown[]): Meaning => {
  const { files, ...rest } = isMap(body) ? body : {};
  return {
    method: 'POST',
    args: [text(id), 'attach_file'],
    body: rest,
    files: (Array.isArray(files) ? files : []).map(fileIn),
  };
};

const methods: Readonly<Record<string, (params: unknown[]) => Meaning>> = {
  'node.index': indexOf,
  'node.retrieve': onId('GET'),
  'node.create': ([body]) => ({ method: 'POST', args: [], body }),
  'node.update': onId('PUT'),
  'node.delete': onId('DELETE'),
  'node.attach_file': attachMeaning,
  'user.retrieve': onId('GET'),
  'user.login': ([username, password]) => ({ method: 'POST', args: ['login'], body: { username, password } }),
  'user.logout': () => ({ method: 'POST', args: ['logout'] }),
  'user.token': () => ({ method: 'POST', args: ['token'] }),
  'datastore.retrieve': onId('GET'),
  'datastore.update': onId('PUT'),
  'datastore.delete': onId('DELETE'),
  'datastore.import': onId('POST', 'import'),
  'datastore.drop': onId('POST', 'drop'),
  'taxonomy_term.index': indexOf,
  'taxonomy_term.retrieve': onId('GET'),
};

/** The request and the operation that a call means; null where there is none. */
const find = (
  resources: ReadonlyMap<string, Resource>,
  { method, params }: RpcCall,
): { meaning: Meaning; operation: Operation } | null => {
  const meaning = Object.hasOwn(methods, method) ? methods[method]?.(params) : undefined;
  const resource = resources.get(method.split('.')[0] ?? '');
  if (meaning === undefined || resource === undefined) return null;
  const operation = resolveOperation(resource, meaning.method, meaning.args);
  return operation === undefined ? null : { meaning, operation };
};

/** The methods that stand for an operation which exists. */
const methodNames = (resources: ReadonlyMap<string, Resource>): string[] => [
  'system.listMethods',
  ...Object.keys(methods).filter((method) => find(resources, { method, params: ['1', {}] }) !== null),
];

const run = async (call: Call, resources: ReadonlyMap<string, Resource>, rpc: RpcCall): Promise<unknown> => {
  if (rpc.method === 'system.listMethods') return methodNames(resources);
  const found = find(resources, rpc);
  if (found === null) throw new Refusal(404, `There is no method ${escapeHtml(rpc.method)}.`);
  const { meaning, operation } = found;
  const { portal } = call;
  portal.counts[operation.writes ? 'writes' : 'reads'] += 1;
  call.args = meaning.args;
  call.query = isMap(meaning.query) ? (asText(meaning.query) as Record<string, unknown>) : {}; // a map stays one
  call.queryText = JSON.stringify(call.query);
  const body = asText(meaning.body);
  call.body = isMap(body) ? body : {};
  checkCall(call, operation, meaning.method);
  const { store, limits } = portal;
  const place = { dir: store.filesDir, fileBytes: limits.fileBytes, syncDir: () => store.syncFiles() };
  try {
    for (const [index, file] of (meaning.files ?? []).entries()) {
      call.files.push(await keepBytes({ part: `files[${index + 1}]`, ...file }, place));
    }
    const result = await operation.run(call);
    return 'value' in result ? result.value : true;
  } finally {
    await discard(call.files);
  }
};

const faultOf = (call: Call, error: unknown): string => {
  if (error instanceof MalformedBody) return writeRpcFault(400, `Invalid XML-RPC. ${error.message}`);
  const refusal = refusalOf(error, call.portal.log);
  return writeRpcFault(refusal.status, refusal.message);
};

/** The answer to an XML-RPC call: always 200, faults as the protocol has them (`faultCode` is the HTTP status of the REST server). */
export const xmlrpcAnswer = async (call: Call, resources: ReadonlyMap<string, Resource>): Promise<Answer> => {
  let body: string;
  try {
    const rpc = parseRpcCall(await readRaw(call.request, call.portal));
    body = writeRpcAnswer(await run(call, resources, rpc));
  } catch (error) {
    body = faultOf(call, error);
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
