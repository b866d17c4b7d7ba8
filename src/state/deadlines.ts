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
  /** That the service serves what the file names; promised only for what it had to skip, so that it is late at once. */
  manifest: (path: string): string => `manifest ${path}`,
  schedule: (target: Target): string => `schedule ${targetName(target)}`,
  success: (target: Target): string => `success ${targetName(target)}`,
  news: (target: Target): string => `news ${targetName(target)}`,
  data: (portal: string, key: string): string => `data ${portal} ${key}`,
};

export type ExpectedKind = keyof typeof expectedOf;

/** What is expected, and when it is or was overdue, Unix milliseconds. */
export type Deadline = { member: string; at: number };

/** What is expected again and again; `everyMs` null: not any more. */
type Expectation = { member: string; everyMs: number | null };

/** What is expected of a target by its manifest; `everyMs` undefined: nothing. */
export const expectationsOf = (target: Target, everyMs: number | undefined): Expectation[] =>
  [expectedOf.success(target), expectedOf.news(target)].map((member) => ({ member, everyMs: everyMs ?? null }));

/** What a closed run shows to have happened: something new of the target and of its datasets. */
export const newsIn = (report: StoredReport): string[] => {
  const isBusy = newActions.some((action) => report.counts.actions[action]);
  const fresh = isBusy ? report.items.values().filter(isNew).toArray() : [];
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

export type Deadlines = ReturnType<typeof deadlinesIn>;

/**
 * Keeps in Redis by when what is expected must happen, and the form in which it was announced: a period in milliseconds, a
 * schedule, a folder. What is late is computed from that. Times are Unix milliseconds.
 */
export const deadlinesIn = (redis: Redis, keys: RedisKeys) => {
  const renew = async (deadlines: readonly Deadline[]): Promise<void> => {
    if (deadlines.length === 0) return;
    await redis.zadd(keys.deadlines, ...deadlines.flatMap(({ member, at }) => [at, member]));
  };

  const forget = async (members: readonly string[]): Promise<void> => {
    if (members.length === 0) return;
    await redis
      .multi()
      .zrem(keys.deadlines, ...members)
      .hdel(keys.expected, ...members)
      .exec();
  };

  /** The form in which each was announced; null for what was not, such as a worker. */
  const formsOf = async (members: readonly string[]): Promise<(string | null)[]> =>
    members.length === 0 ? [] : redis.hmget(keys.expected, ...members);

  const deadlinesOf = async (members: readonly string[]): Promise<(number | null)[]> => {
    if (members.length === 0) return [];
    const scores = await redis.zmscore(keys.deadlines, ...members);
    return scores.map((score) => (score === null ? null : Number(score)));
  };

  const announce = async (expected: readonly (Deadline & { form: string })[]): Promise<void> => {
    if (expected.length === 0) return;
    await redis.hset(keys.expected, ...expected.flatMap(({ member, form }) => [member, form]));
    await renew(expected);
  };

  return {
    renew,
    forget,
    formsOf,

    /** Says how often something is expected; what is new counts as having happened now. */
    expect: async (expectations: readonly Expectation[], now: number): Promise<void> => {
      const members = expectations.map(({ member }) => member);
      const [forms, deadlines] = await Promise.all([formsOf(members), deadlinesOf(members)]);
      const isOver = ({ everyMs }: Expectation, index: number): boolean => everyMs === null && forms[index] !== null;
      await forget(expectations.filter(isOver).map(({ member }) => member));
      await announce(
        expectations.flatMap(({ member, everyMs }, index) => {
          const [form, at] = [forms[index] ?? null, deadlines[index] ?? null];
          if (everyMs === null || form === `${everyMs}`) return [];
          const last = form === null || at === null ? now : lastBefore(at, Number(form));
          return [{ member, form: `${everyMs}`, at: deadlineOf(last, everyMs) }];
        }),
      );
    },

    /** Says that something has happened; what nobody expects is passed over. */
    happened: async (members: readonly string[], now: number): Promise<void> => {
      for (let from = 0; from < members.length; from += atOnce) {
        const some = members.slice(from, from + atOnce);
        const forms = await formsOf(some);
        await renew(
          some.flatMap((member, index) => {
            const form = forms[index] ?? null;
            return form === null ? [] : [{ member, at: deadlineOf(now, Number(form)) }];
          }),
        );
      }
    },

    /** Replaces what the service promises: one of the same form keeps its deadline; those that nobody names are forgotten. */
    promise: async (promises: readonly (Deadline & { form: string })[], ofOthers = new Set<string>()) => {
      const before = await redis.hgetall(keys.expected);
      const named = new Set([...ofOthers, ...promises.map(({ member }) => member)]);
      await forget(
        Object.keys(before).filter((member) => /^(?:inbox|manifest|schedule) /.test(member) && !named.has(member)),
      );
      await announce(promises.filter(({ member, form }) => before[member] !== form));
    },

    /** Sets the deadline of what the service promises; nothing where it does not any more. */
    keepPromise: async (deadline: Deadline): Promise<void> => {
      if (await redis.hexists(keys.expected, deadline.member)) await renew([deadline]);
    },

    /** What has passed its deadline, the longest first. */
    late: async (now: number, most: number): Promise<Deadline[]> => {
      const reply = await redis.zrangebyscore(keys.deadlines, 0, now, 'WITHSCORES', 'LIMIT', 0, most);
      return Array.from({ length: reply.length / 2 }, (_, index) => ({
        member: reply[2 * index] ?? '',
        at: Number(reply[2 * index + 1]),
      }));
    },

    countLate: (now: number): Promise<number> => redis.zcount(keys.deadlines, 0, now),

    /** What was reported as late and is not reported as over, each with the deadline that it missed. */
    reported: async (): Promise<Deadline[]> =>
      Object.entries(await redis.hgetall(keys.overdue)).map(([member, at]) => ({ member, at: Number(at) })),

    wasReported: (deadlines: readonly Deadline[]): Promise<unknown> =>
      redis.hset(keys.overdue, ...deadlines.flatMap(({ member, at }) => [member, at])),

    wasEnded: (deadlines: readonly Deadline[]): Promise<unknown> =>
      redis.hdel(keys.overdue, ...deadlines.map(({ member }) => member)),

    /** Those that are expected and not late, or not expected any more. */
    notLate: async (reported: readonly Deadline[], now: number): Promise<Deadline[]> => {
      const deadlines = await deadlinesOf(reported.map(({ member }) => member));
      return reported.filter((_, index) => (deadlines[index] ?? Number.POSITIVE_INFINITY) > now);
    },
  };
};
