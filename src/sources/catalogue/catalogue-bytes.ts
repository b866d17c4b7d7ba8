// The documents of a catalogue: local files, or the web, with the last version of each kept for conditional requests.
import { hash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  SourceMissingError,
  SourceRefusedError,
  SourceUnreachableError,
  sluiceError,
  unreadable,
} from '../../model/errors.ts';
import type { Log } from '../../model/log.ts';
import { isSystemError } from '../../util/files.ts';
import type { Fetcher } from '../fetch/fetch.ts';
import { fetchedFiles } from '../fetch/fetched-files.ts';
import { shown } from '../fetch/policy.ts';
import { isAddress } from '../manifest/list-schemas.ts';
import { isPagingHeader, isUnpaged, noPaging, type Paging, pagingOfHeaders } from './paging.ts';

export interface CatalogueDocument {
  bytes: AsyncIterable<Uint8Array>;
  /** Its address, where the redirects ended; null for a local file. */
  url: string | null;
  paging: Paging;
}

export interface CatalogueSource {
  /** Opens a path or address; null for one that is not fetched here. `spentBytes` of earlier documents count, too. */
  open(from: string, spentBytes: number): Promise<CatalogueDocument | null>;
  maxBytes: number;
  offered?: (title: string, names: string[]) => Promise<string | null>;
}

interface CatalogueTools {
  fetcher: Pick<Fetcher, 'toFile' | 'probe' | 'policy'>;
  cacheDir: string;
  signal: AbortSignal;
  log: Log;
  refresh?: boolean | undefined;
}

export const localCatalogue = (signal: AbortSignal): CatalogueSource => ({
  open: async (from) =>
    isAddress(from) ? null : { bytes: fileBytes(from, from, signal), url: null, paging: noPaging },
  maxBytes: Number.POSITIVE_INFINITY,
});

const rdf = ['text/turtle', 'application/rdf+xml', 'application/n-triples'].map((type) => `${type};q=0.9`);
const accept = `application/json, application/ld+json, ${rdf.join(', ')}, */*;q=0.5`;
const nameOf = (text: string): string => hash('sha256', text).slice(0, 32);

/** The documents of the catalogue at `root`. What was fetched last is used if its server says that it is current; not by a `refresh`. */
export const webCatalogue = (root: string, { fetcher, cacheDir, signal, log, refresh }: CatalogueTools) => {
  const files = fetchedFiles(cacheDir, fetcher, isPagingHeader);
  const local = localCatalogue(signal);
  const used = new Set<string>();
  const fileOf = (uuid: string) => ({ portal: nameOf(root), uuid });
  return {
    open: async (from: string, spentBytes: number): Promise<CatalogueDocument | null> => {
      if (!isAddress(from)) return local.open(from, spentBytes);
      const own = fileOf(nameOf(from));
      if (refresh) await files.remove(own);
      const wanted = { ...own, url: from, name: 'data.json', accept, by: randomUUID(), published: null };
      const file = await files.get(wanted, { signal, log, spentBytes }).catch(async (error: unknown) => {
        // Headers that led to what is gone are not sent again with an unchanged page: the next run fetches it anew.
        const isGone = error instanceof SourceMissingError || error instanceof SourceRefusedError;
        for (const uuid of isGone ? used : []) await files.remove(fileOf(uuid));
        throw error;
      });
      if (file === 'unchanged') throw new Error(`${from} is reported unchanged, but no version of it is known`);
      used.add(own.uuid);
      const confirmed = pagingOfHeaders(file.confirmed ?? {});
      const paging = isUnpaged(confirmed) ? pagingOfHeaders(file.headers) : confirmed;
      return { bytes: fileBytes(file.path, from, signal), url: file.finalUrl, paging };
    },
    offered: async (title: string, names: string[]): Promise<string | null> => {
      const wanted = lettersOf(title);
      for (const { url, isOwn } of addressesAt(root, names)) {
        const how = { known: null, signal, log, accept: isOwn ? 'text/html, */*;q=0.5' : 'application/json' };
        const page = await fetcher.probe(url.href, how, pageBytes).catch(sluiceError);
        if (page instanceof SourceUnreachableError && isOwn)
          return `whether its server has it is not known: ${page.message}`;
        const isShown = wanted !== '' && !(page instanceof Error) && lettersOf(page).includes(wanted);
        if (isShown) return `${shown(url)} still shows it`;
      }
      return null;
    },
    maxBytes: fetcher.policy.maxBytes,
  };
};

/** Of the page of a dataset, so much is looked at. */
const pageBytes = 1 << 20;

/** What a text, its HTML and its JSON have in common. */
const lettersOf = (text: string): string =>
  text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .normalize()
    .toLowerCase()
    .replaceAll(/<[^>]*>|&#?\w+;|[^\p{L}\p{N}]+/gu, '');

/** Addresses of one dataset at the server of `root`: those among its names, and for others that of the API which some servers have. */
const addressesAt = (root: string, names: readonly string[]) => {
  const home = URL.parse(root);
  if (home === null) return [];
  return [...new Set(names)].flatMap((name) => {
    const own = URL.parse(name);
    const url = own ?? new URL(`/api/3/action/package_show?id=${encodeURIComponent(name)}`, home);
    const isWhole = url.hash !== '' || url.pathname + url.search === '/' || url.pathname === home.pathname;
    const isHere = /^https?:/.test(url.protocol) && url.hostname === home.hostname;
    return isHere && !isWhole ? { url, isOwn: own !== null } : [];
  });
};

/** The bytes of a file; messages name `from`. Throws SourceMissingError when it is not there. */
async function* fileBytes(path: string, from: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { signal });
  } catch (cause) {
    if (!isSystemError(cause)) throw cause;
    throw new SourceMissingError(`the catalogue ${from} cannot be read: ${unreadable(cause).why}`, {
      hint: 'check `catalogue` in the manifest; nothing was published or removed',
      cause,
    });
  }
}
