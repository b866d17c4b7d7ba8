// Notices: events, their wording, and which of them form one incident.
import { z } from 'zod';
import { type ErrorCode, errorCodes, placeText } from '../model/errors.ts';
import { targetName } from '../model/redis-keys.ts';
import { dropAgain, type Reason, type StoredReport } from '../model/report.ts';
import { countsText, type RowChanges, rowCountsSchema } from '../model/table-history.ts';
import { defined } from '../util/json.ts';
import { plural } from '../util/plural.ts';

/** Events, each with its sentence in the documentation. */
export const noticeEvents = {
  'run-failed': 'Items of a run failed, or the run as a whole.',
  'run-held': 'A guard holds a run or a table, or items are held because somebody edited them on the portal.',
  'file-quarantined': 'A file is faulty and was set aside.',
  recovered: 'Everything that had failed, was held or quarantined has recovered.',
  'portal-paused': 'A portal is paused: it is down, or refused the login.',
  'portal-resumed': 'A paused portal works again.',
  overdue: 'Something expected did not happen: a sign of life, a scheduled run, a successful run, new data.',
  'overdue-ended': 'What was overdue has happened.',
  'state-full': 'The state takes no more data, because its disk or memory is full: work waits.',
  'state-full-ended': 'The state takes data again.',
  test: 'Sent by `sluice notices test`.',
} as const;

type NoticeEvent = keyof typeof noticeEvents;

const noticeItemSchema = z.object({
  /** Key of the dataset or resource; empty for the run as a whole. */
  key: z.string(),
  /** An error code, or `bug`. */
  code: z.string(),
  /** What the code means; for what is overdue, since when and why. */
  meaning: z.string(),
  hint: z.string().exactOptional(),
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  rows: rowCountsSchema.exactOptional(),
});

export type NoticeItem = z.infer<typeof noticeItemSchema>;

export const noticeSchema = z.object({
  /** The same for every repeat of this notice. */
  id: z.string(),
  event: z.enum(Object.keys(noticeEvents) as [NoticeEvent, ...NoticeEvent[]]), // its own keys
  /** ISO 8601, UTC. */
  at: z.string(),
  /** Null where it is about no portal, such as a worker. */
  portal: z.string().nullable(),
  /** Null for a notice about a portal or worker. */
  manifest: z.string().nullable(),
  runId: z.string().nullable(),
  summary: z.string(),
  /** Page of the service about it, where people can be led there. */
  url: z.string().exactOptional(),
  /** The first of them; `more` says how many are left out. */
  items: z.array(noticeItemSchema),
  more: z.number().int(),
});

export type Notice = z.infer<typeof noticeSchema>;

/** A notice about no portal, manifest, run or item but those that are given. */
export const noticeOf = (known: Partial<Notice> & Pick<Notice, 'id' | 'event' | 'at' | 'summary'>): Notice => ({
  portal: null,
  manifest: null,
  runId: null,
  items: [],
  more: 0,
  ...known,
});

export const listedItems = 50;

/** Code, place and hint of a reason, but not its message, which may quote a portal. */
export const noticeItem = (key: string, reason: Omit<Reason, 'message'>): NoticeItem => {
  const { code, line, column } = reason;
  const hint = [reason.hint, dropAgain(reason)].filter((each) => each !== null).join('; ') || undefined;
  return { key, code, meaning: meaningOf(code), line, column, ...defined({ hint }) };
};

const meaningOf = (code: string): string =>
  Object.hasOwn(errorCodes, code) ? errorCodes[code as ErrorCode] : 'A fault of sluice itself.'; // just checked

export const noticeText = (notice: Notice): { subject: string; text: string } => {
  const { summary, items, more, portal, runId, url } = notice;
  const ofPortal = portal === null ? 'the state' : `portal ${portal}`;
  const whole = runId === null ? ofPortal : 'the run';
  const listed = items.flatMap(({ key, code, meaning, hint, line, column, rows }) => {
    const place = line === undefined ? '' : `, ${placeText({ line, column })}`;
    const head = [
      `- ${key === '' ? whole : key}: ${code}${place}`,
      `  ${meaning}`,
      ...(rows ? [`  rows ${countsText(rows)}`] : []),
    ];
    return hint === undefined ? head : [...head, `  -> ${hint}`];
  });
  const facts = { Time: notice.at, Portal: portal, Manifest: notice.manifest, Run: runId };
  const text = [
    ...[summary, ''],
    ...listed,
    ...(more > 0 ? [`- and ${more} more`] : []),
    ...(items.length > 0 ? [''] : []),
    ...Object.entries(facts).flatMap(([name, fact]) => (fact === null ? [] : [`${name}: ${fact}`])),
    ...(url === undefined ? [] : [`Page: ${url}`]),
    ...['', 'Details: sluice status', ...(runId === null ? [] : [`         sluice log ${runId}`]), ''],
  ];
  return { subject: `[sluice] ${summary}`, text: text.join('\n') };
};

/** The open incident of a target: what was reported and persists. */
export const incidentSchema = z.object({
  /** ISO 8601 of the run that began it. */
  since: z.string(),
  /** Key -> what was reported of it; the empty key is the run as a whole. */
  open: z.record(z.string(), z.string()),
  /** The last run that was judged; judging it again changes nothing. */
  runId: z.string(),
});

export type Incident = z.infer<typeof incidentSchema>;

/** One notice to send: its event, and the reasons by key. */
interface EventReasons {
  event: NoticeEvent;
  reasons: { key: string; reason: Reason; changes?: RowChanges | undefined }[];
}

/**
 * Compares a report with the open incident: what was reported is reported again only once it has recovered, or as another
 * fault of a file. `isWhole`: what the report does not name is gone. No incident is left when nothing is wrong any more.
 */
export const judge = (
  before: Incident | null,
  report: StoredReport,
  isWhole: boolean,
): { incident: Incident | null; news: EventReasons[] } => {
  if (before?.runId === report.runId) return { incident: before, news: [] };
  const known = before?.open ?? {};
  const faults = faultsOf(report);
  const open = {
    ...remaining(known, report, isWhole),
    ...Object.fromEntries(faults.map(({ key, sign }) => [key, sign])),
  };
  const fresh = faults.filter(({ key, sign }) => known[key] !== sign);
  const news = (['run-failed', 'run-held', 'file-quarantined'] as const).flatMap((event) => {
    const reasons = fresh
      .filter((fault) => fault.event === event)
      .map(({ key, reason, changes }) => ({ key, reason, changes }));
    return reasons.length > 0 ? [{ event, reasons }] : [];
  });
  if (Object.keys(open).length > 0)
    return { incident: { since: before?.since ?? report.endedAt, open, runId: report.runId }, news };
  return { incident: null, news: before ? [{ event: 'recovered', reasons: [] }] : [] };
};

const eventsOf: Partial<Record<string, NoticeEvent>> = { quarantined: 'file-quarantined', held: 'run-held' };

/** The run as a whole, and items; `sign` is equal for what counts as the same fault. */
const faultsOf = ({ reason: ofRun, items }: StoredReport) => {
  const run = { key: '', reason: ofRun, outcome: ofRun?.code === 'held' ? 'held' : 'failed', changes: undefined };
  return [run, ...items].flatMap(({ key, reason, outcome, changes }) => {
    if (reason === null) return [];
    const { code, line = '', column = '' } = reason;
    const event = eventsOf[outcome] ?? 'run-failed';
    return [
      {
        key,
        reason,
        changes,
        event,
        sign: event === 'file-quarantined' ? `${event} ${code} ${line} ${column}` : event,
      },
    ];
  });
};

const remaining = (known: Incident['open'], report: StoredReport, isWhole: boolean): Incident['open'] => {
  if (isWhole && report.reason === null) return {};
  const named = new Set(report.items.values().map(({ key }) => key));
  // A run that was planned shows that the target as a whole works, even if it was limited.
  const gone = (key: string): boolean => named.has(key) || (key === '' && report.reason === null);
  return Object.fromEntries(Object.entries(known).filter(([key]) => !gone(key)));
};

/** The notice of one kind of news of a run; `before` is the incident until then. */
export const runNotice = (report: StoredReport, news: EventReasons, before: Incident | null): Notice => {
  const { runId, portal, manifest, endedAt: at } = report;
  const { event, reasons } = news;
  const summary = `${targetName(report)}: ${runSummary(news, before)}`;
  const items = reasons.slice(0, listedItems).map(({ key, reason, changes }) => ({
    ...noticeItem(key, reason),
    ...(changes && { rows: rowCountsSchema.parse(changes) }),
  }));
  const more = reasons.length - items.length;
  return { id: `${runId}.${event}`, event, at, portal, manifest, runId, summary, items, more };
};

const said: Partial<Record<EventReasons['event'], [noun: string, did: string, run: string]>> = {
  'run-failed': ['item', 'failed', 'the run failed'],
  'run-held': ['item', 'held', 'the run is held'],
  'file-quarantined': ['file', 'quarantined', 'the run quarantined'],
};

const runSummary = ({ event, reasons }: EventReasons, before: Incident | null): string => {
  const [noun, did, run] = said[event] ?? [];
  if (noun === undefined) return `recovered; failing since ${before?.since ?? 'earlier'}`;
  return reasons.some(({ key }) => key === '') ? `${run}` : `${plural(reasons.length, noun)} ${did}`;
};

type Paused = { reason: Reason; since: number };

/** The pause of a portal, null while it works, and the one that it had before. Times in Unix milliseconds. */
export interface Pauses {
  pause: Paused | null;
  last: (Paused & { until: number }) | null;
}

/** The notice that a portal was paused or works again, with a sign of it; null where that of `before` says the same. */
export const judgePortal = (portal: string, { pause, last }: Pauses, before: string | null) => {
  const sign = pause ? `paused ${pause.since} ${pause.reason.code}` : 'resumed';
  if (sign === before) return null;
  if (pause) {
    const summary = `portal ${portal} is paused until ${pauseEnds[pause.reason.code] ?? 'it answers again'}`;
    const notice = portalNotice(portal, 'portal-paused', pause.since, summary);
    return { sign, notice: { ...notice, items: [noticeItem('', pause.reason)] } };
  }
  if (last === null || before === null) return null; // a pause that nobody was told of is nothing to resume from
  const summary = `portal ${portal} works again; it had been paused since ${new Date(last.since).toISOString()}`;
  return { sign, notice: portalNotice(portal, 'portal-resumed', last.until, summary) };
};

const portalNotice = (portal: string, event: Notice['event'], ms: number, summary: string): Notice =>
  noticeOf({ id: `${portal}.${event}.${ms}`, event, at: new Date(ms).toISOString(), portal, summary });

const pauseEnds: Partial<Record<string, string>> = {
  'portal-login': 'its login is corrected',
  paused: 'an operator resumes it',
};

/** The notice that the state takes no more data, or takes it again (`fault` null). */
export const stateNotice = (fault: Reason | null): Notice => {
  const event = fault ? 'state-full' : 'state-full-ended';
  const now = new Date();
  const summary = fault ? 'the state takes no more data: work waits' : 'the state takes data again: work goes on';
  const items = fault ? [noticeItem('', fault)] : [];
  return noticeOf({ id: `${event}.${now.getTime()}`, event, at: now.toISOString(), summary, items });
};
