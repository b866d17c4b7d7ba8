// Differences between a node that was read back and the fields that were sent.
import { hash } from 'node:crypto';
import type { NodeFields } from '../model/wish.ts';
import { type FieldItem, itemsOfField, tidsOf } from './fields.ts';
import { formFrequency } from './values.ts';
import { parseWkt } from './wkt.ts';

/** Item properties that portals return as sent; they compute or map all others. */
const comparable = ['value', 'value2', 'url', 'target_id', 'tid', 'wkt', 'first', 'second'] as const;

/**
 * Names of the sent fields that the node read back does not hold. Texts are compared without space around them, dates
 * by their common prefix, geometries by value, ids and numbers as strings, terms of unknown id by how many there are.
 */
export const missingFields = (sent: NodeFields, node: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(sent).flatMap(([name, value]) => (holds(value, node[name]) ? [] : [name]));

/** A field of a node as a short text for people; equal values give equal texts. */
export const shownField = (node: Readonly<Record<string, unknown>>, name: string): string => {
  const items = itemsOfField(node[name]);
  if (items === null) return typeof node[name] === 'string' ? `"${node[name]}"` : 'nothing';
  const parts = items.map((item) => comparable.flatMap((property) => item[property] ?? []).join(' '));
  const shown = (items.every((item) => 'tid' in item) ? parts.sort() : parts).join(', ');
  if (shown.length <= longestShown) return shown === '' ? 'nothing' : shown;
  return `${shown.slice(0, longestShown)}… (${shown.length} characters, ${hash('sha256', shown).slice(0, 8)})`;
};

const longestShown = 100;

/** What {@link missingFields} does not compare, by field: ids of terms, and the number of items where it is another than sent. */
export const baselineOf = (sent: NodeFields, node: Readonly<Record<string, unknown>>): Record<string, string> => {
  const baseline: Record<string, string> = {};
  for (const [name, value] of Object.entries(sent)) {
    const wanted = itemsOfField(value);
    if (wanted === null || wanted.length === 0) continue;
    const terms = tidsOf(node, name);
    const count = countItems(node[name]) ?? 0;
    if (terms.length > 0) baseline[name] = terms.sort().join(',');
    else if (count !== wanted.length) baseline[name] = `${count} items`;
  }
  return baseline;
};

/** Number of items of a field in the API's own structure; null for any other value. */
export const countItems = (value: unknown): number | null => itemsOfField(value)?.length ?? null;

const holds = (sent: unknown, got: unknown): boolean => {
  const wanted = itemsOfField(sent);
  if (wanted === null || wanted.length === 0) return true; // portals interpret other input styles themselves
  const items = itemsOfField(got);
  if (items === null) return false;
  if (wanted.every((item) => 'tid' in item)) return holdsTerms(wanted, items);
  return wanted.every((item, index) => {
    const other = items[index];
    return other !== undefined && comparable.every((name) => sameValue(item[name], other[name]));
  });
};

/** Terms in any order; one that was sent twice may be kept once. */
const holdsTerms = (wanted: FieldItem[], items: FieldItem[]): boolean => {
  const held = new Set(items.map(({ tid }) => String(tid)));
  const known = wanted.flatMap(({ tid }) => (tid === 'autocreate' ? [] : [String(tid)]));
  const names = new Set(wanted.map(({ tid, name }) => (tid === 'autocreate' ? `name ${name}` : `tid ${tid}`)));
  return known.every((tid) => held.has(tid)) && held.size === names.size;
};

const sameValue = (sent: unknown, got: unknown): boolean => {
  if (sent === undefined || sent === null || sent === '' || sent === 'autocreate') return true;
  const [a, b] = [normal(sent), normal(got)];
  // Form portals keep the frequency as a number of their own.
  if (a.startsWith('R/') && String(formFrequency(a)) === b) return true;
  return (
    a === b || (isoStart.test(a) && isoStart.test(b) && (b.startsWith(a) || a.startsWith(b))) || sameGeometry(a, b)
  );
};

const isoStart = /^\d{4}-\d\d-\d\d/;

const normal = (value: unknown): string =>
  String(value ?? '')
    .replaceAll('\r\n', '\n')
    .replace(/^(\d{4}-\d\d-\d\d)T/, '$1 ')
    .trim();

/** True for geometries of the same words and numbers: portals write `13.0` as `13`. */
const sameGeometry = (a: string, b: string): boolean => {
  const geometry = parseWkt(a);
  return geometry !== null && geometry.text === parseWkt(b)?.text;
};
