// Items that point into the store: terms, references, files.
import { escapeHtml } from '../../util/html.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/open.ts';
import type { Field } from './fields.ts';
import { FieldFault, type RawItem, textOf } from './items.ts';

/** Numbers of the vocabularies, the same on every site that was checked. */
export const vocabularyIds: Readonly<Record<string, string>> = { format: '1', tags: '2', dkan_topics: '3' };

const digits = /^\d{1,15}$/;

/** The number a text holds, or null. */
export const idOf = (value: unknown): number | null => {
  const text = textOf(value)?.trim() ?? '';
  return digits.test(text) && Number(text) > 0 ? Number(text) : null;
};

/** The tid of a term item: an existing tid of the field's vocabulary, or a name, which is created when it is new. Inside a write. */
export const readTerm = (store: Store, field: Field, raw: RawItem): number => {
  const vocabulary = field.vocabulary ?? '';
  const named = textOf(raw.vocabulary_machine_name) ?? textOf(raw.vocabulary) ?? '';
  if (named !== '' && named !== vocabulary) {
    throw new FieldFault(
      field.name,
      `${field.name} takes terms of the vocabulary ${vocabulary}, not ${escapeHtml(named)}.`,
    );
  }
  const tid = idOf(raw.tid);
  if (tid !== null) {
    const term = store.terms.byTid(tid);
    if (term === null || term.vocabulary !== vocabulary) {
      throw new FieldFault(field.name, `${field.name}: there is no term ${tid} in the vocabulary ${vocabulary}.`);
    }
    return tid;
  }
  const given = textOf(raw.tid);
  const name = (textOf(raw.name) ?? (given === 'autocreate' ? null : given) ?? '').trim();
  if (name === '' || name.length > 255) {
    throw new FieldFault(field.name, `${field.name}: a term needs a tid, or a name of 1 to 255 characters.`);
  }
  return store.terms.byName(vocabulary, name)?.tid ?? store.terms.add({ tid: null, vocabulary, name });
};

/** The nid in a reference: a nid, the text form `Title (nid)` of which the last brackets count, or a title that only one node has. */
const nidIn = (store: Store, field: Field, { text, isFor }: { text: string; isFor: (node: StoredNode) => boolean }) => {
  const nid = idOf(text) ?? idOf(/\((\d+)\)\s*$/.exec(text)?.[1]);
  if (nid !== null) return nid;
  const found = store.nodes.byTitle(field.target ?? '', text.trim()).filter((one) => {
    const node = store.nodes.byNid(one);
    return node !== null && isFor(node);
  });
  const [only] = found;
  if (only === undefined) throw new FieldFault(field.name, `There are no entities matching "${escapeHtml(text)}"`);
  if (found.length > 1) {
    throw new FieldFault(
      field.name,
      `Several entities match "${escapeHtml(text)}"; write the title with its nid in brackets.`,
    );
  }
  return only;
};

/**
 * The nid of a reference item (spec 4.6), which must be a node of the field's type and one of those that `isFor` lets
 * pass; throws {@link FieldFault}.
 */
export const readReference = (
  store: Store,
  field: Field,
  { raw, isFor = () => true }: { raw: RawItem; isFor?: (node: StoredNode) => boolean },
): number => {
  const nid = nidIn(store, field, { text: textOf(raw.target_id) ?? '', isFor });
  const target = store.nodes.byNid(nid);
  if (target === null || !isFor(target) || (field.target !== null && target.type !== field.target)) {
    throw new FieldFault(field.name, `The referenced entity (node: ${nid}) is invalid.`);
  }
  return nid;
};

/** The fid of a file item, which must exist and be one of those that `isFor` lets pass; throws {@link FieldFault}. */
export const readFile = (
  store: Store,
  field: Field,
  { raw, isFor = () => true }: { raw: RawItem; isFor?: (file: StoredFile) => boolean },
): number => {
  const fid = idOf(raw.fid);
  const file = fid === null ? null : store.files.byFid(fid);
  if (fid === null || file === null || !isFor(file)) {
    throw new FieldFault(
      field.name,
      `The file ${escapeHtml(textOf(raw.fid) ?? '')} referenced by ${field.name} does not exist.`,
    );
  }
  return fid;
};
