// Reads the body of a node under the `spec` profile: both styles of spec 4.5 and 4.6, everything checked.
import { escapeHtml } from '../../util/html.ts';
import { defined } from '../../util/json.ts';
import { may, mayEdit, mayRead, mayUseFile } from '../access.ts';
import { em, Refusal } from '../refusal.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import type { CoreChanges, FieldChanges, NodeReader, ReadContext } from './changes.ts';
import type { Field } from './fields.ts';
import { FieldFault, idOf, type RawItem, readFile, readItem, readReference, readTerm, textOf } from './items.ts';
import type { RenderedTexts } from './long-texts.ts';
import { isTextFormat, safeText } from './safe-text.ts';
import { otherSides } from './save.ts';
import { fileSettings, itemsIn } from './shapes.ts';
import { publicPath } from './view.ts';

/** 406 with one message per element, as the editing form of such portals answers (recorded behaviour 8a). */
export const formRefusal = (errors: Record<string, string>): Refusal =>
  new Refusal(406, Object.values(errors).join(' '), { body: { form_errors: errors } });

export const longestTitle = 255;

/** What the editing form says of a text that has more than `most` characters; null for a shorter one. */
export const tooLong = (label: string, text: string, most: number): string | null => {
  const { length } = [...text];
  return length <= most
    ? null
    : `${label} cannot be longer than ${em(String(most))} characters but is currently ${em(String(length))} characters long.`;
};

/** What is wrong with a core property as it was sent; null: nothing. */
type Check = (sent: string, context: ReadContext) => string | null;

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const digit =
  (name: string): Check =>
  (sent) =>
    /^\d?$/.test(sent) ? null : `The value of ${name} must be a single digit.`;

/** A flag that only those who administer nodes may change. */
const flag =
  (name: 'promote' | 'sticky'): Check =>
  (sent, context) => {
    const isChanged = Number(sent) !== (context.node?.[name] ?? 0);
    if (isChanged && !may(context.user, 'administer nodes')) {
      return `Only users who administer nodes may change ${name}.`;
    }
    return digit(name)(sent, context);
  };

const checks: Readonly<Record<string, Check>> = {
  language: (sent) => (['', 'und'].includes(sent) ? null : 'The value of language must be und.'),
  revision: (sent) => (sent === '0' ? 'Every update makes a new revision; leave revision out.' : null),
  nid: (sent, { node }) => {
    if (sent === '' || sent === String(node?.nid)) return null;
    return node === null ? 'The nid of a new node cannot be chosen.' : 'The nid of a node cannot be changed.';
  },
  title: (sent) => (sent.trim() === '' ? 'Title field is required.' : tooLong('Title', sent, longestTitle)),
  status: (sent) => (/^[01]?$/.test(sent) ? null : 'The value of status must be 0 or 1.'),
  uuid: (sent, { node }) => {
    if (sent === '' || sent.toLowerCase() === node?.uuid.toLowerCase()) return null;
    if (!uuidPattern.test(sent)) return 'The value of uuid is not a UUID.';
    return node === null ? null : 'The uuid of a node cannot be changed.';
  },
  created: (sent) =>
    sent === '' || idOf(sent) !== null ? null : 'The value of created must be a time in Unix seconds.',
  promote: flag('promote'),
  sticky: flag('sticky'),
  comment: digit('comment'),
};

/** The author: the caller; who administers nodes may name another one (recorded behaviour 8a). */
const readAuthor = (
  body: Record<string, unknown>,
  { store, user, node }: ReadContext,
  errors: Record<string, string>,
): number | undefined => {
  const present = node === null ? user.uid : node.uid;
  const name = textOf(body.name) ?? '';
  const uid = textOf(body.uid) ?? '';
  if (!may(user, 'administer nodes')) {
    // Checked before any account is looked up, so that the answer does not reveal which accounts exist.
    const known = store.users.byUid(present)?.name.toLowerCase() ?? '';
    const refused = 'Only users who administer nodes may set another author.';
    if (name !== '' && name.toLowerCase() !== known) errors.name = refused;
    if (uid !== '' && uid !== String(present)) errors.uid = refused;
    return present;
  }
  const named = name === '' ? null : store.users.byName(name);
  if (name !== '' && named === null) errors.name = `The username ${escapeHtml(name)} does not exist.`;
  const wished = named?.uid ?? (uid === '' ? present : Number(uid));
  if (wished !== 0 && store.users.byUid(wished) === null) errors.uid = `There is no user ${escapeHtml(uid)}.`;
  return wished;
};

/** Accepted core properties; all of them texts or numbers. */
const settable = [
  ...['type', 'title', 'status', 'uuid', 'nid', 'uid', 'name', 'language', 'created', 'log', 'revision'],
  ...['promote', 'sticky', 'comment'],
];

/** Properties that reads show and only the portal sets. */
const ownedByPortal: Readonly<Record<string, (node: StoredNode) => string | number>> = {
  vid: ({ vid }) => vid,
  vuuid: ({ vuuid }) => vuuid,
  changed: ({ changed }) => changed,
  revision_timestamp: ({ revisionTimestamp }) => revisionTimestamp,
  revision_uid: ({ revisionUid }) => revisionUid,
  tnid: ({ tnid }) => tnid,
  translate: ({ translate }) => translate,
  picture: () => 0,
  data: () => 'b:0;',
  path: (node) => publicPath(node, ''),
};

/** Read-only properties that carry no information: accepted and ignored. */
const idle = new Set(['rdf_mapping', 'uri']);

const keyFault = (name: string, value: unknown, { node, fields, type }: ReadContext): string | null => {
  if (settable.includes(name)) {
    return value === null || textOf(value) !== null ? null : `The value of ${name} must be a text or number.`;
  }
  if (idle.has(name) || fields.some((field) => field.name === name)) return null;
  const text = textOf(value) ?? '';
  const owned = Object.hasOwn(ownedByPortal, name) ? ownedByPortal[name] : undefined;
  if (owned === undefined) {
    return `A ${type} has no field ${escapeHtml(name.slice(0, 64))}; it has ${[...settable, ...fields.map((field) => field.name)].join(', ')}.`;
  }
  const present = node === null ? '0' : String(owned(node));
  const isSame = text === '' || text === present || (name === 'path' && text.endsWith(present));
  return isSame ? null : `The value of ${name} is set by the portal; leave it out.`;
};

/** A uuid can be used once; which node has it is shown to those who may read that node. */
const checkUuid = ({ store, user, node }: ReadContext, uuid: string | undefined): void => {
  const known = uuid === undefined || node !== null ? null : store.nodes.byUuid(uuid);
  const other = known === null ? null : store.nodes.byNid(known.nid);
  if (other === null) return;
  const which = mayRead(user, other) || mayEdit(user, other) ? `: nid ${other.nid}` : '';
  throw new Refusal(409, `A node with the uuid ${uuid} exists already${which}`);
};

/** Refuses references that would change a node which the caller may not edit. */
const checkOtherSides = ({ store, user, node, type }: ReadContext, targets: readonly number[] | undefined): void => {
  if (targets === undefined) return;
  const { added, removed } = otherSides(store, { nid: node?.nid ?? null, type }, targets);
  const foreign = [...added, ...removed]
    .flatMap((nid) => store.nodes.byNid(nid) ?? [])
    .find((other) => !mayEdit(user, other));
  if (foreign === undefined) return;
  throw new Refusal(
    403,
    `This would change the references of the ${foreign.type} ${foreign.nid}, which is not allowed for user ${escapeHtml(user.name)}`,
  );
};

/** Core properties under `spec`: title required, author the caller, language `und`, given uuid, log, status and created kept. */
const readCore = (body: Record<string, unknown>, context: ReadContext): CoreChanges => {
  const errors: Record<string, string> = {};
  const note = (name: string, fault: string | null): void => {
    if (fault !== null) errors[name] = fault;
  };
  const textIn = (name: string): string => textOf(body[name]) ?? '';
  const isNew = context.node === null;
  for (const [name, value] of Object.entries(body)) note(name, keyFault(name, value, context));
  for (const [name, check] of Object.entries(checks)) {
    if (name in body || (isNew && name === 'title'))
      note(name, check(name === 'status' ? (textOf(body.status) ?? 'none') : textIn(name), context));
  }
  const numberIn = (name: string): number | undefined => (name in body ? Number(textIn(name)) : undefined);
  const core: { [K in keyof CoreChanges]: CoreChanges[K] | undefined } = {
    title: isNew || 'title' in body ? textIn('title') : undefined,
    status: numberIn('status'),
    uid: readAuthor(body, context, errors),
    uuid: textIn('uuid') || undefined,
    language: isNew ? 'und' : undefined,
    created: idOf(textIn('created')) ?? undefined,
    log: textOf(body.log) ?? undefined,
    promote: numberIn('promote'),
    sticky: numberIn('sticky'),
    comment: numberIn('comment'),
  };
  if (Object.keys(errors).length > 0) throw formRefusal(errors);
  return defined(core);
};

/** The body text of this profile always has a safe text (spec 2.1): an unknown format counts as plain text, none as `html`. */
const withSafeText = (item: RawItem, rendered: RenderedTexts): RawItem => {
  if (isTextFormat(item.format)) return item;
  const format = item.format === null ? 'html' : item.format;
  const used = format === 'html' ? 'html' : 'plain_text';
  const value = textOf(item.value) ?? '';
  const summary = textOf(item.summary);
  return {
    value,
    summary,
    format,
    safe_value: safeText(value, used, rendered),
    safe_summary: safeText(summary ?? '', used, rendered),
  };
};

/** An item as this profile shows it: links are an address (spec 2.3), and a title where they have one. */
const shownItem = (field: Field, item: RawItem, rendered: RenderedTexts): RawItem => {
  if (field.kind === 'link') return item.title === null ? { url: item.url } : { url: item.url, title: item.title };
  return field.kind === 'body' ? withSafeText(item, rendered) : item;
};

/** The status of a datastore is the portal's: it may be sent back as it was read, and nothing else. */
const checkOwned = (field: Field, raw: RawItem[], { node, shownStatus }: ReadContext): void => {
  const sent = textOf(raw[0]?.value) ?? '';
  const present = node === null ? '0' : shownStatus;
  if (sent !== '' && sent !== present) {
    throw new FieldFault(field, `The value of ${field.name} is set by the portal; leave it out.`);
  }
};

/** Files of the node itself, and those that the caller uploaded or may read: another one would become public with the node. */
const readFiles = (field: Field, raw: RawItem[], { store, user, node }: ReadContext): FieldChanges => {
  const isFor = (file: StoredFile): boolean => mayUseFile(store, user, { file, node });
  const settingsOf = (one: RawItem): RawItem =>
    Object.fromEntries(fileSettings.flatMap((key) => (textOf(one[key]) ? [[key, textOf(one[key])]] : [])));
  const fids = raw.map((one) => readFile(store, field, { raw: one, isFor }));
  return { fids, items: { [field.name]: raw.map((one, index) => ({ fid: String(fids[index]), ...settingsOf(one) })) } };
};

/** A node that the caller sees, or that is in the node already; the existence of others is not revealed. */
const mayReferTo = ({ store, user, node }: ReadContext, target: StoredNode): boolean =>
  mayRead(user, target) ||
  mayEdit(user, target) ||
  (node !== null && store.nodes.targets(node.nid).includes(target.nid));

const readOne = (field: Field, raw: RawItem[], context: ReadContext): FieldChanges => {
  const { store, rendered } = context;
  if (!field.many && raw.length > 1) {
    throw new FieldFault(field, `${field.name} takes one value; ${raw.length} were sent.`);
  }
  const isFor = (target: StoredNode): boolean => mayReferTo(context, target);
  if (field.kind === 'node')
    return { items: {}, targets: [...new Set(raw.map((one) => readReference(store, field, { raw: one, isFor })))] };
  if (field.kind === 'file') return readFiles(field, raw, context);
  if (field.kind === 'group') {
    const targetOf = (one: RawItem) =>
      field.target === null ? textOf(one.target_id) : readReference(store, field, { raw: one, isFor });
    return { items: { [field.name]: raw.map((one) => ({ target_id: String(targetOf(one)) })) } };
  }
  if (field.kind === 'term') {
    const tids = [...new Set(raw.map((one) => readTerm(store, field, one)))];
    return { items: { [field.name]: tids.map((tid) => ({ tid: String(tid) })) } };
  }
  return { items: { [field.name]: raw.map((one) => shownItem(field, readItem(field, one, rendered), rendered)) } };
};

/** Fields under `spec`: every shape of `itemsIn`, every value checked, all faults reported at once. */
const readFields = (body: Record<string, unknown>, context: ReadContext): FieldChanges => {
  const changes: FieldChanges = { items: {} };
  const errors: Record<string, string> = {};
  for (const field of context.fields) {
    if (!(field.name in body)) continue;
    try {
      const raw = itemsIn(field, body[field.name]);
      if (field.name === 'field_datastore_status') {
        checkOwned(field, raw, context);
        continue;
      }
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

export const readSpecNode: NodeReader = (body, context) => {
  const core = readCore(body, context);
  checkUuid(context, core.uuid);
  const changes = readFields(body, context);
  checkOtherSides(context, changes.targets);
  return { core, changes };
};
