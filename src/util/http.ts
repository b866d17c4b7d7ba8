// HTTP, ours and that of others: addresses, what went wrong with a request, the pause that a reply requests, closing a server.
import type { FastifyInstance } from 'fastify';

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

/** Codes of faults for which a certificate is to blame. */
export const certificateFault = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|HOSTNAME_MISMATCH/;

/** Code and words of a network fault. Happy-eyeballs faults arrive as an AggregateError with an empty message, TLS faults as a cause. */
export const innermostFault = (error: unknown): { code: string; message: string } => {
  if (error instanceof AggregateError && error.errors.length > 0) return innermostFault(error.errors[0]);
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === '' && error.cause instanceof Error) return innermostFault(error.cause);
  // OpenSSL's messages name its own source files.
  return { code, message: error.message === '' || code.startsWith('ERR_SSL') ? code : error.message };
};

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
