// One job of a worker alone: others begin no step meanwhile, and nobody waits forever.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { JobIsolation } from '../../src/queue/isolation.ts';

const { signal } = new AbortController();

/** What has happened so far, in order. */
const openDiary = () => {
  const events: string[] = [];
  const tell =
    <T>(what: string) =>
    (value: T): T => {
      events.push(what);
      return value;
    };
  return { events, tell };
};

describe('a job that is alone', () => {
  it('waits for the steps of others, and is the only one that begins any', async () => {
    const isolation = new JobIsolation();
    const { events, tell } = openDiary();
    const leave = await isolation.enter({ job: 'other' }, signal);
    const alone = isolation.begin('suspect', signal).then(tell('alone'));
    const late = isolation.enter({ job: 'late' }, signal).then(tell('late'));
    await nextTurn();
    expect(events).toEqual([]);
    leave();
    const end = await alone;
    (await isolation.enter({ job: 'suspect' }, signal))();
    await nextTurn();
    expect(events).toEqual(['alone']);
    end();
    (await late)();
    expect(events).toEqual(['alone', 'late']);
  });

  it('does not keep work under a lock from going on, as it may wait for that lock', async () => {
    const isolation = new JobIsolation();
    vi.useFakeTimers();
    const free = await isolation.enterLocked('owner', signal);
    const alone = isolation.begin('suspect', signal);
    await vi.advanceTimersByTimeAsync(3000);
    const end = await alone;
    vi.useRealTimers();
    (await isolation.enter({ job: 'owner', item: 'import' }, signal))();
    free();
    const { events, tell } = openDiary();
    const late = isolation.enter({ job: 'owner', item: 'import' }, signal).then(tell('late'));
    await nextTurn();
    expect(events).toEqual([]);
    end();
    (await late)();
  });

  it('is the only one, though several ask at once', async () => {
    const isolation = new JobIsolation();
    const { events, tell } = openDiary();
    const asked = ['a', 'b', 'c'].map((id) => isolation.begin(id, signal).then(tell(id)));
    await nextTurn();
    expect(events).toEqual(['a']);
    (await asked[0])?.();
    await nextTurn();
    expect(events).toEqual(['a', 'b']);
    (await asked[1])?.();
    (await asked[2])?.();
    expect(events).toEqual(['a', 'b', 'c']);
  });

  it('lets a step within a step of another pass, which ends with the outer one', async () => {
    const isolation = new JobIsolation();
    const { events, tell } = openDiary();
    const leave = await isolation.enter({ job: 'other' }, signal);
    const alone = isolation.begin('suspect', signal).then(tell('alone'));
    (await isolation.enter({ job: 'other' }, signal))();
    await nextTurn();
    expect(events).toEqual([]);
    leave();
    (await alone)();
  });

  it('leaves nothing behind when it is stopped while it waits', async () => {
    const isolation = new JobIsolation();
    const stop = new AbortController();
    const leave = await isolation.enter({ job: 'other' }, signal);
    const waiting = [isolation.begin('suspect', stop.signal), isolation.enter({ job: 'late' }, stop.signal)];
    await nextTurn();
    stop.abort();
    for (const each of waiting) await expect(each).rejects.toThrow('aborted');
    (await isolation.enter({ job: 'third' }, signal))();
    leave();
  });
});

describe('with a step that does not end', () => {
  it('a job continues beside it, and lets the others go on after a while', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const patience = new AbortController();
    const spy = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(patience.signal);
    try {
      const isolation = new JobIsolation();
      const { events, tell } = openDiary();
      await isolation.enter({ job: 'endless' }, signal);
      const alone = isolation.begin('suspect', signal).then(tell('goes on'));
      const other = isolation.enter({ job: 'other' }, signal).then(tell('other'));
      await nextTurn();
      expect(events).toEqual([]);
      patience.abort();
      await alone;
      await nextTurn();
      expect(events).toEqual(['goes on']);
      vi.runAllTimers();
      (await other)();
      expect(events).toEqual(['goes on', 'other']);
    } finally {
      spy.mockRestore();
      vi.useRealTimers();
    }
  });
});
