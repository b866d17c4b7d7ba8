// Reports as text: the items of a run, what is no longer in the manifest, and the next command.

import { parentKey } from '../model/key.ts';
import type { IndexedEntry } from '../model/ledger-entry.ts';
import { isSuccess, type Reason, type ReportItem, type StoredReport } from '../model/report.ts';
import type { Runtime } from '../service/runtime.ts';
import { countText, plural } from '../util/plural.ts';
import { aligned } from './io.ts';

/** Longest report listed item by item; of longer ones only what needs attention is, by cause if that is as long. */
const listedWhole = 40;

/** A report as lines of text; `isWhole`: with everything that needs attention. */
export const reportLines = (report: StoredReport, isWhole = false): string[] => {
  const lines = [`run ${report.runId}: ${report.manifest} to ${report.portal}, ${summary(report)}`];
  if (report.reason) lines.push(...reasonLines(report.reason, '  '));
  const listed =
    report.items.length <= listedWhole
      ? [...report.items]
      : report.items.filter((item) => item.reason !== null || item.warnings.length > 0);
  lines.push(...(isWhole || listed.length <= listedWhole ? itemLines(listed) : causeLines(listed, report.runId)));
  const fine = countText(report.items.length - listed.length);
  if (listed.length < report.items.length)
    lines.push(listed.length === 0 ? `  (all ${fine} items are fine)` : `  (${fine} more items are fine)`);
  lines.push(...(report.remarks ?? []).map((remark) => `  note: ${remark}`));
  return lines;
};

/** Items that are listed of each cause. */
export const shownOfCause = 5;

/** Items by the code of their reason, the most frequent first. */
export const byCause = <T extends { reason: Reason | null }>(items: readonly T[]): [code: string, items: T[]][] =>
  [...Map.groupBy(items, ({ reason }) => reason?.code ?? 'warnings')].sort(([, a], [, b]) => b.length - a.length);

const causeLines = (items: ReportItem[], runId: string): string[] =>
  byCause(items).flatMap(([cause, all]) => [
    `  ${plural(all.length, 'item')} with ${cause}:`,
    ...itemLines(all.slice(0, shownOfCause)),
    ...restLines(all.length - shownOfCause, `\`sluice report ${runId}\` lists them`, '  '),
  ]);

export const restLines = (rest: number, where: string, indent = ''): string[] =>
  rest > 0 ? [`${indent}… and ${countText(rest)} more; ${where}`] : [];

const stateOf = (item: ReportItem): string => {
  if (item.live) return 'live';
  if (item.stale) return 'stale';
  if (item.outcome !== 'done' && item.outcome !== 'unchanged') return 'not live';
  return item.actions.some((action) => takenDown.has(action)) ? 'down' : 'draft';
};

const takenDown: ReadonlySet<string> = new Set(['orphaned', 'unpublished', 'deleted']);

/** Items as an aligned table, each with its reason below it. */
const itemLines = (items: ReportItem[]): string[] => {
  const rowsOf = ({ rows }: ReportItem): string => (rows === null ? '' : plural(rows, 'row'));
  const cells = items.map((item) => [
    `  ${item.key}`,
    item.outcome,
    stateOf(item),
    rowsOf(item),
    item.actions.join(', '),
  ]);
  const lines = aligned(cells, [3]);
  return items.flatMap((item, at) => [
    lines[at] ?? '',
    ...item.mended.map((line) => `      fixed: ${line}`),
    ...(item.rejected ? [`      ${rejectedText(item.rejected)}`] : []),
    ...item.warnings.map((warning) => `      warning: ${warning}`),
    ...(item.reason ? reasonLines(item.reason, '      ') : []),
  ]);
};

/** `3 bad rows set aside in …`. */
export const rejectedText = ({ rows, path }: NonNullable<ReportItem['rejected']>): string =>
  `${plural(rows, 'bad row')} ${path === null ? 'left out' : `set aside in ${path}`}`;

/** A reason: what is wrong and where, then what to do. */
export const reasonLines = (reason: Reason, indent: string): string[] => {
  const place = placeOf(reason);
  const [first = '', ...more] = reason.message.split('\n');
  return [
    `${indent}${reason.code}: ${first}${place !== '' && !reason.message.includes(place) ? ` (${place})` : ''}`,
    ...more.map((line) => `${indent}${line}`),
    ...(reason.hint ? [`${indent}-> ${reason.hint}`] : []),
  ];
};

const placeOf = ({ line, column }: Reason): string =>
  line === undefined ? '' : column === undefined ? `line ${line}` : `line ${line}, column ${column}`;

const summary = (report: StoredReport): string => {
  const ms = Date.parse(report.endedAt) - Date.parse(report.startedAt);
  const outcomes = { ...report.counts.dataset };
  for (const [name, count] of Object.entries(report.counts.resource)) outcomes[name] = (outcomes[name] ?? 0) + count;
  const parts = Object.entries(outcomes).map(([name, count]) => `${countText(count)} ${name}`);
  const items = plural(report.items.length, 'item');
  return `${items}${parts.length > 0 ? ` (${parts.join(', ')})` : ''} in ${(ms / 1000).toFixed(1)} s`;
};

/** Addresses that are listed one by one. */
const shownAddresses = 5;

export const closingLines = async (runtime: Runtime, report: StoredReport): Promise<string[]> => {
  const { entries } = await runtime.ledger.exceptions(report);
  const leftBehind = [...entries.values()].filter(isLeftBehind).map(({ key }) => key);
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

const nextOf = (runtime: Runtime, report: StoredReport): string => {
  if (!isSuccess(report)) return 'sluice status   # what is not live, why, and what to do';
  const isOwn = runtime.portals.supervisor(report.portal)?.server != null;
  return isOwn ? 'sluice start    # keeps this portal, watched folders and schedules running' : 'sluice status';
};

/** Keys that are listed; of more only their number is reported. */
const shown = 5;

/** True for what is no longer in its manifest but still on the portal. */
export const isLeftBehind = ({ nid, removed, missingSince }: IndexedEntry): boolean =>
  nid !== null && removed === null && missingSince !== null;

/** Keys that are left on the portal, each with the command that removes it; a dataset stands for its resources. */
export const leftBehindLines = (keys: readonly string[], isWhole = false): string[] => {
  const all = new Set(keys);
  const listed = keys.filter((key) => !all.has(parentKey(key))).sort();
  if (listed.length === 0) return [];
  const named = isWhole ? listed : listed.slice(0, shown);
  return [
    `  no longer in the manifest, but still on the portal: ${plural(listed.length, 'item')}`,
    ...named.map((key) => `    ${key}  -> sluice remove ${key}`),
    ...(listed.length > named.length ? ['    …; `sluice status --all` lists the others'] : []),
  ];
};
