// A stored plan is done exactly or not at all: finds the items whose source or node has moved since.
import { PlanMovedError, reasonOf } from '../errors.ts';
import type { Knowledge } from '../plan/plan.ts';
import { planFileItems, type WholePlan } from '../plan/whole-plan.ts';
import type { PlanFile } from '../plan-file.ts';
import type { Portal } from '../portal/client.ts';
import type { Reason } from '../report.ts';

type PlanItem = PlanFile['items'][number];

/** Items with actions whose pins do not hold any more, with what moved. Reads the portal's listing by uuid. */
export const movedItems = async (
  portal: Portal,
  pins: PlanFile,
  now: { plan: WholePlan; known: Knowledge },
  signal: AbortSignal,
): Promise<Map<string, Reason>> => {
  const current = new Map(planFileItems(now.plan).map((item) => [item.key, item]));
  const moved = new Map<string, Reason>();
  const pinned = pins.items.filter((item) => item.actions.length > 0);
  await Promise.all(
    pinned.map(async (item) => {
      const what = sourceMoved(item, current.get(item.key)) ?? (await nodeMoved(portal, item, signal));
      if (what) moved.set(item.key, planMoved(item.key, what));
    }),
  );
  if (!pins.strict || moved.size === 0) return moved;
  const all = pinned.map(
    (item) => [item.key, moved.get(item.key) ?? planMoved(item.key, 'another item of the plan moved')] as const,
  );
  return new Map(all);
};

const sourceMoved = (pin: PlanItem, now: PlanItem | undefined): string | null => {
  if (!now) return 'it left the source, or is wished again,';
  if (now.metadata !== pin.metadata) return 'its metadata changed in the source';
  if (now.sha256 !== pin.sha256) return 'its file changed';
  if (now.nid !== pin.nid) return 'its node became another one';
  return null;
};

/** `vid` is the revision the plan was made for; a node created since under our uuid moved as well. */
const nodeMoved = async (portal: Portal, pin: PlanItem, signal: AbortSignal): Promise<string | null> => {
  const row = await portal.findByUuid(pin.uuid, signal);
  if (pin.nid === null) return row ? `node ${row.nid} appeared on the portal` : null;
  if (!row) return null; // unpublished nodes may be hidden; the job looks again before it writes
  return pin.vid !== null && row.vid !== pin.vid
    ? `node ${row.nid} was edited on the portal (revision ${row.vid})`
    : null;
};

const planMoved = (key: string, what: string): Reason =>
  reasonOf(
    new PlanMovedError(`${key}: ${what} since the plan was made; nothing was done`, {
      hint: 'make a new plan with `sluice plan`, review it, and apply that one',
    }),
  );
