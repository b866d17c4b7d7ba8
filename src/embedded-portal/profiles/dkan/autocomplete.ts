// Look-ups by name that deployed portals have for their forms: terms, vocabularies and nodes, with their numbers.
import { escapeHtml } from '../../../util/html.ts';
import { decodedPart } from '../../../util/http.ts';
import type { Answer } from '../../answer.ts';
import { vocabularyIds } from '../../content/items.ts';
import type { Call, SiteHandler } from '../../portal.ts';
import { mayRead } from '../../refusal.ts';
import { answerOf } from '../../resources/catalogue.ts';

interface Entity {
  id: number;
  label: string;
  /** Vocabulary of a term, type of a node; null: not shown. */
  bundle: string | null;
}

const labels: Readonly<Record<string, string>> = { format: 'Format', tags: 'Tags', dkan_topics: 'Topics' };

/** Everything of each kind that the caller may see. */
const kinds: Readonly<Record<string, (call: Call) => Entity[]>> = {
  taxonomy_term: ({ portal: { store } }) =>
    store.terms.all().map(({ tid, name, vocabulary }) => {
      return { id: tid, label: name, bundle: Object.hasOwn(vocabularyIds, vocabulary) ? vocabulary : null };
    }),
  taxonomy_vocabulary: () =>
    Object.entries(vocabularyIds).map(([name, id]) => ({ id: Number(id), label: labels[name] ?? name, bundle: null })),
  node: ({ portal: { store, site }, user }) =>
    store.nodes
      .list('SELECT nid, type, title, uid, status FROM node ORDER BY nid', [])
      .filter(({ uid, status }) => {
        return mayRead(user, { uid: site.suggestsDrafts ? Number(uid) : Number.NaN, status: Number(status) });
      })
      .map(({ nid, type, title }) => ({ id: Number(nid), label: String(title), bundle: String(type) })),
};

/** The text as the database compares it: without case and accents. */
const folded = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

const matching = (all: Entity[], text: string): Entity[] => {
  const wanted = folded(text);
  return all
    .filter(({ label }) => folded(label).includes(wanted))
    .sort((a, b) => folded(a.label).localeCompare(folded(b.label), 'en') || a.id - b.id);
};

/** An empty map of PHP is a list. */
const listed = (entries: [string, string][]): Answer =>
  answerOf(entries.length === 0 ? [] : Object.fromEntries(entries));

const span = (name: string, text: string): string => `<span class="autocomplete_${name}">${escapeHtml(text)}</span>`;

const withNumber = ({ id, label, bundle }: Entity): [string, string] => [
  `${label} [id: ${id}]`,
  bundle === null ? span('title', label) : `${span('title', label)} ${span('bundle', `(${bundle})`)}`,
];

const lookUp = (all: Entity[], text: string): Entity[] => {
  const id = /^id: (\d{1,15})$/.exec(text)?.[1];
  if (id === undefined) return text === '' ? [] : matching(all, text).slice(0, 10);
  return [all.find((one) => one.id === Number(id)) ?? { id: Number(id), label: id, bundle: null }];
};

const namesOf = (call: Call, [field = '', text = '', limit = '']: string[]): Answer | null => {
  const { dataset, resource } = call.portal.profile.fields;
  const vocabulary = [...dataset, ...resource].find(({ name }) => name === field)?.vocabulary;
  if (vocabulary === undefined) return null;
  const terms = (kinds.taxonomy_term?.(call) ?? []).filter(({ bundle }) => bundle === vocabulary);
  const found = matching(terms, text.trim()).slice(0, Number(limit) || undefined);
  const quoted = (name: string): string => (/[,"]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  return listed(found.map(({ label }) => [quoted(label), escapeHtml(label)]));
};

/** The answer at a path of such a look-up; null at any other. The text ends at a slash, however it is written. */
export const autocompleteHandler: SiteHandler = (call, path) => {
  const [, first, second, kind = '', ...rest] = path.split('/').flatMap((part) => decodedPart(part).split('/'));
  if (first === 'autocomplete_deluxe' && second === 'taxonomy') return namesOf(call, [kind, ...rest]);
  if (first !== 'ctools' || second !== 'autocomplete' || !Object.hasOwn(kinds, kind)) return null;
  return listed(lookUp(kinds[kind]?.(call) ?? [], rest[0] ?? '').map(withNumber));
};
