// Changes that an update would make, field by field. Pure.
import { itemsOfField } from '../../dataset-api/fields.ts';
import type { SentNode } from '../../model/ledger-entry.ts';
import type { NodeFields } from '../../model/wish.ts';

/** One field of an update; null stands for "nothing". `from` is undefined where it is not known what was sent before. */
export interface FieldChange {
  field: string;
  from?: unknown;
  to: unknown;
}

/** Changes from what was sent last (null: not known) to what is wanted. */
export const nodeChanges = (
  sent: SentNode | null,
  wish: { title: string; published: boolean; fields: NodeFields },
): FieldChange[] => {
  if (!sent)
    return [
      { field: 'title', to: wish.title },
      ...Object.entries(wish.fields).map(([field, to]) => ({ field, to: plain(to) })),
    ];
  const changes: FieldChange[] = [];
  if (sent.title !== wish.title) changes.push({ field: 'title', from: sent.title, to: wish.title });
  if (sent.published !== wish.published)
    changes.push({ field: 'status', from: sent.published ? 1 : 0, to: wish.published ? 1 : 0 });
  for (const field of new Set([...Object.keys(sent.fields), ...Object.keys(wish.fields)])) {
    const [from, to] = [sent.fields[field], wish.fields[field]];
    if (field !== 'field_dataset_ref' && JSON.stringify(from) !== JSON.stringify(to)) {
      changes.push({ field, from: plain(from), to: plain(to) });
    }
  }
  return changes;
};

/** `{und: [{value: "x"}]}` as "x", lists of several as a list, anything else as it is; undefined as null. */
const plain = (value: unknown): unknown => {
  const items = itemsOfField(value)?.map(
    (item) => item.value ?? item.name ?? item.url ?? item.target_id ?? item.wkt ?? item,
  );
  if (items === undefined) return value ?? null;
  return items.length === 1 ? items[0] : items;
};
