// Public paths of nodes (recorded behaviour 7).
import { FreeNumbers } from '../store/free-numbers.ts';

/** Words that leave the slug, unless nothing else is left (the default list of such portals). */
const stopWords = new Set(
  'a,an,as,at,before,but,by,for,from,is,in,into,like,of,off,on,onto,per,since,than,the,this,that,to,up,via,with'.split(
    ',',
  ),
);

/** Longest slug, in characters. */
const longest = 100;

/**
 * The slug of a title: tags and punctuation removed, lower case, stop words dropped, unicode kept.
 * Empty when nothing is left.
 */
export const slugOf = (title: string): string => {
  const text = title
    .replace(/<[^<>]*>/g, '')
    .replace(/["'`,:;|{[}\]+=*&%^$#@!~()?<>\\./_]/g, '')
    .replace(/\s+/g, '-')
    .toLowerCase();
  const words = text.split('-').filter((word) => word !== '');
  const kept = words.filter((word) => !stopWords.has(word));
  const slug = (kept.length === 0 ? words : kept).join('-');
  if (slug.length <= longest) return slug;
  const cut = slug.slice(0, longest);
  return cut.includes('-') && slug[longest] !== '-' ? cut.slice(0, cut.lastIndexOf('-')) : cut;
};

/**
 * The alias of a dataset (`dataset/<slug>`, with `-0`, `-1` … when taken), a group (`group/<slug>`), a page (`<slug>`) or
 * a resource (`dataset/<slug of its dataset>/resource/<uuid>`); null where a title leaves no slug.
 */
export const aliasOf = (
  node: { type: string; title: string; uuid: string; alias?: string | null },
  {
    parentTitle,
    isTaken,
    numbers = new FreeNumbers(),
  }: { parentTitle: string | null; isTaken: (alias: string) => boolean; numbers?: FreeNumbers },
): string | null => {
  const slug = slugOf(node.type === 'resource' ? (parentTitle ?? '') : node.title);
  if (node.type === 'resource') {
    const alias = slug === '' ? `dataset/resource/${node.uuid}` : `dataset/${slug}/resource/${node.uuid}`;
    return isTaken(alias) ? null : alias;
  }
  if (slug === '') return null;
  const base = node.type === 'page' ? slug : `${node.type}/${slug}`;
  if (!isTaken(base)) return base;
  const own = numberOf(node.alias ?? null);
  const ownNumber = own?.base === base ? own.number : null;
  return `${base}-${numbers.take(base, (number) => !isTaken(`${base}-${number}`), ownNumber)}`;
};

/** Tells that an alias is no longer used: the next dataset of that title may have it. */
export const releaseAlias = (alias: string | null, numbers: FreeNumbers): void => {
  const own = numberOf(alias);
  if (own) numbers.free(own.base, own.number);
};

const numberOf = (alias: string | null): { base: string; number: number } | null => {
  const [, base, number] = /^(.*)-(0|[1-9]\d{0,8})$/s.exec(alias ?? '') ?? [];
  return base === undefined ? null : { base, number: Number(number) };
};
