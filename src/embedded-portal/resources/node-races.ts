// Saves of nodes as several processes run them: each writes whole nodes that it read when its request began.
import type { Call } from '../call.ts';
import { textOf } from '../content/items.ts';
import { idOf } from '../content/links.ts';
import { type Copies, copyNodes, renewDatasets } from '../content/save.ts';

/** The nids in a reference field of a body, in whichever shape it was sent. */
const nidsIn = (value: unknown): number[] => {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(nidsIn);
  const text = textOf(value) ?? '';
  const nid = idOf(text) ?? idOf(/\((\d+)\)\s*$/.exec(text)?.[1]);
  return nid === null ? [] : [nid];
};

/**
 * Saves as one of several processes would: `save` gets the nodes as they were when the request began. Where nothing races
 * it gets none, and reads what there is when it writes.
 */
export const inRace = <T>(
  { portal }: Call,
  nids: () => Iterable<number>,
  save: (copies: Copies) => Promise<T>,
): Promise<T> => {
  if (portal.races === null) return save(new Map());
  const copies = copyNodes(portal.store, nids());
  return portal.races.save(() => save(copies));
};

/** What a save of a node touches: itself, what it refers to, and what it is told to refer to. */
export const touchedBy = ({ portal }: Call, nid: number | null, body: Record<string, unknown> = {}): number[] => [
  ...(nid === null ? [] : [nid, ...portal.store.nodes.targets(nid)]),
  ...nidsIn(body.field_dataset_ref),
  ...nidsIn(body.field_resources),
];

/** Saves the datasets of an updated resource where the profile does; inside the write. */
export const renewDatasetsOf = (call: Call, nid: number, copies: Copies): void => {
  const { store, profile, now } = call.portal;
  const node = store.nodes.byNid(nid);
  if (!profile.renewsDatasets || node?.type !== 'resource') return;
  renewDatasets(store, node, { change: { uid: call.user.uid, now: now() }, copies });
};
