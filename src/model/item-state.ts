// How an item stands, as the ledger knows it, and what became of it in a run; with the words for both.

import { tally } from '../util/plural.ts';
import type { ErrorCode } from './errors.ts';
import { kindOfKey } from './key.ts';
import type { IndexedEntry } from './ledger-entry.ts';
import { type Reason, type ReportItem, reasonText } from './report.ts';

/** Codes of what is held back until a person decides, and by what it is held. */
export const heldBy = {
  held: 'its guard',
  drift: 'an edit on the portal',
  'plan-moved': 'a change since it was planned',
} as const satisfies Partial<Record<ErrorCode, string>>;

export const isHeldBack = (code: string): code is keyof typeof heldBy => Object.hasOwn(heldBy, code);

const passing: ReadonlySet<string> = new Set<ErrorCode>([
  ...(['machine-busy', 'state-full', 'portal-unreachable', 'portal-session', 'portal-login', 'portal-reply'] as const),
  ...(['portal-not-api', 'import-timeout', 'job-lost', 'jobs-stuck', 'cancelled', 'interrupted'] as const),
  ...(Object.keys(heldBy) as (keyof typeof heldBy)[]), // its own keys
]);

/** True for what is not the fault of a dropped file: it stays in the spool, for a later run or a decision. */
export const isPassing = ({ code }: Reason): boolean => passing.has(code);

/** How a failure is reported: faults of the file itself are quarantined, most others failed. */
export const outcomeOf = ({ code }: Pick<Reason, 'code'>): 'cancelled' | 'held' | 'quarantined' | 'failed' => {
  if (code === 'cancelled') return 'cancelled';
  if (isHeldBack(code)) return 'held';
  return code.startsWith('table-') || code === 'source-refused' || code === 'entry-fault' ? 'quarantined' : 'failed';
};

/** False where only another file helps: a faulty one that was dropped is set aside. */
export const canRetry = ({ file, code }: Reason): boolean => file === undefined && code !== 'held';

/** How an item or job ended for a reason, for its log: `failed for good: table-ragged: …`, `held by its guard: …`. */
export const endText = (reason: Reason): string => {
  const [outcome, text] = [outcomeOf(reason), reasonText(reason)];
  return outcome === 'held' || outcome === 'cancelled' ? text : `failed for good: ${text}`;
};

/** States of items in the order of lists: word, tone and meaning on the pages. */
export const stateWords = {
  live: ['live', 'good', 'Published, and verified on the portal.'],
  quarantined: ['quarantined', 'bad', 'Not live.'],
  failed: ['failed', 'bad', 'Not live.'],
  held: ['held', 'wait', 'Not live.'],
  cancelled: ['cancelled', 'wait', 'Not live.'],
  draft: ['draft', '', 'On the portal, but not published.'],
  removed: ['removed', '', 'Removed from the portal on request.'],
  pending: ['pending', '', 'No run has processed it yet.'],
} as const;

export type ItemState = keyof typeof stateWords;

/** True for a table that a guard holds, or whose new data is overdue; it may be live. */
export const isGuarded = ({ key, reason }: Pick<IndexedEntry, 'key' | 'reason'>): boolean =>
  reason?.code === 'held' && kindOfKey(key) === 'resource';

export const itemStateOf = (entry: IndexedEntry): ItemState => {
  const { live, removed, reason, nid } = entry;
  if (isGuarded(entry)) return 'held';
  if (live) return 'live';
  if (removed !== null) return 'removed';
  if (reason !== null) return outcomeOf(reason);
  return nid === null ? 'pending' : 'draft';
};

export const itemFates = [
  'new',
  'updated',
  'removed',
  'unchanged',
  'failed',
  'quarantined',
  'held',
  'cancelled',
] as const;

export type ItemFate = (typeof itemFates)[number];

type Fates = Partial<Record<ItemFate, number>> | null;

/** What became of the items: `12 new, 3 failed`. */
export const fatesText = ({ fates, failed = 0 }: { fates: Fates; failed?: number }): string => {
  const known: NonNullable<Fates> = fates ?? { failed };
  return tally(Object.fromEntries(itemFates.map((fate) => [fate, known[fate] ?? 0])));
};

const removals: ReadonlySet<string> = new Set(['orphaned', 'unpublished', 'deleted']);
const additions: ReadonlySet<string> = new Set(['created', 'adopted']);

export const fateOf = ({ outcome, actions }: Pick<ReportItem, 'outcome' | 'actions'>): ItemFate => {
  if (outcome !== 'done') return outcome;
  if (actions.some((action) => removals.has(action))) return 'removed';
  if (actions.some((action) => additions.has(action))) return 'new';
  return actions.length > 0 ? 'updated' : 'unchanged';
};
