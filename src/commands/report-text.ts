// Reports as text: the items of a run, what is no longer in the manifest, and the next command.
import { parentKey } from '../model/key.ts';
import { fateOf, fatesText, heldBy, type IndexedEntry, isHeldBack, outcomeOf } from '../model/ledger-entry.ts';
import { isSuccess, type ReportItem, type StoredReport } from '../model/report.ts';
import { changesText, type RowChanges } from '../model/table-history.ts';
import type { Runtime } from '../service/runtime.ts';
import { summaryOf } from '../state/report-lines.ts';
import { byName } from '../util/natural.ts';
import { countText, plural } from '../util/plural.ts';
import { aligned, causeLines, lines, reasonLines } from './text.ts';

/** Longest report listed item by item; of longer ones only what needs attention is, by cause if that is as long. */
const listedWhole = 40;

/** A report as lines of text; `isWhole`: with everything that needs attention. */
export const reportLines = (report: StoredReport, isWhole = false): string[] => {
  const { runId, items, reason, remarks = [] } = report;
  const isOff = (item: ReportItem): boolean => item.reason !== null || item.warnings.length > 0;
  const listed = items.length <= listedWhole ? [...items] : items.values().filter(isOff).toArray();
  const fine = countText(items.length - listed.length);
  const where = `\`sluice report ${runId}\` lists them`;
  return lines(
    reportHead(report),
    reason && reasonLines(reason, '  '),
    isWhole || listed.length <= listedWhole
      ? itemLines(listed)
      : causeLines(listed, itemLines, { indent: '  ', where }),
    listed.length < items.length &&
      (listed.length === 0 ? `  (all ${plural(items.length, 'item')} are fine)` : `  (${fine} more are fine)`),
    items.values().some((item) => item.reason === null && standOf(item) === 'draft') &&
      '  a draft is on the portal, but visitors do not see it: `published: false` in the manifest keeps it so',
    remarks.map((remark) => `  note: ${remark}`),
  );
};

const standOf = (item: ReportItem): string => {
  if (item.live) return 'live';
  if (item.stale) return 'stale';
  if (item.outcome !== 'done' && item.outcome !== 'unchanged') return 'not live';
  if (fateOf(item) === 'removed') return 'removed';
  return item.nid === null ? 'not live' : 'draft';
};

/** Actions that say more than that an item is new or was updated. */
const rare = new Set<string>(['recreated', 'restored', 'exported', 'marked as removed']);

/** What became of an item: `new`, `updated`, `held by its guard`. */
export const fateText = (item: Pick<ReportItem, 'outcome' | 'actions' | 'reason'>): string => {
  const { outcome, reason } = item;
  if (outcome === 'held' && reason && isHeldBack(reason.code)) return `held by ${heldBy[reason.code]}`;
  return (outcome === 'done' && item.actions.filter((action) => rare.has(action)).join(', ')) || fateOf(item);
};

/** Items as an aligned table, each with its reason below it. */
const itemLines = (items: readonly ReportItem[]): string[] => {
  const rowsOf = ({ rows }: ReportItem): string => (rows === null ? '' : plural(rows, 'row'));
  const table = aligned(
    items.map((item) => [`  ${item.key}`, standOf(item), rowsOf(item), fateText(item)]),
    [2],
  );
  return lines(
    items.map((item, at) => [
      table[at],
      detailLines(item, item.warnings, '      '),
      item.reason && reasonLines(item.reason, '      '),
    ]),
  );
};

/** What was fixed in a file, left out of it, and is not as it was wanted. */
export const detailLines = (
  { fixes, rejected, changes }: Pick<ReportItem, 'fixes' | 'rejected'> & { changes?: RowChanges | null },
  warnings: readonly string[],
  indent: string,
): string[] =>
  lines(
    changes && `rows ${changesText(changes)}`,
    fixes.map((line) => `fixed: ${line}`),
    rejected &&
      `${plural(rejected.rows, 'bad row')} ${rejected.path === null ? 'left out' : `set aside in ${rejected.path}`}`,
    warnings.map((warning) => `warning: ${warning}`),
  ).map((line) => `${indent}${line}`);

/** Which run it was, and how it went, in a line. */
export const reportHead = (report: StoredReport): string => {
  const { runId, manifest, portal, reason } = report;
  const seconds = (Date.parse(report.endedAt) - Date.parse(report.startedAt)) / 1000;
  const { length } = report.items;
  const items =
    length > 0
      ? `${plural(length, 'item')} (${fatesText(summaryOf(report))})`
      : reason
        ? outcomeOf(reason)
        : 'no items';
  return `run ${runId}: ${manifest} to ${portal}, ${items} in ${seconds.toFixed(1)} s`;
};

/** Keys and addresses that are listed; of more only their number is reported. */
const shown = 5;

export const closingLines = async (runtime: Runtime, report: StoredReport): Promise<string[]> => {
  const { portal, items } = report;
  const { entries } = await runtime.ledger.exceptions(report);
  const leftBehind = [...entries.values()].filter(isLeftBehind).map(({ key }) => key);
  const drafts = [...items.values().filter((item) => standOf(item) === 'draft')].length;
  const live = [...items.values().filter(({ kind, live, url }) => kind === 'dataset' && live && url !== null)];
  const count = `live: ${plural(live.length, 'dataset')}`;
  // An embedded portal of this process, and its addresses with it.
  const endsNow = runtime.portals.supervisor(portal)?.server != null;
  const where = endsNow ? `the embedded portal ${portal}` : (runtime.portals.addressOf(portal) ?? portal);
  const addresses = live.length > shown ? `${count} on ${where}` : live.map(({ url }) => `live: ${url}`);
  return lines(
    leftBehindLines(leftBehind),
    endsNow ? `${live.length > 0 ? `${count} on ${where}, which` : where} ends with this command` : addresses,
    drafts > 0 &&
      `drafts: visitors do not see ${plural(drafts, 'item')}; remove \`published: false\` from the manifest, and publish again`,
    !isSuccess(report) && 'next: sluice status   # what is not live, why, and what to do',
    endsNow
      ? 'next: sluice portal   # serves it to be looked at; `sluice start` serves it with the pages, inboxes and schedules'
      : isSuccess(report) && 'next: sluice status',
  );
};

export const isLeftBehind = ({ nid, removed, missingSince }: IndexedEntry): boolean =>
  nid !== null && removed === null && missingSince !== null;

/** Keys that are left on the portal, each with the command that removes it; a dataset stands for its resources. */
export const leftBehindLines = (keys: readonly string[], isWhole = false): string[] => {
  const all = new Set(keys);
  const listed = keys.filter((key) => !all.has(parentKey(key))).sort(byName);
  const named = isWhole ? listed : listed.slice(0, shown);
  return lines(
    listed.length > 0 && `  no longer in the manifest, but still on the portal: ${plural(listed.length, 'item')}`,
    named.map((key) => `    ${key}  -> sluice remove ${key}`),
    listed.length > named.length && '    …; `sluice status --all` lists the others',
  );
};
