// Planned content that the portal cannot hold, reported before anything is sent.
import { stat } from 'node:fs/promises';
import { itemsOfField } from '../../dataset-api/fields.ts';
import { PortalRefusedError } from '../../model/errors.ts';
import type { DatasetWish, NodeFields, ResourceWish } from '../../model/wish.ts';
import type { Portal } from '../../portal-client/client.ts';

/** Fields that editing forms of older portals do not have (recorded behaviour 8a). */
const unknownToForms = ['field_spatial', 'field_is_part_of', 'field_pod_theme', 'field_modified_source_date'];

/** Fields of which these forms take one item. */
const singleInForms = ['field_additional_info', 'field_related_content'];

/** Text formats that every installation has. */
const formatsOfForms = new Set(['html', 'plain_text']);

/** Keys that the remark on a limit names. */
const named = 3;

/** Collects the limits that planned items exceed. */
export class TargetLimits {
  readonly #portal: Portal;
  readonly #found: { limit: string; key: string }[] = [];
  readonly #groups = new Map<string, boolean>();

  constructor(portal: Portal) {
    this.#portal = portal;
  }

  /** Checks those of the datasets and their resources that `isSent` says are written. */
  async add(wishes: readonly DatasetWish[], isSent: (key: string) => boolean, signal: AbortSignal): Promise<void> {
    const dialect = await this.#portal.dialectInUse(signal);
    for (const wish of wishes.flatMap((dataset) => [dataset, ...dataset.resources])) {
      if (!isSent(wish.key)) continue;
      if (dialect === 'form') this.#addForm(wish);
      if (dialect !== 'entity') await this.#addUnsendable(wish, signal);
      await this.#addGroups(wish, signal);
      if ('source' in wish) await this.#addSize(wish);
    }
  }

  remarks(): string[] {
    return [...Map.groupBy(this.#found, ({ limit }) => limit)].map(([limit, found]) => {
      const keys = found.slice(0, named).map(({ key }) => key);
      return `${limit}: ${keys.join(', ')}${found.length > named ? ` and ${found.length - named} more` : ''}`;
    });
  }

  #add(limit: string, key: string): void {
    this.#found.push({ limit, key });
  }

  #addForm({ key, published, fields }: DatasetWish | ResourceWish): void {
    if (!published) this.#add('the portal publishes every node that it creates, so drafts are not created', key);
    for (const name of unknownToForms) if (count(fields, name) > 0) this.#add(`the portal has no ${name}`, key);
    for (const name of singleInForms)
      if (count(fields, name) > 1) this.#add(`the portal accepts one item of ${name}`, key);
    const format = itemsOfField(fields.body)?.[0]?.format;
    if (typeof format === 'string' && !formatsOfForms.has(format))
      this.#add(`the portal may refuse the text format ${format}`, key);
  }

  async #addUnsendable({ key, fields: wished }: DatasetWish | ResourceWish, signal: AbortSignal): Promise<void> {
    const { og_group_ref: _groups, ...fields } = wished; // by title, see below
    const { fields: resolved } = await this.#portal.terms.find(fields, signal);
    for (const [name, problems] of Object.entries(await this.#portal.nodes.unsendable(resolved, signal)))
      this.#add(`${name}: ${problems.join('; ')}`, key);
  }

  async #addSize({ key, source }: ResourceWish): Promise<void> {
    const limit = this.#portal.traits.get('tooLarge') ?? null;
    const file = limit !== null && source.kind === 'file' ? await stat(source.path).catch(() => null) : null;
    if (file && limit !== null && file.size >= limit)
      this.#add(`the portal refused a file of ${limit} bytes as too large`, key);
  }

  async #addGroups({ key, fields }: DatasetWish | ResourceWish, signal: AbortSignal): Promise<void> {
    for (const item of itemsOfField(fields.og_group_ref) ?? []) {
      const { title } = item;
      if (typeof title !== 'string') continue;
      const isGroup =
        this.#groups.get(title) ??
        (await this.#portal.resolveGroups({ og_group_ref: { und: [item] } }, signal).then(
          () => true,
          (error: unknown) => {
            if (error instanceof PortalRefusedError) return false;
            throw error;
          },
        ));
      this.#groups.set(title, isGroup);
      if (!isGroup)
        this.#add(`the portal has no group, or several, titled "${title}"; groups are created on the portal`, key);
    }
  }
}

const count = (fields: NodeFields, name: string): number => itemsOfField(fields[name])?.length ?? 0;
