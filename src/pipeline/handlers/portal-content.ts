// Before a run writes: is this the portal that the ledger describes? Others answer there after an address was changed, and a
// portal that was restored or recreated has forgotten what we published.
import { HeldError } from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import type { IndexedEntry } from '../../model/ledger-entry.ts';
import type { Portal } from '../../portal-client/client.ts';
import type { HandlerDeps } from './deps.ts';
import { nidOnPortal } from './node-locate.ts';

/** Nodes that are searched for, in one list request: some of all, and the newest, which go first when a portal is set back. */
const sampled = 16;
const newest = 4;

/** Nodes that have to be gone before a run is held; fewer are taken for deleted one by one, and recreated. */
const leastGone = 3;

/**
 * Looks for some of the nodes that the ledger names. Returns whether some are gone, so that the others have to be searched for
 * as well; where the portal was set back, what was learned of its terms is learned again, because their ids are used again.
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
  const least = isMoved ? 1 : leastGone;
  const isOther = gone.length >= least && gone.length > looked / 2 && (sample.length < sampled || mostOf(sample, gone));
  if (isOther && !request.createMissing) {
    const found = `${gone.length} of ${looked} nodes that were published there`;
    throw new HeldError(
      isMoved
        ? `portal ${portal.name} is at ${portal.url} now and was at ${before}: ${found} are not found`
        : `portal ${portal.name} no longer has ${found}`,
      { hint: holdHint },
    );
  }
  if (isOther || (await isSetBack(portal, gone, signal))) {
    await portal.terms.forgetAll();
    await portal.surveyTerms(signal, true);
  }
  if (before !== portal.url) await deps.ledger.setAddress(request, portal.url);
  return gone.length > 0;
};

const mostOf = (sample: readonly IndexedEntry[], gone: readonly IndexedEntry[]): boolean =>
  sample.filter((entry) => gone.includes(entry)).length > sample.length / 2;

/** True where a number of ours is another node's or was not given yet; one that was merely deleted is never used again. */
const isSetBack = async (portal: Portal, gone: readonly IndexedEntry[], signal: AbortSignal): Promise<boolean> => {
  if (gone.length === 0) return false;
  const highest = Math.max(...gone.map(({ nid }) => Number(nid)));
  if (Number(await portal.highestNid(signal)) < highest) return true;
  for (const { nid } of gone.slice(0, newest)) if (await portal.nodes.visible(nid ?? '', signal)) return true;
  return false;
};

const holdHint =
  'nothing was changed. If it is the same portal with other node ids, `sluice rebuild` finds what is there; if others published it, `sluice adopt`; if it is empty or a new one, `sluice publish --create-missing` creates everything';

/** Those of the entries whose nodes the portal does not hold any more; a live one is in its lists. */
const goneOf = async (
  portal: Portal,
  entries: readonly IndexedEntry[],
  signal: AbortSignal,
): Promise<IndexedEntry[]> => {
  const found = await Promise.all(
    entries.map((entry) => (entry.live ? portal.findByUuid(entry.uuid, signal) : nidOnPortal(portal, entry, signal))),
  );
  return entries.filter((_, index) => found[index] === null);
};

const evenly = <T>(items: readonly T[], count: number): T[] =>
  items.length <= count
    ? [...items]
    : Array.from({ length: count }, (_, index) => items[Math.floor((index * items.length) / count)] as T);
