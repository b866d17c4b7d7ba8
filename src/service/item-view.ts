// One item as a page or a terminal shows it: its entry on each portal, its versions, its log.
import { itemId } from '../model/job.ts';
import type { LedgerEntry } from '../model/ledger-entry.ts';
import type { Target } from '../model/redis-keys.ts';
import { type TableVersion, versionsOf } from '../model/table-history.ts';
import type { KnownTarget, Runtime } from './runtime.ts';

/** An item on one portal. */
export interface ItemView {
  target: KnownTarget;
  entry: LedgerEntry;
  /** Versions of its table, the live one last. */
  versions: TableVersion[];
  /** The run that works on it now, or did last; '' for none. */
  runId: string;
  /** Lines of its log, each with its time in front. */
  log: string[];
}

/** An item on each portal where it is known. */
export const itemViews = async (runtime: Runtime, key: string): Promise<ItemView[]> => {
  const targets = await runtime.targetsOfKey(key);
  const views = await Promise.all(targets.map((target) => viewOf(runtime, target, key)));
  return views.filter((view) => view !== null);
};

const viewOf = async (runtime: Runtime, target: KnownTarget, key: string): Promise<ItemView | null> => {
  const { ledger, jobLogs } = runtime;
  const entry = await ledger.entry(target.portal, key);
  if (entry === null) return null;
  const [former, runId] = await Promise.all([
    ledger.formerVersions(target.portal, key),
    lastRunOfKey(runtime, target, key),
  ]);
  const log = runId === null ? [] : await jobLogs.read(itemId(runId, key));
  return { target, entry, versions: versionsOf(former, entry.version), runId: runId ?? '', log };
};

/** The run that works on a key now, else the last one that did. */
export const lastRunOfKey = async (
  { gate, jobLogs, ledger }: Pick<Runtime, 'gate' | 'jobLogs' | 'ledger'>,
  target: Target,
  key: string,
): Promise<string | null> => {
  const { current } = await gate.state(target);
  if (current !== null && (await jobLogs.read(itemId(current, key))).length > 0) return current;
  return (await ledger.entry(target.portal, key))?.runId || null;
};
