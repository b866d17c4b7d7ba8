// A node field in the API's own structure.

/** One value of a field: its properties by name. */
export type FieldItem = Record<string, unknown>;

const isItem = (value: unknown): value is FieldItem =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The items of a field that is written as `{und: [{…}]}`; null for any other value. */
export const itemsOfField = (value: unknown): FieldItem[] | null => {
  const items = isItem(value) ? value.und : undefined;
  return Array.isArray(items) && items.every(isItem) ? items : null;
};
