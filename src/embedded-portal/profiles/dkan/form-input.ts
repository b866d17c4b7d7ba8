// Reads a body as the editing form does: release C for all types, A and B for groups and pages (recorded behaviour 8a, 9, 10).
import { defined, isObject, recordOf } from '../../../util/json.ts';
import type { CoreChanges, FieldChanges, NodeReader, ReadContext } from '../../content/fields.ts';
import { stored, textOf, tidOf } from '../../content/items.ts';
import { formRefusal, titleError } from '../../content/spec-input.ts';
import { em, may } from '../../refusal.ts';
import { titleFault } from './faults.ts';
import { rowsOf, scalarsOf, seenBy } from './form-widgets.ts';

type Body = Record<string, unknown>;
type Items = FieldChanges['items'];

/** Other access levels than `public` need their reason. */
const lacksRights = ({ field_public_access_level: value }: Body, items: Items): boolean =>
  isObject(value) &&
  scalarsOf(value.und).length > 0 &&
  items.field_public_access_level?.[0]?.value !== 'public' &&
  (items.field_rights ?? []).length === 0;

const sources: [string, string][] = [
  ['field_link_api', 'API or Website URL'],
  ['field_link_remote_file', 'Link File'],
  ['field_upload', 'Upload'],
];

const sourceErrors = (body: Body): Record<string, string> => {
  const used = sources.filter(([name]) => rowsOf(recordOf(body[name]).und).length > 0);
  if (used.length < 2) return {};
  const words = 'is populated - only one resource type can be used at a time.';
  return Object.fromEntries(used.map(([name, label]) => [name, `<strong>${label}</strong> ${words}`]));
};

/** The format that the form gives a resource: none is sent in a shape that it sees, so a term of its own. */
const defaultFormat = ({ type, node, store }: ReadContext, items: Items): Items => {
  if (type !== 'resource' || (items.field_format ?? node?.fields.field_format ?? []).length > 0) return {};
  const name = (items.field_link_api ?? []).length > 0 ? 'api' : 'data';
  return { field_format: [{ tid: tidOf(store, 'format', name) }] };
};

const harvestDates = ({ node, type, now }: ReadContext): Items => {
  if (type !== 'dataset' || node !== null) return {};
  const value = stored(new Date(now * 1000));
  const item = [{ value, timezone: 'UTC', timezone_db: 'UTC', date_type: 'datetime' }];
  return { field_harvest_source_issued: item, field_harvest_source_modified: item };
};

/** Fields as the editing form of release C sees them; `errors` are those of the core properties. Throws 406 with all errors. */
const readFields = (body: Body, context: ReadContext, errors: Record<string, string>): FieldChanges => {
  const items: Items = {};
  const faults: Error[] = [];
  for (const field of context.fields) {
    const seen = seenBy(field, body[field.name], context);
    Object.assign(errors, seen.errors);
    if (seen.items !== null) items[field.name] = seen.items;
    if (seen.fault !== undefined) faults.push(seen.fault);
  }
  if (lacksRights(body, items)) errors.field_rights = 'Rights field is required.';
  Object.assign(errors, sourceErrors(body));
  if (Object.keys(errors).length > 0) throw formRefusal(errors);
  if (faults[0] !== undefined) throw faults[0];
  return { items: { ...items, ...defaultFormat(context, items), ...harvestDates(context) } };
};

/** What is wrong with a title: a group's is its own. */
const titleErrors = (body: Body, { store, node, type }: ReadContext): Record<string, string> => {
  const title = textOf(body.title) ?? '';
  const fault = node !== null && !('title' in body) ? null : titleError(title);
  if (fault !== null) return { title: fault };
  const isTaken = type === 'group' && store.nodes.byTitle('group', title).some((nid) => nid !== node?.nid);
  return isTaken ? { title: `A group with title ${em(title)} exists on the site. Please use another title.` } : {};
};

const createdOf = (body: Body): number | undefined => {
  const time = Date.parse((textOf(body.date) ?? '').replace(/ ([+-]\d{4})$/, '$1').replace(' ', 'T'));
  return Number.isNaN(time) ? undefined : Math.floor(time / 1000);
};

/** Core properties as the form takes them: a status other than null, uid, uuid and created are ignored, the log is emptied by every update. */
const readCore = (body: Body, { node, user, store }: ReadContext, errors: Record<string, string>): CoreChanges => {
  const isAdmin = may(user, 'administer nodes');
  const name = isAdmin ? (textOf(body.name) ?? '') : '';
  const author = name === '' ? null : store.users.byName(name);
  if (name !== '' && author === null) errors.name = `The username ${em(name)} does not exist.`;
  const isNew = node === null;
  const isChecked = (flag: string): boolean => flag in body && body[flag] !== null;
  return defined({
    title: textOf(body.title) || undefined,
    status: body.status === null ? 0 : undefined,
    uid: author?.uid ?? (isNew ? user.uid : undefined),
    language: isNew ? (textOf(body.language) ?? 'und') : undefined,
    created: isAdmin ? createdOf(body) : undefined,
    promote: isChecked('promote') ? 1 : undefined,
    sticky: isAdmin && isChecked('sticky') ? 1 : undefined,
    log: textOf(body.log) ?? '',
  });
};

export const readForm: NodeReader = (body, context) => {
  const errors = titleErrors(body, context);
  const fault = 'title' in errors ? null : titleFault(textOf(body.title) ?? '');
  if (fault !== null) throw fault;
  return { core: readCore(body, context, errors), changes: readFields(body, context, errors) };
};
