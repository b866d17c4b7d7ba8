// Faults below HTTP: what they are called, and whether the request can have reached the portal.
import { type PortalError, PortalNotApiError, PortalUnreachableError } from '../model/errors.ts';
import { certificateFault, innermostFault } from '../util/http-fault.ts';
import { notApiHint, type PortalFacts } from './classify.ts';

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
    ? 'the certificate of the portal is not trusted here; NODE_EXTRA_CA_CERTS names a file of further authorities'
    : (hints[code] ?? 'check that the portal runs and that its url and the network are right; it is tried again');
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

const slow =
  'the portal is too slow or hangs; it is tried again, and the time-outs can be raised under http in the configuration';

const hints: Record<string, string> = {
  ECONNREFUSED: "nothing listens there: check that the portal runs and the port in the portal's url",
  ENOTFOUND: "no such host: check the portal's url and the name service",
  UND_ERR_CONNECT_TIMEOUT: 'no connection came about in time: check the url, the network and any firewall',
  UND_ERR_HEADERS_TIMEOUT: slow,
  UND_ERR_BODY_TIMEOUT: slow,
};
