// What a document, or the answer that brought it, says about the list that it is a page of.
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { isObject, parsedJson } from '../../util/json.ts';
import { isNothing, textOf } from './values.ts';

/** Statements of a page; null for what it does not say. */
export interface Paging {
  /** Address of the next page; '' where there is more, but no address of it. */
  next: string | null;
  total: number | null;
  /** A number that is that of the whole list or of the page alone. */
  count: number | null;
  pages: number | null;
  limit: number | null;
  isLater: boolean;
}

export const noPaging: Paging = { next: null, total: null, count: null, pages: null, limit: null, isLater: false };

export const isUnpaged = ({ next, total, pages, limit, isLater }: Paging): boolean =>
  next === null && total === null && pages === null && limit === null && !isLater;

/** Both statements as one; an address counts before the mere fact that there is more. */
export const joined = (one: Paging, other: Paging): Paging => ({
  next: one.next || other.next || (one.next ?? other.next),
  total: larger(one.total, other.total), // a page may state its own count as well
  count: larger(one.count, other.count),
  pages: larger(one.pages, other.pages),
  limit: one.limit ?? other.limit,
  isLater: one.isLater || other.isLater,
});

export const larger = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other);

type Says = (value: unknown, depth: number) => Partial<Paging>;

const says = (names: string, says: Says): [string, Says][] => names.split(' ').map((name) => [name, says]);

const more = (is: boolean): Partial<Paging> => ({ next: is ? '' : null });
const isToken: Says = (value) => more(addressIn(value) !== null);
const isMore: Says = (value) => more(truthIn(value) === true);
const isFailing = /^(?:error|fail(?:ed|ure)?|partial|incomplete|timed?-?out|[45]\d\d)$/i;
/** A lower bound counts as one more, because it was not counted to its end: `10000+`, `{"value": 10000, "relation": "gte"}`. */
const isTotal: Says = (value) => {
  const text = typeof value === 'string' ? value : '';
  const bound = isObject(value) ? /^g/i.test(textOf(value.relation) ?? '') : /[+>≥]|least|more|over|than/i.test(text);
  const number = numberIn(text.match(/\d[\d,.'_\s]*(?=\D*$)/)?.[0] ?? value);
  return { total: number === null ? null : number + Number(bound) };
};
const isCount: Says = (value) => ({ count: numberIn(value) });

const entries = '(?:datasets?|items?|records?|results?|elements?|hits|rows|entries|packages?)';
/** `total`, `numFound`, `totalItems`, `number_of_datasets`, `recordCount`. */
const countName = new RegExp(
  `^(?:total|count|(?:total|num|number|nb?)(?:of)?(?:${entries}|count|found|matched)+|${entries}(?:total|count|found)+|resultsetsize)$`,
);

/** Hydra, JSON:API, HAL, OGC API, OData, OpenSearch, CKAN and the usual home-made ones; names without prefix, in lower case. */
const statements: ReadonlyMap<string, Says> = new Map([
  ...says('next nextpage', (value) => ({ next: addressIn(value) })),
  ...says('nextpagetoken nextcursor nexttoken nextoffset nextstart nextrecord', isToken),
  ...says('resumptiontoken continuationtoken', isToken),
  ...says('more hasmore hasmorepages hasmoreresults moreresults hasnext hasnextpage istruncated truncated', isMore),
  ...says('exceededtransferlimit incompleteresults incomplete partial timedout', isMore),
  ...says('islast islastpage complete iscomplete finished success ok', (value) => more(truthIn(value) === false)),
  ...says('error errors', (value) => more(!isNothing(value) && truthIn(value) !== false && numberIn(value) !== 0)),
  ...says('status state statuscode httpstatus', (value) => more(isFailing.test(textOf(value) ?? ''))),
  ...says('pages totalpages pagecount numpages', (value) => ({ pages: numberIn(value) })),
  ...says('itemsperpage perpage pagesize limit rows top', (value) => ({ limit: numberIn(value) })),
  ...says('prev previous prevpage previouspage', (value) => ({ isLater: addressIn(value) !== null })),
  // First and last differ where there are several pages.
  ...says('first firstpage last lastpage', (value) => ({
    next: truthIn(value) === false ? '' : null,
    pages: numberIn(value),
  })),
  ...says('view link links paging pagination pageinfo page meta hits', (value, depth) => {
    const items = depth > 3 ? [] : [value].flat().filter(isObject);
    return items.map((item) => inside(item, depth)).reduce(joined, noPaging);
  }),
]);

/** `hydra:nextPage`, `http://www.w3.org/ns/hydra/core#nextPage`, `next_page_url` as `nextpage`. */
const plainName = (key: string): string =>
  key
    .replace(/^.*[:/#@.$]/, '')
    .replaceAll(/[-_\s]/g, '')
    .toLowerCase()
    .replace(/(?<=^(?:next|prev|previous)(?:page)?)(?:link|ur[il]|href)$/, '');

const saying = (name: string): Says | undefined =>
  statements.get(name) ??
  (countName.test(name) ? (/total|found|matched|size/.test(name) ? isTotal : isCount) : undefined);

export const isPagingKey = (key: unknown): boolean => typeof key === 'string' && !!saying(plainName(key));

export const pagingOf = (value: Record<string, unknown>, depth = 0): Paging => {
  const said = new Map(Object.entries(value).map(([key, item]) => [plainName(key), item]));
  const all = [...said].map(([name, item]) => ({ ...noPaging, ...saying(name)?.(item, depth) }));
  const [first, last] = ['first', 'last'].map((name) => addressIn(said.get(name) ?? said.get(`${name}page`)));
  const areSeveral = !!first && !!last && first !== last;
  return joined(all.reduce(joined, noPaging), { ...noPaging, pages: areSeveral ? 2 : null });
};

/** A link with `rel`, or an object with further statements. */
const inside = (item: Record<string, unknown>, depth: number): Paging => {
  if (item.rel === undefined) return pagingOf(item, depth + 1);
  return pagingOf(Object.fromEntries(relations(String(item.rel)).map((rel) => [rel, item])), depth + 1);
};

const relations = (text: string): string[] => text.split(/[\s,]+/);

/** What a value says, also in words; null where it is neither. */
const truthIn = (value: unknown): boolean | null => {
  const [plain] = [value].flat();
  const text = String(isObject(plain) ? plain['@value'] : plain).toLowerCase();
  return /^(?:true|yes|1)$/.test(text) ? true : /^(?:false|no)$/.test(text) ? false : null;
};

/** The address in a value; '' where it says only that there is something, null where there is nothing. */
const addressIn = (value: unknown): string | null => {
  if (Array.isArray(value)) return value.length === 0 ? null : addressIn(value[0]);
  if (typeof value === 'string') return /^[1-9]\d*$/.test(value.trim()) ? '' : value.trim() || null;
  if (isObject(value)) return addressIn(value.href ?? value['@id'] ?? value['@value'] ?? value.url ?? null);
  return value === true || (typeof value === 'number' && value > 0) ? '' : null;
};

const numberIn = (value: unknown): number | null => {
  const plain = Array.isArray(value) ? value[0] : value;
  const text = String(isObject(plain) ? (plain['@value'] ?? plain.value) : plain);
  const digits = text.replaceAll(/(?<=\d)[,.'_\s](?=\d{3}(?!\d))/g, '').trim(); // of `1,204`
  return /^\d{1,15}$/.test(digits) ? Number(digits) : null;
};

/** `X-Total-Count` as `total-count`. */
const plainHeader = (name: string): string => name.replace(/^(?:x-)?(?:pagination-|paging-|wp-)?/, '');

/** True for a header that {@link pagingOfHeaders} reads. */
export const isPagingHeader = (name: string): boolean => name === 'content-range' || isPagingKey(plainHeader(name));

/** What the headers of an answer say: `Link` (RFC 8288), and counts under the names that documents use, as `X-Total-Count`. */
export const pagingOfHeaders = (headers: IncomingHttpHeaders): Paging => {
  const textOf = (name: string): string => [headers[name] ?? ''].flat().join(', ');
  const links = textOf('link').matchAll(/<([^>]*)>([^,"]*(?:"[^"]*"[^,"]*)*)/g);
  const byRelation = [...links].flatMap(([, address = '', parameters = '']) => {
    const [, quoted, bare] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^;]+))/i.exec(parameters) ?? [];
    return relations((quoted ?? bare ?? '').replaceAll("'", '').trim()).map((rel) => [rel, address]);
  });
  const total = /^(?!bytes\b)\S+ .*\/(\d+)$/.exec(textOf('content-range'))?.[1];
  const named = Object.keys(headers).map((name) => [plainHeader(name), textOf(name)]);
  return [Object.fromEntries(named), Object.fromEntries(byRelation), { total }, parsedJson(textOf('x-pagination'))]
    .filter(isObject)
    .map((said) => pagingOf(said))
    .reduce(joined);
};

/** The address of the next page where pages are only counted in their addresses (`?page=0`); null where they are not. */
export const countedNext = (address: string): string | null => {
  const url = new URL(address);
  const page = url.searchParams.get('page') ?? '';
  if (!/^\d{1,6}$/.test(page)) return null;
  url.searchParams.set('page', String(Number(page) + 1));
  return url.href;
};

const startKeys = /^(?:p|page|pageno|pagenum|pagenumber|pageindex|start|startindex|startrow|offset|skip)$/;
/** `/page/7`, `/catalog/1.json`: other numbers are rather years, versions or names. */
const pathOfPage = /^[^?#]*(?:\/pages?[-_/]?\d{1,6}|[-_/]0*[01])(?:\.\w+)?\/?(?:$|[?#])/i;
const limitKeys = /^(?:itemsperpage|perpage|pagesize|limit|rows|top|size|num|max|maxrecords|maxresults|hitsperpage)$/;

/** Why a list with as many entries, at an address, may be one page of several; null where nothing looks like that. */
export const pageDoubt = (address: string | null, stated: number | null, count: number): string | null => {
  const query = [...(address === null ? [] : new URL(address).searchParams)];
  // By its name, or its value alone, of which one digit may be anything.
  const isLimit = ([key, value]: [string, string]): boolean =>
    limitKeys.test(plainName(key)) || (value.length > 1 && value === String(count));
  const asked = numberIn(query.find(isLimit)?.[1]);
  const limit = stated ?? asked;
  // Servers may give less than what is asked for, or pages without being asked: then a round number.
  const isRound = address !== null && (count % 100 === 0 || (asked !== null && [10, 20, 25, 50, 250].includes(count)));
  if (count > 0 && (isRound || (limit && count >= limit)))
    return `has as many entries as a page of it may have (${Math.min(limit || count, count)})`;
  const isNumbered = query.some(([key]) => startKeys.test(plainName(key))) || pathOfPage.test(address ?? '');
  return isNumbered && limit === null ? 'is a page by its address, and nothing says whether there are others' : null;
};
