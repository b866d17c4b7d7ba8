// How release C reads the body of a node: as its editing form does (recorded behaviour 8a, 9, 10).
import type { Field } from '../content/fields.ts';
import { FieldFault, textOf } from '../content/items.ts';
import { readReference } from '../content/links.ts';
import { em, isMap, rowsOf, seenBy, tidOf } from './form-widgets.ts';
import type { FieldChanges, ReadContext } from './profile.ts';
import { formRefusal } from './spec-input.ts';

const referenceRows = (und: unknown): (string | null)[] => rowsOf(und).map((row) => textOf(row.target_id));

/** References in text form; items that are not sent keep their old value, an empty text clears one. */
const readReferences = (
  field: Field,
  und: unknown,
  context: ReadContext,
): { targets?: number[]; errors: Record<string, string> } => {
  const { store, node } = context;
  const errors: Record<string, string> = {};
  const sent = referenceRows(und);
  if (sent.length === 0) return { errors };
  const kept: (number | null)[] = node === null ? [] : store.nodes.targets(node.nid);
  for (const [index, text] of sent.entries()) {
    const key = `${field.name}][und][${index}][target_id`;
    if (text === null || text === '') kept[index] = null;
    else if (/^\d+$/.test(text)) errors[key] = `There are no entities matching "${em(text)}"`;
    else {
      try {
        kept[index] = readReference(store, { ...field, target: field.target }, { target_id: text });
      } catch (error) {
        if (!(error instanceof FieldFault)) throw error;
        errors[key] = error.message.replace(
          /\(node: (\d+)\)/,
          '(<em class="placeholder">node</em>: <em class="placeholder">$1</em>)',
        );
      }
    }
  }
  return { targets: kept.filter((nid) => typeof nid === 'number'), errors };
};

const needsRights = (body: Record<string, unknown>, items: FieldChanges['items']): boolean => {
  if (!('field_public_access_level' in body)) return false;
  const level = items.field_public_access_level?.[0]?.value;
  return level !== 'public' && (items.field_rights ?? []).length === 0;
};

const sources: [string, string][] = [
  ['field_link_api', 'API or Website URL'],
  ['field_link_remote_file', 'Link File'],
  ['field_upload', 'Upload'],
];

const isPopulated = (body: Record<string, unknown>, name: string): boolean => {
  const value = body[name];
  return isMap(value) && rowsOf(value.und).length > 0;
};

const sourceErrors = (body: Record<string, unknown>): Record<string, string> => {
  const used = sources.filter(([name]) => isPopulated(body, name));
  if (used.length < 2) return {};
  return Object.fromEntries(
    used.map(([name, label]) => [
      name,
      `<strong>${label}</strong> is populated - only one resource type can be used at a time.`,
    ]),
  );
};

/** The format that the form gives a resource: none is sent in a shape that it sees, so a term of its own. */
const defaultFormat = (context: ReadContext, changes: FieldChanges): void => {
  const has = (changes.items.field_format ?? context.node?.fields.field_format ?? []).length > 0;
  if (context.type !== 'resource' || has) return;
  const name = (changes.items.field_link_api ?? []).length > 0 ? 'api' : 'data';
  changes.items.field_format = [{ tid: tidOf(context, 'format', name) }];
};

const harvestDates = ({ node, type, now }: ReadContext, changes: FieldChanges): void => {
  if (type !== 'dataset' || node !== null) return;
  const value = new Date(now * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const item = { value, timezone: 'UTC', timezone_db: 'UTC', date_type: 'datetime' };
  changes.items.field_harvest_source_issued = [item];
  changes.items.field_harvest_source_modified = [item];
};

/** Fields as the editing form of release C sees them; `errors` are those of the core properties. Throws 406 with all errors. */
export const readFormFields = (
  body: Record<string, unknown>,
  context: ReadContext,
  errors: Record<string, string>,
): FieldChanges => {
  const changes: FieldChanges = { items: {} };
  for (const field of context.fields) {
    const value = body[field.name];
    if (!isMap(value) || !('und' in value)) continue;
    if (field.kind === 'node') {
      const { targets, errors: found } = readReferences(field, value.und, context);
      Object.assign(errors, found);
      if (targets !== undefined) changes.targets = targets;
      continue;
    }
    const { items, errors: found } = seenBy(field, value.und, context);
    Object.assign(errors, found ?? {});
    if (items !== null) changes.items[field.name] = items;
  }
  if (needsRights(body, changes.items)) errors.field_rights = 'Rights field is required.';
  Object.assign(errors, sourceErrors(body));
  if (Object.keys(errors).length > 0) throw formRefusal(errors);
  defaultFormat(context, changes);
  harvestDates(context, changes);
  return changes;
};
