// What a portal suggests while somebody types a name into its forms: terms, vocabularies and nodes by name, also drafts of the account.
import { z } from 'zod';
import type { Vocabulary } from '../dataset-api/fields.ts';
import { paths } from '../dataset-api/paths.ts';
import { PortalRefusedError } from '../model/errors.ts';
import { unescapeHtml } from '../util/html.ts';
import { parsedJson } from '../util/json.ts';
import { isAnswer } from './answers.ts';
import { readCache } from './read-cache.ts';
import type { Caller } from './session.ts';
import type { Traits } from './settings.ts';

/** A term, vocabulary or node. `bundle`: name of the vocabulary, type of the node; '' where the portal does not say. */
type Suggestion = Record<'id' | 'name' | 'bundle', string>;

const mostSuggested = 10;

/** Term ids that are read one by one at most, and unknown ones in a row after which there are no more. */
const [mostWalked, enoughMisses] = [2000, 50];

const fieldOf = { tags: 'field_tags', format: 'field_format', dkan_topics: 'field_topic' } as const;

export type Suggestions = ReturnType<typeof suggestionsOf>;

/** Asked for in the session: readers without one may be served from a cache, for minutes. */
export const suggestionsOf = (caller: Caller, traits: Traits) => {
  const all = readCache<Suggestion[]>(caller.session.signal);
  /** Ids of the terms of that name, else of it in another case, the oldest first; null: the portal does not say. */
  const termsNamed = async (vocabulary: Vocabulary, name: string, signal: AbortSignal): Promise<string[] | null> => {
    const seen = await containing('taxonomy_term', name, signal);
    if (seen === null) return listed(vocabulary, name, signal);
    const found = idsNamed(seen, vocabulary, name);
    if (found.length > 0 || seen.length < mostSuggested) return found;
    if (!(await mayExist(vocabulary, name, signal))) return [];
    const searched = idsNamed(await facetsNamed(name, signal), vocabulary, name);
    if (searched.length > 0) return searched;
    return idsNamed(await all('', (until) => walk(until), signal), vocabulary, name);
  };
  /** Name of a term; null where there is none, or the portal does not say. */
  const termName = async (tid: string, signal: AbortSignal): Promise<string | null> => {
    const term = await termOf(tid, signal);
    if (term || traits.get('suggestions') !== false) return term?.name ?? null;
    return (await json(`${paths.terms}/${tid}`, termSchema, signal))?.name ?? null;
  };
  /** Id of a vocabulary; null where the portal does not say. */
  const vocabularyId = async (vocabulary: Vocabulary, signal: AbortSignal): Promise<string | null> => {
    const label = vocabulary.replace('dkan_', '');
    const seen = (await containing('taxonomy_vocabulary', label, signal)) ?? [];
    const [found, ...others] = seen.filter(({ name }) => name.toLowerCase() === label);
    return others.length === 0 ? (found?.id ?? null) : null;
  };
  /** Ids of the nodes with that title which the account may see, its own drafts among them; null where there may be more. */
  const nodesTitled = async (type: string, title: string, signal: AbortSignal): Promise<string[] | null> => {
    const seen = await containing('node', title, signal);
    if (seen === null || seen.length >= mostSuggested) return null;
    return seen.filter(({ name, bundle }) => name === title && bundle === type).map(({ id }) => id);
  };
  /** Entities whose name contains a part of this one, at most ten. */
  const containing = async (type: string, name: string, signal: AbortSignal): Promise<Suggestion[] | null> => {
    const part = longestPart(name);
    // Ten of any name: more may be there.
    return part === '' ? null : read(`${type}/${encodeURIComponent(part)}`, signal);
  };
  /** Where the service itself lists terms, as embedded portals do; null elsewhere. */
  const listed = async (vocabulary: Vocabulary, name: string, signal: AbortSignal): Promise<string[] | null> => {
    const query = new URLSearchParams({
      'parameters[vocabulary_machine_name]': vocabulary,
      'parameters[name]': name,
    });
    return (await json(`${paths.terms}?${query}`, z.array(termSchema), signal))?.map(({ tid }) => tid) ?? null;
  };
  const termOf = async (tid: string, signal: AbortSignal): Promise<Suggestion | null> => {
    const [term] = (await read(`taxonomy_term/${encodeURIComponent(`id: ${tid}`)}`, signal)) ?? [];
    // An unknown number is answered with itself; a term whose vocabulary is gone has its name, and no vocabulary.
    return term === undefined || (term.bundle === '' && term.name === tid) ? null : term;
  };
  const read = async (what: string, signal: AbortSignal): Promise<Suggestion[] | null> => {
    if (traits.get('suggestions') === false) return null;
    const shown = await json(`/ctools/autocomplete/${what}`, suggestedSchema, signal);
    if (shown) traits.learn({ suggestions: true });
    return shown;
  };
  const json = async <T>(path: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T | null> =>
    schema.safeParse(parsedJson((await textAt(path, signal)) ?? '')).data ?? null;
  /** False where the portal lists all names of the vocabulary, and this one is not among them. */
  const mayExist = async (vocabulary: Vocabulary, name: string, signal: AbortSignal): Promise<boolean> => {
    const path = `/autocomplete_deluxe/taxonomy/${fieldOf[vocabulary]}/%20/0`;
    return (await json(path, namesSchema, signal))?.some((one) => sameName(one, name)) ?? true;
  };
  /** Terms of published datasets that the portal's own search offers to narrow its results by. */
  const facetsNamed = async (name: string, signal: AbortSignal): Promise<Suggestion[]> => {
    const page = (await textAt(`/search?query=${encodeURIComponent(name)}`, signal)) ?? '';
    const found: Suggestion[] = [];
    for (const [, tid = '', text = ''] of page.matchAll(facet)) {
      const term = sameName(unescapeHtml(text).trim(), name) ? await termOf(tid, signal) : null;
      if (term) found.push(term);
    }
    return found;
  };
  const walk = async (signal: AbortSignal): Promise<Suggestion[]> => {
    const found: Suggestion[] = [];
    for (let tid = 1, misses = 0; tid <= mostWalked && misses < enoughMisses; tid++) {
      const term = await termOf(String(tid), signal);
      misses = term ? 0 : misses + 1;
      if (term) found.push(term);
    }
    return found;
  };
  /** The text of a reply; null where the portal does not offer the address. */
  const textAt = async (path: string, signal: AbortSignal): Promise<string | null> => {
    // Some releases answer every search with an error page.
    const isSearch = path.startsWith('/search');
    try {
      const call = { action: 'suggest', method: 'GET', path, ...(isSearch ? { retries: 0 } : {}) } as const;
      return (await caller.call(call, signal)).text;
    } catch (error) {
      if (!(isSearch && isAnswer(error, 'server-error')) && !(error instanceof PortalRefusedError)) throw error;
      const isNew = path.startsWith('/ctools') && traits.get('suggestions') === undefined;
      if (isNew && isAnswer(error, 'not-offered', 'not-found')) traits.learn({ suggestions: false });
      return null;
    }
  };
  return { termsNamed, termName, vocabularyId, nodesTitled };
};

const termSchema = z.looseObject({ tid: z.coerce.string(), name: z.string() });

/** `{"NAME [id: 12]": "… <span class=\"autocomplete_bundle\">(tags)</span>"}`; PHP sends an empty map as a list. */
const suggestedSchema = z
  .union([z.record(z.string(), z.string()), z.array(z.never()).transform((): Record<string, string> => ({}))])
  .transform((shown) =>
    Object.entries(shown).flatMap(([key, html]): Suggestion[] => {
      const [, name, id] = /^(.*) \[id: (\d+)\]$/s.exec(key) ?? [];
      const bundle = /"autocomplete_bundle">\((\w+)\)/.exec(html)?.[1] ?? '';
      return name === undefined || id === undefined ? [] : [{ id, name, bundle }];
    }),
  );

/** Names as keys, as values with HTML escaped, or both. */
const namesSchema = z
  .union([z.record(z.string(), z.string()), z.array(z.string())])
  .transform((names) => [...Object.keys(names), ...Object.values<string>(names).map((text) => unescapeHtml(text))]);

const facet = /href="[^"]*\/search\/\w+\/[^"?]*-(\d+)(?:\?[^"]*)?"[^>]*>([^<]*?) \(\d+\)/g;

/** A slash ends the text, a backslash is lost in it, and `id:` asks for a number. */
const longestPart = (name: string): string =>
  name
    .split(/[/\\]|\[id:|^id:/)
    .map((part) => part.trim())
    .reduce((longest, part) => (part.length > longest.length ? part : longest), '');

const sameName = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

const idsNamed = (seen: readonly Suggestion[], vocabulary: Vocabulary, name: string): string[] => {
  const own = seen.filter((term) => term.bundle === vocabulary && sameName(term.name, name));
  const exact = own.filter((term) => term.name === name);
  return (exact.length > 0 ? exact : own).map(({ id }) => id).sort((one, other) => Number(one) - Number(other));
};
