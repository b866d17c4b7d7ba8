import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keptSchedules, syncSchedules } from '../../src/queue/schedules.ts';
import { plainRequest } from '../support/plain-request.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openToy, type Toy } from './support/toy.ts';

let toy: Toy;
beforeEach(async () => {
  toy = await openToy();
});
afterEach(() => toy.close());

describe('a schedule on the day on which clocks change', () => {
  it('is due when there is its time on the wall again, as it is added and after it fired', async () => {
    // Egypt puts its clocks forward at midnight before the last Friday of April.
    const year = new Date().getUTCFullYear() + 1;
    const friday = 30 - ((new Date(Date.UTC(year, 3, 30)).getUTCDay() + 2) % 7);
    const ofDays = (manifest: string, days: string) => ({
      request: {
        manifestPath: '/c.yaml',
        manifest,
        portal: 'p',
        why: 'schedule' as const,
        only: null,
        ...plainRequest,
      },
      schedule: {
        cron: `30 0 ${days} 4 *`,
        timezone: 'Africa/Cairo',
        jitterMs: 0,
        window: null,
        catchUp: 'once' as const,
      },
    });
    await syncSchedules(toy.queues, [ofDays('added', `${friday}`), ofDays('fired', `${friday - 1},${friday}`)]);
    const due = async (manifest: string) => (await keptSchedules(toy.queues)).get(`${manifest}@p`)?.due;
    const onFriday = Date.UTC(year, 3, friday - 1, 22, 30); // 1:30, because there is no 0:30
    expect(await due('added')).toBe(onFriday);

    await toy.serve();
    const [trigger] = (await toy.queues.runs.getDelayed()).filter(({ data }) => data.manifest === 'fired');
    await trigger?.promote();
    await waitUntil('its next time', async () => (await due('fired')) === onFriday);
  });
});
