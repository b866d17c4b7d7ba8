import { describe, expect, it } from 'vitest';
import { publishCommand } from '../../src/commands/publish.ts';
import { runNowCommand, type ScheduleRow, schedulesCommand } from '../../src/commands/schedules.ts';
import { configOf } from '../../src/commands/session.ts';
import { NotFoundError } from '../../src/model/errors.ts';
import { createLog } from '../../src/model/log.ts';
import { nextDue, type Schedule } from '../../src/model/schedule-times.ts';
import { holdTrigger, syncSchedules } from '../../src/queue/schedules.ts';
import { openRuntime } from '../../src/service/runtime.ts';
import { type CommandPlace, commandPlace } from '../support/command-place.ts';
import { plainRequest } from '../support/plain-request.ts';

const makePlace = (): CommandPlace => {
  const place = commandPlace({ manifests: ['jobs/*.yaml'] });
  const dataset = { id: 'one', title: 'One', resources: [{ id: 'table', file: '../table.csv' }] };
  place.write('table.csv', 'id\n1\n');
  place.write(
    'jobs/nightly.yaml',
    JSON.stringify({
      name: 'nightly',
      schedule: {
        cron: '30 2 * * *',
        timezone: 'Europe/Berlin',
        window: '22:00-06:00',
        jitter: '10m',
        catchUp: 'skip',
      },
      datasets: [dataset],
    }),
  );
  place.write('jobs/plain.yaml', JSON.stringify({ name: 'plain', datasets: [dataset] }));
  return place;
};

const list = async (place: CommandPlace, more: { json?: boolean } = {}, paths: string[] = []) => {
  const { io, out, err } = place.io();
  const code = await schedulesCommand(paths, { ...place.options, ...more }, io);
  return { code, out: out(), err: err() };
};

describe('sluice schedules', () => {
  it('lists every manifest with its rules, its next run and how the last one ended', async () => {
    const place = makePlace();
    const before = await list(place);
    expect(before.code).toBe(0);
    expect(before.out).toMatch(
      /^nightly to local: 30 2 \* \* \* \(Europe\/Berlin\), window 22:00-06:00, jitter 10m, missed runs skipped$/m,
    );
    expect(before.out).toMatch(/^ {2}next {2}20\d\d-\d\d-\d\d 02:3\d Europe\/Berlin$/m);
    expect(before.out).toMatch(/^ {2}last {2}never$/m);
    expect(before.out).toContain('plain to local: no schedule');
    expect(before.out).toContain('no `sluice start` is running');

    expect(await publishCommand(['jobs/nightly.yaml'], place.options, place.io().io)).toBe(0);
    const { out } = await list(place);
    expect(out).toMatch(/^ {2}last {2}20.* Europe\/Berlin \(command\): 2 items, fine, run \d{8}-\d{6}-\w+$/m);
    const json = JSON.parse((await list(place, { json: true })).out) as { service: boolean; schedules: ScheduleRow[] };
    expect(json.service).toBe(false);
    expect(json.schedules.map(({ manifest }) => manifest)).toEqual(['nightly', 'plain']);
    expect(json.schedules[0]).toMatchObject({
      portal: 'local',
      schedule: { cron: '30 2 * * *', window: { from: 1320, to: 360 }, catchUp: 'skip' },
      kept: false,
      running: null,
      lastDue: null,
      lastRun: { why: 'command', items: 2, failed: 0, reason: null },
    });
    expect(Date.parse(json.schedules[0]?.next ?? '')).toBeGreaterThan(Date.now());
    expect(json.schedules[1]).toMatchObject({ schedule: null, next: null, lastRun: null });
  });

  it('reports a faulty manifest and lists the others', async () => {
    const place = makePlace();
    place.write('jobs/wrong.yaml', 'name: wrong\nschedule: { cron: never }\ndatasets: []\n');
    const { code, out, err } = await list(place);
    expect(code).toBe(2);
    expect(out).toContain('nightly to local');
    expect(err).toMatch(/skipped: .*wrong\.yaml/);
    expect((await list(place, {}, ['jobs/plain.yaml'])).out).not.toContain('nightly');
  });
});

describe('the next run in the list', () => {
  it('is the one that waits, and what was missed while no service ran', async () => {
    const place = makePlace();
    const config = await configOf(place.options, place.io().io);
    const log = createLog({ level: 'silent' });
    const runtime = await openRuntime({ config, log, env: place.io().io.env, role: 'test' });
    const schedule = { cron: '30 2 * * *', timezone: 'UTC', jitterMs: 0, window: null, catchUp: 'once' } as const;
    const manifest = (catchUp: string): string =>
      place.write(
        'jobs/nightly.yaml',
        JSON.stringify({ name: 'nightly', schedule: { cron: '30 2 * * *', catchUp }, datasets: [] }),
      );
    const path = manifest('once');
    const request = {
      manifestPath: path,
      manifest: 'nightly',
      portal: 'local',
      why: 'schedule',
      only: null,
      ...plainRequest,
    } as const;
    const keep = (more: Partial<Schedule>): Promise<string[]> =>
      syncSchedules(runtime.queues, [{ request, schedule: { ...schedule, ...more } }]);
    const inHours = async (): Promise<number> => {
      const { schedules } = JSON.parse((await list(place, { json: true })).out) as { schedules: ScheduleRow[] };
      return (Date.parse(schedules[0]?.next ?? '') - Date.now()) / 3_600_000;
    };
    try {
      await keep({});
      const trigger = { kind: 'trigger', ...request, schedule, waited: false } as const;
      await holdTrigger(runtime.queues, trigger, Date.now() + 60_000);
      expect(await inHours()).toBeLessThan(0.02);
      await keep({ timezone: 'Asia/Tokyo' });
      await keep({});
      await runtime.redis.zadd('sluice:runs:repeat', Date.now() - 7_200_000, 'schedule.nightly@local');
      expect(Math.abs(await inHours())).toBeLessThan(0.1);
      manifest('skip');
      await runtime.redis.flushdb();
      await keep({ catchUp: 'skip' });
      await runtime.redis.zadd('sluice:runs:repeat', Date.now() - 7_200_000, 'schedule.nightly@local');
      expect(await inHours()).toBeCloseTo((nextDue(schedule, Date.now()) - Date.now()) / 3_600_000, 1);
    } finally {
      await runtime.close();
    }
  });
});

describe('sluice run-now', () => {
  it('runs a manifest by its name, and waits for the report', async () => {
    const place = makePlace();
    const { io, out } = place.io();
    expect(await runNowCommand(['nightly'], place.options, io)).toBe(0);
    expect(out()).toMatch(/nightly\/one\/table\s+live\s+1 row\s+new/);
  });

  it('takes the name of a manifest that a folder has, too', async () => {
    const place = commandPlace({ manifests: ['jobs/*.yaml'] });
    place.write('inbox/trees.csv', 'id\n1\n');
    place.write('jobs/inbox.yaml', 'name: inbox\ndrop: { folder: ../inbox, files: "*.csv", settle: 0s }\n');
    const { io, out } = place.io();
    expect(await runNowCommand(['inbox'], place.options, io)).toBe(0);
    expect(out()).toMatch(/inbox\/trees\/trees\s+live\s+1 row\s+new/);
  });

  it('only asks for it with --no-wait, and says when nobody would run it', async () => {
    const place = makePlace();
    const { io, out, err } = place.io();
    expect(await runNowCommand(['jobs/nightly.yaml', 'plain'], { ...place.options, wait: false }, io)).toBe(0);
    expect(out()).toMatch(/^run \S+ of nightly to local was requested\nrun \S+ of plain to local was requested\n$/);
    expect(err()).toContain('no worker is running');
    const json = JSON.parse((await list(place, { json: true })).out) as { schedules: ScheduleRow[] };
    expect(json.schedules.every(({ running }) => running !== null)).toBe(true);
  });

  it('names what there is when there is no such manifest', async () => {
    const place = makePlace();
    const error = await runNowCommand(['nigthly'], place.options, place.io().io).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotFoundError);
    expect((error as NotFoundError).hint).toContain('nightly, plain');
  });
});
