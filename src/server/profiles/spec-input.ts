// How the `spec` profile reads the body of a node: both styles of spec 4.5 and 4.6, everything checked.

import { may } from '../access.ts';
import type { Field } from '../content/fields.ts';
import type { RawItem } from '../content/items.ts';
import { FieldFault, readItem, textOf } from '../content/items.ts';
import { idOf, readFile, readReference, readTerm } from '../content/links.ts';
import { isTextFormat, safeText } from '../content/safe-text.ts';
import { itemsIn } from '../content/shapes.ts';
import { escapeHtml, Refusal } from '../refusal.ts';
import type { CoreChanges, FieldChanges, ReadContext } from './profile.ts';

/** 406 with one message per element, as the editing form of such portals answers (recorded behaviour 8a). */
export const formRefusal = (errors: Record<string, string>): Refusal =>
  new Refusal(406, Object.values(errors).join(' '), { body: { form_errors: errors } });

const longestTitle = 255;

const readTitle = (body: Record<string, unknown>, errors: Record<string, string>): string | undefined => {
  const title = textOf(body.title) ?? '';
  if (title.trim() === '') errors.title = 'Title field is required.';
  else if ([...title].length > longestTitle) {
    errors.title = `Title cannot be longer than <em class="placeholder">${longestTitle}</em> characters but is currently <em class="placeholder">${[...title].length}</em> characters long.`;
  }
  return title;
};

/** The same without the keys that hold nothing, so that spreading it overwrites nothing. */
const withoutUndefined = (core: Record<string, unknown>): CoreChanges =>
  Object.fromEntries(Object.entries(core).filter(([, value]) => value !== undefined));

const flags = ['promote', 'sticky', 'comment'] as const;

const readFlag = (name: string, value: unknown, errors: Record<string, string>): number => {
  const text = textOf(value) ?? '';
  if (text === '') return 0;
  if (!/^\d$/.test(text)) errors[name] = `The value of ${name} must be a single digit.`;
  return Number(text);
};

const readStatus = (value: unknown, errors: Record<string, string>): number => {
  const text = textOf(value) ?? '0';
  if (!['0', '1', ''].includes(text)) errors.status = 'The value of status must be 0 or 1.';
  return text === '1' ? 1 : 0;
};

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const readUuid = (value: unknown, { node }: ReadContext, errors: Record<string, string>): string | undefined => {
  const uuid = textOf(value) ?? '';
  if (uuid === '') return undefined;
  if (!uuidPattern.test(uuid)) errors.uuid = 'The value of uuid is not a UUID.';
  else if (node !== null && node.uuid.toLowerCase() !== uuid.toLowerCase())
    errors.uuid = 'The uuid of a node cannot be changed.';
  return uuid;
};

/** The author: the caller; who administers nodes may name another one (recorded behaviour 8a). */
const readAuthor = (
  body: Record<string, unknown>,
  { store, user, node }: ReadContext,
  errors: Record<string, string>,
): number | undefined => {
  const fallback = node === null ? user.uid : undefined;
  const name = textOf(body.name) ?? '';
  if (name === '' || !may(user, 'administer nodes')) return fallback;
  const author = store.users.byName(name);
  if (author === null) errors.name = `The username ${escapeHtml(name)} does not exist.`;
  return author?.uid ?? fallback;
};

const checkIdentity = (body: Record<string, unknown>, { node }: ReadContext, errors: Record<string, string>): void => {
  const nid = textOf(body.nid) ?? '';
  if (nid !== '' && (node === null || nid !== String(node.nid))) {
    errors.nid = node === null ? 'The nid of a new node cannot be chosen.' : 'The nid of a node cannot be changed.';
  }
};

const readCreated = (value: unknown, errors: Record<string, string>): number | undefined => {
  const text = textOf(value) ?? '';
  if (text === '') return undefined;
  const created = idOf(text);
  if (created === null) errors.created = 'The value of created must be a time in Unix seconds.';
  return created ?? undefined;
};

/** Core properties under `spec`: title required, author the caller, language `und`, given uuid, log, status and created kept. */
export const readSpecCore = (body: Record<string, unknown>, context: ReadContext): CoreChanges => {
  const errors: Record<string, string> = {};
  const isNew = context.node === null;
  checkIdentity(body, context, errors);
  const core: { [K in keyof CoreChanges]: CoreChanges[K] | undefined } = {
    title: isNew || 'title' in body ? readTitle(body, errors) : undefined,
    status: 'status' in body ? readStatus(body.status, errors) : undefined,
    uid: readAuthor(body, context, errors),
    uuid: readUuid(body.uuid, context, errors),
    language: isNew ? 'und' : undefined,
    created: readCreated(body.created, errors),
    log: textOf(body.log) ?? undefined,
  };
  for (const name of flags) if (name in body) core[name] = readFlag(name, body[name], errors);
  if (Object.keys(errors).length > 0) throw formRefusal(errors);
  return withoutUndefined(core);
};

/** The body text of this profile always has a safe text (spec 2.1): an unknown format counts as plain text, none as `html`. */
const withSafeText = (item: RawItem): RawItem => {
  if (isTextFormat(item.format)) return item;
  const format = item.format === null ? 'html' : item.format;
  const used = format === 'html' ? 'html' : 'plain_text';
  const value = textOf(item.value) ?? '';
  const summary = textOf(item.summary);
  return {
    value,
    summary,
    format,
    safe_value: safeText(value, used),
    safe_summary: safeText(summary ?? '', used),
  };
};

const ownedBySystem = new Set(['field_datastore_status']);

const readOne = (field: Field, raw: RawItem[], context: ReadContext): FieldChanges => {
  const { store } = context;
  if (!field.many && raw.length > 1) {
    throw new FieldFault(field.name, `${field.name} takes one value; ${raw.length} were sent.`);
  }
  if (field.kind === 'node')
    return { items: {}, targets: [...new Set(raw.map((one) => readReference(store, field, one)))] };
  if (field.kind === 'file') return { items: {}, fids: raw.map((one) => readFile(store, field, one)) };
  if (field.kind === 'group') {
    return { items: { [field.name]: raw.map((one) => ({ target_id: String(readReference(store, field, one)) })) } };
  }
  if (field.kind === 'term') {
    const tids = [...new Set(raw.map((one) => readTerm(store, field, one)))];
    return { items: { [field.name]: tids.map((tid) => ({ tid: String(tid) })) } };
  }
  const items = raw.map((one) => readItem(field, one));
  return { items: { [field.name]: field.kind === 'body' ? items.map(withSafeText) : items } };
};

/** Fields under `spec`: every shape of `itemsIn`, every value checked, all faults told at once. */
export const readSpecFields = (body: Record<string, unknown>, context: ReadContext): FieldChanges => {
  const changes: FieldChanges = { items: {} };
  const errors: Record<string, string> = {};
  for (const field of context.fields) {
    if (!(field.name in body) || ownedBySystem.has(field.name)) continue;
    const raw = itemsIn(field, body[field.name]);
    if (raw === null) continue;
    try {
      const { items, ...linked } = readOne(field, raw, context);
      Object.assign(changes.items, items);
      Object.assign(changes, linked);
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error;
      errors[error.field] = error.message;
    }
  }
  if (Object.keys(errors).length > 0) throw formRefusal(errors);
  return changes;
};
