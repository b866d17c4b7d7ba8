// Deadlines of what is expected to happen again: signs of life, runs, new data. What misses its deadline is overdue.
import type { Redis } from 'ioredis';
import { parentKey } from '../model/key.ts';
import { type RedisKeys, type Target, targetName } from '../model/redis-keys.ts';
import type { ItemAction, ReportItem, StoredReport } from '../model/report.ts';

/** What is expected, as it is named in Redis: a kind, a space, and of what. */
export const expectedOf = {
  /** A sign of life of a process; `began` in Unix milliseconds. */
  worker: (process: { role: string; host: string; pid: number; began: number }): string =>
    `worker ${process.role} ${process.host} ${process.pid} ${process.began}`,
  /** A sign of life of what watches the inbox of a manifest. */
  inbox: (manifest: string): string => `inbox ${manifest}`,
  /** A schedule that fires. */
  schedule: (target: Target): string => `schedule ${targetName(target)}`,
  /** A run that succeeds. */
  success: (target: Target): string => `success ${targetName(target)}`,
  /** Anything new in a target. */
  news: (target: Target): string => `news ${targetName(target)}`,
  /** A new file of a dataset. */
  data: (portal: string, key: string): string => `data ${portal} ${key}`,
};

/** The kinds of what is expected. */
export type ExpectedKind = keyof typeof expectedOf;

/** What is expected, and when it is or was overdue, Unix milliseconds. */
export interface Deadline {
  member: string;
  at: number;
}

/** What is expected again and again; `everyMs` null: not any more. */
interface Expectation {
  member: string;
  everyMs: number | null;
}

/** What is expected of a target by its manifest; `everyMs` undefined: nothing. */
export const expectationsOf = (target: Target, everyMs: number | undefined): Expectation[] =>
  [expectedOf.success(target), expectedOf.news(target)].map((member) => ({ member, everyMs: everyMs ?? null }));

/** What a closed run shows to have happened: something new of the target and of its datasets. */
export const newsIn = (report: StoredReport): string[] => {
  const isBusy = newActions.some((action) => report.counts.actions[action]);
  const fresh = isBusy ? report.items.filter(isNew) : [];
  const datasets = new Set(fresh.map(({ key, kind }) => (kind === 'dataset' ? key : parentKey(key))));
  return [
    ...(fresh.length > 0 ? [expectedOf.news(report)] : []),
    ...[...datasets].map((key) => expectedOf.data(report.portal, key)),
  ];
};

/** True for a file that is live for the first time, and for a new item; of what has no file, for any change. */
const isNew = ({ outcome, actions, kind, file }: ReportItem): boolean =>
  outcome === 'done' &&
  actions.some(
    (action) => newActions.includes(action) && (action !== 'updated' || (kind === 'resource' && file === null)),
  );

const newActions: readonly ItemAction[] = ['created', 'attached', 'imported', 'updated'];

/** What has not happened for so many of its periods is overdue: a nightly run does not end at the same second. */
const patience = 1.5;

/** When something must happen that is expected every so often and happened `last`, Unix milliseconds. */
const deadlineOf = (last: number, everyMs: number): number => Math.round(last + patience * everyMs);

/** When something happened last, whose deadline that gave. */
export const lastBefore = (deadline: number, everyMs: number): number => Math.round(deadline - patience * everyMs);

/** Members in one command, which Redis answers nobody meanwhile. */
const atOnce = 500;

/** Keeps in Redis by when what is expected must happen: what is late is computed from that. Times are Unix milliseconds. */
export class Deadlines {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;

  constructor(redis: Redis, keys: RedisKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** Sets deadlines, whatever they were before. */
  async renew(deadlines: readonly Deadline[]): Promise<void> {
    for (const some of inPieces(deadlines)) {
      await this.#redis.zadd(this.#keys.deadlines, ...some.flatMap(({ member, at }) => [at, member]));
    }
  }

  /** Forgets what is no longer expected. */
  async forget(members: readonly string[]): Promise<void> {
    const { deadlines, expected, promised } = this.#keys;
    for (const some of inPieces(members)) {
      await this.#redis
        .multi()
        .zrem(deadlines, ...some)
        .hdel(expected, ...some)
        .hdel(promised, ...some)
        .exec();
    }
  }

  /** Says how often something is expected; what is new counts as having happened now. */
  async expect(expectations: readonly Expectation[], now: number): Promise<void> {
    for (const some of inPieces(expectations)) {
      const members = some.map(({ member }) => member);
      const [periods, deadlines] = await Promise.all([this.periodsOf(members), this.#deadlinesOf(members)]);
      const dropped = some.filter(({ everyMs }, index) => everyMs === null && periods[index] !== null);
      await this.forget(dropped.map(({ member }) => member));
      const changed = some.flatMap(({ member, everyMs }, index) => {
        const [before, at] = [periods[index] ?? null, deadlines[index] ?? null];
        if (everyMs === null || before === everyMs) return [];
        const last = before === null || at === null ? now : lastBefore(at, before);
        return [{ member, everyMs, at: deadlineOf(last, everyMs) }];
      });
      if (changed.length === 0) continue;
      await this.#redis.hset(this.#keys.expected, ...changed.flatMap(({ member, everyMs }) => [member, everyMs]));
      await this.renew(changed);
    }
  }

  /** Says that something has happened; what nobody expects is passed over. */
  async happened(members: readonly string[], now: number): Promise<void> {
    for (const some of inPieces(members)) {
      const periods = await this.periodsOf(some);
      await this.renew(
        some.flatMap((member, index) => {
          const everyMs = periods[index] ?? null;
          return everyMs === null ? [] : [{ member, at: deadlineOf(now, everyMs) }];
        }),
      );
    }
  }

  /**
   * Replaces what the service promises: one of the same form keeps its deadline, and those that are no longer named are
   * forgotten.
   */
  async promise(promises: readonly (Deadline & { form: string })[]): Promise<void> {
    const before = await this.#redis.hgetall(this.#keys.promised);
    const named = new Set(promises.map(({ member }) => member));
    await this.forget(Object.keys(before).filter((member) => !named.has(member)));
    const changed = promises.filter(({ member, form }) => before[member] !== form);
    if (changed.length === 0) return;
    await this.#redis.hset(this.#keys.promised, ...changed.flatMap(({ member, form }) => [member, form]));
    await this.renew(changed);
  }

  /** Sets the deadline of what the service promises; nothing where it does not any more. */
  async keepPromise(deadline: Deadline): Promise<void> {
    if (await this.#redis.hexists(this.#keys.promised, deadline.member)) await this.renew([deadline]);
  }

  /** What has passed its deadline, the longest first. */
  async late(now: number, most: number): Promise<Deadline[]> {
    const reply = await this.#redis.zrangebyscore(this.#keys.deadlines, 0, now, 'WITHSCORES', 'LIMIT', 0, most);
    return Array.from({ length: reply.length / 2 }, (_, index) => ({
      member: reply[2 * index] ?? '',
      at: Number(reply[2 * index + 1]),
    }));
  }

  /** How much is late. */
  countLate(now: number): Promise<number> {
    return this.#redis.zcount(this.#keys.deadlines, 0, now);
  }

  /** How often each is expected, milliseconds; null for what is not expected by a period. */
  async periodsOf(members: readonly string[]): Promise<(number | null)[]> {
    if (members.length === 0) return [];
    const periods = await this.#redis.hmget(this.#keys.expected, ...members);
    return periods.map((text) => (text === null ? null : Number(text)));
  }

  /** What was reported as late and is not reported as over, each with the deadline that it missed. */
  async reported(): Promise<Deadline[]> {
    const all = await this.#redis.hgetall(this.#keys.overdue);
    return Object.entries(all).map(([member, at]) => ({ member, at: Number(at) }));
  }

  /** Records that something was reported as late; false where another process was faster. */
  async wasReported(deadlines: readonly Deadline[]): Promise<boolean> {
    let added = 0;
    for (const some of inPieces(deadlines)) {
      added += await this.#redis.hset(this.#keys.overdue, ...some.flatMap(({ member, at }) => [member, at]));
    }
    return added > 0;
  }

  /** Records that something was reported as over; false where another process was faster. */
  async wasEnded(members: readonly string[]): Promise<boolean> {
    let removed = 0;
    for (const some of inPieces(members)) removed += await this.#redis.hdel(this.#keys.overdue, ...some);
    return removed > 0;
  }

  /** Those that are expected and not late, or not expected any more. */
  async notLate(reported: readonly Deadline[], now: number): Promise<Deadline[]> {
    const deadlines = await this.#deadlinesOf(reported.map(({ member }) => member));
    return reported.filter((_, index) => (deadlines[index] ?? Number.POSITIVE_INFINITY) > now);
  }

  async #deadlinesOf(members: readonly string[]): Promise<(number | null)[]> {
    if (members.length === 0) return [];
    const scores = await this.#redis.zmscore(this.#keys.deadlines, ...members);
    return scores.map((score) => (score === null ? null : Number(score)));
  }
}

function* inPieces<T>(all: readonly T[]): Generator<T[]> {
  for (let at = 0; at < all.length; at += atOnce) yield all.slice(at, at + atOnce);
}
