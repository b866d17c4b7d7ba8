// Classifies replies and network faults: the error class says whether a retry can help, its message has the portal's own words.
import type { IncomingHttpHeaders } from 'node:http';
import {
  PortalBusyError,
  type PortalError,
  PortalGoneError,
  PortalNotApiError,
  PortalRefusedError,
  PortalReplyError,
  type PortalRequestFacts,
  PortalSessionError,
  PortalUnreachableError,
} from '../model/errors.ts';
import { certificateFault, innermostFault, retryAfterMs } from '../util/http.ts';
import { isObject, parsedJson } from '../util/json.ts';

/** A complete reply of the portal, whatever its status. */
export interface Reply {
  method: string;
  /** Path and query below the portal's address. */
  path: string;
  status: number;
  /** Reason phrase of the status line; these portals carry their message there. */
  reason: string;
  headers: IncomingHttpHeaders;
  text: string;
}

/** What the classification needs to know of the portal. */
export interface PortalFacts {
  name: string;
  /** True once a login succeeded: the address is known to be this API, so odd replies are failures of it. */
  proven: boolean;
  /** Takes secrets out of a text the portal sent. */
  redact: Redact;
}

/** True where a repeat may help by itself: 408, 425, 429 and 5xx, unless the portal's words say that it never will. */
export const isTransient = (reply: Reply): boolean =>
  reply.status === 408 ||
  reply.status === 425 ||
  reply.status === 429 ||
  (reply.status >= 500 && !lastingFaults.test(wordsOf(reply)));

/**
 * True where the portal's database, or its lock over the states of datastores, could not take the request beside others:
 * deadlock, lock wait time-out, or a savepoint that a deadlock took away.
 */
export const isBusy = (reply: Reply): boolean => reply.status === 500 && busyFaults.test(wordsOf(reply));

const busyFaults =
  /\b1213 Deadlock found|\b1205 Lock wait timeout|\b1305 SAVEPOINT \w+ does not exist|Failed to get datastore variable lock/;

/**
 * True for the answer to a save that a reference stops whose node is gone: of a resource, and of every dataset that lists
 * it. The portal goes on answering so until the reference is removed.
 */
export const isLostReference = (error: unknown): boolean =>
  error instanceof PortalUnreachableError && error.request.status === 500 && lostReference.test(error.message);

const lostReference = /Invalid data value given\b.*\bValue at node\(\)/;

/** Messages that these servers answer with status 500 although the input is at fault (recorded behaviour 8, 12). */
const lastingFaults =
  /Field validation errors|Invalid option for field|You cannot upload so many files|SQLSTATE\[22|SQLSTATE\[23000\].* 1048 |No Datastore Managers/;

/** The sentence every error about a reply begins with: portal, method, path, status and the portal's own words. */
export const describe = (reply: Reply, portal: PortalFacts): string => {
  const words = wordsOf(reply, portal.redact);
  return `portal ${portal.name}: ${reply.method} ${reply.path} answered ${reply.status}${words === '' ? '' : `: ${words}`}`;
};

/** The facts of a reply's request. A write that was answered with 5xx may have happened. */
export const factsOf = (reply: Reply): PortalRequestFacts => {
  const askedMs = retryAfterMs(reply.headers['retry-after'], Date.now());
  const formErrors = reply.status === 406 ? formErrorFields(reply.text) : [];
  return {
    method: reply.method,
    path: reply.path,
    status: reply.status,
    ...(askedMs === undefined ? {} : { retryAfterMs: askedMs }),
    ...(formErrors.length === 0 ? {} : { formErrors }),
    ...(isHtmlPage(reply.text) ? { isPage: true } : {}),
    mayHaveHappened: reply.method !== 'GET' && (reply.status >= 500 || reply.status === 302 || reply.status === 303),
  };
};

/** The error for a reply that is no success (not 2xx). */
export const failureOf = (reply: Reply, portal: PortalFacts): PortalError => {
  const message = describe(reply, portal);
  const facts = factsOf(reply);
  if (isBusy(reply)) return new PortalBusyError(message, facts, { hint: busyHint });
  if (isTransient(reply)) return new PortalUnreachableError(message, facts, { hint: transientHint(reply.status) });
  if (reply.status >= 300 && reply.status < 400) return redirected(reply, portal);
  if (reply.status === 401 && !missingArgument.test(wordsOf(reply))) {
    return new PortalSessionError(message, facts, {
      hint: 'the portal did not accept a fresh session; check that cookies and the X-CSRF-Token header pass any proxy before it',
    });
  }
  if (reply.status === 404) return missing(reply, portal);
  return new PortalRefusedError(message, facts, { hint: refusedHint(reply) });
};

/** The error for a reply of status 2xx whose body is not what this API answers. */
export const wrongShape = (reply: Reply, portal: PortalFacts, expected: string): PortalError => {
  const page = isHtmlPage(reply.text);
  const found = page ? `an HTML page${title(reply, portal)}` : 'something else';
  const message = `portal ${portal.name}: ${reply.method} ${reply.path} answered ${reply.status} with ${found} instead of ${expected}`;
  const facts = { ...factsOf(reply), mayHaveHappened: reply.method !== 'GET' };
  if (portal.proven) {
    return new PortalReplyError(message, facts, {
      hint: 'check for a proxy, cache or maintenance page between sluice and the portal',
    });
  }
  return new PortalNotApiError(message, facts, { hint: notApiHint });
};

/** Hint of errors about an address that is not this API. */
export const notApiHint =
  "check the portal's url: it must be the site's address (with its base path, if any) whose /api/dataset answers; `sluice check --portal` shows more";

const missingArgument = /^Missing required argument/;

/** 404 means four different things; only the portal's words tell them apart (recorded behaviour 1, 2). */
const missing = (reply: Reply, portal: PortalFacts): PortalError => {
  const words = wordsOf(reply);
  const message = describe(reply, portal);
  const facts = factsOf(reply);
  if (isHtmlPage(reply.text) && portal.proven) {
    return new PortalReplyError(message, facts, {
      hint: 'the address worked before: check proxies between sluice and the portal',
    });
  }
  const [, id] = nodePath.exec(reply.path) ?? [];
  if (id !== undefined && (nodeNotFound.test(words) || (portal.proven && namesNode(reply, id)))) {
    return new PortalGoneError(message, facts, {
      hint: 'the node was deleted on the portal; the next run handles it',
    });
  }
  if (!portal.proven) return new PortalNotApiError(message, facts, { hint: notApiHint });
  return new PortalRefusedError(message, facts, {
    hint: 'this portal does not offer that part of the API; ask its administrator, or publish without it',
  });
};

const nodePath = /\/(?:node|datastore)\/([^/?]+)/;

/** True for a message about the node in whatever language the portal speaks: `["Node 7 konnte nicht gefunden werden"]`. */
const namesNode = ({ text }: Reply, id: string): boolean => {
  const value = parsedJson(text);
  const [message] = Array.isArray(value) && value.length === 1 ? value : [];
  return typeof message === 'string' && /^\d+$/.test(id) && new RegExp(`\\b${id}\\b`).test(message);
};
const nodeNotFound = /\bnode\b.*\b(?:could not be|not) found\b/i;

const redirected = (reply: Reply, portal: PortalFacts): PortalError => {
  const location = portal.redact(safeLocation(reply.headers.location));
  return new PortalRefusedError(
    `${describe(reply, portal)} (to ${location}); ${reply.method === 'GET' ? 'only redirects on the same address are followed' : 'a write follows no redirect'}`,
    factsOf(reply),
    { hint: `if the portal has moved, set its url to where the redirect points: ${location}` },
  );
};

/** Without query and credentials: they may hold tokens. */
const safeLocation = (location: string | undefined): string => {
  if (location === undefined || location === '') return 'nowhere';
  const url = URL.parse(location, 'http://same.invalid');
  if (url === null) return 'an invalid address';
  return url.hostname === 'same.invalid' ? url.pathname : `${url.origin}${url.pathname}`;
};

const title = (reply: Reply, portal: PortalFacts): string => {
  const words = wordsOf(reply, portal.redact);
  return words === '' ? '' : ` ("${words}")`;
};

const busyHint =
  'nothing to do: it is retried soon; if it happens often, lower `concurrency` of this portal, or avoid imports by others meanwhile';

const transientHint = (status: number): string =>
  status === 429
    ? 'the portal is rate-limiting; lower requestsPerSecond or concurrency of this portal'
    : "the portal has an internal error; sluice retries, and the portal's error log has details";

const refusedHint = (reply: Reply): string => {
  if (/No Datastore Managers/.test(wordsOf(reply))) {
    return 'the portal has no datastore importer enabled: enable one there (/admin/modules, such as DKAN Datastore Simple Import), or publish with `import: never`';
  }
  if (reply.status === 403) {
    return 'give the account a role that may do this (content creator or higher, and its own content), or use another account';
  }
  if (reply.status === 413) return 'the portal limits the size of uploads; ask its administrator to raise the limit';
  if (reply.status >= 500)
    return 'the portal cannot store these values; correct the fields or the title named in its message';
  return "fix what the portal's message names, then publish again";
};

/** Codes of faults that come before the first byte is sent. */
const beforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The error for a request that got no complete reply. `cause` is what undici raised. */
export const networkFailure = (
  request: { method: string; path: string },
  cause: unknown,
  portal: PortalFacts,
): PortalError => {
  const { code, message } = innermostFault(cause);
  const text = `portal ${portal.name}: ${request.method} ${request.path} got no reply: ${portal.redact(message)}`;
  const certificate = certificateFault.test(code);
  const handshake = code === 'EPROTO' || code.startsWith('ERR_SSL');
  const facts = {
    method: request.method,
    path: request.path,
    mayHaveHappened: request.method !== 'GET' && !certificate && !handshake && !beforeSending.has(code),
  };
  if ((handshake || isNotHttp(cause)) && !portal.proven)
    return new PortalNotApiError(text, facts, { hint: notApiHint, cause });
  const hint = certificate
    ? 'the certificate of the portal is not trusted; set NODE_EXTRA_CA_CERTS to a file with its certificate authority'
    : (hints[code] ?? 'check that the portal runs, its url and the network; sluice retries');
  return new PortalUnreachableError(text, facts, { hint, cause });
};

/** The error for a request that was cut off because it did not end within `ms` milliseconds. */
export const tooSlow = (request: { method: string; path: string }, ms: number, portal: PortalFacts): PortalError =>
  new PortalUnreachableError(
    `portal ${portal.name}: ${request.method} ${request.path} did not end within ${ms} ms`,
    { method: request.method, path: request.path, mayHaveHappened: request.method !== 'GET' },
    { hint: hints.UND_ERR_HEADERS_TIMEOUT ?? '' },
  );

const isNotHttp = (error: unknown): boolean => error instanceof Error && error.name === 'HTTPParserError';

const slow = 'the portal is too slow or hangs; sluice retries; the time-outs are set under http in the configuration';

const hints: Record<string, string> = {
  ECONNREFUSED: 'connection refused: check that the portal runs, and the port in its url',
  ENOTFOUND: "unknown host: check the portal's url and DNS",
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out: check the url, the network and any firewall',
  UND_ERR_HEADERS_TIMEOUT: slow,
  UND_ERR_BODY_TIMEOUT: slow,
};

/** What is known of a reply before anybody judges it. */
interface ReplyText {
  /** Reason phrase of the status line. */
  reason: string;
  /** The whole body as text. */
  text: string;
}

const maxWords = 300;

/** True for an HTML page. An empty body labelled `text/html` (how these portals answer unknown routes) is none. */
export const isHtmlPage = (text: string): boolean =>
  /^\s*(?:<!--[\s\S]*?-->\s*)?<(?:!doctype html|html|head)\b/i.test(text);

/** Takes secrets out of a text. */
type Redact = (text: string) => string;

/**
 * The message of an error reply as one clean line of at most 300 characters, '' when there is none. It is searched for in
 * `["msg"]`, `{form_errors: {…}}`, `{error: …}`, a bare string, an HTML page's title, and for an empty body in the
 * reason phrase (`Not found : msg`, `: msg`). Secrets are taken out before anything is cut or stripped, which would leave
 * parts of them, and again where entities stood for their characters.
 */
export const wordsOf = (reply: ReplyText, redact: Redact = (text) => text): string => {
  const body = redact(clean(redact(fromBody(reply.text))));
  const words = body === '' ? redact(clean(redact(fromReason(reply.reason)))) : body;
  return words.length > maxWords ? `${words.slice(0, maxWords - 1)}…` : words;
};

/** The element names of a `{form_errors: {…}}` reply (`field_license`), empty for any other reply. */
const formErrorFields = (text: string): string[] => {
  const value = parsed(text);
  const errors = isObject(value) ? value.form_errors : undefined;
  return isObject(errors) ? Object.keys(errors).map(elementName) : [];
};

const fromBody = (text: string): string => {
  if (isHtmlPage(text)) return /<title[^>]*>([\s\S]*?)<\/title>/i.exec(text)?.[1] ?? '';
  const value = parsed(text);
  if (value !== undefined) return fromValue(value);
  return text.replace(/^---\n(?:- )?/, '');
};

const fromValue = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(fromValue).filter(Boolean).join('; ');
  if (!isObject(value)) return '';
  const errors = value.form_errors;
  if (isObject(errors)) {
    return Object.entries(errors)
      .map(([element, message]) => `${elementName(element)}: ${fromValue(message)}`)
      .join('; ');
  }
  return fromValue(value.message ?? value.error);
};

/** `field_license][und][select` (the form's element path) is about `field_license`. */
const elementName = (element: string): string => element.replace(/\].*$/s, '');

/** Services puts `<standard phrase> : <message>` or `: <message>` into the status line. */
const fromReason = (reason: string): string => {
  const at = reason.search(/(?:^|\s):\s/);
  return at < 0 ? reason : reason.slice(at).replace(/^\s*:\s/, '');
};

const clean = (text: string): string =>
  text
    .slice(0, 10_000)
    .replace(/<\/(?:li|p|div|h\d)>|<br\s*\/?>/gi, ' ')
    .replace(/<[^>]*>/g, '')
    .replace(/&(lt|gt|quot|#0?39|amp);/g, (_, name: string) => entities[name] ?? ' ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a portal sends must not reach a terminal as it is
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
    .trim();

const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#039': "'", '#39': "'", amp: '&' };

const parsed = (text: string): unknown => (/^\s*["[{]/.test(text) ? parsedJson(text) : undefined);
