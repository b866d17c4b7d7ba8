// Toy queues whose jobs call a toy portal, made anew for each test, and what a test asks of them.
import { afterEach, beforeEach } from 'vitest';
import { redisKeys } from '../../../src/model/redis-keys.ts';
import { type PortalPauses, portalPauses } from '../../../src/queue/pause.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openToy, type Toy } from './toy.ts';
import { openToyPortal, type ToyPortal } from './toy-portal.ts';

/** Those of the running test. */
export let toy: Toy;
export let portal: ToyPortal;
export let pauses: PortalPauses;

/** Opens them before each test of a file, and closes them after it. */
export const openToyPauses = (): void => {
  beforeEach(async () => {
    toy = await openToy();
    portal = await openToyPortal();
    await toy.redis.set('toy.portal', portal.url);
    pauses = portalPauses(toy.redis, redisKeys('toy'), toy.queues);
  });
  afterEach(async () => {
    await toy.close();
    portal.close();
  });
};

/** Keys of so many jobs that call the portal. */
export const keys = (count: number): string[] => Array.from({ length: count }, (_, index) => `http-${index}`);

/** How often the portal was asked for a path. */
export const count = (what: string): number => portal.asked.filter((path) => path === what).length;

/** Waits until a portal is paused. */
export const paused = (name = 'p') => waitUntil(`the pause of ${name}`, () => pauses.state(name));

/** Waits until so many probes of a portal have failed. */
export const failedProbes = (atLeast: number, name = 'p') =>
  waitUntil(`${atLeast} probes of ${name}`, async () => ((await pauses.state(name))?.probe?.failed ?? 0) >= atLeast);
