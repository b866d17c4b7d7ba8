// Checks before a run writes: whether the portal is the one in the ledger, and whether items of a stored plan have changed.
import { HeldError, PlanMovedError, reasonOf } from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import { isBelow } from '../../model/key.ts';
import type { IndexedEntry } from '../../model/ledger-entry.ts';
import type { PlanFile } from '../../model/plan-file.ts';
import type { Reason } from '../../model/report.ts';
import type { Portal } from '../../portal-client/client.ts';
import { unlikeProven } from '../compare/node.ts';
import type { KnownState } from '../plan/plan.ts';
import { type PlannedPage, planFileItems } from '../plan/target-plan.ts';
import type { HandlerDeps } from './deps.ts';
import { nidOnPortal } from './node-locate.ts';

type PlanItem = PlanFile['items'][number];

/** Items of the plan that have changed since, with the reason. One that is already as planned has not changed. */
export const movedItems = async (
  portal: Portal,
  pins: PlanFile,
  { datasets, removals, known }: Pick<PlannedPage, 'datasets' | 'removals' | 'known'>,
  signal: AbortSignal,
): Promise<Map<string, Reason>> => {
  const current = new Map(planFileItems(datasets, removals).map((item) => [item.key, item]));
  const moved = new Map<string, Reason>();
  const pinned = pins.items.filter((item) => item.actions.length > 0);
  const refuse = (key: string, what: string): void => {
    const hint = 'make a new plan with `sluice plan`, review it, and apply that one';
    const message = `${key}: ${what} since the plan was made; nothing was done`;
    if (!moved.has(key)) moved.set(key, reasonOf(new PlanMovedError(message, { hint })));
  };
  await Promise.all(
    pinned.map(async (pin) => {
      const now = current.get(pin.key);
      const removed = known.entries.get(pin.key)?.removed;
      const isDown = pin.metadata === null && !!removed && pin.actions.includes(removed);
      if (now ? isDone(pin, now) : isDown) return;
      const what = sourceMoved(pin, now) ?? (await nodeMoved(portal, { pin, madeAt: pins.madeAt, known }, signal));
      if (what) refuse(pin.key, what);
    }),
  );
  // Resources of a dataset that will not be created.
  const uncreated = pinned.filter(({ key, actions }) => actions.includes('create') && moved.has(key));
  for (const { key } of pinned)
    if (uncreated.some((parent) => isBelow(key, parent.key))) refuse(key, 'its dataset moved');
  if (pins.strict && moved.size > 0) for (const { key } of pinned) refuse(key, 'another item of the plan changed');
  return moved;
};

/** True where a plan is applied again after it was done or interrupted: the item is as planned. */
const isDone = (pin: PlanItem, now: PlanItem): boolean =>
  now.actions.length === 0 &&
  now.metadata === pin.metadata &&
  // The bytes behind an address were not known when the plan was made.
  (pin.sha256 === null || now.sha256 === pin.sha256);

const sourceMoved = (pin: PlanItem, now: PlanItem | undefined): string | null => {
  if (!now) return pin.metadata === null ? 'it is no longer missing' : 'it left the source';
  if (pin.metadata === null && now.metadata !== null) return 'it is wanted again';
  if (pin.metadata !== null && now.metadata === null) return 'it left the source';
  if (now.metadata !== pin.metadata) return 'its metadata changed in the source';
  if (now.sha256 !== pin.sha256 && !pin.actions.includes('fetch')) return 'its file changed';
  if (pin.version && now.version && now.version !== pin.version) return 'its address serves yet another version';
  if (now.nid !== pin.nid) return 'its node was replaced';
  return null;
};

interface Pinned {
  pin: PlanItem;
  /** When the plan was made, ISO 8601. */
  madeAt: string;
  known: Pick<KnownState, 'entries' | 'sent'>;
}

/** How a node changed since the plan: another revision, or a new node under our uuid. */
const nodeMoved = async (portal: Portal, pinned: Pinned, signal: AbortSignal): Promise<string | null> => {
  const { pin } = pinned;
  const listed = await portal.findByUuid(pin.uuid, signal);
  if (pin.nid === null) return listed ? `node ${listed.nid} appeared on the portal` : null;
  // The list may hide it.
  const { vid } = (listed?.nid === pin.nid ? listed : await portal.nodes.find(pin.nid, signal)) ?? { vid: null };
  if (vid === null) return pin.actions.includes('create') ? null : `node ${pin.nid} vanished from the portal`;
  if (pin.actions.includes('create')) return `node ${pin.nid} is on the portal again`;
  if (pin.vid === null || vid === pin.vid) return null;
  if (await isOursUnchanged(portal, pinned, signal)) return null;
  return `node ${pin.nid} was edited on the portal (revision ${vid})`;
};

/** True when a later revision, by the portal itself or in fields that are not ours, left everything of ours as it was. */
const isOursUnchanged = async (portal: Portal, { pin, madeAt, known }: Pinned, signal: AbortSignal) => {
  const [entry, sent] = [known.entries.get(pin.key), known.sent.get(pin.key)];
  if (!entry || !sent || entry.nid !== pin.nid || entry.removed || entry.syncedAt > Date.parse(madeAt)) return false;
  const node = await portal.nodes.read(entry.nid ?? '', signal);
  const { fields } = await portal.terms.find(sent.fields, signal, { node });
  return unlikeProven(entry, { ...sent, fields }, node).length === 0;
};

/** Nodes that are looked up in one list request: a sample, and the newest, which vanish first when a portal is restored. */
const [sampled, newest] = [16, 4];

/** A run is held only when at least so many nodes are gone; fewer count as deleted one by one, and are recreated. */
const leastGone = 3;

/**
 * Looks up some nodes of the ledger. Returns whether any are gone, so that the others must be looked up as well. Where the
 * portal was restored, the ids of its terms are forgotten, because they are reused.
 * @throws HeldError where most of them are gone, unless missing ones are to be created
 */
export const refuseOtherPortal = async (
  deps: HandlerDeps,
  request: RunData,
  entries: ReadonlyMap<string, IndexedEntry>,
  signal: AbortSignal,
): Promise<boolean> => {
  const portal = deps.portal(request.portal);
  const before = await deps.ledger.addressOf(request);
  const isMoved = before !== null && before !== portal.url;
  const known = [...entries.values()].filter(({ nid, removed }) => nid !== null && removed !== 'delete');
  const byAge = known.toSorted((x, y) => Number(y.nid) - Number(x.nid));
  const sample = evenly(byAge.slice(newest), sampled);
  const gone = await goneOf(portal, [...byAge.slice(0, newest), ...sample], signal);
  const looked = Math.min(known.length, newest + sample.length);
  const sampledGone = sample.filter((entry) => gone.includes(entry)).length;
  const isMost = gone.length > looked / 2 && (sample.length < sampled || sampledGone > sample.length / 2);
  const isOther = isMost && gone.length >= (isMoved ? 1 : leastGone);
  if (isOther && !request.createMissing) {
    const found = `${gone.length} of ${looked} nodes that were published there`;
    throw new HeldError(
      isMoved
        ? `portal ${portal.name} is at ${portal.url} now and was at ${before}: ${found} are not found`
        : `portal ${portal.name} no longer has ${found}`,
      {
        hint: 'nothing was changed. If it is the same portal with other node ids, `sluice rebuild` finds what is there; if others published it, `sluice adopt`; if it is empty or a new one, `sluice publish --create-missing` creates everything',
      },
    );
  }
  if (isOther || (await isSetBack(portal, gone, signal))) await portal.terms.forgetAll();
  if (before !== portal.url) await deps.ledger.setAddress(request, portal.url);
  return gone.length > 0;
};

/** True where an id of ours belongs to another node or was not given yet; the id of a deleted node is never reused. */
const isSetBack = async (portal: Portal, gone: readonly IndexedEntry[], signal: AbortSignal): Promise<boolean> => {
  if (gone.length === 0) return false;
  const highest = Math.max(...gone.map(({ nid }) => Number(nid)));
  if (Number(await portal.nodes.highest(signal)) < highest) return true;
  for (const { nid } of gone.slice(0, newest)) if (await portal.nodes.visible(nid ?? '', signal)) return true;
  return false;
};

/** Entries whose nodes are no longer on the portal; live ones are in its lists. */
const goneOf = async (portal: Portal, entries: readonly IndexedEntry[], signal: AbortSignal) => {
  const found = await Promise.all(
    entries.map((entry) => (entry.live ? portal.findByUuid(entry.uuid, signal) : nidOnPortal(portal, entry, signal))),
  );
  return entries.filter((_, index) => found[index] === null);
};

const evenly = <T>(items: readonly T[], count: number): T[] =>
  items.length <= count
    ? [...items]
    : Array.from({ length: count }, (_, index) => items[Math.floor((index * items.length) / count)] as T);
