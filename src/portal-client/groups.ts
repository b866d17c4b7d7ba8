// Groups by title: the API refers to them by node id.

import { itemsOfField } from '../dataset-api/field-items.ts';
import { PortalRefusedError } from '../model/errors.ts';
import type { NodeFields } from '../model/wish.ts';
import type { Nodes } from './nodes.ts';

/** How long an id is believed, milliseconds. */
const validMs = 300_000;

/** The groups of one portal. */
export class Groups {
  readonly #portal: string;
  readonly #nodes: Nodes;
  readonly #known = new Map<string, { nid: string; until: number }>();

  constructor(portal: string, nodes: Nodes) {
    this.#portal = portal;
    this.#nodes = nodes;
  }

  /** Puts node ids in the place of titles of groups. @throws PortalRefusedError where not exactly one group has the title */
  async resolve(fields: NodeFields, signal: AbortSignal): Promise<NodeFields> {
    const items = itemsOfField(fields.og_group_ref) ?? [];
    if (!items.some(({ title }) => typeof title === 'string')) return fields;
    const und: unknown[] = [];
    for (const item of items) {
      und.push(typeof item.title === 'string' ? { target_id: await this.#nidOf(item.title, signal) } : item);
    }
    return { ...fields, og_group_ref: { und } };
  }

  async #nidOf(title: string, signal: AbortSignal): Promise<string> {
    const known = this.#known.get(title);
    if (known && performance.now() < known.until) return known.nid;
    const [row, ...others] = await this.#nodes.titled('group', title, signal);
    if (!row || others.length > 0) {
      const found = row ? `${others.length + 1} groups are` : 'no group is';
      throw new PortalRefusedError(
        `portal ${this.#portal}: ${found} titled "${title}"`,
        { method: 'GET', path: 'group', mayHaveHappened: false },
        { hint: 'groups are made by the people of the portal; name one that it lists, or give its node id' },
      );
    }
    this.#known.set(title, { nid: row.nid, until: performance.now() + validMs });
    return row.nid;
  }
}
