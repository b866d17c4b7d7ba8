// Planned content that the portal cannot hold, reported before anything is sent.
import { stat } from 'node:fs/promises';
import { type FieldItem, itemsOfField, limitedInForms } from '../../dataset-api/fields.ts';
import { orNull, PortalRefusedError } from '../../model/errors.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import type { Portal } from '../../portal-client/client.ts';
import { listed } from '../../util/plural.ts';

export const targetLimits = (portal: Portal) => {
  const found: { limit: string; key: string }[] = [];
  /** Whether there is a group of that title. */
  const groups = new Map<string, boolean>();

  const note = (limit: string, key: string): void => void found.push({ limit, key });

  const addForm = ({ key, published, fields }: DatasetWish | ResourceWish): void => {
    if (!published) note('the portal publishes every node that it creates, so drafts are not created', key);
    for (const { field, most } of limitedInForms) {
      if ((itemsOfField(fields[field])?.length ?? 0) > most)
        note(most === 0 ? `the portal has no ${field}` : `the portal accepts one item of ${field}`, key);
    }
    const format = itemsOfField(fields.body)?.[0]?.format;
    if (typeof format === 'string' && !['html', 'plain_text'].includes(format))
      note(`the portal may refuse the text format ${format}`, key);
  };

  const addUnsendable = async ({ key, fields: wished }: DatasetWish | ResourceWish, signal: AbortSignal) => {
    const { og_group_ref: _groups, ...fields } = wished; // by title, see below
    const { fields: resolved } = await portal.terms.find(fields, signal);
    for (const [name, problems] of Object.entries(await portal.nodes.unsendable(resolved, signal)))
      note(`${name}: ${problems.join('; ')}`, key);
  };

  const addSize = async ({ key, source }: ResourceWish): Promise<void> => {
    const limit = portal.traits.get('tooLarge') ?? null;
    const file = limit !== null && source.kind === 'file' ? await stat(source.path).catch(() => null) : null;
    if (file && limit !== null && file.size >= limit)
      note(`the portal refused a file of ${limit} bytes as too large`, key);
  };

  const isGroup = async (item: FieldItem, signal: AbortSignal): Promise<boolean> => {
    const resolved = portal.resolveGroups({ og_group_ref: { und: [item] } }, signal);
    return (await orNull(resolved, [PortalRefusedError])) !== null;
  };

  const addGroups = async ({ key, fields }: DatasetWish | ResourceWish, signal: AbortSignal): Promise<void> => {
    for (const item of itemsOfField(fields.og_group_ref) ?? []) {
      const { title } = item;
      if (typeof title !== 'string') continue;
      const isThere = groups.get(title) ?? (await isGroup(item, signal));
      groups.set(title, isThere);
      if (!isThere)
        note(`the portal has no group, or several, titled "${title}"; groups are created on the portal`, key);
    }
  };

  return {
    /** Checks those of the datasets and their resources that `isSent` says are written. */
    add: async (wishes: readonly DatasetWish[], isSent: (key: string) => boolean, signal: AbortSignal) => {
      const dialect = await portal.dialectInUse(signal);
      for (const wish of wishes.flatMap((dataset) => [dataset, ...dataset.resources])) {
        if (!isSent(wish.key)) continue;
        if (dialect === 'form') addForm(wish);
        if (dialect !== 'entity') await addUnsendable(wish, signal);
        await addGroups(wish, signal);
        if ('source' in wish) await addSize(wish);
      }
    },

    remarks: (): string[] =>
      [...Map.groupBy(found, ({ limit }) => limit)].map(([limit, items]) => {
        const keys = items.map(({ key }) => key);
        return `${limit}: ${listed(keys, 3)}`;
      }),
  };
};
