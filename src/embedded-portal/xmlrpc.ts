// The XML-RPC server over the same resources, off unless it is configured (specification 1).

import { escapeHtml } from '../util/html.ts';
import { isObject } from '../util/json.ts';
import { type Answer, internalFault } from './answer.ts';
import { readRaw } from './body.ts';
import type { Call, Resource } from './call.ts';
import { MalformedBody } from './media/body-parser.ts';
import { keepBytes } from './media/multipart.ts';
import { parseRpcCall, type RpcCall, writeRpcAnswer, writeRpcFault } from './media/xmlrpc.ts';
import { Refusal } from './refusal.ts';
import { checkArguments, checkToken, resolveOperation } from './resources/table.ts';

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

/** The methods that stand for an operation which exists. */
const methodNames = (resources: ReadonlyMap<string, Resource>): string[] => {
  const exists = (name: string): boolean => {
    const resource = resources.get(name.split('.')[0] ?? '');
    const meaning = methods[name]?.(['1', {}]);
    return (
      meaning !== undefined &&
      resource !== undefined &&
      resolveOperation(resource, meaning.method, meaning.args) !== undefined
    );
  };
  return ['system.listMethods', ...Object.keys(methods).filter(exists)];
};

const run = async (call: Call, resources: ReadonlyMap<string, Resource>, rpc: RpcCall): Promise<unknown> => {
  if (rpc.method === 'system.listMethods') return methodNames(resources);
  const meaning = Object.hasOwn(methods, rpc.method) ? methods[rpc.method]?.(rpc.params) : undefined;
  const resource = resources.get(rpc.method.split('.')[0] ?? '');
  const operation =
    meaning === undefined || resource === undefined
      ? undefined
      : resolveOperation(resource, meaning.method, meaning.args);
  if (meaning === undefined || operation === undefined) {
    throw new Refusal(404, `There is no method ${escapeHtml(rpc.method)}.`);
  }
  const { portal } = call;
  portal.counts[operation.writes ? 'writes' : 'reads'] += 1;
  call.args = meaning.args;
  call.query = isMap(meaning.query) ? (asText(meaning.query) as Record<string, unknown>) : {}; // a map stays one
  call.queryText = JSON.stringify(call.query);
  const body = asText(meaning.body);
  call.body = isMap(body) ? body : {};
  checkArguments(call, operation);
  checkToken(call, operation, meaning.method);
  operation.access(call);
  const { store, limits } = portal;
  const place = { dir: store.filesDir, fileBytes: limits.fileBytes, syncDir: () => store.syncFiles() };
  for (const [index, file] of (meaning.files ?? []).entries()) {
    call.files.push(await keepBytes({ part: `files[${index + 1}]`, ...file }, place));
  }
  const result = await operation.run(call);
  if ('read' in result) return result.read();
  return 'value' in result ? result.value : true;
};

const faultOf = (call: Call, error: unknown): string => {
  if (error instanceof MalformedBody) return writeRpcFault(400, `Invalid XML-RPC. ${error.message}`);
  const refusal = error instanceof Refusal ? error : internalFault(error, call.portal.log);
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
