// JSON that comes from outside.

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

/** The value itself where it is a mapping, else an empty one. */
export const recordOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
