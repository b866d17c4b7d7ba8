// What `publish` says at its end: where things are to be seen, what was left on the portal, and the next command.
import type { StoredReport } from '../model/report.ts';
import type { Runtime } from '../service/runtime.ts';
import { plural } from '../util/plural.ts';
import { isLeftBehind, leftBehindLines } from './left-behind.ts';

/** Addresses that are listed one by one. */
const shownAddresses = 5;

/** Lines below the report of a run. */
export const closingLines = async (runtime: Runtime, report: StoredReport): Promise<string[]> => {
  const leftBehind: string[] = [];
  for await (const { brief } of runtime.ledger.each(report)) if (isLeftBehind(brief)) leftBehind.push(brief.key);
  return [...leftBehindLines(leftBehind), ...addressLines(runtime, report), `next: ${nextOf(runtime, report)}`];
};

const addressLines = (runtime: Runtime, { items, portal }: StoredReport): string[] => {
  const live = items.filter(({ kind, live, url }) => kind === 'dataset' && live && url !== null);
  if (live.length <= shownAddresses) return live.map(({ url }) => `live: ${url}`);
  return [`live: ${plural(live.length, 'dataset')} on ${addressOf(runtime, portal) ?? portal}`];
};

const addressOf = (runtime: Runtime, portal: string): string | null => {
  const config = runtime.portals.config(portal);
  return config.kind === 'remote' ? config.url : (runtime.portals.supervisor(portal)?.url ?? null);
};

const nextOf = (runtime: Runtime, { items, portal, reason }: StoredReport): string => {
  const isHeld = reason?.code === 'held' || items.some(({ outcome }) => outcome === 'held');
  if (reason !== null || isHeld || items.some((item) => item.reason !== null))
    return 'sluice status   # what is not live, why, and what to do';
  const isOwn = runtime.portals.supervisor(portal)?.server != null;
  return isOwn ? 'sluice start    # keeps this portal, watched folders and schedules running' : 'sluice status';
};
