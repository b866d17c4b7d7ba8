// Watches for silence: gives signs of life of this process, and reports each overdue item once over all processes.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { KnownTarget } from '../model/redis-keys.ts';
import { listedItems, type Notice, type NoticeItem } from '../notify/notice.ts';
import type { Notifier } from '../notify/notifier.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import { type Deadline, expectedOf } from '../state/deadlines.ts';
import { repeat } from '../util/concurrency.ts';
import type { Connections } from './connections.ts';
import { expectedIn, inWords, type Overdue, type OverdueParts } from './overdue.ts';

/** What the watch works with; `now` in Unix milliseconds. */
interface SilenceWatchParts extends OverdueParts, Pick<Connections, 'ledger' | 'role' | 'log'> {
  notifier: Pick<Notifier, 'send'>;
  now?: () => number;
}

/** Most expectations that one check reports; the next continues. */
const mostAtOnce = 20_000;
const longestBeatMs = 60_000;

/** Checks twice in each period; `stop()` when done. */
export class SilenceWatch {
  readonly #parts: SilenceWatchParts;
  readonly #now: () => number;
  readonly #began: number;
  readonly #self: string;
  /** What was overdue at the last check: what still is was not merely delayed by a suspended host or a clock change. */
  #suspects = new Map<string, number>();
  #endLooks: (() => Promise<void>) | undefined;

  constructor(parts: SilenceWatchParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    this.#began = this.#now();
    this.#self = expectedOf.worker({ role: parts.role, host: hostname(), pid: process.pid, began: this.#began });
  }

  async start(): Promise<void> {
    await this.look();
    const beatMs = Math.min(this.#parts.config.watch.everyMs / 2, longestBeatMs);
    const failed = (err: unknown): void => this.#parts.log.warn({ err }, 'silence could not be watched for');
    this.#endLooks = repeat(beatMs, () => this.look(), failed);
  }

  /** Stops; this process is no longer expected. Idempotent. `force`: Redis may be gone. */
  async stop(force: boolean): Promise<void> {
    const ended = this.#endLooks?.();
    if (force || !ended) return;
    this.#endLooks = undefined;
    await ended;
    await this.#parts.deadlines.forget([this.#self]);
  }

  /** Gives a sign of life and looks once. */
  async look(): Promise<void> {
    const { deadlines, config, ledger } = this.#parts;
    await deadlines.renew([{ member: this.#self, at: this.#now() + config.watch.everyMs }]);
    const now = this.#now();
    const reported = await deadlines.reported();
    await this.#forgetReplaced(reported);
    const [ended, late] = await Promise.all([deadlines.notLate(reported, now), deadlines.late(now, mostAtOnce)]);
    const known = new Set(reported.map(({ member }) => member));
    const silent = late.filter(({ member, at }) => this.#suspects.get(member) === at && !known.has(member));
    this.#suspects = new Map(late.map(({ member, at }) => [member, at]));
    if (ended.length + silent.length === 0) return;
    const targets = await ledger.targets();
    for (const group of groupsOf(ended)) await this.#report('overdue-ended', group, targets);
    for (const group of groupsOf(await this.#stillExpected(silent, targets)))
      await this.#report('overdue', group, targets);
  }

  /** Without what is no longer in the manifests. */
  async #stillExpected(silent: Deadline[], targets: KnownTarget[]): Promise<Deadline[]> {
    const { ledger, deadlines } = this.#parts;
    const isGone = async ({ member }: Deadline): Promise<boolean> => {
      const { kind, manifest, portal, key } = expectedIn(member);
      if (portal === null || kind === 'schedule') return false;
      const path = targets.find((target) => target.manifest === manifest && target.portal === portal)?.manifestPath;
      if (path !== undefined && !existsSync(path)) return true;
      const entry = key === null ? null : await ledger.entry(portal, key);
      return entry !== null && (entry.missingSince !== null || entry.removed !== null);
    };
    const verdicts = await Promise.all(silent.map(isGone));
    await deadlines.forget(silent.flatMap(({ member }, index) => (verdicts[index] ? [member] : [])));
    return silent.filter((_, index) => !verdicts[index]);
  }

  /** The id of a notice follows from what it reports: after a kill, or from two processes, it is the same notice. */
  async #report(event: 'overdue' | 'overdue-ended', group: Deadline[], targets: KnownTarget[]): Promise<void> {
    const { deadlines, notifier, log } = this.#parts;
    const [first = { member: '', at: 0 }] = group;
    const { name, manifest, portal } = expectedIn(first.member);
    const isLate = event === 'overdue';
    const items = isLate ? (await inWords(this.#parts, group.slice(0, listedItems))).map(itemOf) : [];
    const all = group.length === 1 ? name : `${name} and ${group.length - 1} others`;
    const ended = `no longer overdue: ${all}, since ${new Date(first.at).toISOString()}`;
    const begun = group.length === 1 ? `overdue: ${items[0]?.meaning}` : `${group.length} overdue: ${name} and others`;
    const summary = isLate ? begun : ended;
    const hash = createHash('sha256').update(JSON.stringify(group)).digest('hex').slice(0, 24);
    const notice: Notice = {
      ...{ id: `${event}.${hash}`, event, at: new Date(this.#now()).toISOString(), runId: null },
      ...{ manifest, portal, summary, items, more: isLate ? group.length - items.length : 0 },
    };
    const path = targets.find((target) => target.manifest === manifest && (portal ?? target.portal) === target.portal);
    const own = path && (await loadManifest(path.manifestPath).catch(() => null)); // its recipients, if it can be read
    await notifier.send(notice, own?.notify ?? { email: null, webhook: null });
    if (isLate) await deadlines.wasReported(group);
    else await deadlines.wasEnded(group);
    if (isLate) for (const { code, meaning, hint } of items) log.warn({ action: event, code, hint }, meaning);
    else log.info({ action: event }, summary);
  }

  /** A worker that died is replaced by one started later, such as this: it is not expected any more. */
  async #forgetReplaced(reported: Deadline[]): Promise<void> {
    const { deadlines, config } = this.#parts;
    const isReplaced = ({ member, at }: Deadline): boolean =>
      expectedIn(member).kind === 'worker' && at - config.watch.everyMs < this.#began;
    await deadlines.forget(reported.filter(isReplaced).map(({ member }) => member));
  }
}

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
