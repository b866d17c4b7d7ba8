// A notice: what happened, to what, by code and place; never a secret, never what stands in a file or came from a portal.
import { z } from 'zod';
import { type ErrorCode, errorCodes } from '../model/errors.ts';
import type { Reason } from '../model/report.ts';

/** What is told, with the sentence that the documentation shows for it. */
export const noticeEvents = {
  'run-failed': 'Items of a run failed, or the run as a whole.',
  'run-held': 'A guard holds a run, or items are held because somebody edited them on the portal.',
  'file-quarantined': 'A file is faulty and was set aside.',
  recovered: 'Everything that had failed, was held or quarantined is well again.',
  'portal-paused': 'A portal is paused: it is down, or refused the login.',
  'portal-resumed': 'A paused portal works again.',
} as const;

/** See {@link noticeEvents}. */
export type NoticeEvent = keyof typeof noticeEvents;

const eventNames = Object.keys(noticeEvents) as [NoticeEvent, ...NoticeEvent[]]; // its own keys

/** One thing a notice is about. */
export const noticeItemSchema = z.object({
  /** Key of the dataset or resource; empty for the run as a whole. */
  key: z.string(),
  /** An error code, or `bug`. */
  code: z.string(),
  /** What the code means, in general. */
  meaning: z.string(),
  /** Place in the file, from 1. */
  line: z.number().int().optional(),
  column: z.number().int().optional(),
});

/** See {@link noticeItemSchema}. */
export type NoticeItem = z.infer<typeof noticeItemSchema>;

/** A notice as the webhook gets it. */
export const noticeSchema = z.object({
  /** The same for every repeat of this notice. */
  id: z.string(),
  event: z.enum(eventNames),
  /** ISO 8601, UTC. */
  at: z.string(),
  portal: z.string(),
  /** Null for a notice about a portal. */
  manifest: z.string().nullable(),
  runId: z.string().nullable(),
  /** One line for people. */
  summary: z.string(),
  /** The first of them; `more` says how many are left out. */
  items: z.array(noticeItemSchema),
  more: z.number().int(),
});

/** See {@link noticeSchema}. */
export type Notice = z.infer<typeof noticeSchema>;

/** Items that a notice lists. */
export const listedItems = 50;

/** What a notice may tell of a reason: its code and place, but not its message, which can hold a portal's words. */
export const noticeItem = (key: string, reason: Pick<Reason, 'code' | 'line' | 'column'>): NoticeItem => ({
  key,
  code: reason.code,
  meaning: meaningOf(reason.code),
  ...(reason.line === undefined ? {} : { line: reason.line }),
  ...(reason.column === undefined ? {} : { column: reason.column }),
});

const meaningOf = (code: string): string =>
  Object.hasOwn(errorCodes, code) ? errorCodes[code as ErrorCode] : 'A fault of sluice itself.'; // just checked

/** A notice as the text of an e-mail. */
export const noticeText = (notice: Notice): { subject: string; text: string } => {
  const lines = [notice.summary, ''];
  for (const item of notice.items) {
    const place =
      item.line === undefined ? '' : `, line ${item.line}${item.column === undefined ? '' : `, column ${item.column}`}`;
    lines.push(`- ${item.key === '' ? 'the run' : item.key}: ${item.code}${place}`, `  ${item.meaning}`);
  }
  if (notice.more > 0) lines.push(`- and ${notice.more} more`);
  if (notice.items.length > 0) lines.push('');
  lines.push(`Time: ${notice.at}`, `Portal: ${notice.portal}`);
  if (notice.manifest !== null) lines.push(`Manifest: ${notice.manifest}`);
  if (notice.runId !== null) lines.push(`Run: ${notice.runId}`);
  lines.push(
    '',
    'Details: sluice status',
    ...(notice.runId === null ? [] : [`         sluice log ${notice.runId}`]),
    '',
  );
  return { subject: `[sluice] ${notice.summary}`, text: lines.join('\n') };
};
