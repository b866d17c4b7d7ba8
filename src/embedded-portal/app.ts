// One request: route -> format -> body -> arguments -> CSRF -> access -> action -> format; and the error exits.
import { METHODS } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { apiPrefix } from '../dataset-api/paths.ts';
import { limitConnections, trusting } from '../util/connections.ts';
import { escapeHtml } from '../util/html.ts';
import { decodedPart, endConnectionsOnClose } from '../util/http.ts';
import { isObject } from '../util/json.ts';
import { type Answer, formatError, redirectTo, refusalOf, sendAnswer } from './answer.ts';
import { dropRest, readBody } from './body.ts';
import { openCall } from './call.ts';
import { answerClientError } from './connections.ts';
import { filesPath } from './content/view.ts';
import { parseQuery } from './media/form.ts';
import { type Format, openChoice, splitSuffix } from './media/formats.ts';
import { discard } from './media/multipart.ts';
import { MalformedBody, type Value } from './media/value.ts';
import type { Call, Operation, Portal, Resource, Result } from './portal.ts';
import { Refusal } from './refusal.ts';
import { maintenanceAnswer, siteAnswer } from './resources/system.ts';
import { checkCall, checkToken, resolveOperation, resourcesOf } from './resources/table.ts';
import { xmlrpcAnswer, xmlrpcPath } from './xmlrpc.ts';

const emptyHtml = { contentType: 'text/html; charset=UTF-8', body: '' };

/** The path below the prefix as decoded parts, the suffix taken off the last. */
const splitPath = (path: string): { parts: string[]; suffix: string | null } => {
  const parts = path.split('/').map(decodedPart);
  const { name, suffix } = splitSuffix(parts.pop() ?? '');
  return { parts: [...parts, name], suffix };
};

const overridable = new Set(['PUT', 'DELETE', 'GET', 'HEAD']);

/** The effective method: POST may carry another one in `_method` or X-HTTP-Method-Override. */
const methodOf = (request: FastifyRequest, query: Record<string, unknown>): string => {
  const { method } = request.raw;
  if (method !== 'POST') return method ?? 'GET';
  const override = request.headers['x-http-method-override'] ?? query._method;
  const name = typeof override === 'string' ? override.toUpperCase() : '';
  return overridable.has(name) ? name : 'POST';
};

interface Route {
  /** Of the resource. */
  name: string;
  operation: Operation;
  args: string[];
  suffix: string | null;
}

const notFound = (message: string): Refusal => new Refusal(404, message, { bare: true });

/** The route of a request below the prefix; or the answer to HEAD and OPTIONS, which depends on the resource's name only. */
const findRoute = (
  resources: ReadonlyMap<string, Resource>,
  { path, method }: { path: string; method: string },
): Route | Answer => {
  const { parts, suffix } = splitPath(path);
  const [name = '', ...args] = parts;
  const resource = resources.get(name);
  if (resource === undefined) throw notFound(`Could not find resource ${escapeHtml(name)}.`);
  if (method === 'HEAD') return { status: 200, reason: ': OK', ...emptyHtml };
  if (method === 'OPTIONS') return { status: 200, ...emptyHtml };
  const operation = resolveOperation(resource, method, args);
  if (operation === undefined) throw notFound('Could not find the controller.');
  return { name, operation, args, suffix };
};

const isAnswer = (value: Route | Answer): value is Answer => 'status' in value;

/** True when this caller would get past the token and the access check: only then are his files kept. */
const mayKeepFiles = (call: Call, operation: Operation): boolean => {
  if (!operation.takesFiles) return false;
  try {
    checkToken(call, operation, call.request.method ?? '');
    operation.access(call);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
};

const readInto = async (call: Call, operation: Operation): Promise<void> => {
  const { method } = call.request;
  if (method === 'GET' || method === 'HEAD') return;
  const { value, files } = await readBody(call, { keepFiles: mayKeepFiles(call, operation) });
  call.body = isObject(value) ? value : {};
  call.files = files;
};

const act = async (call: Call, operation: Operation): Promise<Result> => {
  await readInto(call, operation);
  try {
    checkCall(call, operation, call.request.method ?? '');
    return await operation.run(call);
  } finally {
    if (call.files.length > 0) await discard(call.files);
  }
};

/** The answer to a result; the caller adds type and headers where none are given here. */
const answerTo = (call: Call, result: Result, format: Format): Omit<Answer, 'contentType'> & Partial<Answer> => {
  if ('stream' in result) return { status: 200, contentType: result.stream.contentType, body: result.stream };
  if ('redirect' in result) {
    return { status: 302, headers: { ...call.headers, location: result.redirect }, body: '' };
  }
  if ('empty' in result) return { status: 200, body: '' };
  const { value, shape = 'plain' } = result;
  return { status: 200, body: format.write(value as Value, { shape, callback: call.query.callback }) }; // what JSON can say
};

const serve = async (
  portal: Portal,
  request: FastifyRequest,
  { call, route }: { call: Call; route: Route },
): Promise<Answer> => {
  const { wire } = portal.profile;
  const { suffix, name, operation } = route;
  const asked = wire.chooseFormat({ suffix, accept: request.headers.accept });
  const usual = suffix === null && Object.hasOwn(wire.resultFormats, name) ? wire.resultFormats[name] : undefined;
  const fixed = usual === undefined ? null : openChoice(usual);
  const errors = 'format' in asked ? asked : fixed;
  if (suffix === null) call.headers.vary = 'Accept';
  const { headers } = call;
  if (errors === null) {
    const refusal =
      'malformed' in asked
        ? wire.malformedMime('The Accept header is malformed.')
        : new Refusal(406, 'Unknown or unsupported response format.', { bare: true });
    return { ...formatError(refusal), headers };
  }
  const { format, contentType } = fixed ?? errors;
  try {
    return { contentType, headers, ...answerTo(call, await act(call, operation), wire.formats[format]) };
  } catch (error) {
    const style = { format: wire.formats[errors.format], callback: call.query.callback };
    return { ...formatError(refusalOf(error, portal.log), style), contentType: errors.contentType, headers };
  }
};

const prefixPattern = new RegExp(`^${apiPrefix}(?=/|$)`, 'i');

const readQuery = (text: string): Record<string, unknown> => {
  try {
    return parseQuery(text);
  } catch (error) {
    if (error instanceof MalformedBody) throw new Refusal(400, `Invalid query. ${escapeHtml(error.message)}`);
    throw error;
  }
};

/** True for what a page cache may answer: a GET without any session cookie. */
const isForVisitors = ({ request, user, hasDeadCookie }: Call): boolean =>
  request.method === 'GET' && user.uid === 0 && !hasDeadCookie;

/** The answer to a request; never throws. */
const answer = async (
  portal: Portal,
  resources: ReadonlyMap<string, Resource>,
  request: FastifyRequest,
): Promise<Answer> => {
  let call: Call | null = null;
  try {
    const url = request.originalUrl;
    const mark = url.indexOf('?');
    const path = portal.profile.wire.pathOf(mark === -1 ? url : url.slice(0, mark));
    const queryText = mark === -1 ? '' : url.slice(mark + 1);
    call = openCall(portal, request, { query: readQuery(queryText), queryText });
    const open = call;
    const make = async (): Promise<Answer> => {
      const held = path.startsWith(filesPath) ? null : await maintenanceAnswer(open);
      return portal.profile.wire.finish(open, held ?? (await routedAnswer(open, { resources, request, path })));
    };
    const age = isForVisitors(open) ? portal.site.pageCacheMaximumAge : null;
    return age === null ? await make() : await portal.pages.serve(`${open.baseUrl}${url}`, age, make);
  } catch (error) {
    const result = formatError(refusalOf(error, portal.log));
    return call === null ? result : portal.profile.wire.finish(call, result);
  }
};

const routedAnswer = (
  call: Call,
  { resources, request, path }: { resources: ReadonlyMap<string, Resource>; request: FastifyRequest; path: string },
): Answer | Promise<Answer> => {
  const { portal, query, queryText } = call;
  const prefix = prefixPattern.exec(path)?.[0];
  if (path === xmlrpcPath && portal.xmlrpc && request.raw.method === 'POST') return xmlrpcAnswer(call, resources);
  if (prefix === undefined) return siteAnswer(call, path);
  if (path.endsWith('/') && request.raw.method === 'GET') {
    return redirectTo(`${call.baseUrl}${path.replace(/\/+$/, '')}${queryText === '' ? '' : `?${queryText}`}`);
  }
  const below = path.slice(prefix.length + 1).replace(/\/$/, '');
  if (below === '') {
    const words = 'Services Endpoint "dkan_dataset_api" has been setup successfully.';
    return { status: 200, contentType: 'text/html; charset=UTF-8', body: words };
  }
  const method = methodOf(request, query);
  const route = findRoute(resources, { path: below, method });
  if (isAnswer(route)) return route;
  call.args = route.args;
  portal.counts[route.operation.writes ? 'writes' : 'reads'] += 1;
  return serve(portal, request, { call, route });
};

/** The access log: never the query, which may hold a token, nor a header or body. */
const noteAccess = (
  { log, accessLevel = 'debug' }: Portal,
  request: FastifyRequest,
  { status, began }: { status: number; began: number },
): void => {
  if (!log.isLevelEnabled(accessLevel)) return;
  const { ip, raw, originalUrl } = request;
  log[accessLevel](
    {
      method: raw.method,
      path: originalUrl.split('?')[0]?.slice(0, 1000),
      status,
      ms: Math.round(performance.now() - began),
      address: ip,
    },
    'answered',
  );
};

/** Makes the HTTP application of a portal; the caller listens and closes. */
export const createApp = (portal: Portal): FastifyInstance => {
  const { limits, log, trustedProxies = [] } = portal;
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    // The dispatcher reads the address itself, so that the router neither decodes nor refuses anything.
    rewriteUrl: () => '/',
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestTimeout: 0,
    connectionTimeout: limits.silenceMs,
    trustProxy: trusting(trustedProxies),
    clientErrorHandler: answerClientError,
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: Math.min(5000, limits.headersMs),
      maxHeaderSize: 32_768,
    },
  });
  endConnectionsOnClose(app);
  limitConnections(app.server, limits.connectionsPerAddress, trustedProxies);
  // No method has a body in fastify's eyes: bodies are read by our own dispatcher, after route and format.
  for (const method of METHODS) {
    if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  const resources = resourcesOf(portal.profile, portal.expose ?? null);
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const began = performance.now();
    let result = await answer(portal, resources, request);
    const closes = portal.site.closesConnections;
    const rest = dropRest(request.raw, limits);
    if (closes) await rest; // a client that still sends would see the connection break, not the answer
    const options = { longestReason: portal.profile.wire.longestReason, idleMs: limits.answerIdleMs, closes };
    try {
      await sendAnswer(reply, result, options);
    } catch (error) {
      if (error instanceof Refusal) log.error({ path: request.originalUrl }, error.message);
      result = formatError(refusalOf(error, log));
      await sendAnswer(reply, result, options);
    }
    noteAccess(portal, request, { status: result.status, began });
  };
  app.all('/', async (request, reply) => {
    const work = handle(request, reply);
    portal.inProgress.add(work);
    await work.finally(() => portal.inProgress.delete(work));
  });
  return app;
};
