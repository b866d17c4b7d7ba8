// One request: route -> format -> body -> arguments -> CSRF -> access -> action -> format; and the error exits.
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { apiPrefix } from '../dataset-api/paths.ts';
import { limitConnections, serverOptions } from '../util/connections.ts';
import { escapeHtml } from '../util/html.ts';
import { decodedPart, endConnectionsOnClose, http } from '../util/http.ts';
import { recordOf } from '../util/json.ts';
import { type Answer, formatError, htmlType, redirectTo, refusalOf, sendAnswer } from './answer.ts';
import { dropRest, readBody } from './body.ts';
import { openCall } from './call.ts';
import { answerClientError } from './connections.ts';
import { filesPath } from './content/view.ts';
import { type ChosenFormat, openChoice, splitSuffix } from './media/formats.ts';
import { discard } from './media/multipart.ts';
import { MalformedBody, type Value } from './media/value.ts';
import type { Call, Operation, Portal, Result } from './portal.ts';
import { Refusal } from './refusal.ts';
import { maintenanceAnswer, siteAnswer } from './resources/system.ts';
import { checkCall, checkToken, resolveOperation } from './resources/table.ts';
import { xmlrpcAnswer, xmlrpcPath } from './xmlrpc.ts';

/** The method that a request means: POST may carry another one in `_method` or X-HTTP-Method-Override. */
const methodOf = ({ raw, headers }: FastifyRequest, query: Record<string, unknown>): string => {
  const override = headers['x-http-method-override'] ?? query._method;
  const name = typeof override === 'string' ? override.toUpperCase() : '';
  return raw.method === 'POST' && ['PUT', 'DELETE', 'GET', 'HEAD'].includes(name) ? name : (raw.method ?? 'GET');
};

const notFound = (message: string): Refusal => new Refusal(404, message, { raw: '' });

/** True when this caller would get past the token and the access check: only then are his files kept. */
const mayKeepFiles = (call: Call, operation: Operation): boolean => {
  if (operation.takesFiles !== true) return false;
  try {
    checkToken(call, operation, call.request.method ?? '');
    operation.access?.(call);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
};

const act = async (call: Call, operation: Operation): Promise<Result> => {
  const { method = '' } = call.request;
  if (method !== 'GET' && method !== 'HEAD') {
    const { value, files } = await readBody(call, { keepFiles: mayKeepFiles(call, operation) });
    call.body = recordOf(value);
    call.files = files;
  }
  try {
    checkCall(call, operation, method);
    return await operation.run(call);
  } finally {
    await discard(call.files);
  }
};

const answerTo = ({ headers, query, portal }: Call, result: Result, { format, contentType }: ChosenFormat): Answer => {
  if ('body' in result) return { status: 200, headers, contentType, ...result };
  const { value, shape = 'plain' } = result;
  const { write } = portal.profile.wire.formats[format];
  return { status: 200, headers, contentType, body: write(value as Value, { shape, callback: query.callback }) }; // what JSON can say
};

/** The formats of results and errors of a resource. Throws a Refusal for one that cannot be. */
const formatsOf = ({ portal, request }: Call, name: string, suffix: string | null) => {
  const { wire } = portal.profile;
  const usual = suffix === null ? wire.resultFormats[name] : undefined;
  const fixed = usual && openChoice(usual);
  const asked = wire.chooseFormat({ suffix, accept: request.headers.accept });
  const errors = 'format' in asked ? asked : fixed;
  if (errors !== undefined) return { results: fixed ?? errors, errors };
  if ('malformed' in asked) throw wire.malformedMime('The Accept header is malformed.');
  throw new Refusal(406, 'Unknown or unsupported response format.', { raw: '' });
};

/** The answer of the service to a path below its prefix. HEAD and OPTIONS depend on the name of the resource only. */
const serviceAnswer = async (call: Call, path: string, method: string): Promise<Answer> => {
  const { counts, log, profile, resources } = call.portal;
  const parts = path.split('/').map(decodedPart);
  const { name: last, suffix } = splitSuffix(parts.pop() ?? '');
  const [name = '', ...args] = [...parts, last];
  const resource = resources.get(name);
  if (resource === undefined) throw notFound(`Could not find resource ${escapeHtml(name)}.`);
  if (method === 'HEAD') return { status: 200, reason: ': OK', contentType: htmlType, body: '' };
  if (method === 'OPTIONS') return { status: 200, contentType: htmlType, body: '' };
  const operation = resolveOperation(resource, method, args);
  if (operation === undefined) throw notFound('Could not find the controller.');
  call.args = args;
  counts[operation.writes ? 'writes' : 'reads'] += 1;
  const { headers } = call;
  if (suffix === null) headers.vary = 'Accept';
  let ofErrors: ChosenFormat | undefined;
  try {
    const { results, errors } = formatsOf(call, name, suffix);
    ofErrors = errors;
    return answerTo(call, await act(call, operation), results);
  } catch (error) {
    const { callback } = call.query;
    const chosen = ofErrors && { ...profile.wire.formats[ofErrors.format], ...ofErrors, callback };
    return { ...formatError(refusalOf(error, log), chosen), headers };
  }
};

const prefixPattern = new RegExp(`^${apiPrefix}(?=/|$)`, 'i');

const routedAnswer = (call: Call, request: FastifyRequest, path: string): Answer | Promise<Answer> => {
  const { portal, query, queryText } = call;
  const prefix = prefixPattern.exec(path)?.[0];
  if (path === xmlrpcPath && portal.xmlrpc === true && request.raw.method === 'POST') return xmlrpcAnswer(call);
  if (prefix === undefined) return siteAnswer(call, path);
  if (path.endsWith('/') && request.raw.method === 'GET') {
    return redirectTo(`${call.baseUrl}${path.replace(/\/+$/, '')}${queryText === '' ? '' : `?${queryText}`}`);
  }
  const below = path.slice(prefix.length + 1).replace(/\/$/, '');
  if (below !== '') return serviceAnswer(call, below, methodOf(request, query));
  const body = 'Services Endpoint "dkan_dataset_api" has been setup successfully.';
  return { status: 200, contentType: htmlType, body };
};

/** The answer to a request; never throws. */
const answer = async (portal: Portal, request: FastifyRequest): Promise<Answer> => {
  const { wire } = portal.profile;
  let call: Call | null = null;
  try {
    const url = request.originalUrl;
    const [start = ''] = url.split('?', 1);
    const path = wire.pathOf(start);
    const open = openCall(portal, request, url.slice(start.length + 1));
    call = open;
    const make = async (): Promise<Answer> => {
      const held = path.startsWith(filesPath) ? null : await maintenanceAnswer(open);
      return wire.finish(open, held ?? (await routedAnswer(open, request, path)));
    };
    // A page cache answers a GET without any session cookie.
    const isForVisitors = request.method === 'GET' && open.user.uid === 0 && !open.hasDeadCookie;
    const age = isForVisitors ? portal.site.pageCacheMaximumAge : null;
    return age === null ? await make() : await portal.pages.serve(`${open.baseUrl}${url}`, age, make);
  } catch (error) {
    // A body is read within the call; what is malformed before there is one is the query.
    const isQuery = call === null && error instanceof MalformedBody;
    const refusal = isQuery ? new Refusal(400, `Invalid query. ${escapeHtml(error.message)}`) : error;
    const result = formatError(refusalOf(refusal, portal.log));
    return call === null ? result : wire.finish(call, result);
  }
};

/** Answers a request and notes it: never its query, which may hold a token, nor a header or body. */
const handle = async (portal: Portal, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
  const { limits, log, profile, site, accessLevel = 'debug' } = portal;
  const began = performance.now();
  let result = await answer(portal, request);
  const closes = site.closesConnections;
  const rest = dropRest(request.raw, limits);
  if (closes) await rest; // a client that still sends would see the connection break, not the answer
  const options = { longestReason: profile.wire.longestReason, idleMs: limits.answerIdleMs, closes };
  try {
    await sendAnswer(reply, result, options);
  } catch (error) {
    if (error instanceof Refusal) log.error({ path: request.originalUrl }, error.message);
    result = formatError(refusalOf(error, log));
    await sendAnswer(reply, result, options);
  }
  if (!log.isLevelEnabled(accessLevel)) return;
  const { ip: address, raw, originalUrl } = request;
  const path = originalUrl.split('?')[0]?.slice(0, 1000);
  const ms = Math.round(performance.now() - began);
  log[accessLevel]({ method: raw.method, path, status: result.status, ms, address }, 'answered');
};

/** Makes the HTTP application of a portal; the caller listens and closes. */
export const createApp = (portal: Portal): FastifyInstance => {
  const { limits, trustedProxies = [] } = portal;
  const app = fastify({
    ...serverOptions(trustedProxies),
    exposeHeadRoutes: false,
    // The dispatcher reads the address itself, so that the router neither decodes nor refuses anything.
    rewriteUrl: () => '/',
    return503OnClosing: false,
    requestTimeout: 0,
    connectionTimeout: limits.silenceMs,
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
  for (const method of http.METHODS) {
    if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  app.all('/', async (request, reply) => {
    const work = handle(portal, request, reply);
    portal.inProgress.add(work);
    await work.finally(() => portal.inProgress.delete(work));
  });
  return app;
};
