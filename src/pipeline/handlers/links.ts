// The list of a dataset's resources: what its page and the portal's catalogue show.
import { itemsOfField } from '../../dataset-api/field-items.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { PortalNode } from '../../portal-client/client.ts';

/** Node ids that the list of a dataset holds, in order. */
export const linkedNids = (node: PortalNode): string[] =>
  (itemsOfField(node.field_resources) ?? []).flatMap(({ target_id }) =>
    target_id === undefined ? [] : [String(target_id)],
  );

/** True when a list holds all of ours, in our order; what others linked may stand anywhere. */
export const holdsLinks = (held: readonly string[], ours: readonly string[]): boolean => {
  const own = new Set(ours);
  return held.filter((nid, index) => own.has(nid) && held.indexOf(nid) === index).join() === ours.join();
};

/** The field that makes a list hold ours in our order, before what others linked. */
export const linksField = (held: readonly string[], ours: readonly string[]): NodeFields => {
  const own = new Set(ours);
  const all = [...ours, ...held.filter((nid) => !own.has(nid))];
  return { field_resources: { und: all.map((nid) => ({ target_id: nid })) } };
};
