// Notices: events, their wording, and which of them form one incident.
import { z } from 'zod';
import { type ErrorCode, errorCodes } from '../model/errors.ts';
import { dropAgain, type Reason, type StoredReport } from '../model/report.ts';
import { defined } from '../util/json.ts';

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

const eventNames = Object.keys(noticeEvents) as [NoticeEvent, ...NoticeEvent[]]; // its own keys

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
});

export type NoticeItem = z.infer<typeof noticeItemSchema>;

export const noticeSchema = z.object({
  /** The same for every repeat of this notice. */
  id: z.string(),
  event: z.enum(eventNames),
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
  ...{ portal: null, manifest: null, runId: null, items: [], more: 0 },
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

export const noticeText = ({
  summary,
  items,
  more,
  runId,
  url,
  ...notice
}: Notice): { subject: string; text: string } => {
  const ofPortal = notice.portal === null ? 'the state' : `portal ${notice.portal}`;
  const whole = runId === null ? ofPortal : 'the run';
  const listed = items.flatMap(({ key, code, meaning, hint, line, column }) => {
    const place = line === undefined ? '' : `, line ${line}${column === undefined ? '' : `, column ${column}`}`;
    const head = [`- ${key === '' ? whole : key}: ${code}${place}`, `  ${meaning}`];
    return hint === undefined ? head : [...head, `  -> ${hint}`];
  });
  const facts = { Time: notice.at, Portal: notice.portal, Manifest: notice.manifest, Run: runId };
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
export interface EventReasons {
  event: NoticeEvent;
  reasons: { key: string; reason: Reason }[];
}

interface Judgement {
  /** Null when nothing is wrong any more. */
  incident: Incident | null;
  news: EventReasons[];
}

/**
 * Compares a report with the open incident: what was reported is reported again only once it has recovered, or as another
 * fault of a file. `isWhole`: what the report does not name is gone.
 */
export const judge = (before: Incident | null, report: StoredReport, isWhole: boolean): Judgement => {
  if (before?.runId === report.runId) return { incident: before, news: [] };
  const known = before?.open ?? {};
  const faults = faultsOf(report);
  const open = {
    ...remaining(known, report, isWhole),
    ...Object.fromEntries(faults.map(({ key, sign }) => [key, sign])),
  };
  const fresh = faults.filter(({ key, sign }) => known[key] !== sign);
  const news = (['run-failed', 'run-held', 'file-quarantined'] as const).flatMap((event) => {
    const reasons = fresh.filter((fault) => fault.event === event).map(({ key, reason }) => ({ key, reason }));
    return reasons.length > 0 ? [{ event, reasons }] : [];
  });
  if (Object.keys(open).length > 0)
    return { incident: { since: before?.since ?? report.endedAt, open, runId: report.runId }, news };
  return { incident: null, news: before ? [{ event: 'recovered', reasons: [] }] : [] };
};

interface Fault {
  key: string;
  event: NoticeEvent;
  reason: Reason;
  /** Equal for what counts as the same fault. */
  sign: string;
}

const faultsOf = ({ reason, items }: StoredReport): Fault[] => [
  ...(reason ? [faultOf('', reason, reason.code === 'held' ? 'held' : 'failed')] : []),
  ...items
    .filter((item) => item.reason !== null)
    .flatMap(({ key, reason, outcome }) => (reason ? [faultOf(key, reason, outcome)] : [])),
];

const faultOf = (key: string, reason: Reason, outcome: string): Fault => {
  const { code, line = '', column = '' } = reason;
  if (outcome === 'quarantined')
    return { key, reason, event: 'file-quarantined', sign: `file-quarantined ${code} ${line} ${column}` };
  const event = outcome === 'held' ? 'run-held' : 'run-failed';
  return { key, reason, event, sign: event };
};

const remaining = (known: Incident['open'], report: StoredReport, isWhole: boolean): Incident['open'] => {
  if (isWhole && report.reason === null) return {};
  const named = new Set(report.items.map(({ key }) => key));
  // A run that was planned shows that the target as a whole works, even if it was limited.
  const gone = (key: string): boolean => named.has(key) || (key === '' && report.reason === null);
  return Object.fromEntries(Object.entries(known).filter(([key]) => !gone(key)));
};
