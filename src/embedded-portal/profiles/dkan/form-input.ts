// Reads the body of a node as the editing form does: release C for all types, A and B for groups and pages (recorded
// behaviour 8a, 9, 10).

import { isObject } from '../../../util/json.ts';
import { may } from '../../access.ts';
import type { CoreChanges, FieldChanges, NodeReader, ReadContext } from '../../content/changes.ts';
import type { Field } from '../../content/fields.ts';
import { catchFault, idOf, readReference, textOf } from '../../content/items.ts';
import { formRefusal, longestTitle, tooLong } from '../../content/spec-input.ts';
import { em, exceptionFault } from '../../refusal.ts';
import { titleFault, untyped } from './faults.ts';
import { rowsOf, scalarsOf, seenBy, tidOf } from './form-widgets.ts';

const referenceRows = (und: unknown): (string | null)[] => rowsOf(und).map((row) => textOf(row.target_id));

/** The nid of one reference in text form, or what is wrong with it under the element's key. */
const readPlace = (
  { field, context }: { field: Field; context: ReadContext },
  text: string,
  index: number,
): { nid: number } | { key: string; message: string } => {
  const place = `${field.name}][und][${index}`;
  if (/^\d+$/.test(text)) {
    return { key: `${place}][target_id`, message: `There are no entities matching "${em(text)}"` };
  }
  return catchFault(
    () => ({ nid: readReference(context.store, field, { raw: { target_id: text } }) }),
    ({ message }) => {
      if (!message.startsWith('The referenced entity')) return { key: `${place}][target_id`, message };
      if (context.node !== null) return { key: place, message };
      throw untyped();
    },
  );
};

/**
 * References in text form, place by place: those that are not sent keep their value, an empty text clears one. The form
 * shows one empty place beside those that are filled, so what is sent beyond it is dropped.
 */
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
  for (const [index, text] of sent.slice(0, kept.length + 1).entries()) {
    if (text === null || text === '') {
      kept[index] = null;
      continue;
    }
    const read = readPlace({ field, context }, text, index);
    if ('nid' in read) kept[index] = read.nid;
    else errors[read.key] = read.message;
  }
  return { targets: kept.filter((nid) => typeof nid === 'number'), errors };
};

const needsRights = (body: Record<string, unknown>, items: FieldChanges['items']): boolean => {
  if (!('field_public_access_level' in body)) return false;
  const value = body.field_public_access_level;
  if (!isObject(value) || scalarsOf(value.und).length === 0) return false;
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
  return isObject(value) && rowsOf(value.und).length > 0;
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

const isWholeNumber = (value: unknown): boolean => /^-?\d+$/.test(textOf(value) ?? '');

const noSettings = (): Error =>
  exceptionFault(
    '22007',
    "SQLSTATE[22007]: Invalid datetime format: 1366 Incorrect integer value: '' for column `dkan3`.`field_data_field_upload`.`field_upload_grid` at row 1",
  );

/**
 * The file as the form saves it: with how its preview is shown, of which the database takes numbers only. A file that
 * the body does not show is one without these numbers; a body that shows the settings alone takes the file off.
 */
const readUpload = (body: Record<string, unknown>, field: Field, context: ReadContext): Partial<FieldChanges> => {
  const { node, store } = context;
  const value = body[field.name];
  const [row] = isObject(value) ? rowsOf(value.und) : [];
  const held = node === null ? [] : store.files.ofNode(node.nid);
  if (row === undefined) {
    const isSet = node?.fields.field_upload?.some((item) => item.fid === String(held[0]?.fid)) === true;
    if (held.length > 0 || isSet) throw noSettings();
    return {};
  }
  const known = idOf(row.fid);
  if (known === null || store.files.byFid(known) === null) return { fids: [] };
  const view = isObject(row.view) ? row.view : {};
  const numbers = [view.grid, view.graph, view.map, row.embed];
  if (!numbers.every(isWholeNumber)) throw noSettings();
  const [grid, graph, map, embed] = numbers.map((number) => String(Number(textOf(number))));
  const settings = { fid: String(known), delimiter: textOf(row.delimiter) ?? '', grid, graph, map, embed };
  return { fids: [known], items: { [field.name]: [settings] } };
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
const readFormFields = (
  body: Record<string, unknown>,
  context: ReadContext,
  errors: Record<string, string>,
): FieldChanges => {
  const changes: FieldChanges = { items: {} };
  for (const field of context.fields) {
    const value = body[field.name];
    const isSent = isObject(value) && 'und' in value;
    if (!isSent && field.kind !== 'period') continue;
    const und = isSent ? value.und : undefined;
    if (field.kind === 'node') {
      const { targets, errors: found } = readReferences(field, und, context);
      Object.assign(errors, found);
      if (targets !== undefined) changes.targets = targets;
      continue;
    }
    const { items, errors: found } = seenBy(field, und, context);
    Object.assign(errors, found ?? {});
    if (items !== null) changes.items[field.name] = items;
  }
  if (needsRights(body, changes.items)) errors.field_rights = 'Rights field is required.';
  Object.assign(errors, sourceErrors(body));
  if (Object.keys(errors).length > 0) throw formRefusal(errors);
  const upload = context.fields.find(({ kind }) => kind === 'file');
  if (upload !== undefined) {
    const { items, fids } = readUpload(body, upload, context);
    Object.assign(changes.items, items);
    if (fids !== undefined) changes.fids = fids;
  }
  defaultFormat(context, changes);
  harvestDates(context, changes);
  return changes;
};

const titleErrors = (body: Record<string, unknown>, { node }: ReadContext): Record<string, string> => {
  if (node !== null && !('title' in body)) return {};
  const title = textOf(body.title) ?? '';
  const fault = title === '' ? 'Title field is required.' : tooLong('Title', title, longestTitle);
  return fault === null ? {} : { title: fault };
};

const authorOf = (body: Record<string, unknown>, { store, user }: ReadContext): { uid?: number; error?: string } => {
  const name = textOf(body.name) ?? '';
  if (name === '' || !may(user, 'administer nodes')) return {};
  const author = store.users.byName(name);
  return author === null ? { error: `The username ${em(name)} does not exist.` } : { uid: author.uid };
};

/** A group's title is its own. */
const groupErrors = (body: Record<string, unknown>, { store, node, type }: ReadContext): Record<string, string> => {
  const title = textOf(body.title) ?? '';
  const taken =
    type === 'group' && title !== '' && store.nodes.byTitle('group', title).some((nid) => nid !== node?.nid);
  if (!taken) return {};
  return { title: `A group with title ${em(title)} exists on the site. Please use another title.` };
};

const coreErrors = (body: Record<string, unknown>, context: ReadContext): Record<string, string> => {
  const { error } = authorOf(body, context);
  return {
    ...groupErrors(body, context),
    ...titleErrors(body, context),
    ...(error === undefined ? {} : { name: error }),
  };
};

const createdOf = (body: Record<string, unknown>): { created?: number } => {
  const time = Date.parse((textOf(body.date) ?? '').replace(/ ([+-]\d{4})$/, '$1').replace(' ', 'T'));
  return Number.isNaN(time) ? {} : { created: Math.floor(time / 1000) };
};

/** Core properties as the form takes them: a status other than null, uid, uuid and created are ignored, the log is emptied by every update. */
const readCore = (body: Record<string, unknown>, context: ReadContext): CoreChanges => {
  const { node, user } = context;
  const title = textOf(body.title) ?? '';
  const isAdmin = may(user, 'administer nodes');
  const checked = (name: 'promote' | 'sticky'): Partial<CoreChanges> =>
    name in body && body[name] !== null && (isAdmin || name === 'promote') ? { [name]: 1 } : {};
  const { uid } = authorOf(body, context);
  const language = textOf(body.language);
  return {
    ...(title === '' ? {} : { title }),
    ...(body.status === null ? { status: 0 } : {}),
    ...(node === null ? { uid: uid ?? user.uid, language: language ?? 'und' } : uid === undefined ? {} : { uid }),
    ...(isAdmin ? createdOf(body) : {}),
    ...checked('promote'),
    ...checked('sticky'),
    log: textOf(body.log) ?? '',
  };
};

/** The body of a node as the form takes it; all errors at once. */
export const readForm: NodeReader = (body, context) => {
  const errors = coreErrors(body, context);
  const fault = 'title' in errors ? null : titleFault(textOf(body.title) ?? '');
  if (fault !== null) throw fault;
  return { core: readCore(body, context), changes: readFormFields(body, context, errors) };
};
