// Reads the body of a node under the `spec` profile: both styles of spec 4.5 and 4.6, everything checked.
import { escapeHtml } from '../../util/html.ts';
import { defined } from '../../util/json.ts';
import { em, may, mayEdit, mayRead, mayUseFile, Refusal } from '../refusal.ts';
import type { CoreChanges, Field, FieldChanges, NodeReader, ReadContext } from './fields.ts';
import { FieldFault, idOf, type RawItem, readItem, textOf } from './items.ts';
import { isTextFormat, safeText } from './safe-text.ts';
import { otherSides, targetsIn } from './save.ts';
import { itemsIn } from './shapes.ts';
import { coreOf, lastOf } from './view.ts';

/** 406 with one message per element, as the editing form of such portals answers (recorded behaviour 8a). */
export const formRefusal = (errors: Record<string, string>): Refusal =>
  new Refusal(406, Object.values(errors).join(' '), { body: { form_errors: errors } });

/** What the editing form says of a text that has more than `most` characters; null for a shorter one. */
export const tooLong = (label: string, text: string, most: number): string | null => {
  const { length } = [...text];
  return length <= most
    ? null
    : `${label} cannot be longer than ${em(String(most))} characters but is currently ${em(String(length))} characters long.`;
};

export const titleError = (title: string): string | null =>
  title.trim() === '' ? 'Title field is required.' : tooLong('Title', title, 255);

/** What is wrong with a core property as it was sent (an empty text for what is no scalar); null: nothing. */
type Check = (sent: string, context: ReadContext, value: unknown) => string | null;

const anything: Check = () => null;

const digit =
  (name: string): Check =>
  (sent) =>
    /^\d?$/.test(sent) ? null : `The value of ${name} must be a single digit.`;

/** A flag that only those who administer nodes may change. */
const flag =
  (name: 'promote' | 'sticky'): Check =>
  (sent, context) =>
    Number(sent) !== (context.node?.[name] ?? 0) && !may(context.user, 'administer nodes')
      ? `Only users who administer nodes may change ${name}.`
      : digit(name)(sent, context, sent);

/** Accepted core properties; all of them texts or numbers. */
const settable: Readonly<Record<string, Check>> = {
  type: anything,
  title: titleError,
  status: (sent, _context, value) =>
    textOf(value) !== null && /^[01]?$/.test(sent) ? null : 'The value of status must be 0 or 1.',
  uuid: (sent, { node }) => {
    if (sent === '' || sent.toLowerCase() === node?.uuid.toLowerCase()) return null;
    if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(sent)) return 'The value of uuid is not a UUID.';
    return node === null ? null : 'The uuid of a node cannot be changed.';
  },
  nid: (sent, { node }) => {
    if (sent === '' || sent === String(node?.nid)) return null;
    return node === null ? 'The nid of a new node cannot be chosen.' : 'The nid of a node cannot be changed.';
  },
  uid: anything,
  name: anything,
  language: (sent) => (['', 'und'].includes(sent) ? null : 'The value of language must be und.'),
  created: (sent) =>
    sent === '' || idOf(sent) !== null ? null : 'The value of created must be a time in Unix seconds.',
  log: anything,
  revision: (sent) => (sent === '0' ? 'Every update makes a new revision; leave revision out.' : null),
  promote: flag('promote'),
  sticky: flag('sticky'),
  comment: digit('comment'),
};

/** Properties that reads show and only the portal sets (accepted as they are), and two that carry no information. */
const ownedByPortal = 'vid vuuid changed revision_timestamp revision_uid tnid translate picture data path'.split(' ');
const idle = ['rdf_mapping', 'uri'];

const ownedByPortalWords = (name: string): string => `The value of ${name} is set by the portal; leave it out.`;

const coreFault = (name: string, value: unknown, context: ReadContext): string | null => {
  const { node, fields, type } = context;
  const sent = textOf(value) ?? '';
  if (Object.hasOwn(settable, name)) {
    const isScalar = value === null || textOf(value) !== null;
    const fault = settable[name]?.(sent, context, value) ?? null;
    return fault ?? (isScalar ? null : `The value of ${name} must be a text or number.`);
  }
  const names = fields.map((field) => field.name);
  if (idle.includes(name) || names.includes(name)) return null;
  if (!ownedByPortal.includes(name)) {
    const known = [...Object.keys(settable), ...names].join(', ');
    return `A ${type} has no field ${escapeHtml(name.slice(0, 64))}; it has ${known}.`;
  }
  const present = node === null ? '0' : ({ ...coreOf(node), ...lastOf(node, '') }[name] ?? '');
  const isSame = sent === '' || sent === present || (name === 'path' && sent.endsWith(present));
  return isSame ? null : ownedByPortalWords(name);
};

/** The author: the caller; who administers nodes may name another one (recorded behaviour 8a). */
const readAuthor = (
  body: Record<string, unknown>,
  { store: { users }, user, node }: ReadContext,
  errors: Record<string, string>,
): number => {
  const present = node?.uid ?? user.uid;
  const [name, uid] = [textOf(body.name) ?? '', textOf(body.uid) ?? ''];
  if (!may(user, 'administer nodes')) {
    // Checked before any account is looked up, so that the answer does not reveal which accounts exist.
    const known = users.byUid(present)?.name.toLowerCase() ?? '';
    const refused = 'Only users who administer nodes may set another author.';
    if (name !== '' && name.toLowerCase() !== known) errors.name = refused;
    if (uid !== '' && uid !== String(present)) errors.uid = refused;
    return present;
  }
  const named = name === '' ? null : users.byName(name);
  if (name !== '' && named === null) errors.name = `The username ${escapeHtml(name)} does not exist.`;
  const wished = named?.uid ?? (uid === '' ? present : Number(uid));
  if (wished !== 0 && users.byUid(wished) === null) errors.uid = `There is no user ${escapeHtml(uid)}.`;
  return wished;
};

/** A uuid can be used once; which node has it is shown to those who may read that node. */
const checkUuid = ({ store, user, node }: ReadContext, uuid: string): void => {
  const other = uuid === '' || node !== null ? null : store.nodes.byUuid(uuid);
  if (other === null) return;
  const which = mayRead(user, other) || mayEdit(user, other) ? `: nid ${other.nid}` : '';
  throw new Refusal(409, `A node with the uuid ${uuid} exists already${which}`);
};

/** Core properties under `spec`: title required, author the caller, language `und`, given uuid, log, status and created kept. */
const readCore = (body: Record<string, unknown>, context: ReadContext): CoreChanges => {
  const errors: Record<string, string> = {};
  const isNew = context.node === null;
  const text = (name: string): string => textOf(body[name]) ?? '';
  const number = (name: string): number | undefined => (name in body ? Number(text(name)) : undefined);
  for (const [name, value] of Object.entries(isNew ? { title: null, ...body } : body)) {
    const fault = coreFault(name, value, context);
    if (fault !== null) errors[name] = fault;
  }
  const uid = readAuthor(body, context, errors);
  if (Object.keys(errors).length > 0) throw formRefusal(errors);
  checkUuid(context, text('uuid'));
  return defined({
    title: isNew || 'title' in body ? text('title') : undefined,
    status: number('status'),
    uid,
    uuid: text('uuid') || undefined,
    language: isNew ? 'und' : undefined,
    created: idOf(text('created')) ?? undefined,
    log: textOf(body.log) ?? undefined,
    promote: number('promote'),
    sticky: number('sticky'),
    comment: number('comment'),
  });
};

/** The body text of this profile always has a safe text (spec 2.1): an unknown format counts as plain text, none as `html`. */
const withSafeText = (item: RawItem, { rendered }: ReadContext): RawItem => {
  if (isTextFormat(item.format)) return item;
  const format = item.format ?? 'html';
  const safe = (text: unknown): string =>
    safeText(textOf(text) ?? '', format === 'html' ? 'html' : 'plain_text', rendered);
  return { ...item, format, safe_value: safe(item.value), safe_summary: safe(item.summary) };
};

/** An item as this profile shows it: links are an address (spec 2.3), and a title where they have one. */
const shownItem = ({ kind }: Field, item: RawItem, context: ReadContext): RawItem => {
  if (kind === 'link') return item.title === null ? { url: item.url } : { url: item.url, title: item.title };
  return kind === 'body' ? withSafeText(item, context) : item;
};

/** The items of a field that says something; null for the status of a datastore, which may be sent back as it was read. */
const readField = (field: Field, value: unknown, context: ReadContext): RawItem[] | null => {
  const raw = itemsIn(field, value);
  if (field.name === 'field_datastore_status') {
    const sent = textOf(raw[0]?.value) ?? '';
    if (sent === '' || sent === (context.node === null ? '0' : context.shownStatus)) return null;
    throw new FieldFault(ownedByPortalWords(field.name));
  }
  if (!field.many && raw.length > 1) {
    throw new FieldFault(`${field.name} takes one value; ${raw.length} were sent.`);
  }
  const items = raw.map((one) => shownItem(field, readItem(field, one, context), context));
  const isSet = field.kind === 'node' || field.kind === 'term';
  return isSet ? [...new Map(items.map((item) => [item.tid ?? item.target_id, item])).values()] : items;
};

/** Fields under `spec`: every shape of `itemsIn`, every value checked, all faults reported at once. */
const readFields = (body: Record<string, unknown>, context: ReadContext): FieldChanges => {
  const items: FieldChanges['items'] = {};
  const errors: Record<string, string> = {};
  for (const field of context.fields) {
    if (!(field.name in body)) continue;
    try {
      const read = readField(field, body[field.name], context);
      if (read !== null) items[field.name] = read;
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error;
      errors[field.name] = error.message;
    }
  }
  if (Object.keys(errors).length > 0) throw formRefusal(errors);
  return { items };
};

/** Refuses references that would change a node which the caller may not edit. */
const checkOtherSides = ({ store, user, node, type }: ReadContext, changes: FieldChanges): void => {
  const targets = targetsIn(changes);
  if (targets === undefined) return;
  const { added, removed } = otherSides(store, { nid: node?.nid ?? null, type }, targets);
  const foreign = [...added, ...removed]
    .flatMap((nid) => store.nodes.byNid(nid) ?? [])
    .find((other) => !mayEdit(user, other));
  if (foreign === undefined) return;
  const what = `the references of the ${foreign.type} ${foreign.nid}`;
  throw new Refusal(403, `This would change ${what}, which is not allowed for user ${escapeHtml(user.name)}`);
};

/** What the caller may name: nodes that he sees or that are in the node already; the existence of others is not revealed. */
const withBounds = (context: ReadContext): ReadContext => {
  const { store, user, node } = context;
  const held = node === null ? [] : store.nodes.targets(node.nid);
  return {
    ...context,
    mayRefer: (target) => mayRead(user, target) || mayEdit(user, target) || held.includes(target.nid),
    // Another file would become public with the node.
    mayUse: (file) => mayUseFile(store, user, { file, node }),
  };
};

export const readSpecNode: NodeReader = (body, context) => {
  const core = readCore(body, context);
  const changes = readFields(body, withBounds(context));
  checkOtherSides(context, changes);
  return { core, changes };
};
