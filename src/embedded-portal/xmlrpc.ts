// The XML-RPC server over the same resources, off unless it is configured (specification 1).
import { escapeHtml } from '../util/html.ts';
import { isObject } from '../util/json.ts';
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

const isMap = (value: unknown): value is Record<string, unknown> => isObject(value) && !Buffer.isBuffer(value);

/** The value with what `change` makes of its scalars and bytes. */
const mapped = (value: unknown, change: (leaf: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => mapped(item, change));
  if (!isMap(value)) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapped(item, change)]));
};

/** Bytes as the text they are, for everything but files. */
const asBody = (leaf: unknown): unknown => (Buffer.isBuffer(leaf) ? leaf.toString('utf8') : leaf);

/** Numbers as texts too, as a query string would have them. */
const asQuery = (leaf: unknown): unknown =>
  typeof leaf === 'number' || typeof leaf === 'boolean' ? String(leaf) : asBody(leaf);

const mapOf = (value: unknown, change: (leaf: unknown) => unknown): Record<string, unknown> => {
  const map = mapped(value, change);
  return isMap(map) ? map : {};
};

interface SentFile {
  filename: string;
  bytes: Buffer;
}

/** One of `files`: `{filename, file}`, the bytes as `<base64>` or as text in base64. */
const fileIn = (value: unknown): SentFile => {
  const { filename, file } = isMap(value) ? value : {};
  const bytes = typeof file === 'string' ? Buffer.from(file, 'base64') : file;
  if (typeof filename !== 'string' || filename === '' || !Buffer.isBuffer(bytes)) {
    throw new Refusal(400, 'A file needs a filename and its bytes as base64 in file.');
  }
  return { filename, bytes };
};

/** An operation with what a call of it says in place of a request. */
interface Meaning {
  operation: Operation;
  args: string[];
  query?: Record<string, unknown>;
  body?: unknown;
  files?: unknown;
}

const indexNames = ['page', 'fields', 'parameters', 'pagesize', 'options'];

/** What the parameters of a method mean, by its name; null where there is no such method. */
const meaningOf = (resource: Resource, action: string, params: unknown[]): Meaning | null => {
  const own = (table: object | undefined): Operation | undefined =>
    table !== undefined && Object.hasOwn(table, action) ? (table as Record<string, Operation>)[action] : undefined;
  const [first, body] = params;
  const onId = own(resource.targetedActions);
  if (onId !== undefined) {
    const { files, ...rest } = isMap(body) ? body : {};
    return { operation: onId, args: [text(first), action], body: rest, files };
  }
  const onNone = own(resource.actions);
  if (onNone !== undefined) return { operation: onNone, args: [action], body: { username: first, password: body } };
  const { index, create, retrieve, update, delete: remove } = resource;
  const operation = own({ index, create, retrieve, update, delete: remove });
  if (operation === undefined) return null;
  if (action === 'create') return { operation, args: [], body: first };
  if (action !== 'index') return { operation, args: [text(first)], body };
  const sent = indexNames.flatMap((name, at) => (params[at] === undefined ? [] : [[name, params[at]]]));
  return { operation, args: [], query: mapOf(Object.fromEntries(sent), asQuery) };
};

/** The methods that stand for an operation which exists. */
const methodNames = (resources: ReadonlyMap<string, Resource>): string[] => [
  'system.listMethods',
  ...[...resources].flatMap(([name, resource]) =>
    ['index', 'retrieve', 'create', 'update', 'delete']
      .concat(Object.keys({ ...resource.actions, ...resource.targetedActions }))
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
  const { operation, args, query = {}, body, files } = meaning;
  portal.counts[operation.writes ? 'writes' : 'reads'] += 1;
  Object.assign(call, { args, query, queryText: JSON.stringify(query), body: mapOf(body, asBody) });
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
    const rpc = parseRpcCall(await readRaw(call.request, call.portal));
    body = writeRpcAnswer(await run(call, resources, rpc));
  } catch (error) {
    body = faultOf(call, error);
  }
  return { status: 200, contentType: 'text/xml;charset=UTF-8', headers: call.headers, body };
};
