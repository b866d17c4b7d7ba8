// The term resource (`spec` profile only): lists terms, and looks up the tid of a node.
import { maxPageSize } from '../../dataset-api/paths.ts';
import { vocabularyIds } from '../content/items.ts';
import { type Call, needById, type Resource } from '../portal.ts';
import type { Term } from '../store/terms.ts';
import { invalid, numberOf, parametersIn } from './node-list.ts';

const view = ({ tid, vocabulary, name }: Term): Record<string, string> => ({
  tid: String(tid),
  vid: vocabularyIds[vocabulary] ?? vocabulary,
  vocabulary_machine_name: vocabulary,
  name,
});

const retrieve = (call: Call): Record<string, string> =>
  view(needById(call, call.portal.store.terms.byTid, (id) => `There is no term with ID ${id}.`));

/** The terms whose every named property is equal, 20 a page. */
const index = (call: Call): Record<string, string>[] => {
  const wanted = Object.entries(parametersIn(call));
  const names = ['tid', 'vid', 'vocabulary_machine_name', 'name'];
  const unknown = wanted.find(([name]) => !names.includes(name));
  if (unknown !== undefined) throw invalid(`there is no field ${unknown[0]} in a term; it has ${names.join(', ')}`);
  const from = numberOf(call, 'page', 0) * maxPageSize;
  return call.portal.store.terms
    .all()
    .map(view)
    .filter((term) => wanted.every(([name, value]) => term[name]?.toLowerCase() === String(value).toLowerCase()))
    .slice(from, from + maxPageSize);
};

export const termResource: Resource = {
  index: { run: (call) => ({ value: index(call) }) },
  retrieve: { run: (call) => ({ value: retrieve(call), shape: 'object' }) },
};
