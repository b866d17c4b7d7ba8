// What every portal has outside the service: session token, health, old addresses, files, maintenance, the 404 page.
import { escapeHtml } from '../../util/html.ts';
import { decodedPart } from '../../util/http.ts';
import { type Answer, redirectTo } from '../answer.ts';
import { filesPath } from '../content/view.ts';
import type { Call, SiteHandler } from '../portal.ts';
import { demand, may, mayReadFile } from '../refusal.ts';
import type { StoredFile } from '../store/nodes.ts';
import { fileAnswer } from './file.ts';
import { deletedCookie, tokenOf } from './user.ts';

const page = (status: number, title: string, siteName: string): Answer => ({
  status,
  contentType: 'text/html; charset=utf-8',
  body: `<!DOCTYPE html>\n<html lang="en" dir="ltr">\n<head>\n<title>${escapeHtml(title)} | ${escapeHtml(siteName)}</title>\n</head>\n<body>\n<h1>${escapeHtml(title)}</h1>\n</body>\n</html>\n`,
});

/** The answer in maintenance mode; null for accounts that may go on. Other sessions end; the request is not done. */
export const maintenanceAnswer = async (call: Call): Promise<Answer | null> => {
  const { portal, session } = call;
  if (!portal.site.maintenance || may(call.user, 'access site in maintenance mode')) return null;
  const shown = page(503, 'Site under maintenance', portal.profile.siteName);
  if (session === null) return { ...shown, reason: 'Service unavailable' };
  await portal.store.write(() => portal.store.sessions.end(session));
  const headers = { location: `${call.baseUrl}/`, 'set-cookie': deletedCookie(call) };
  return { ...shown, status: 302, headers, body: '' };
};

const sessionToken: SiteHandler = (call, path) =>
  path === '/services/session/token'
    ? { status: 200, contentType: 'text/plain;charset=UTF-8', body: tokenOf(call) }
    : null;

const health: SiteHandler = ({ portal: { store, profile } }, path) => {
  if (path !== '/healthz') return null;
  store.db.prepare('SELECT 1').get();
  const body = JSON.stringify({ status: 'ok', profile: profile.name, nodes: store.nodes.count() });
  return { status: 200, contentType: 'application/json', body };
};

/** `/?q=api/dataset/node` is the old way to write `/api/dataset/node`: redirected (recorded behaviour 1). */
const cleanAddress: SiteHandler = ({ query: { q }, queryText, baseUrl }, path) => {
  if (path !== '/' || typeof q !== 'string') return null;
  const query = queryText.split('&').filter((part) => !part.startsWith('q='));
  const wanted = q.split('/').map(encodeURIComponent).join('/');
  return redirectTo(`${baseUrl}/${wanted}${query.length === 0 ? '' : `?${query.join('&')}`}`);
};

/** What comes before everything else. */
export const systemHandlers: readonly SiteHandler[] = [sessionToken, health, cleanAddress];

/** Answers with the bytes of files under their public names; `answer` may refuse. */
export const fileHandler =
  (answer: (call: Call, file: StoredFile) => Answer): SiteHandler =>
  (call, path) => {
    if (!path.startsWith(filesPath)) return null;
    const found = call.portal.store.files.byName(decodedPart(path.slice(filesPath.length)));
    return found === null ? notFound(call) : answer(call, found);
  };

/** Files for those who may read a node that uses them. */
export const guardedFiles = fileHandler((call, file) => {
  demand(call.user, mayReadFile(call.portal.store, call.user, file));
  return fileAnswer(call.portal, file);
});

const notFound = ({ portal: { profile } }: Call): Answer => page(404, 'Page not found', profile.siteName);

export const siteAnswer = async (call: Call, path: string): Promise<Answer> => {
  for (const handler of call.portal.profile.site) {
    const answer = await handler(call, path);
    if (answer !== null) return answer;
  }
  return notFound(call);
};
