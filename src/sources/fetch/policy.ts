// What a fetch may do, and what comes of it.
import type { Log } from '../../model/log.ts';

/** Limits and manners of all fetches; from `sources` of the configuration. */
export interface FetchPolicy {
  /** Addresses, CIDRs and host names that may be private. */
  allowPrivate: readonly string[];
  /** Largest file, counted after decoding. */
  maxBytes: number;
  maxRedirects: number;
  /** Until a connection stands, until the answer begins, and of (near) silence within it; milliseconds. */
  connectMs: number;
  headersMs: number;
  bodyMs: number;
  /** Per host; 0 is no limit. */
  requestsPerSecond: number;
  userAgent: string;
  /** Proxies that requests go through; without them servers are reached directly. */
  proxy?: ProxyPolicy | null;
}

/** As the usual variables of the environment say it; '' where one is not set. */
export interface ProxyPolicy {
  http: string;
  https: string;
  /** Hosts that are reached directly: names, endings, `*`, separated by commas. */
  no: string;
}

/** What a server gave to recognise this version again (RFC 9110 section 8.8). */
export interface Validators {
  etag: string | null;
  /** As the server wrote it; null as well where it is too young to be trusted. */
  lastModified: string | null;
  /** Where the redirects ended, without the query: the validators mean nothing elsewhere. */
  finalUrl?: string;
}

/** How one fetch is done. */
export interface FetchOptions {
  /** Validators of the version that is known; with null the file is always fetched. */
  known: Validators | null;
  signal: AbortSignal;
  /** The header of that name; HTML pages are refused unless it names them. */
  accept?: string;
  /** File name the content is meant for, before that of the server: says what it should be. */
  name?: string;
  log?: Log;
  /** Gets a line for people now and then: that a fetch goes on where another broke, and how far a long one is. */
  tell?: (line: string) => void;
}

/** A whole file at `path`, or the word that the known version is still the present one. */
export type Fetched =
  | { status: 'unchanged' }
  | {
      status: 'fetched';
      path: string;
      bytes: number;
      /** Of the bytes at `path`, hex. */
      sha256: string;
      validators: Validators;
      /** Media type without parameters, lower case. */
      contentType: string | null;
      /** Of Content-Disposition, else of the address; never holds a folder. */
      fileName: string | null;
      /** Where the redirects ended. */
      finalUrl: string;
    };
