// What a closed run changes about the incident of its target: pure, so that each thing is told once.
import { z } from 'zod';
import type { Reason, Report } from '../model/report.ts';
import type { NoticeEvent } from './notice.ts';

/** What is wrong with a target and was told. */
export const incidentSchema = z.object({
  /** ISO 8601 of the run that began it. */
  since: z.string(),
  /** Key -> what was told of it; the empty key is the run as a whole. */
  open: z.record(z.string(), z.string()),
  /** The run that was judged last: judging it again changes nothing. */
  runId: z.string(),
});

/** See {@link incidentSchema}. */
export type Incident = z.infer<typeof incidentSchema>;

/** One notice to send: its event, and the reasons by key. */
export interface Told {
  event: NoticeEvent;
  reasons: { key: string; reason: Reason }[];
}

/** What follows from a closed run. */
export interface Judgement {
  /** Null when nothing is wrong any more. */
  incident: Incident | null;
  told: Told[];
}

/** True when a report says that something is wrong. */
export const hasFaults = (report: Report): boolean =>
  report.reason !== null || report.items.some((item) => item.reason !== null);

/**
 * Compares a report with the open incident. What was told is not told again until it was well in between; a faulty file
 * is told anew when its fault is another one. `isWhole`: the report names everything the target has, so what it does not
 * name is gone; otherwise that stays open.
 */
export const judge = (before: Incident | null, report: Report, isWhole: boolean): Judgement => {
  if (before?.runId === report.runId) return { incident: before, told: [] };
  const faults = faultsOf(report);
  const known = before?.open ?? {};
  const open: Incident['open'] = Object.fromEntries(faults.map(({ key, sign }) => [key, sign]));
  const fresh = faults.filter(({ key, sign }) => known[key] !== sign);
  for (const [key, sign] of Object.entries(remaining(known, report, isWhole))) open[key] ??= sign;
  const told: Told[] = [];
  for (const event of ['run-failed', 'run-held', 'file-quarantined'] as const) {
    const reasons = fresh.filter((fault) => fault.event === event);
    if (reasons.length > 0) told.push({ event, reasons: reasons.map(({ key, reason }) => ({ key, reason })) });
  }
  if (Object.keys(open).length > 0) {
    return { incident: { since: before?.since ?? report.endedAt, open, runId: report.runId }, told };
  }
  return { incident: null, told: before ? [{ event: 'recovered', reasons: [] }] : [] };
};

interface Fault {
  key: string;
  event: NoticeEvent;
  reason: Reason;
  /** Equal for what counts as the same fault. */
  sign: string;
}

const faultsOf = (report: Report): Fault[] => {
  const whole = report.reason ? [faultOf('', report.reason, report.reason.code === 'held' ? 'held' : 'failed')] : [];
  const items = report.items.flatMap(({ key, reason, outcome }) => (reason ? [faultOf(key, reason, outcome)] : []));
  return [...whole, ...items];
};

const faultOf = (key: string, reason: Reason, outcome: string): Fault => {
  if (outcome === 'quarantined') {
    const sign = `file-quarantined ${reason.code} ${reason.line ?? ''} ${reason.column ?? ''}`;
    return { key, reason, event: 'file-quarantined', sign };
  }
  const event = outcome === 'held' ? 'run-held' : 'run-failed';
  return { key, reason, event, sign: event };
};

/** What was open and was not looked at by this run. */
const remaining = (known: Incident['open'], report: Report, isWhole: boolean): Incident['open'] => {
  if (isWhole && report.reason === null) return {};
  const named = new Set(report.items.map(({ key }) => key));
  // A run that planned its work shows that the target as a whole is well, whatever it was limited to.
  const gone = (key: string): boolean => named.has(key) || (key === '' && report.reason === null);
  return Object.fromEntries(Object.entries(known).filter(([key]) => !gone(key)));
};
