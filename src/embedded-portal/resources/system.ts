// Endpoints outside the service: session token, files, datastore search, health, and the 404 page.

import { createHash } from 'node:crypto';
import { BoundedMap } from '../../util/bounded-map.ts';
import { escapeHtml } from '../../util/html.ts';
import { isObject } from '../../util/json.ts';
import { demand, may, mayReadFile } from '../access.ts';
import { type Answer, formatError, formatValue, redirectTo } from '../answer.ts';
import { readRaw } from '../body.ts';
import type { Call, Portal } from '../call.ts';
import { filesPath } from '../content/view.ts';
import { type AnswerBudget, answerLength, searchRefused } from '../datastore/query.ts';
import { contentTypeOf, type FormatName, formats, isFormatName } from '../media/formats.ts';
import { publicPage } from '../pages/public-page.ts';
import { fatalFault } from '../profiles/recorded-faults.ts';
import { logFault, searchFault } from '../profiles/recorded-search.ts';
import { lockRefused } from '../races.ts';
import { Refusal } from '../refusal.ts';
import { autocompleteAnswer } from './autocomplete.ts';
import { catalogueAnswer } from './catalogue.ts';
import { searchAnswer } from './datastore.ts';
import { fileBytes } from './file.ts';
import { deletedCookie, tokenOf } from './user.ts';

const page = (status: number, title: string, siteName: string): Answer => ({
  status,
  contentType: 'text/html; charset=utf-8',
  body: `<!DOCTYPE html>\n<html lang="en" dir="ltr">\n<head>\n<title>${escapeHtml(title)} | ${escapeHtml(siteName)}</title>\n</head>\n<body>\n<h1>${escapeHtml(title)}</h1>\n</body>\n</html>\n`,
});

/**
 * The answer in maintenance mode; null for accounts that may go on. A session without that right ends at its first request,
 * which is not carried out.
 */
export const maintenanceAnswer = async (call: Call): Promise<Answer | null> => {
  const { portal, session } = call;
  if (!portal.site.maintenance || may(call.user, 'access site in maintenance mode')) return null;
  const shown = page(503, 'Site under maintenance', portal.profile.siteName);
  if (session === null) return { ...shown, reason: 'Service unavailable' };
  await portal.store.write(() => portal.store.sessions.end(session));
  const headers = { location: `${call.baseUrl}/`, 'set-cookie': deletedCookie(call) };
  return { ...shown, status: 302, headers, body: '' };
};

const health = (call: Call): Answer => {
  const { store, profile } = call.portal;
  store.db.prepare('SELECT 1').get();
  return {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({ status: 'ok', profile: profile.name, nodes: store.nodes.count() }),
  };
};

const file = (call: Call, path: string): Answer => {
  const { portal } = call;
  let name: string;
  try {
    name = decodeURIComponent(path.slice(filesPath.length));
  } catch {
    return page(404, 'Page not found', portal.profile.siteName);
  }
  const found = portal.store.files.byName(name);
  if (found === null) return page(404, 'Page not found', portal.profile.siteName);
  try {
    demand(call.user, portal.profile.bareFiles || mayReadFile(portal.store, call.user, found));
  } catch (error) {
    if (error instanceof Refusal) return formatError(error);
    throw error;
  }
  const isPlain = portal.profile.bareFiles;
  const bytes = fileBytes(portal, found);
  const stream = isPlain ? { ...bytes, contentType: found.filemime } : bytes;
  return { status: 200, contentType: stream.contentType, body: stream, plain: isPlain };
};

const searchPath = /^\/api\/action\/datastore\/search(?:\.([a-z]+))?$/;

/** One search: its value, or under a deployed profile the value that reports its fault. Throws a Refusal elsewhere. */
const searchOnce = async (
  call: Call,
  query: Record<string, unknown>,
  budget: AnswerBudget = { left: answerLength },
): Promise<unknown> => {
  const { profile, races } = call.portal;
  const faults = profile.recordedDatastore?.searchFaults;
  if (faults === 'fatal') throw fatalFault();
  if (faults !== undefined && races?.isLocked()) return searchFault(faults, '', lockRefused);
  try {
    return await searchAnswer(call, query, budget);
  } catch (error) {
    if (!(error instanceof Refusal) || faults === undefined) throw error;
    return faults === 'log' ? logFault : error.details.body;
  }
};

/** Most searches of one request. */
const mostSearches = 100;

/** Longest answer that is kept, characters. */
const longestKept = 100_000;

/** Answers to bodies with several searches, which deployed portals keep; emptied when there are many. */
const kept = new WeakMap<Portal, BoundedMap<string, unknown>>();

/** Several searches by name in one body; null for a body that names none, as recorded. */
const searchAll = async (call: Call): Promise<unknown> => {
  const { portal, request } = call;
  const text = (await readRaw(request, portal)).toString('utf8');
  const key = `${call.user.uid === 0} ${createHash('sha256').update(text).digest('hex')}`;
  const known = kept.get(portal) ?? new BoundedMap<string, unknown>(1000);
  if (known.has(key)) return known.get(key);
  let queries: unknown;
  try {
    queries = JSON.parse(text);
  } catch {
    queries = null;
  }
  if (typeof queries !== 'object' || queries === null || Object.keys(queries).length === 0) return null;
  const searches = Object.entries(queries);
  if (searches.length > mostSearches) {
    throw searchRefused(413, `A request may hold ${mostSearches} searches, not ${searches.length}.`);
  }
  const budget = { left: answerLength };
  const answers: [string, unknown][] = [];
  for (const [name, query] of searches)
    answers.push([name, await searchOnce(call, isObject(query) ? query : {}, budget)]);
  const value = Array.isArray(queries) ? answers.map(([, one]) => one) : Object.fromEntries(answers);
  if (portal.profile.recordedDatastore === null || budget.left < answerLength - longestKept) return value;
  kept.set(portal, known.set(key, value));
  return value;
};

const search = async (call: Call, format: FormatName): Promise<Answer> => {
  const style = { style: call.portal.profile.writeStyle, callback: call.query.callback };
  const contentType = contentTypeOf(formats[format].mimeTypes[0]);
  try {
    const value = await (call.request.method === 'POST' ? searchAll(call) : searchOnce(call, call.query));
    return { status: 200, contentType, body: formatValue(value, format, { ...style, shape: 'plain' }) };
  } catch (error) {
    if (error instanceof Refusal) return { ...formatError(error, { format, ...style }), contentType };
    throw error;
  }
};

/** `/?q=api/dataset/node` is the old way to write `/api/dataset/node`: redirected (recorded behaviour 1). */
const cleanAddress = (call: Call, wanted: string): Answer => {
  const query = call.queryText.split('&').filter((part) => !part.startsWith('q='));
  const path = wanted.split('/').map(encodeURIComponent).join('/');
  return redirectTo(`${call.baseUrl}/${path}${query.length === 0 ? '' : `?${query.join('&')}`}`);
};

/** The answer to a path outside the service. */
export const siteAnswer = async (call: Call, path: string): Promise<Answer> => {
  if (path === '/services/session/token') {
    return { status: 200, contentType: 'text/plain;charset=UTF-8', body: tokenOf(call) };
  }
  if (path === '/healthz') return health(call);
  if (path === '/' && typeof call.query.q === 'string') return cleanAddress(call, call.query.q);
  if (path.startsWith(filesPath)) return file(call, path);
  const wanted = searchPath.exec(path);
  const format = wanted?.[1] ?? 'json';
  if (wanted !== null && isFormatName(format)) {
    call.portal.counts.reads += 1;
    const answer = await search(call, format);
    return wanted[1] === undefined ? { ...answer, headers: { vary: 'Accept' } } : answer;
  }
  const catalogue = autocompleteAnswer(call, path) ?? catalogueAnswer(call, path);
  if (catalogue !== null) return catalogue;
  const shown = call.portal.profile.pages ? await publicPage(call, path) : null;
  return shown ?? page(404, 'Page not found', call.portal.profile.siteName);
};
