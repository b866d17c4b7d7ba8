// Publishes over kills at chosen moments of chosen datasets: at boundaries of steps, and around writes.
import { existsSync, mkdirSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Sluice } from '../../support/sluice-process.ts';
import { type Gateway, isWrite, type Passed } from './gateway.ts';
import { killsIn } from './kills-in.ts';
import { makePlace, type Place } from './place.ts';
import { remoteConfig, writePassword } from './server.ts';

/** A place whose one job at a time can be killed; `killDir` holds a file for each kill that is still to come. */
export const makeKillPlace = (
  gateway: Gateway,
  more: Record<string, unknown> = {},
): { place: Place; killDir: string } => {
  const place = makePlace({
    ...remoteConfig(gateway.url, { concurrency: 1, ...more }),
    jobs: { lock: '1s', stalledCheck: '250ms' },
  });
  writePassword(place.dir);
  const killDir = join(place.dir, 'kills');
  mkdirSync(killDir);
  return { place, killDir };
};

/** Which moments: names such as `resource/attach/begin` (a step) or `resource/PUT/before` (a write). */
export interface Windows {
  windows: string[];
  /** Id of the dataset that is for a window. */
  idOf: (window: string) => string;
  /** A write as the windows name it, with the id of its dataset. */
  writeOf: (passed: Passed) => { what: string; id: string };
}

/** Publishes again and again until one publish is no longer killed; every window has killed once then. */
export const publishThroughKills = async (
  { place, killDir, gateway }: { place: Place; killDir: string; gateway: Gateway },
  manifest: string,
  { windows, idOf, writeOf }: Windows,
): Promise<Sluice> => {
  for (const window of windows) writeFileSync(join(killDir, idOf(window)), window);
  const start = (): Sluice => place.spawn(['publish', manifest], killsIn(killDir));
  let worker = start();
  const killAt = (moment: 'before' | 'after') => async (passed: Passed) => {
    if (!isWrite(passed)) return;
    const { what, id } = writeOf(passed);
    if (id !== idOf(`${what}/${moment}`) || !existsSync(join(killDir, id))) return;
    unlinkSync(join(killDir, id));
    await worker.end('SIGKILL');
    if (moment === 'before') throw new Error('the caller is gone: its request never reaches the portal');
  };
  gateway.before = killAt('before');
  gateway.after = killAt('after');
  let kills = 0;
  while ((await worker.ended) === 'SIGKILL') {
    kills += 1;
    worker = start();
  }
  gateway.before = () => undefined;
  gateway.after = () => undefined;
  expect(await worker.ended, worker.out() + worker.err()).toBe(0);
  expect(readdirSync(killDir)).toEqual([]);
  expect(kills).toBe(windows.length);
  return worker;
};
