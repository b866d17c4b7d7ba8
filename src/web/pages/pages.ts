// The operator's pages: their addresses, who may see them, and the headers that keep a browser from running anything else.
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { InterruptedError, machineFault, NotFoundError, SluiceError } from '../../model/errors.ts';
import { isBelow, isChangeLog, kindOfKey } from '../../model/key.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { ReportItem, StoredReport } from '../../model/report.ts';
import { versionsOf } from '../../model/table-history.ts';
import { readInboxViews } from '../../service/inboxes.ts';
import { entriesWhere, findItems, itemViews } from '../../service/items.ts';
import { jobsOf, pausesOf, type RunningJob, runView } from '../../service/overview.ts';
import { type ReportFormat, reportFormats } from '../../service/report-formats.ts';
import type { Runtime } from '../../service/runtime.ts';
import { waitingFile } from '../../service/waiting-file.ts';
import { clientAddress, isOwnOrigin } from '../../util/connections.ts';
import { html, type Part } from '../../util/html.ts';
import { needRedis } from '../monitoring.ts';
import type { WebPart } from '../part.ts';
import { type ActionTools, confirmPage, prepare } from './actions.ts';
import { refreshScript, stylesheet } from './assets.ts';
import { type FeedTable, feedXml } from './feed.ts';
import { homePage, mostFound, searchPage } from './home.ts';
import { itemPage, mostResources } from './item.ts';
import { type Act, actLink, formOf, noAct, type Page, parameterOf, send } from './layout.ts';
import { isToken, loginPath, loginRoutes, loginsOf } from './login.ts';
import { itemForReaders, itemViewForReaders, overviewForReaders, pauseForReaders, runForReaders } from './reader.ts';
import { itemsPerPage, runItemsPage, runPage, runsPage } from './run.ts';
import { uploadHtml, uploadRoute } from './upload.ts';

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 11c2-2 3-2 5 0s3 2 5 0 3-2 4-1M4 2v6M8 2v6M12 2v6" fill="none" stroke="#3b82c4" stroke-width="1.8" stroke-linecap="round"/></svg>`;

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** How long an action may wait for a run in progress. */
const actMs = 20_000;

const assets = {
  '/assets/pages.css': ['text/css; charset=utf-8', stylesheet],
  '/assets/refresh.js': ['text/javascript; charset=utf-8', refreshScript],
  '/assets/icon.svg': ['image/svg+xml', icon],
} as const;

export const pagesPart: WebPart = (app, { runtime, overview, guesses }) => {
  const logins = loginsOf(runtime.config.web, guesses);
  const isSecure = runtime.config.web.publicUrl?.startsWith('https:');
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(body.toString())),
  );
  app.decorateRequest('fault', null);
  app.addHook('onRequest', async (request, reply) => {
    request.fault = runtime.stateWatch.fault;
    reply.headers(headers);
    if (isSecure) reply.header('strict-transport-security', 'max-age=31536000');
  });
  for (const [path, [type, text]] of Object.entries(assets)) {
    app.get(path, (_request, reply) => reply.type(type).header('cache-control', 'max-age=300').send(text));
  }
  loginRoutes(app, runtime, logins);
  app.register(async (guarded) => {
    guarded.decorateRequest('session', null);
    guarded.addHook('onRequest', async (request, reply) => {
      request.session = logins.sessionOf(request);
      const mayRead = runtime.config.web.public && readersPages.has(`${request.method} ${request.routeOptions.url}`);
      if (request.session === null && !mayRead) return reply.redirect(loginPath(request), 303);
    });
    guarded.addHook('preHandler', () => needRedis(runtime));
    guarded.setErrorHandler((error, request, reply) => sendError(error, request, reply, runtime));
    readRoutes(guarded, { runtime, overview });
    actRoutes(guarded, { runtime, overview });
    uploadRoute(guarded, runtime);
  });
};

/** What readers without a login may get where `web.public` is set. */
const readersPages = new Set(
  ['/', '/item/*', '/changes/*', '/runs/:target', '/run/:runId'].flatMap((path) => [`GET ${path}`, `HEAD ${path}`]),
);

const messagePage = (title: string, says: Part): Page => ({ title, fixed: html`<h1>${title}</h1>${says}`, live: null });

const sendError = (thrown: unknown, request: FastifyRequest, reply: FastifyReply, { log }: Runtime): FastifyReply => {
  const error = machineFault(thrown);
  const answer = (status: number, title: string, says: Part): FastifyReply =>
    send(reply, messagePage(title, says), status);
  if (error instanceof SluiceError) {
    const isShown = request.session !== null || error instanceof NotFoundError; // others may name paths
    const hint = error.hint ? html`<p>${error.hint}</p>` : null;
    const says = isShown ? html`<p dir="auto">${error.message}</p>${hint}` : null;
    return error instanceof NotFoundError
      ? answer(404, 'Not found', says)
      : answer(error.code === 'redis-unreachable' ? 503 : 409, 'Not possible right now', says);
  }
  const status = (error as { statusCode?: number }).statusCode ?? 500;
  if (status < 500) return answer(status, 'Invalid request', html`<p>Status ${status}.</p>`);
  log.error({ err: error, path: request.url.slice(0, 200) }, 'a page failed');
  return answer(status, 'Something went wrong', html`<p>See the log of the service.</p>`);
};

const pathPart = ({ params }: FastifyRequest, name: string): string =>
  String((params as Record<string, unknown>)[name] ?? '');

const actOf = ({ session }: FastifyRequest): Act => (session ? actLink : noAct);

const readRoutes = (app: FastifyInstance, tools: ActionTools): void => {
  const { runtime, overview } = tools;
  app.get('/', async (request, reply) => {
    const { session } = request;
    const query = session ? parameterOf(request, 'q').trim().slice(0, 200) : '';
    if (query !== '') return send(reply, searchPage(query, await findItems(runtime, query, mostFound)));
    const view = await overview.view(Date.now());
    const filter = { word: parameterOf(request, 'manifest').trim(), show: parameterOf(request, 'show') };
    const given = { now: Date.now(), act: actOf(request), filter };
    return send(reply, homePage(session ? view : overviewForReaders(view), given));
  });
  app.get('/item/*', async (request, reply) => {
    const key = pathPart(request, '*');
    const views = await itemViews(runtime, key);
    if (views.length === 0) throw unknown(`no item "${key.slice(0, 200)}" is known`);
    const targets = kindOfKey(key) === 'dataset' ? views.map(({ target }) => target) : [];
    const search = { start: `${key}/`, most: mostResources };
    const portals = views.map(({ target }) => target.portal);
    const running = views.flatMap(({ target, isRunning }) => (isRunning ? [target.portal] : []));
    const [resources, jobs, pauses] = await Promise.all([
      entriesWhere(runtime, targets, () => true, search),
      Promise.all(running.map((portal) => jobsOf(runtime, portal))),
      pausesOf(runtime, portals),
    ]);
    const given = { now: Date.now(), act: actOf(request), jobs: onlyOf(key, jobs.flat()) };
    const { session } = request;
    if (session === null) {
      const seen = { resources: resources.map(itemForReaders), pauses: pauses.map(pauseForReaders) };
      return send(reply, itemPage(key, views.map(itemViewForReaders), { ...given, ...seen }));
    }
    const isAside = views.some(({ entry }) => entry.reason?.file !== undefined);
    const below = isAside ? uploadHtml(key, session) : null;
    const [first] = views; // its file is the same on every portal
    const newer = first ? await waitingFile(await readInboxViews(runtime), first.entry) : null;
    return send(reply, { ...itemPage(key, views, { ...given, resources, pauses, newer }), below });
  });
  app.get('/changes/*', async (request, reply) => {
    const key = pathPart(request, '*');
    const { title, tables } = await tablesBelow(runtime, key);
    const base = runtime.config.web.publicUrl?.replace(/\/$/, '') ?? `${request.protocol}://${request.host}`;
    return reply.type('application/atom+xml; charset=utf-8').send(feedXml(key, title, tables, base));
  });
  app.get('/runs/:target', async (request, reply) => {
    const name = pathPart(request, 'target');
    if (!(await overview.targets()).has(name)) throw unknown(`no key, file or title matches "${name.slice(0, 200)}"`);
    const runs = ((await overview.runsByTarget()).get(name) ?? []).slice(0, 100);
    return send(reply, runsPage(name, runs, actOf(request)));
  });
  app.get('/run/:runId', async (request, reply) => {
    const runId = pathPart(request, 'runId');
    const view = isRunId(runId) ? await runView(runtime, runId) : null;
    if (view === null) throw unknown('no such run is known');
    const given = { now: Date.now(), act: actOf(request) };
    return send(reply, runPage(request.session ? view : runForReaders(view), given));
  });
  app.get('/run/:runId/items', async (request, reply) => {
    const report = await reportOf(runtime, pathPart(request, 'runId'));
    const code = parameterOf(request, 'code') || null;
    const page = Math.min(100_000, Math.max(1, Number.parseInt(parameterOf(request, 'page'), 10) || 1));
    const { items, total } = await itemsOf(report, { code, page });
    return send(reply, runItemsPage(report.runId, items, { code, page, total }));
  });
  app.get('/run/:runId/:file', async (request, reply) => {
    const format = /^report\.(csv|json|html)$/.exec(pathPart(request, 'file'))?.[1] as ReportFormat | undefined;
    if (format === undefined) throw unknown('there is no such file');
    const report = await reportOf(runtime, pathPart(request, 'runId'));
    const { contentType, piecesOf } = reportFormats[format];
    return reply
      .type(contentType)
      .header('content-disposition', `attachment; filename="${report.manifest}-${report.runId}.${format}"`)
      .send(Readable.from(piecesOf(report)));
  });
  app.get('/*', () => {
    throw unknown('there is no such page');
  });
};

/** The tables of an item, on all its portals, with their versions. @throws NotFoundError */
const tablesBelow = async (runtime: Runtime, key: string): Promise<{ title: string; tables: FeedTable[] }> => {
  const views = await itemViews(runtime, key);
  const title = views[0]?.entry.title;
  if (title === undefined) throw unknown(`no item "${key.slice(0, 200)}" is known`);
  const targets = views.map(({ target }) => target);
  // A change log has a version with each of those that it lists.
  const isMeant = (each: string) => each === key || (isBelow(each, key) && !isChangeLog(each));
  const isOwn = (entry: LedgerEntry) => entry.version !== null && isMeant(entry.key);
  const entries = await entriesWhere(runtime, targets, isOwn, { start: key, most: mostResources });
  const tables = entries.map(async (entry) => {
    const former = await runtime.ledger.formerVersions(entry.portal, entry.key);
    return { entry, versions: versionsOf(former, entry.version) };
  });
  return { title: title || key, tables: await Promise.all(tables) };
};

/** What jobs do to one item: those on a dataset have the steps of its resources. */
const onlyOf = (key: string, jobs: RunningJob[]): RunningJob[] =>
  jobs.flatMap((job) => {
    const steps = job.steps.filter(({ item }) => item === key);
    return job.key === key ? [job] : steps.length > 0 ? [{ ...job, key, steps }] : [];
  });

const actRoutes = (app: FastifyInstance, tools: ActionTools): void => {
  const { runtime } = tools;
  const prepared = (request: FastifyRequest) =>
    prepare(tools, pathPart(request, 'action'), (name) => parameterOf(request, name));
  app.get('/act/:action', async (request, reply) => {
    const { url: address, session } = request;
    const form = { address, token: session?.token ?? '', back: backOf(request) };
    return send(reply, confirmPage(await prepared(request), form));
  });
  app.post('/act/:action', async (request, reply) => {
    const form = formOf(request);
    const isMeant = request.session !== null && isToken(form.get('token'), request.session);
    if (!isMeant || !isOwnOrigin(request.raw, runtime.config.web.publicUrl)) {
      const says = html`<p>This form is outdated: open the page again.</p>`;
      return send(reply, messagePage('Nothing was done', says), 403);
    }
    const action = await prepared(request);
    runtime.log.info({ action: 'act', address: clientAddress(request), path: request.url }, 'an operator acts');
    const signal = AbortSignal.timeout(actMs);
    const path = await action.act(signal, (form.get('reason') ?? '').trim().slice(0, 200)).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      const message = 'another run is under way, and this has to wait for its end';
      throw new InterruptedError(message, { hint: 'try again later' });
    });
    return reply.redirect(path, 303);
  });
};

/** The page that an action was chosen on. */
const backOf = ({ headers }: FastifyRequest): string => {
  const from = URL.parse(headers.referer ?? '');
  const isOurs = from?.host === headers.host && !from?.pathname.startsWith('/act/');
  return from && isOurs ? `${from.pathname}${from.search}` : '/';
};

const unknown = (message: string): NotFoundError => new NotFoundError(message, { hint: 'search for it above' });

const isRunId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);

/** Items that are read in one turn: others are answered meanwhile. */
const atOnce = 1000;

/** One page of the items of a report, those of a cause where `code` is given, and how many there are. */
const itemsOf = async ({ items }: StoredReport, { code, page }: { code: string | null; page: number }) => {
  const [from, to] = [(page - 1) * itemsPerPage, page * itemsPerPage];
  const found: ReportItem[] = [];
  let [read, total] = [0, 0];
  for (const item of items) {
    if (++read % atOnce === 0) await setImmediate();
    if (code !== null && item.reason?.code !== code) continue;
    if (total >= from && total < to) found.push(item);
    total += 1;
    if (code === null && total === to) return { items: found, total: items.length };
  }
  return { items: found, total };
};

const reportOf = async ({ runs }: Runtime, runId: string): Promise<StoredReport> => {
  const report = isRunId(runId) ? await runs.report(runId) : null;
  if (report) return report;
  throw unknown('no report of such a run is kept');
};
