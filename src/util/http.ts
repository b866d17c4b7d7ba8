// HTTP, ours and that of others: addresses, what went wrong with a request, the pause that a reply requests, closing a server.
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';

/** Node's own. An `import` of it reads all that it exports, which loads a `fetch`: 15 MB and 35 ms. */
export const http = process.getBuiltinModule('node:http');

/** True for an address with a user name or password; null stands for text that is none. */
export const hasCredentials = (url: URL | null): boolean =>
  url !== null && (url.username !== '' || url.password !== '');

/** A part of an address without its percent-encoding; as it is where that is not valid. */
export const decodedPart = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** Headers, whose bytes arrive as Latin-1, as text: see {@link headerText}. Validators go back as they came. */
export const headersAsText = <H extends Record<string, string | string[] | undefined>>(headers: H): H =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((each) => headerText(name, each)) : value && headerText(name, value),
    ]),
  ) as H; // the same names with the same kinds of values

/** Valid UTF-8 is UTF-8. In addresses each byte beyond ASCII is percent-encoded: the server knows its encoding. */
const headerText = (name: string, value: string): string => {
  if (name === 'etag' || !/[\x80-\xff]/.test(value)) return value;
  if (name === 'location' || name === 'link')
    return value.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
};

/** What keeps a request from its reply, with the codes (their beginnings) that show it; the first that fits. */
export const networkFaults = {
  'connection-refused': ['ECONNREFUSED'],
  'unknown-host': ['ENOTFOUND', 'EAI_AGAIN'],
  unreachable: ['UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'],
  certificate: ['certificate'],
  'handshake-failed': ['EPROTO', 'ERR_SSL'],
  'too-long': ['UND_ERR_RES_EXCEEDED_MAX_SIZE'],
  'too-slow': ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'],
  'bad-http': ['HTTPParserError', 'UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_INVALID_ARG'],
  'no-reply': [''],
} as const satisfies Record<string, readonly string[]>;

export type NetworkFault = keyof typeof networkFaults;

const kinds = Object.entries(networkFaults) as [NetworkFault, readonly string[]][]; // its own keys

/** Kind, code ('' where there is none) and words of a fault that an HTTP client raised. */
export const networkFaultOf = (error: unknown): { kind: NetworkFault; code: string; message: string } => {
  const { code, message } = innermostFault(error);
  const known = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|HOSTNAME_MISMATCH/.test(code) ? 'certificate' : code;
  const kind = kinds.find(([, codes]) => codes.some((each) => known.startsWith(each)))?.[0] ?? 'no-reply';
  return { kind, code, message };
};

/** Happy-eyeballs faults arrive as an AggregateError with an empty message, TLS faults as a cause. */
const innermostFault = (error: unknown): { code: string; message: string } => {
  if (error instanceof AggregateError && error.errors.length > 0) return innermostFault(error.errors[0]);
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === '' && error.cause instanceof Error) return innermostFault(error.cause);
  // undici's parser has no codes. A body that is cut off is invalid to it, and answers of status 1xx are connections that broke.
  if (error.message.endsWith('(Invalid EOF state)')) return { code: 'UND_ERR_SOCKET', message: 'other side closed' };
  const isBadHttp = error.name === 'HTTPParserError' || /^bad (?:upgrade|response)$|assert\(status/.test(error.message);
  if (isBadHttp) return { code: 'HTTPParserError', message: badHttpWords(error.message.trim()) };
  // OpenSSL's messages name its own source files.
  return { code, message: error.message === '' || code.startsWith('ERR_SSL') ? code : error.message };
};

/** `Response does not match the HTTP/1.1 protocol (Invalid header token)`. */
const badHttpWords = (message: string): string =>
  `its answer is not valid HTTP: ${(/\(([^()]*)\)$/.exec(message)?.[1] ?? message).replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase())}`;

/** Milliseconds of a `Retry-After` header (seconds or an HTTP date), at most one day; undefined when absent or unreadable. */
export const retryAfterMs = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 86_400_000) : undefined;
};

/**
 * Makes `app.close()` wait for requests only. Node ends the connections that are idle when a server closes; one that
 * becomes idle a moment later, because its last answer was still going out, would be kept for fastify's 72 seconds.
 */
export const endConnectionsOnClose = (app: FastifyInstance): void => {
  app.addHook('preClose', (done) => {
    app.server.keepAliveTimeout = 1; // milliseconds; 0 means forever
    app.server.keepAliveTimeoutBuffer = 0;
    done();
  });
};
