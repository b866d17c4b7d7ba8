import { describe, expect, it } from 'vitest';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import type { Manifest } from '../../../src/sources/manifest/schema.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { problemsOf, writeText } from '../../support/yaml-file.ts';

const load = (keys: string): Promise<Manifest> =>
  loadManifest(writeText(tempDir(), 'm.yaml', `name: m\n${keys}\ndatasets: []\n`));
const faults = async (keys: string): Promise<string[]> =>
  (await problemsOf(load(keys))).map((problem) => problem.replace(/^(\d+):\d+/, '$1'));

describe('the schedule of a manifest', () => {
  it('may be a pattern alone, with the time zone beside it', async () => {
    const manifest = await load('schedule: "15 3 * * *"\ntimezone: Europe/Berlin');
    expect(manifest.schedule).toEqual({
      cron: '15 3 * * *',
      timezone: 'Europe/Berlin',
      jitterMs: 0,
      window: null,
      catchUp: 'once',
    });
    expect((await load('')).schedule).toBeUndefined();
  });

  it('may be a mapping with time zone, jitter, window and what happens to missed runs', async () => {
    const manifest = await load(
      'schedule: { cron: "*/10 * * * *", timezone: Asia/Kolkata, jitter: 5m, window: 22:00-6:30, catchUp: skip }',
    );
    expect(manifest.schedule).toEqual({
      cron: '*/10 * * * *',
      timezone: 'Asia/Kolkata',
      jitterMs: 300_000,
      window: { from: 1320, to: 390 },
      catchUp: 'skip',
    });
    expect((await load('schedule: { cron: "0 6 * * 1-5" }')).schedule).toEqual({
      cron: '0 6 * * 1-5',
      timezone: 'UTC',
      jitterMs: 0,
      window: null,
      catchUp: 'once',
    });
  });

  it('is checked inside the mapping, every fault at its place', async () => {
    expect(
      await faults(
        'schedule:\n  cron: "15 25 * * *"\n  timezone: Berlin\n  jiter: 5m\n  window: 22-6\n  catchUp: twice',
      ),
    ).toEqual([
      expect.stringMatching(/^3 schedule\.cron: is not a cron expression/),
      expect.stringMatching(/^4 schedule\.timezone: is not a known time zone/),
      '5 schedule.jiter: unknown key; did you mean `jitter`?',
      '6 schedule.window: must be two times of a day such as `22:00-06:00`',
      expect.stringMatching(/^7 schedule\.catchUp: `twice` is not allowed.*; allowed: once, skip/),
    ]);
  });

  it('names the time zone once, and has a window that is one', async () => {
    expect(await faults('schedule: { cron: "0 6 * * *", window: 6:00-6:00 }\ntimezone: UTC')).toEqual([
      '2 schedule.window: starts and ends at the same time; remove it',
      '3 timezone: belongs in `schedule`, next to `cron`',
    ]);
    expect(await faults('schedule: 5')).toEqual(['2 schedule: cannot be a number']);
    expect(await faults('schedule: { timezone: UTC }')).toEqual(['2 schedule.cron: this key is required']);
  });
});
