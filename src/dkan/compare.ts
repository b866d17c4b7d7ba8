// Whether a node that was read back holds the fields that were sent.
import type { NodeFields } from '../wish.ts';
import { itemsOfField } from './field-items.ts';
import { formFrequency } from './values.ts';

/** Item properties that a portal gives back as they were sent; all others are computed or mapped by it. */
const comparable = ['value', 'value2', 'url', 'target_id', 'tid', 'wkt', 'first', 'second'] as const;

/**
 * Names of the sent fields that the node read back does not hold. Only what a portal keeps as sent is compared: texts
 * without surrounding white space, dates by their beginning, ids and numbers as strings; terms sent by name only by
 * their number.
 */
export const missingFields = (sent: NodeFields, node: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(sent).flatMap(([name, value]) => (holds(value, node[name]) ? [] : [name]));

/**
 * What a node holds of the sent fields beyond what {@link missingFields} compares: the numbers of terms, which portals
 * do not tell by name, and how many items there are where they are not as many as were sent. By field name.
 */
export const besideSent = (sent: NodeFields, node: Readonly<Record<string, unknown>>): Record<string, string> => {
  const beside: Record<string, string> = {};
  for (const [name, value] of Object.entries(sent)) {
    const wanted = itemsOfField(value);
    if (wanted === null || wanted.length === 0) continue;
    const items = itemsOfField(node[name]) ?? [];
    const terms = items.flatMap(({ tid }) => (tid === undefined ? [] : [String(tid)]));
    if (terms.length > 0) beside[name] = terms.sort().join(',');
    else if (items.length !== wanted.length) beside[name] = `${items.length} items`;
  }
  return beside;
};

/** Number of items of a field in the API's own structure; null for any other value. */
export const countItems = (value: unknown): number | null => itemsOfField(value)?.length ?? null;

const holds = (sent: unknown, got: unknown): boolean => {
  const wanted = itemsOfField(sent);
  if (wanted === null || wanted.length === 0) return true; // other input styles are the portal's to interpret
  const items = itemsOfField(got);
  if (items === null) return false;
  return wanted.every((item, index) => {
    const other = items[index];
    if (!other) return items.length > 0 && 'tid' in item; // a term sent twice may be kept once
    return comparable.every((name) => sameValue(item[name], other[name]));
  });
};

const sameValue = (sent: unknown, got: unknown): boolean => {
  if (sent === undefined || sent === null || sent === '' || sent === 'autocreate') return true;
  const [a, b] = [normal(sent), normal(got)];
  // Form portals keep the frequency as a number of their own.
  if (a.startsWith('R/') && String(formFrequency(a)) === b) return true;
  return a === b || (isoStart.test(a) && isoStart.test(b) && (b.startsWith(a) || a.startsWith(b)));
};

const isoStart = /^\d{4}-\d\d-\d\d/;

const normal = (value: unknown): string =>
  String(value ?? '')
    .replaceAll('\r\n', '\n')
    .replace(/^(\d{4}-\d\d-\d\d)T/, '$1 ')
    .trim();
