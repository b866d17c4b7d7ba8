// Watches for silence: gives signs of life of this process, and reports each overdue item once over all processes.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { KnownTarget } from '../model/redis-keys.ts';
import { listedItems, type Notice, type NoticeItem, noticeOf } from '../notify/notice.ts';
import type { notifierOf } from '../notify/notifier.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import { type Deadline, expectedOf } from '../state/deadlines.ts';
import { repeat } from '../util/concurrency.ts';
import type { Connections } from './connections.ts';
import { expectedIn, inWords, type Overdue, type OverdueParts } from './overdue.ts';

/** What the watch works with; `now` in Unix milliseconds. */
interface SilenceWatchParts extends OverdueParts, Pick<Connections, 'ledger' | 'role' | 'log'> {
  notifier: Pick<ReturnType<typeof notifierOf>, 'send'>;
  now?: () => number;
}

/** Most expectations that one check reports; the next continues. */
const mostAtOnce = 20_000;
const longestBeatMs = 60_000;

/** Checks twice in each period; `stop()` when done. */
export const silenceWatch = (parts: SilenceWatchParts) => {
  const { deadlines, ledger, notifier, config, log, now = Date.now } = parts;
  const began = now();
  const self = expectedOf.worker({ role: parts.role, host: hostname(), pid: process.pid, began });
  /** What was overdue at the last check: what still is was not merely delayed by a suspended host or a clock change. */
  let suspects = new Map<string, number>();
  let endLooks: (() => Promise<void>) | undefined;

  /** Without what is no longer in the manifests. */
  const stillExpected = async (silent: Deadline[], targets: KnownTarget[]): Promise<Deadline[]> => {
    const verdicts = await Promise.all(silent.map(({ member }) => isGone(ledger, member, targets)));
    await deadlines.forget(silent.flatMap(({ member }, index) => (verdicts[index] ? [member] : [])));
    return silent.filter((_, index) => !verdicts[index]);
  };

  const report = async (event: OverdueEvent, group: Deadline[], targets: KnownTarget[]): Promise<void> => {
    const isLate = event === 'overdue';
    const items = isLate ? (await inWords(parts, group.slice(0, listedItems))).map(itemOf) : [];
    const notice = overdueNotice(event, group, { items, at: new Date(now()) });
    const { manifest, portal, summary } = notice;
    const path = targets.find((target) => target.manifest === manifest && (portal ?? target.portal) === target.portal);
    const own = path && (await loadManifest(path.manifestPath).catch(() => null)); // its recipients, if it can be read
    await notifier.send(notice, own?.notify ?? { email: null, webhook: null });
    if (isLate) {
      await deadlines.wasReported(group);
      for (const { code, meaning, hint } of items) log.warn({ action: event, code, hint }, meaning);
    } else {
      await deadlines.wasEnded(group);
      log.info({ action: event }, summary);
    }
  };

  const look = async (): Promise<void> => {
    await deadlines.renew([{ member: self, at: now() + config.watch.everyMs }]);
    const at = now();
    const reported = await deadlines.reported();
    // A worker that died is replaced by one started later, such as this: it is not expected any more.
    const replaced = reported.filter(
      (each) => expectedIn(each.member).kind === 'worker' && each.at - config.watch.everyMs < began,
    );
    await deadlines.forget(replaced.map(({ member }) => member));
    const [ended, late] = await Promise.all([deadlines.notLate(reported, at), deadlines.late(at, mostAtOnce)]);
    const known = new Set(reported.map(({ member }) => member));
    const silent = late.filter((each) => suspects.get(each.member) === each.at && !known.has(each.member));
    suspects = new Map(late.map((each) => [each.member, each.at]));
    if (ended.length + silent.length === 0) return;
    const targets = await ledger.targets();
    for (const group of groupsOf(ended)) await report('overdue-ended', group, targets);
    for (const group of groupsOf(await stillExpected(silent, targets))) await report('overdue', group, targets);
  };

  return {
    look,

    start: async (): Promise<void> => {
      await look();
      const beatMs = Math.min(config.watch.everyMs / 2, longestBeatMs);
      endLooks = repeat(beatMs, look, (err) => log.warn({ err }, 'silence could not be watched for'));
    },

    /** Stops; this process is no longer expected. Idempotent. `force`: Redis may be gone. */
    stop: async (force: boolean): Promise<void> => {
      const ended = endLooks?.();
      if (force || !ended) return;
      endLooks = undefined;
      await ended;
      await deadlines.forget([self]);
    },
  };
};

/** True for what is no longer in a manifest, or not on its portal any more. */
const isGone = async (ledger: Connections['ledger'], member: string, targets: KnownTarget[]): Promise<boolean> => {
  const { kind, manifest, portal, key } = expectedIn(member);
  if (portal === null || kind === 'schedule') return false;
  const path = targets.find((target) => target.manifest === manifest && target.portal === portal)?.manifestPath;
  if (path !== undefined && !existsSync(path)) return true;
  const entry = key === null ? null : await ledger.entry(portal, key);
  return entry !== null && (entry.missingSince !== null || entry.removed !== null);
};

type OverdueEvent = 'overdue' | 'overdue-ended';

/** Its id follows from what it reports: after a kill, or from two processes, it is the same notice. */
const overdueNotice = (
  event: OverdueEvent,
  group: Deadline[],
  { items, at: now }: { items: NoticeItem[]; at: Date },
): Notice => {
  const [first = { member: '', at: 0 }] = group;
  const { name, manifest, portal } = expectedIn(first.member);
  const isLate = event === 'overdue';
  const all = group.length === 1 ? name : `${name} and ${group.length - 1} others`;
  const ended = `no longer overdue: ${all}, since ${new Date(first.at).toISOString()}`;
  const begun = group.length === 1 ? `overdue: ${items[0]?.meaning}` : `${group.length} overdue: ${name} and others`;
  const hash = createHash('sha256').update(JSON.stringify(group)).digest('hex').slice(0, 24);
  const [summary, more] = isLate ? [begun, group.length - items.length] : [ended, 0];
  const at = now.toISOString();
  return noticeOf({ id: `${event}.${hash}`, event, at, manifest, portal, items, summary, more });
};

const itemOf = ({ kind, key, why, hint }: Overdue): NoticeItem => ({
  key: key ?? '',
  code: `overdue-${kind}`,
  meaning: why,
  hint,
});

/** One notice for each worker, each inbox, each schedule, the runs of a target (success before news) and its datasets. */
const groupsOf = (deadlines: Deadline[]): Deadline[][] => [
  ...Map.groupBy(
    deadlines.toSorted((a, b) => (a.member > b.member ? -1 : 1)),
    ({ member }) => {
      const { kind, manifest, portal } = expectedIn(member);
      if (kind === 'data') return `data ${manifest}@${portal}`;
      return kind === 'success' || kind === 'news' ? `runs ${manifest}@${portal}` : member;
    },
  ).values(),
];
