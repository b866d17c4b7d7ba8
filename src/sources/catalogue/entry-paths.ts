// Values at dotted paths of an entry: which entries are taken, and what is put in their place. A path goes into every item of a list.
import type { CatalogueSpec } from '../manifest/catalogue-schema.ts';

/** True when the entry passes `filters` and `excludes`. Values are compared as text. */
export const isWanted = (entry: unknown, { filters, excludes }: Pick<CatalogueSpec, 'filters' | 'excludes'>): boolean =>
  Object.entries(filters).every(([path, values]) => hasOneOf(entry, path, values)) &&
  !Object.entries(excludes).some(([path, values]) => hasOneOf(entry, path, values));

/** The entry with `defaults` where it has nothing and with `overrides`; the one given is left as it is. */
export const amended = (
  entry: unknown,
  { defaults, overrides }: Pick<CatalogueSpec, 'defaults' | 'overrides'>,
): unknown => {
  if (!isObject(entry)) return entry;
  if (Object.keys(defaults).length === 0 && Object.keys(overrides).length === 0) return entry;
  const copy = structuredClone(entry);
  for (const [path, value] of Object.entries(defaults)) put(copy, path.split('.'), { value, force: false });
  for (const [path, value] of Object.entries(overrides)) put(copy, path.split('.'), { value, force: true });
  return copy;
};

const hasOneOf = (entry: unknown, path: string, values: readonly (string | number | boolean)[]): boolean => {
  const wanted = new Set(values.map(String));
  return valuesAt(entry, path.split('.')).some((value) => wanted.has(String(value)));
};

/** Every plain value at a path. */
const valuesAt = (value: unknown, [step, ...rest]: string[]): unknown[] => {
  if (Array.isArray(value)) {
    const index = step !== undefined && /^\d+$/.test(step) ? Number(step) : null;
    if (index !== null) return valuesAt(value[index], rest);
    return value.flatMap((item) => valuesAt(item, step === undefined ? [] : [step, ...rest]));
  }
  if (step === undefined) return value === undefined || value === null || isObject(value) ? [] : [value];
  return isObject(value) && Object.hasOwn(value, step) ? valuesAt(value[step], rest) : [];
};

interface Put {
  value: unknown;
  /** Also where something stands. */
  force: boolean;
}

const put = (target: unknown, [step, ...rest]: string[], how: Put): void => {
  if (step === undefined) return;
  if (Array.isArray(target)) {
    if (!/^\d+$/.test(step)) for (const item of target) put(item, [step, ...rest], how);
    else if (rest.length > 0) put(target[Number(step)], rest, how);
    else if (Number(step) < target.length && (how.force || isNothing(target[Number(step)])))
      target[Number(step)] = structuredClone(how.value);
    return;
  }
  if (!isObject(target)) return;
  if (rest.length === 0) {
    if (how.force || isNothing(target[step])) target[step] = structuredClone(how.value);
    return;
  }
  if (isNothing(target[step])) target[step] = {};
  put(target[step], rest, how);
};

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
