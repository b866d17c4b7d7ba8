// A table that becomes several resources: one for each value of a column that the step `split` lists.
import { createHash } from 'node:crypto';
import { slugOf } from '../../dataset-api/slug.ts';
import type { ResourceSpec } from './schema.ts';

const longestId = 64;

/**
 * The resources of one whose last steps hold a `split`, each with the step told which value it keeps; any other resource
 * alone. Ids and titles are made of the values; `taken` holds the ids of the dataset and gets the new ones.
 */
export const splitResource = (spec: ResourceSpec, taken: Set<string>): ResourceSpec[] => {
  const steps = spec.details.table ?? [];
  const split = steps.find((step) => step.split !== undefined)?.split;
  if (split === undefined) return [spec];
  const values = Array.isArray(split.values)
    ? split.values.map((value) => [String(value), `${spec.title}: ${value}`] as const)
    : Object.entries(split.values);
  return values.map(([value, title]) => {
    const id = idOf(spec.id, value, taken);
    taken.add(id);
    const { renamedFrom, ...rest } = spec;
    const table = steps.map((step) => (step.split === undefined ? step : { split: { ...split, only: value } }));
    return {
      ...rest,
      id,
      title,
      ...(renamedFrom === undefined ? {} : { renamedFrom: idOf(renamedFrom, value, new Set()) }),
      details: { ...spec.details, table },
    };
  });
};

/** Where no id can be made of a value, or it is taken, a hash of the value tells it apart. */
const idOf = (id: string, value: string, taken: ReadonlySet<string>): string => {
  const plain = `${id}-${slugOf(value) ?? ''}`;
  if (!plain.endsWith('-') && plain.length <= longestId && !taken.has(plain)) return plain;
  const hash = createHash('sha256').update(value).digest('hex').slice(0, 8);
  return `${plain.slice(0, longestId - hash.length - 1).replace(/-$/, '')}-${hash}`;
};
