// What the site answers outside the service: session token, files, datastore search, health, and its 404 page.
import { demand } from '../access.ts';
import { type Answer, formatError, formatValue } from '../answer.ts';
import type { Call } from '../call.ts';
import { contentTypeOf, type FormatName, formats, isFormatName } from '../media/formats.ts';
import { publicPage } from '../pages/public-page.ts';
import { escapeHtml, Refusal } from '../refusal.ts';
import { searchAnswer } from './datastore.ts';
import { fileBytes, mayReadFile } from './file.ts';
import { tokenOf } from './user.ts';

const page = (status: number, title: string, siteName: string): Answer => ({
  status,
  contentType: 'text/html; charset=utf-8',
  body: `<!DOCTYPE html>\n<html lang="en" dir="ltr">\n<head>\n<title>${escapeHtml(title)} | ${escapeHtml(siteName)}</title>\n</head>\n<body>\n<h1>${escapeHtml(title)}</h1>\n</body>\n</html>\n`,
});

const health = (call: Call): Answer => {
  const { store, profile } = call.portal;
  store.db.prepare('SELECT 1').get();
  return {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({ status: 'ok', profile: profile.name, nodes: store.nodes.count() }),
  };
};

const filesPrefix = '/sites/default/files/';

const file = (call: Call, path: string): Answer => {
  const { portal } = call;
  let name: string;
  try {
    name = decodeURIComponent(path.slice(filesPrefix.length));
  } catch {
    return page(404, 'Page not found', portal.profile.siteName);
  }
  const found = portal.store.files.byName(name);
  if (found === null) return page(404, 'Page not found', portal.profile.siteName);
  try {
    demand(call.user, portal.profile.filesArePublic || mayReadFile(portal, call.user, found));
  } catch (error) {
    if (error instanceof Refusal) return formatError(error, null, { style: 'sound' });
    throw error;
  }
  const isPlain = portal.profile.plainStaticFiles;
  const bytes = fileBytes(portal, found);
  const stream = isPlain ? { ...bytes, contentType: found.filemime } : bytes;
  return { status: 200, contentType: stream.contentType, body: stream, plain: isPlain };
};

const searchPath = /^\/api\/action\/datastore\/search(?:\.([a-z]+))?$/;

const search = async (call: Call, format: FormatName): Promise<Answer> => {
  const style = { style: call.portal.profile.writeStyle, callback: call.query.callback };
  const contentType = contentTypeOf(formats[format].mimeTypes[0]);
  try {
    const value = await searchAnswer(call);
    return { ...formatValue({ value }, format, style), contentType };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { searchFaultStatus } = call.portal.profile;
    if (searchFaultStatus === null) return { ...formatError(error, format, style), contentType };
    return { ...formatValue({ value: error.details.body }, format, style), status: searchFaultStatus, contentType };
  }
};

/** `/?q=api/dataset/node` is the old way to write `/api/dataset/node`: redirected (recorded behaviour 1). */
const cleanAddress = (call: Call, wanted: string): Answer => {
  const query = call.queryText.split('&').filter((part) => !part.startsWith('q='));
  const path = wanted.split('/').map(encodeURIComponent).join('/');
  return {
    status: 301,
    contentType: 'text/html; charset=UTF-8',
    headers: { location: `${call.baseUrl}/${path}${query.length === 0 ? '' : `?${query.join('&')}`}` },
    body: '',
  };
};

/** The answer to a path outside the service. */
export const siteAnswer = async (call: Call, path: string): Promise<Answer> => {
  if (path === '/services/session/token') {
    return { status: 200, contentType: 'text/plain;charset=UTF-8', body: tokenOf(call) };
  }
  if (path === '/healthz') return health(call);
  if (path === '/' && typeof call.query.q === 'string') return cleanAddress(call, call.query.q);
  if (path.startsWith(filesPrefix)) return file(call, path);
  const wanted = searchPath.exec(path);
  const format = wanted?.[1] ?? 'json';
  if (wanted !== null && isFormatName(format)) {
    call.portal.counts.reads += 1;
    const answer = await search(call, format);
    return wanted[1] === undefined ? { ...answer, headers: { vary: 'Accept' } } : answer;
  }
  const shown = call.portal.profile.pages ? await publicPage(call, path) : null;
  return shown ?? page(404, 'Page not found', call.portal.profile.siteName);
};
