// The XML-RPC server over the same resources, off unless it is configured (specification 1).
import { escapeHtml } from '../util/html.ts';
import { isObject, recordOf } from '../util/json.ts';
import { type Answer, refusalOf } from './answer.ts';
import { readRaw } from './body.ts';
import { discard, keepBytes } from './media/multipart.ts';
import { MalformedBody } from './media/value.ts';
import { parseRpcCall, type RpcCall, writeRpcAnswer, writeRpcFault } from './media/xmlrpc.ts';
import type { Call, Operation, Resource } from './portal.ts';
import { Refusal } from './refusal.ts';
import { checkCall } from './resources/table.ts';

/** Where the XML-RPC server answers. */
export const xmlrpcPath = '/api/xmlrpc';

const text = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

/** The value with numbers as texts, as a query string would have them. */
const asQuery = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(asQuery);
  if (!isObject(value)) return String(value);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, asQuery(item)]));
};

interface SentFile {
  filename: string;
  bytes: Buffer;
}

/** One of `files`: `{filename, file}`, the bytes in base64. */
const fileIn = (value: unknown): SentFile => {
  const { filename, file } = recordOf(value);
  if (typeof filename !== 'string' || filename === '' || typeof file !== 'string') {
    throw new Refusal(400, 'A file needs a filename and its bytes as base64 in file.');
  }
  return { filename, bytes: Buffer.from(file, 'base64') };
};

/** An operation with what a call of it says in place of a request. */
interface Meaning {
  operation: Operation;
  args?: string[];
  query?: Record<string, unknown>;
  body?: unknown;
  files?: unknown;
}

const indexNames = ['page', 'fields', 'parameters', 'pagesize', 'options'];

/** What the parameters of a method mean, by its name; null where there is no such method. */
const meaningOf = (resource: Resource, action: string, params: unknown[]): Meaning | null => {
  const operation = Object.hasOwn(resource, action) ? resource[action] : undefined;
  if (operation === undefined || operation.place === 'relationship' || action === 'createOn') return null;
  const [first, second] = params;
  if (operation.place === 'targeted') {
    const { files, ...body } = recordOf(second);
    return { operation, args: [text(first), action], body, files };
  }
  if (operation.place === 'action') return { operation, args: [action], body: { username: first, password: second } };
  if (action === 'create') return { operation, body: first };
  if (action !== 'index') return { operation, args: [text(first)], body: second };
  const sent = indexNames.flatMap((name, at) => (params[at] === undefined ? [] : [[name, asQuery(params[at])]]));
  return { operation, query: Object.fromEntries(sent) };
};

/** The methods that stand for an operation which exists. */
const methodNames = (resources: ReadonlyMap<string, Resource>): string[] => [
  'system.listMethods',
  ...[...resources].flatMap(([name, resource]) =>
    Object.keys(resource)
      .filter((action) => meaningOf(resource, action, []) !== null)
      .map((action) => `${name}.${action}`),
  ),
];

const run = async (
  call: Call,
  resources: ReadonlyMap<string, Resource>,
  { method, params }: RpcCall,
): Promise<unknown> => {
  if (method === 'system.listMethods') return methodNames(resources);
  const [name = '', action = ''] = method.split('.');
  const resource = resources.get(name);
  const meaning = resource === undefined ? null : meaningOf(resource, action, params);
  if (meaning === null) throw new Refusal(404, `There is no method ${escapeHtml(method)}.`);
  const { portal } = call;
  const { operation, args = [], query = {}, body, files } = meaning;
  portal.counts[operation.writes ? 'writes' : 'reads'] += 1;
  Object.assign(call, { args, query, queryText: JSON.stringify(query), body: recordOf(body) });
  checkCall(call, operation, action === 'index' || action === 'retrieve' ? 'GET' : 'POST');
  const { store, limits } = portal;
  const place = { dir: store.filesDir, fileBytes: limits.fileBytes, syncDir: () => store.syncFiles() };
  try {
    for (const [index, file] of (Array.isArray(files) ? files : []).map(fileIn).entries()) {
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
    const rpc = parseRpcCall(await readRaw(call));
    body = writeRpcAnswer(await run(call, resources, rpc));
  } catch (error) {
    body = faultOf(call, error);
  }
  return { status: 200, contentType: 'text/xml;charset=UTF-8', headers: call.headers, body };
};
