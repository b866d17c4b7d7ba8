// Reads response headers: validators for the next request, and the name of the file.
import { basename } from 'node:path';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { decodedPart } from '../../util/http.ts';
import { defined } from '../../util/json.ts';
import type { Validators } from './policy.ts';

/** A date this young (ms) may be shared by the next version (RFC 9110 section 8.8.2.2). */
const youngMs = 2_000;

export const validatorsOf = (headers: IncomingHttpHeaders, finalUrl: URL, now: number): Validators => ({
  etag: etagOf(headers),
  lastModified: trustedDate(headers, now),
  finalUrl: placeOf(finalUrl),
});

/** Conditional headers for a request to `url`; none where the validators came from another place. */
export const conditions = (known: Validators | null, url: URL): Record<string, string> => {
  if (known === null || (known.finalUrl !== undefined && known.finalUrl !== placeOf(url))) return {};
  return defined({ 'if-none-match': known.etag ?? undefined, 'if-modified-since': known.lastModified ?? undefined });
};

/** True when a full reply is the known version after all, as from servers that ignore conditions. */
export const isSameVersion = (known: Validators | null, found: Validators): boolean => {
  if (known === null || (known.finalUrl !== undefined && known.finalUrl !== found.finalUrl)) return false;
  if (known.etag !== null || found.etag !== null) return known.etag === found.etag;
  return known.lastModified !== null && known.lastModified === found.lastModified;
};

const placeOf = (url: URL): string => `${url.origin}${url.pathname}`;

const etagOf = (headers: IncomingHttpHeaders): string | null => {
  const etag = oneOf(headers.etag)?.trim();
  return etag !== undefined && /^(W\/)?"[\x21\x23-\x7e\x80-\xff]{0,500}"$/.test(etag) ? etag : null;
};

const trustedDate = (headers: IncomingHttpHeaders, now: number): string | null => {
  const text = oneOf(headers['last-modified'])?.trim();
  if (text === undefined) return null;
  const sent = Date.parse(oneOf(headers.date) ?? '');
  return (Number.isNaN(sent) ? now : sent) - Date.parse(text) >= youngMs ? text : null;
};

export const oneOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/** The name a reply gives by Content-Disposition (RFC 6266), else the last part of the address; null when neither has one. */
export const fileNameOf = (disposition: string | undefined, url: URL): string | null =>
  safe(dispositionName(disposition ?? '')) ?? nameInPath(url);

/** The last part of an address' path as a file name; null when it has none. */
export const nameInPath = (url: URL): string | null => safe(decodedPart(url.pathname.split('/').at(-1) ?? ''));

/** As browsers read it: a parameter goes up to `;`, quoted or not, and one that is broken does not count. */
const dispositionName = (header: string): string => {
  const all = header.matchAll(/(?:^|;)\s*([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"?|([^;]*))/g);
  const parameters = new Map(
    [...all].reverse().map(([, name = '', quoted, bare = '']) => [name.toLowerCase(), quoted ?? bare.trim()]),
  );
  const plain = (parameters.get('filename') ?? '').replace(/^'(.*)'$/, '$1').replace(/\\(.)/g, '$1');
  return extendedName(parameters.get('filename*') ?? '') || plain;
};

/** `UTF-8''gr%C3%B6%C3%9Fe.csv` (RFC 8187); empty where it is broken. */
const extendedName = (value: string): string => {
  const [, charset, encoded = ''] = /^([\w-]+)'[^']*'((?:%[\da-f]{2}|[^%])+)$/i.exec(value) ?? [];
  if (charset === undefined) return '';
  const bytes = encoded.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  try {
    return new TextDecoder(charset, { fatal: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return '';
  }
};

const maxNameBytes = 200;

const safe = (name: string): string | null => {
  const plain = basename(name.replaceAll('\\', '/').replace(/\p{Cc}/gu, '')).trim();
  if (plain === '' || plain === '.' || plain === '..') return null;
  const end = /\.[A-Za-z0-9.]{1,16}$/.exec(plain)?.[0] ?? '';
  const stem = [...plain.slice(0, plain.length - end.length)];
  while (Buffer.byteLength(stem.join('') + end) > maxNameBytes) stem.pop();
  return stem.join('') + end;
};
