// Groups by title: the API refers to them by node id.

import { itemsOfField } from '../dataset-api/fields.ts';
import { PortalRefusedError } from '../model/errors.ts';
import type { NodeFields } from '../model/wish.ts';
import type { Nodes } from './nodes.ts';
import { ReadCache } from './read-cache.ts';

/** The groups of one portal. */
export class Groups {
  readonly #portal: string;
  readonly #nodes: Nodes;
  readonly #known: ReadCache<string>;

  /** `shared` is the signal that reads run under which several calls wait for. */
  constructor(portal: string, nodes: Nodes, shared: AbortSignal) {
    this.#portal = portal;
    this.#nodes = nodes;
    this.#known = new ReadCache(shared);
  }

  /** Puts node ids in the place of titles of groups. @throws PortalRefusedError where not exactly one group has the title */
  async resolve(fields: NodeFields, signal: AbortSignal): Promise<NodeFields> {
    const items = itemsOfField(fields.og_group_ref) ?? [];
    if (!items.some(({ title }) => typeof title === 'string')) return fields;
    const und: unknown[] = [];
    for (const item of items) {
      const { title } = item;
      const nid =
        typeof title === 'string' ? await this.#known.get(title, (until) => this.#find(title, until), signal) : null;
      und.push(nid === null ? item : { target_id: nid });
    }
    return { ...fields, og_group_ref: { und } };
  }

  async #find(title: string, signal: AbortSignal): Promise<string> {
    const [row, ...others] = await this.#nodes.titled('group', title, signal);
    if (!row || others.length > 0) {
      const found = row ? `${others.length + 1} groups are` : 'no group is';
      throw new PortalRefusedError(
        `portal ${this.#portal}: ${found} titled "${title}"`,
        { method: 'GET', path: 'group', mayHaveHappened: false },
        { hint: 'groups are made by the people of the portal; name one that it lists, or give its node id' },
      );
    }
    return row.nid;
  }
}
