// What the site answers outside the service: session token, files, datastore search, health, and its 404 page.
import { demand } from '../access.ts';
import { type Answer, formatError, formatValue } from '../answer.ts';
import type { Call } from '../call.ts';
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
  const stream = fileBytes(portal, found);
  return { status: 200, contentType: stream.contentType, body: stream };
};

const searchPath = /^\/api\/action\/datastore\/search(\.json)?$/;

const search = async (call: Call): Promise<Answer> => {
  const style = { style: call.portal.profile.writeStyle };
  try {
    const value = await searchAnswer(call);
    return { ...formatValue({ value }, 'json', style), contentType: 'application/json' };
  } catch (error) {
    if (error instanceof Refusal) return formatError(error, 'json', style);
    throw error;
  }
};

/** The answer to a path outside the service. */
export const siteAnswer = async (call: Call, path: string): Promise<Answer> => {
  if (path === '/services/session/token') {
    return { status: 200, contentType: 'text/plain;charset=UTF-8', body: tokenOf(call) };
  }
  if (path === '/healthz') return health(call);
  if (path.startsWith(filesPrefix)) return file(call, path);
  if (searchPath.test(path)) {
    call.portal.counts.reads += 1;
    return search(call);
  }
  return page(404, 'Page not found', call.portal.profile.siteName);
};
