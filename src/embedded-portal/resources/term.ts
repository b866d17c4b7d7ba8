// The term resource (`spec` profile only): lists terms, and looks up the tid of a node.

import { maxPageSize } from '../../dataset-api/paths.ts';
import { escapeHtml } from '../../util/html.ts';
import { isObject } from '../../util/json.ts';
import { idOf, vocabularyIds } from '../content/items.ts';
import { type Call, operation, type Resource } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import type { Term } from '../store/terms.ts';

const view = ({ tid, vocabulary, name }: Term): Record<string, unknown> => ({
  tid: String(tid),
  vid: vocabularyIds[vocabulary] ?? vocabulary,
  vocabulary_machine_name: vocabulary,
  name,
});

const invalid = (words: string): Refusal => new Refusal(406, `Invalid query provided. ${escapeHtml(words)}`);

const retrieve = (call: Call): Record<string, unknown> => {
  const tid = idOf(call.args[0]);
  const term = tid === null ? null : call.portal.store.terms.byTid(tid);
  if (term === null) throw new Refusal(404, `There is no term with ID ${escapeHtml(call.args[0] ?? '')}.`);
  return view(term);
};

/** The terms whose every named property is equal, 20 a page. */
const index = ({ portal, query }: Call): Record<string, unknown>[] => {
  const { parameters = {}, page = '0' } = query;
  if (!isObject(parameters)) throw invalid('parameters must be written parameters[name]=value');
  if (typeof page !== 'string' || !/^\d{1,9}$/.test(page)) throw invalid('page must be a whole number');
  const all = portal.store.terms.all().map(view);
  const names = ['tid', 'vid', 'vocabulary_machine_name', 'name'];
  const unknown = Object.keys(parameters).find((name) => !names.includes(name));
  if (unknown !== undefined) throw invalid(`there is no field ${unknown} in a term; it has ${names.join(', ')}`);
  const wanted = Object.entries(parameters).map(([name, value]) => [name, String(value).toLowerCase()] as const);
  const found = all.filter((term) => wanted.every(([name, value]) => String(term[name]).toLowerCase() === value));
  return found.slice(Number(page) * maxPageSize, (Number(page) + 1) * maxPageSize);
};

export const termResource: Resource = {
  index: operation({ run: (call) => ({ value: index(call) }) }),
  retrieve: operation({ run: (call) => ({ value: retrieve(call), shape: 'object' }) }),
};
