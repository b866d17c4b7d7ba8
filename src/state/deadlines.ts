// Deadlines of what is expected to happen again: signs of life, runs, new data. What misses its deadline is overdue.
import type { Redis } from 'ioredis';
import { parentKey } from '../model/key.ts';
import { type RedisKeys, type Target, targetName } from '../model/redis-keys.ts';
import type { ItemAction, ReportItem, StoredReport } from '../model/report.ts';
import { RedisScript } from './redis/script.ts';

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

/** What is late by this share of its period is overdue: a nightly run does not end at the same second. */
const patience = 1.5;

// What was reported as overdue is over as soon as its deadline lies ahead again.
const place = `
local deadlines, overdue, ended = KEYS[1], KEYS[2], KEYS[3]
local function close(member)
  local since = redis.call('ZSCORE', overdue, member)
  if not since then return end
  redis.call('ZREM', overdue, member)
  redis.call('ZADD', ended, since, member)
end
local function place(member, at, now)
  if tonumber(at) > tonumber(now) then close(member)
  elseif redis.call('ZSCORE', overdue, member) then return end
  redis.call('ZADD', deadlines, at, member)
end
local function forget(member)
  close(member)
  redis.call('ZREM', deadlines, member)
end
`;

/** ARGV: now, then member and deadline of each; an empty deadline forgets it. */
const renewScript = new RedisScript(`${place}
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] == '' then forget(ARGV[i]) else place(ARGV[i], ARGV[i + 1], ARGV[1]) end
end
`);

/** KEYS[4]: what is expected. ARGV: now, patience, then member and period of each; without a period it is no longer expected. */
const expectScript = new RedisScript(`${place}
for i = 3, #ARGV, 2 do
  local member, every = ARGV[i], ARGV[i + 1]
  local known = redis.call('HGET', KEYS[4], member)
  if every ~= '' then
    local last = known and string.match(known, ' (%d+)$') or ARGV[1]
    redis.call('HSET', KEYS[4], member, every .. ' ' .. last)
    place(member, string.format('%d', last + ARGV[2] * every), ARGV[1])
  elseif known then
    redis.call('HDEL', KEYS[4], member)
    forget(member)
  end
end
`);

/** KEYS[4]: what is expected. ARGV: now, patience, then members that have happened just now. */
const happenedScript = new RedisScript(`${place}
for i = 3, #ARGV do
  local every = string.match(redis.call('HGET', KEYS[4], ARGV[i]) or '', '^(%d+) ')
  if every then
    redis.call('HSET', KEYS[4], ARGV[i], every .. ' ' .. ARGV[1])
    place(ARGV[i], string.format('%d', ARGV[1] + ARGV[2] * every), ARGV[1])
  end
end
`);

/**
 * KEYS[4]: what the service promised before. ARGV: now, then member, form and deadline of each; one of the same form
 * keeps its deadline, and those that are no longer named are forgotten.
 */
const promiseScript = new RedisScript(`${place}
local named = {}
for i = 2, #ARGV, 3 do
  local member, form, at = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  named[member] = true
  local isKnown = redis.call('ZSCORE', deadlines, member) or redis.call('ZSCORE', overdue, member)
  if redis.call('HGET', KEYS[4], member) ~= form or not isKnown then
    redis.call('HSET', KEYS[4], member, form)
    place(member, at, ARGV[1])
  end
end
for _, member in ipairs(redis.call('HKEYS', KEYS[4])) do
  if not named[member] then
    redis.call('HDEL', KEYS[4], member)
    forget(member)
  end
end
`);

/**
 * Moves members from one set to the other and puts the notice about them down, unless one of them has moved meanwhile.
 * KEYS: from, to, the outbox. ARGV: id and notice, then member and score of each.
 */
const reportScript = new RedisScript(`
for i = 3, #ARGV, 2 do
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or '-1') ~= tonumber(ARGV[i + 1]) then return 0 end
end
for i = 3, #ARGV, 2 do
  redis.call('ZREM', KEYS[1], ARGV[i])
  if KEYS[2] ~= KEYS[1] then redis.call('ZADD', KEYS[2], ARGV[i + 1], ARGV[i]) end
end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
return 1
`);

/** Members that one call of a script takes: Redis answers nobody meanwhile. */
const atOnce = 500;

/** Keeps deadlines in Redis, so that all processes together report what is overdue once. Times are Unix milliseconds. */
export class Deadlines {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;

  constructor(redis: Redis, keys: RedisKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** Sets deadlines, whatever they were before. */
  async renew(deadlines: Deadline[], now: number): Promise<void> {
    const args = deadlines.flatMap(({ member, at }) => [member, String(at)]);
    for (const some of inPieces(args, 2)) await renewScript.run(this.#redis, this.#sets, [now, ...some]);
  }

  /** Forgets what is no longer expected. */
  async forget(members: string[], now: number): Promise<void> {
    if (members.length > 0) await this.#redis.hdel(this.#keys.expected, ...members);
    const args = members.flatMap((member) => [member, '']);
    for (const some of inPieces(args, 2)) await renewScript.run(this.#redis, this.#sets, [now, ...some]);
  }

  /** Says how often something is expected; what is new counts as having happened now. */
  async expect(expectations: Expectation[], now: number): Promise<void> {
    // Most targets expect nothing, and then there is nothing to look up.
    const isAny = expectations.some(({ everyMs }) => everyMs !== null);
    if (!isAny && (await this.#redis.hlen(this.#keys.expected)) === 0) return;
    const args = expectations.flatMap(({ member, everyMs }) => [
      member,
      everyMs === null ? '' : String(Math.round(everyMs)),
    ]);
    for (const some of inPieces(args, 2)) {
      await expectScript.run(this.#redis, [...this.#sets, this.#keys.expected], [now, patience, ...some]);
    }
  }

  /** Says that something has happened; what nobody expects is passed over. */
  async happened(members: string[], now: number): Promise<void> {
    for (const some of inPieces(members, 1)) {
      await happenedScript.run(this.#redis, [...this.#sets, this.#keys.expected], [now, patience, ...some]);
    }
  }

  /** Replaces what the service promises; `form`: another one sets the deadline again. */
  async promise(promises: (Deadline & { form: string })[], now: number): Promise<void> {
    const args = promises.flatMap(({ member, form, at }) => [member, form, at]);
    await promiseScript.run(this.#redis, [...this.#sets, this.#keys.promised], [now, ...args]);
  }

  /** Sets the deadline of what the service promises; nothing where it does not any more. */
  async keepPromise(deadline: Deadline, now: number): Promise<void> {
    if (await this.#redis.hexists(this.#keys.promised, deadline.member)) await this.renew([deadline], now);
  }

  /** What has passed its deadline and is not reported yet, the longest first. */
  async due(now: number, most: number): Promise<Deadline[]> {
    return this.#first(this.#keys.deadlines, now, most);
  }

  /** What was reported and has not happened since, the longest first. */
  async overdue(most: number): Promise<Deadline[]> {
    return this.#first(this.#keys.overdue, '+inf', most);
  }

  /** How much is overdue, reported or not. */
  async countOverdue(now: number): Promise<number> {
    const [reported, due] = await Promise.all([
      this.#redis.zcard(this.#keys.overdue),
      this.#redis.zcount(this.#keys.deadlines, 0, now),
    ]);
    return reported + due;
  }

  /** What was reported and has happened since, which is not reported yet. */
  async ended(most: number): Promise<Deadline[]> {
    return this.#first(this.#keys.overdueEnded, '+inf', most);
  }

  /** How often something is expected and when it last happened; null for what is not expected by a period. */
  async lastOf(members: string[]): Promise<({ everyMs: number; at: number } | null)[]> {
    if (members.length === 0) return [];
    return (await this.#redis.hmget(this.#keys.expected, ...members)).map((text) => {
      const [everyMs, at] = (text ?? '').split(' ').map(Number);
      return everyMs && at ? { everyMs, at } : null;
    });
  }

  /**
   * Counts something as reported, as overdue or as over, and keeps the notice about it until {@link Deadlines.sent}. False
   * when another process was faster. A kill may leave some of more than five hundred for another notice.
   */
  async report(
    what: 'overdue' | 'ended',
    deadlines: Deadline[],
    notice: { id: string; text: string },
  ): Promise<boolean> {
    const { deadlines: waiting, overdue, overdueEnded, outbox } = this.#keys;
    const keys = what === 'overdue' ? [waiting, overdue, outbox] : [overdueEnded, overdueEnded, outbox];
    const args = deadlines.flatMap(({ member, at }) => [member, at]);
    let isFirst = true;
    for (const some of inPieces(args, 2)) {
      const isDone = (await reportScript.run(this.#redis, keys, [notice.id, notice.text, ...some])) === 1;
      if (isFirst && !isDone) return false;
      isFirst = false;
    }
    return true;
  }

  /** Notices that were not sent yet, by id. */
  unsent(): Promise<Record<string, string>> {
    return this.#redis.hgetall(this.#keys.outbox);
  }

  /** Forgets a notice that was sent. */
  async sent(id: string): Promise<void> {
    await this.#redis.hdel(this.#keys.outbox, id);
  }

  async #first(set: string, until: number | '+inf', most: number): Promise<Deadline[]> {
    const reply = await this.#redis.zrangebyscore(set, 0, until, 'WITHSCORES', 'LIMIT', 0, most);
    return Array.from({ length: reply.length / 2 }, (_, index) => ({
      member: reply[2 * index] ?? '',
      at: Number(reply[2 * index + 1]),
    }));
  }

  get #sets(): string[] {
    return [this.#keys.deadlines, this.#keys.overdue, this.#keys.overdueEnded];
  }
}

function* inPieces<T>(args: T[], each: number): Generator<T[]> {
  for (let at = 0; at < args.length; at += atOnce * each) yield args.slice(at, at + atOnce * each);
}
