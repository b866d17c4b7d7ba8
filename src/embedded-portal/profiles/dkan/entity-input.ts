// Reads the body of a node as release B does: no form, bare structures, little checked (recorded behaviour 8).
import { escapeHtml } from '../../../util/html.ts';
import { defined, isObject } from '../../../util/json.ts';
import type { CoreChanges, Field, FieldChanges, NodeReader, ReadContext } from '../../content/fields.ts';
import { catchFault, emptyGeometry, idOf, type RawItem, readItem, textOf, vocabularyIds } from '../../content/items.ts';
import { exceptionFault, unknownNode } from '../../refusal.ts';
import { codelessFault, fatalFault, titleFault, untyped } from './faults.ts';

const integer = (value: unknown): number => Number(/^\s*-?\d{1,10}/.exec(textOf(value) ?? '')?.[0] ?? 0);

/** Core properties as release B takes them: whatever is sent, from whoever may create or edit. */
const readCore = (body: Record<string, unknown>, { node }: ReadContext): CoreChanges => {
  const isNew = node === null;
  const nid = textOf(body.nid) ?? '';
  if (nid !== '' && nid !== String(node?.nid)) throw unknownNode('');
  if (!isNew && (body.type === null || body.type === '')) throw untyped();
  const title = 'title' in body ? (textOf(body.title) ?? '') : undefined;
  const fault = titleFault(title ?? '');
  if (fault !== null) throw fault;
  const number = (name: string): number | undefined => (name in body ? integer(body[name]) : undefined);
  return defined({
    title: title ?? (isNew ? '' : undefined),
    uid: number('uid'),
    status: number('status'),
    language: textOf(body.language) ?? undefined,
    created: integer(body.created) > 0 ? integer(body.created) : undefined,
    log: textOf(body.log) ?? undefined,
    promote: number('promote'),
    sticky: number('sticky'),
    comment: number('comment'),
    uuid: textOf(body.uuid) || undefined,
    newRevision: 'revision' in body && !isNew ? integer(body.revision) !== 0 : undefined,
  });
};

const validation = (): never => {
  throw codelessFault('Field validation errors');
};

/** What the recorded database says of a value that a column of a field does not take. */
const badValue = (field: Field, column: string, { type, value }: { type: 'integer' | 'datetime'; value: string }) =>
  exceptionFault(
    '22007',
    `SQLSTATE[22007]: Invalid datetime format: ${type === 'integer' ? 1366 : 1292} Incorrect ${type} value: '${escapeHtml(value)}' for column \`dkan2\`.\`field_data_${field.name}\`.\`${column}\` at row 1`,
  );

/** True for the fields that find nothing in a text or number where an item belongs; the others break on it. */
const takesScalars = ({ kind, many }: Field): boolean =>
  ['text', 'long', 'body', 'period'].includes(kind) || (kind === 'link' && !many);

const isBareGroup = ({ kind }: Field, value: unknown): boolean =>
  kind === 'group' && isObject(value) && isObject(value.und) && 'target_id' in value.und;

/** The items of `{und: [...]}`; null where the value says nothing (a bare scalar, another language counts as none). */
const itemsOf = (field: Field, value: unknown): RawItem[] | null => {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.length === 0 ? [] : null;
  if (!isObject(value) || isBareGroup(field, value)) return null;
  const und = value.und;
  if (und === undefined || und === null) return [];
  if (!Array.isArray(und) && !isObject(und)) throw fatalFault();
  for (const key of Object.keys(und))
    if (!/^\d+$/.test(key)) throw badValue(field, 'delta', { type: 'integer', value: key });
  const items = Object.values(und).map((item) => (takesScalars(field) && textOf(item) !== null ? {} : item));
  if (field.kind !== 'group' && items.some((item) => !isObject(item))) throw fatalFault();
  return items.filter(isObject);
};

const checkOption = ({ name, options }: Field, value: string | null): void => {
  if (options === undefined || name === 'field_orphan' || value === null || options.includes(value)) return;
  if (value !== '' && name !== 'field_license') validation();
  throw codelessFault(`Invalid option for field ${name}`);
};

/** `13.0` is `13`; in steps that grow with the length of the number only. */
const withoutZeros = (number: string): string => {
  if (!/^\d+\.\d*0$/.test(number)) return number;
  let end = number.length;
  while (number[end - 1] === '0') end -= 1;
  return number.slice(0, number[end - 1] === '.' ? end - 1 : end);
};

/** A geometry as the recorded library writes it: `13.0` is `13`, one space behind the type and behind each comma. */
const rewritten = (wkt: string): string =>
  wkt
    .replace(/[\d.]+/g, withoutZeros)
    .split(',')
    .map((part) => part.trim())
    .join(', ')
    .split('(')
    .map((part) => part.trim())
    .join('(')
    .replace(/^([a-z]+)\(/i, (_, type) => `${String(type).toUpperCase()} (`);

const withoutValue: Partial<Record<Field['kind'], (raw: RawItem) => RawItem>> = {
  text: ({ format }) => ({ format: textOf(format), safe_value: '' }),
  long: ({ format }) => ({ format: textOf(format) }),
  body: ({ summary, format }) => ({ summary: textOf(summary), format: textOf(format) }),
  period: () => ({ value2: null, timezone: 'UTC', timezone_db: 'UTC', date_type: 'datetime' }),
};

/** A link, which may be empty or without scheme, and is made of ASCII characters. */
const readLink: ReadOdd = (field, raw, context) => {
  const url = textOf(raw.url) ?? '';
  const title = textOf(raw.title);
  const isEmpty = url === '' && (title ?? '') === '';
  if (isEmpty) return { url, title, attributes: [], original_title: title, original_url: url };
  if (/[^\x20-\x7e]/.test(url)) return validation();
  const sent = { ...raw, url: url.startsWith('//') ? `http:${url}` : url };
  return { ...catchFault(() => readItem(field, sent, context), validation), url, original_url: url };
};

const readDate: ReadOdd = (field, raw, context) =>
  catchFault(
    () => readItem(field, raw, context),
    () => {
      throw badValue(field, `${field.name}_value`, { type: 'datetime', value: textOf(raw.value) ?? '' });
    },
  );

const readTarget: ReadOdd = (field, raw, { store }) => {
  const sent = textOf(raw.target_id) ?? '';
  const nid = idOf(sent);
  if (nid === null) throw badValue(field, `${field.name}_target_id`, { type: 'integer', value: sent });
  if (store.nodes.byNid(nid) === null) throw untyped();
  return { target_id: String(nid) };
};

/** A term; `autocreate` makes a new one in the vocabulary of the number that is sent: that of the field or not. */
const readTerm: ReadOdd = (field, raw, context) => {
  if (textOf(raw.tid) === null) {
    throw exceptionFault('23000', "SQLSTATE[23000]: Integrity constraint violation: 1048 Column 'tid' cannot be null");
  }
  if (raw.tid !== 'autocreate') return catchFault(() => readItem(field, raw, context), validation);
  const vid = textOf(raw.vid) ?? '0';
  const [vocabulary = vid] = Object.entries(vocabularyIds).find(([, id]) => id === vid) ?? [];
  return { tid: String(context.store.terms.add({ tid: null, vocabulary, name: textOf(raw.name) ?? '' })) };
};

/** A group whose member the caller is, as its author is; user 1 needs not be one. */
const readGroup: ReadOdd = (field, raw, context) => {
  const group = catchFault(() => readItem(field, raw, context), validation);
  const { user, store } = context;
  return user.uid === 1 || store.nodes.byNid(Number(group.target_id))?.uid === user.uid ? group : validation();
};

/** What of a field is read otherwise than the specification has it; null: nothing of the item is kept. */
type ReadOdd = (field: Field, raw: RawItem, context: ReadContext) => RawItem | null;

const odd: Partial<Record<Field['kind'], ReadOdd>> = {
  link: readLink,
  date: readDate,
  period: readDate,
  geo: (field, raw, context) =>
    catchFault(() => readItem(field, { wkt: rewritten(textOf(raw.wkt) ?? '') }, context), emptyGeometry),
  node: readTarget,
  term: readTerm,
  group: readGroup,
  file: (field, { fid }, context) =>
    catchFault(
      () => readItem(field, { fid }, context),
      () => null,
    ),
};

const readOne: ReadOdd = (field, raw, context) => {
  const value = textOf(raw.value);
  checkOption(field, value);
  const empty = value === null ? withoutValue[field.kind]?.(raw) : undefined;
  if (empty !== undefined) return { value, ...empty };
  const plain: ReadOdd = () => catchFault(() => readItem(field, raw, context), validation);
  return (odd[field.kind] ?? plain)(field, raw, context);
};

const readFields = (body: Record<string, unknown>, context: ReadContext): FieldChanges => {
  const items: FieldChanges['items'] = {};
  const undefaulted: string[] = [];
  for (const field of context.fields) {
    if (!(field.name in body) || field.kind === 'remote') continue;
    const raw = itemsOf(field, body[field.name]);
    if (raw === null || Array.isArray(body[field.name])) undefaulted.push(field.name);
    if (!field.many && raw !== null && raw.length > 1) validation();
    if (raw !== null)
      items[field.name] = raw.map((one) => readOne(field, one, context)).filter((item) => item !== null);
    else if (context.node === null && !['term', 'node', 'file', 'group'].includes(field.kind)) items[field.name] = [];
  }
  return { items, undefaulted };
};

export const readEntity: NodeReader = (body, context) => ({
  core: readCore(body, context),
  changes: readFields(body, context),
  // A group outside a list ends the request behind the save, which knows none there.
  late: context.fields.some((field) => isBareGroup(field, body[field.name])) ? fatalFault() : null,
});
