// Limits, options and results of fetches, and their errors. Query strings are never shown: they hold keys.
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import type { SourceCredentials } from '../../config/source-credentials.ts';
import { SluiceError, SourceMissingError, SourceRefusedError, SourceUnreachableError } from '../../model/errors.ts';
import type { Log } from '../../model/log.ts';
import type { TellMoved } from '../../model/moved.ts';
import { http, type NetworkFault, networkFaultOf } from '../../util/http.ts';
import type { proxyOf } from './connect.ts';

export interface FetchPolicy extends Omit<Config['sources'], 'allow' | 'credentials' | 'proxy'> {
  /** Addresses, CIDRs and host names that may be private. */
  allowPrivate: readonly string[];
  userAgent: string;
  credentials?: readonly SourceCredentials[];
  /** Proxies that requests go through; without them servers are reached directly. */
  proxy?: ReturnType<typeof proxyOf>;
}

/** Validators of a version (RFC 9110 section 8.8). */
const validatorsSchema = z.object({
  etag: z.string().nullable(),
  /** As the server wrote it; null as well where it is too young to be trusted. */
  lastModified: z.string().nullable(),
  /** Where the redirects ended, without the query: the validators mean nothing elsewhere. */
  finalUrl: z.string().exactOptional(),
});

export type Validators = z.infer<typeof validatorsSchema>;

export interface FetchOptions {
  /** Validators of the version that is known; with null the file is always fetched. */
  known: Validators | null;
  signal: AbortSignal;
  /** The header of that name; HTML pages are refused unless it names them. */
  accept?: string;
  /** File name the content is meant for, before that of the server: says what it should be. */
  name?: string;
  /** Bytes of earlier files that count towards the limit. */
  spentBytes?: number;
  log?: Log;
  moved?: TellMoved;
}

/** What is known of a whole file that was fetched. */
export const fetchedSchema = z.object({
  bytes: z.number().int(),
  sha256: z.string(),
  validators: validatorsSchema,
  contentType: z.string().nullable(),
  /** Of Content-Disposition, else of the address; never holds a folder. */
  fileName: z.string().nullable(),
  finalUrl: z.string(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())]).optional()),
});

/** A whole file, or that the known version is still current. */
export type Fetched =
  | { status: 'unchanged'; headers: IncomingHttpHeaders }
  | ({ status: 'fetched' } & z.infer<typeof fetchedSchema>);

/** An address as messages show it: without its query. */
export const shown = (url: URL): string => `${url.origin}${url.pathname}${url.search === '' ? '' : '?…'}`;

/** The error for a status without a file. `retryAfter`: milliseconds that the server asked for. */
export const statusFailure = (
  { where, status, login }: { where: string; status: number; login: string | null },
  retryAfter: number | undefined,
): SluiceError => {
  const name = http.STATUS_CODES[status]?.toLowerCase();
  const text = `${where} answered ${status}${name === undefined ? '' : ` (${name})`}`;
  if (status >= 500 || [202, 408, 425, 429].includes(status)) {
    const pause = retryAfter === undefined ? '' : ` and requested a pause of ${Math.ceil(retryAfter / 1000)} s`;
    return new SourceUnreachableError(`${text}${pause}`, {
      hint: 'the server has a problem, is not ready or is rate-limiting; sluice retries, after a long pause in the next run',
      retryAfterMs: retryAfter,
    });
  }
  if (status === 404 || status === 410)
    return new SourceMissingError(text, {
      hint: 'it is gone: correct the address, or remove what names it; what is published stays',
    });
  if (status === 401 || status === 403 || status === 407) {
    const hint =
      login === null
        ? 'correct the address, or add the login of the server to `sources.credentials` of the configuration; no login goes along a redirect to another server'
        : `check the login for ${login} in \`sources.credentials\` of the configuration`;
    return new SourceRefusedError(text, { hint });
  }
  return new SourceRefusedError(text, { hint: 'open the address in a browser and correct it' });
};

/** The error for a fetch that failed; our own errors unchanged. A fault without a name is one of the server or the network. */
export const networkFailure = (where: string, cause: unknown): unknown => {
  if (cause instanceof SluiceError || !(cause instanceof Error) || isBug(cause)) return cause;
  const { kind, code, message } = networkFaultOf(cause);
  if (diskFaults.has(code)) {
    return new SourceUnreachableError(`${where} could not be stored: ${message}`, {
      hint: 'check that the state folder is writable and has free space; sluice retries',
      cause,
    });
  }
  const said = (words[code] ?? words[kind] ?? message).replace('MESSAGE', () => message);
  const text = `${where} could not be fetched: ${said}`;
  const hint = lasting[kind];
  if (hint !== undefined) return new SourceRefusedError(text, { hint, cause });
  const check = kind === 'unknown-host' ? 'check the host in the address; ' : '';
  const retry = `${check}sluice retries by itself; if it persists, check the address and the network`;
  return new SourceUnreachableError(text, { hint: retry, cause });
};

/** Our own mistakes; those of an HTTP client have a code. */
const isBug = (error: Error): boolean =>
  (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) && !('code' in error);

const diskFaults = new Set(
  'ENOSPC EDQUOT EROFS EACCES EPERM EIO EMFILE ENFILE ENAMETOOLONG ENOENT ENOTDIR EEXIST EISDIR'.split(' '),
);

/** What to do about faults that stay until somebody changes something. */
const lasting: Partial<Record<NetworkFault, string>> = {
  certificate: 'have it renewed if it expired; for a private authority, set NODE_EXTRA_CA_CERTS to a file with its own',
  'handshake-failed': 'correct scheme and port of the address: https:// needs a port that speaks TLS',
  'bad-http':
    "tell the server's operator; an http:// address must not name a port for https; meanwhile publish a copy with `file`",
};

/** By code or kind; MESSAGE stands for the client's own words. */
const words: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'DNS lookup failed',
  ECONNRESET: 'connection reset',
  UND_ERR_SOCKET: 'connection reset',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_HEADERS_TIMEOUT: 'no response in time',
  UND_ERR_BODY_TIMEOUT: 'the response stalled',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its answer are too long',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its answer broke off, or states two lengths',
  Z_BUF_ERROR: 'its compressed content is truncated',
  Z_DATA_ERROR: 'its compressed content is corrupt',
  ERR_STREAM_PREMATURE_CLOSE: 'connection reset',
  certificate: 'its certificate is not accepted: MESSAGE',
  'handshake-failed': 'the server does not speak https there',
};
