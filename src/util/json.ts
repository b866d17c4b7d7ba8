// JSON that comes from outside, and the mappings in it.

/** The value of a text; undefined where it is no JSON. */
export const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** True for a mapping: neither a list nor null nor a plain value. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The value with all its texts well-formed: half of a surrogate pair, as of a cut emoji, is stored by nobody as it is. */
export const wellFormed = <T>(value: T): T => {
  if (typeof value === 'string') return value.toWellFormed() as T & string;
  if (Array.isArray(value)) return value.map(wellFormed) as T & unknown[];
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]);
  return Object.fromEntries(entries) as T & object; // the same keys
};

/** The value itself where it is a mapping, else an empty one. */
export const recordOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** The object without its entries that are undefined. */
export const defined = <T extends object>(value: T): Defined<T> =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Defined<T>; // just filtered

type Defined<T> = { [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

/** The list; undefined for an empty one, which {@link defined} leaves out. */
export const unlessEmpty = <T>(list: T[]): T[] | undefined => (list.length > 0 ? list : undefined);
