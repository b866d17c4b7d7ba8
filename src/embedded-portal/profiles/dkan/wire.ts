// How deployed servers read requests and write answers (recorded behaviour 2 to 5).
import { textOf } from '../../content/items.ts';
import type { Call, Wire } from '../../portal.ts';
import { exceptionFault } from '../../refusal.ts';
import { deletedCookie, sessionCookie } from '../../resources/user.ts';
import { randomToken } from '../../store/users.ts';
import { specWire } from '../spec.ts';
import { chooseRecordedFormat, recordedFormats } from './formats.ts';

const warned = new WeakSet<Call>();

/** Notes that a deployed server keeps a warning of its own about a call, for which it starts an anonymous session. */
export const warn = (call: Call): void => void warned.add(call);

const { 'application/vnd.php.serialized': _, ...readers } = specWire.readers;

/** The cookie of an answer to the anonymous user: a session that holds a warning, or the end of one that is not alive. */
const anonymousCookie = (call: Call): string | null => {
  if (call.session !== null) return null;
  if (warned.has(call)) return sessionCookie(call, randomToken());
  return call.hasDeadCookie ? deletedCookie(call) : null;
};

export const recordedWire: Wire = {
  ...specWire,
  formats: recordedFormats,
  chooseFormat: chooseRecordedFormat,
  resultFormats: {},
  readers,
  ignoresCase: false,
  explains: false,
  skipsBody: (call) => {
    const { headers, method } = call.request;
    const type = headers['content-type']?.split(';')[0]?.trim();
    const isSkipped = type === 'application/x-yaml' || (type === 'multipart/form-data' && method === 'PUT');
    if (isSkipped) warn(call);
    return isSkipped;
  },
  malformedMime: () => exceptionFault('0', 'malformed mime type'),
  longestReason: 2000,
  // Slashes count as one only before the resource's name.
  pathOf: (path) =>
    path.includes('//')
      ? path.replace(/^\/+(?:(api|services|sites)\/+)?/i, (_, first) => (first === undefined ? '/' : `/${first}/`))
      : path,
  believesHost: () => true,
  // The address too, although logs keep it.
  csrfTokenOf: ({ request, query }) => String(request.headers['x-csrf-token'] ?? textOf(query.services_token) ?? ''),
  cookieAttributes: '',
  finish: (call, answer) => {
    const isDone = answer.plain === true || answer.headers?.['set-cookie'] !== undefined;
    const cookie = isDone ? null : anonymousCookie(call);
    return cookie === null ? answer : { ...answer, headers: { ...answer.headers, 'set-cookie': cookie } };
  },
};
