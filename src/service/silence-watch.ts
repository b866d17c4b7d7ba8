// Watches for silence: sends signs of life of this process, and reports each overdue item once over all processes.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Log } from '../model/log.ts';
import { targetName } from '../model/redis-keys.ts';
import { listedItems, type Notice, type NoticeItem } from '../notify/notice.ts';
import type { Notifier } from '../notify/notifier.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import type { ManifestNotify } from '../sources/manifest/schema.ts';
import { type Deadline, expectedOf } from '../state/deadlines.ts';
import type { Ledger } from '../state/ledger.ts';
import { type Expected, expectedIn, inWords, type OverdueParts } from './overdue.ts';

/** What the watch is made of. */
interface SilenceWatchParts extends OverdueParts {
  ledger: Ledger;
  notifier: Pick<Notifier, 'send'>;
  /** What this process is, as other processes see it. */
  role: string;
  log: Log;
  /** Unix milliseconds. */
  now?: () => number;
}

/** Most expectations that one check reports; the next continues. */
const mostAtOnce = 20_000;
const longestBeatMs = 60_000;

const noNotify: ManifestNotify = { email: null, webhook: null };

/** Checks twice in each period; `stop()` when done. */
export class SilenceWatch {
  readonly #parts: SilenceWatchParts;
  readonly #now: () => number;
  readonly #began: number;
  readonly #self: string;
  /** What this process sends signs of life for, with a check of each. */
  readonly #alive = new Map<string, () => Promise<boolean>>();
  readonly #checked = new Set<string>();
  /** What was overdue at the last check: what still is was not merely delayed by a suspended host or a clock change. */
  #suspects = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #turn: Promise<void> | null = null;

  constructor(parts: SilenceWatchParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    this.#began = this.#now();
    this.#self = expectedOf.worker({ role: parts.role, host: hostname(), pid: process.pid, began: this.#began });
  }

  /** Gives signs of life of something from now on, while `isAlive` resolves with true. */
  keepAlive(member: string, isAlive: () => Promise<boolean>): void {
    this.#alive.set(member, isAlive);
  }

  /** Ends {@link SilenceWatch.keepAlive}; what is still expected becomes overdue. */
  endKeepAlive(member: string): void {
    this.#alive.delete(member);
  }

  /** Begins. */
  async start(): Promise<void> {
    this.keepAlive(this.#self, async () => true);
    await this.look();
    const beatMs = Math.min(this.#parts.config.watch.everyMs / 2, longestBeatMs);
    this.#timer = setInterval(() => this.#next(), beatMs).unref();
  }

  /** Stops; this process is no longer expected. Idempotent. `force`: Redis may be gone. */
  async stop(force: boolean): Promise<void> {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
    if (force) return;
    await this.#turn;
    await this.#parts.deadlines.forget([this.#self]);
  }

  #next(): void {
    this.#turn ??= this.look()
      .catch((err: unknown) => this.#parts.log.warn({ err }, 'silence could not be watched for'))
      .finally(() => {
        this.#turn = null;
      });
  }

  /** Gives signs of life and looks once. */
  async look(): Promise<void> {
    await this.#signsOfLife();
    const { deadlines } = this.#parts;
    const now = this.#now();
    const reported = await deadlines.reported();
    await this.#forgetReplaced(reported);
    for (const group of groupsOf(await deadlines.notLate(reported, now))) await this.#reportEnded(group);
    const late = await deadlines.late(now, mostAtOnce);
    const known = new Set(reported.map(({ member }) => member));
    const silent = late.filter(({ member, at }) => this.#suspects.get(member) === at && !known.has(member));
    this.#suspects = new Map(late.map(({ member, at }) => [member, at]));
    if (silent.length === 0) return;
    const paths = await this.#paths();
    for (const group of groupsOf(await this.#stillExpected(silent, paths))) await this.#reportOverdue(group, paths);
  }

  /** A check that hangs, as on a dead network drive, does not delay the others. */
  async #signsOfLife(): Promise<void> {
    const { deadlines, config, log } = this.#parts;
    const renew = async (member: string): Promise<void> => {
      await deadlines.renew([{ member, at: this.#now() + config.watch.everyMs }]);
    };
    for (const [member, isAlive] of this.#alive) {
      if (member === this.#self || this.#checked.has(member)) continue;
      this.#checked.add(member);
      void isAlive()
        .then((alive) => (alive && this.#alive.has(member) ? renew(member) : undefined))
        .catch((err: unknown) => log.debug({ err, member }, 'no sign of life'))
        .finally(() => this.#checked.delete(member));
    }
    await renew(this.#self);
  }

  /** Without what is no longer in the manifests. */
  async #stillExpected(silent: Deadline[], paths: ReadonlyMap<string, string>): Promise<Deadline[]> {
    const { ledger, deadlines } = this.#parts;
    const isGone = async ({ kind, manifest, portal, key }: Expected): Promise<boolean> => {
      if (kind !== 'data' && kind !== 'success' && kind !== 'news') return false;
      const path = paths.get(`${manifest}@${portal}`);
      if (path !== undefined && !existsSync(path)) return true;
      const entry = key === null || portal === null ? null : await ledger.entry(portal, key);
      return entry !== null && (entry.missingSince !== null || entry.removed !== null);
    };
    const verdicts = await Promise.all(silent.map(({ member }) => isGone(expectedIn(member))));
    const gone = silent.flatMap(({ member }, index) => (verdicts[index] ? [member] : []));
    await deadlines.forget(gone);
    return silent.filter((_, index) => !verdicts[index]);
  }

  /** The id of a notice follows from what it reports: after a kill, or from two processes, it is the same notice. */
  async #reportOverdue(group: Deadline[], paths: ReadonlyMap<string, string>): Promise<void> {
    const { deadlines, notifier, log } = this.#parts;
    const shown = await inWords(this.#parts, group.slice(0, listedItems));
    const items = shown.map(
      ({ kind, key, why, hint }): NoticeItem => ({
        key: key ?? '',
        code: `overdue-${kind}`,
        meaning: why,
        hint,
      }),
    );
    const { name, manifest, portal } = this.#about(group);
    const summary =
      group.length === 1 ? `overdue: ${items[0]?.meaning}` : `${group.length} overdue: ${name} and others`;
    const notice = this.#notice('overdue', group, { manifest, portal, summary, items });
    await notifier.send(notice, await recipientsOf(notice, paths));
    if (!(await deadlines.wasReported(group))) return;
    for (const { kind, why, hint } of shown) log.warn({ action: 'overdue', kind, hint }, why);
  }

  async #reportEnded(group: Deadline[]): Promise<void> {
    const { deadlines, notifier, log } = this.#parts;
    const { name, manifest, portal, since } = this.#about(group);
    const what = group.length === 1 ? name : `${name} and ${group.length - 1} others`;
    const summary = `no longer overdue: ${what}, since ${since}`;
    const notice = this.#notice('overdue-ended', group, { manifest, portal, summary, items: [] });
    await notifier.send(notice, await recipientsOf(notice, await this.#paths()));
    if (await deadlines.wasEnded(group.map(({ member }) => member))) log.info({ action: 'overdue-ended' }, summary);
  }

  #about(group: Deadline[]): { name: string; manifest: string | null; portal: string | null; since: string } {
    const { name, manifest, portal } = expectedIn(group[0]?.member ?? '');
    return { name, manifest, portal, since: new Date(group[0]?.at ?? 0).toISOString() };
  }

  /** The same incident has the same id, whoever reports it. */
  #notice(
    event: 'overdue' | 'overdue-ended',
    group: Deadline[],
    rest: Pick<Notice, 'manifest' | 'portal' | 'summary' | 'items'>,
  ): Notice {
    const hash = createHash('sha256').update(JSON.stringify(group)).digest('hex').slice(0, 24);
    const more = event === 'overdue' ? group.length - rest.items.length : 0;
    return { id: `${event}.${hash}`, event, at: new Date(this.#now()).toISOString(), runId: null, ...rest, more };
  }

  /** A worker that died is replaced by one started later, such as this: it is not expected any more. */
  async #forgetReplaced(reported: Deadline[]): Promise<void> {
    const { deadlines, config } = this.#parts;
    const replaced = reported.filter(
      ({ member, at }) => expectedIn(member).kind === 'worker' && at - config.watch.everyMs < this.#began,
    );
    await deadlines.forget(replaced.map(({ member }) => member));
  }

  /** Paths of manifests, by the names of their targets. */
  async #paths(): Promise<Map<string, string>> {
    const targets = await this.#parts.ledger.targets();
    return new Map(
      targets.map(({ manifest, portal, manifestPath }) => [targetName({ manifest, portal }), manifestPath]),
    );
  }
}

/** Recipients in the manifest, if it can be read. */
const recipientsOf = async (
  { manifest, portal }: Notice,
  paths: ReadonlyMap<string, string>,
): Promise<ManifestNotify> => {
  const isOurs = (name: string): boolean =>
    portal === null ? name.startsWith(`${manifest}@`) : name === `${manifest}@${portal}`;
  const path = manifest === null ? undefined : [...paths].find(([name]) => isOurs(name))?.[1];
  if (path === undefined) return noNotify;
  return (await loadManifest(path).catch(() => null))?.notify ?? noNotify;
};

/** One notice for each worker, each inbox, each schedule, the runs of a target (success before news) and its datasets. */
const groupsOf = (deadlines: Deadline[]): Deadline[][] => [
  ...Map.groupBy(deadlines.toSorted(byMember), ({ member }) => {
    const { kind, manifest, portal } = expectedIn(member);
    if (kind === 'data') return `data ${manifest}@${portal}`;
    return kind === 'success' || kind === 'news' ? `runs ${manifest}@${portal}` : member;
  }).values(),
];

const byMember = (a: Deadline, b: Deadline): number => (a.member > b.member ? -1 : 1);
