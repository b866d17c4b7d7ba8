import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkCommand } from '../../src/commands/check.ts';
import type { Io } from '../../src/commands/io.ts';
import { removeCommand, retryCommand } from '../../src/commands/operate.ts';
import { planCommand } from '../../src/commands/plan.ts';
import { publishCommand } from '../../src/commands/publish.ts';
import { adoptCommand, rebuildCommand, verifyCommand } from '../../src/commands/reconcile.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { UsageError } from '../../src/model/errors.ts';
import { type CommandPlace, commandPlace } from '../support/command-place.ts';
import { reportsIn } from '../support/printed.ts';

const portals = { city: { kind: 'embedded' }, county: { kind: 'embedded' } };
let place: CommandPlace;
beforeAll(async () => {
  place = commandPlace({ portals });
  place.write('good.csv', 'id\n1\n2\n');
  place.write('bad.csv', 'id\n1,2\n');
  const resources = ['good', 'bad'].map((id) => ({ id, title: id, file: `${id}.csv` }));
  const manifest = { name: 'both', portals: ['city', 'county'], datasets: [{ id: 'one', title: 'One', resources }] };
  place.write('both.yaml', JSON.stringify(manifest));
  const { io, out } = place.io();
  expect(await publishCommand(['both.yaml'], { ...place.options, json: true }, io)).toBe(3);
  const reports = reportsIn(out());
  expect(reports.map(({ portal }) => portal)).toEqual(['city', 'county']);
  expect(reports.map(({ items }) => items.map(({ key, live }) => `${key} ${live}`))).toEqual(
    Array.from({ length: 2 }, () => ['both/one true', 'both/one/bad false', 'both/one/good true']),
  );
});

/** Runs a command with JSON output; its value is parsed. */
const json = async (
  command: (options: CommandPlace['options'] & { json: true }, io: Io) => Promise<number>,
  portal?: string,
) => {
  const { io, out } = place.io();
  const code = await command({ ...place.options, ...(portal === undefined ? {} : { portal }), json: true }, io);
  return { code, value: JSON.parse(out()) as unknown };
};

describe('a manifest of several portals', () => {
  it('is planned for each, or for the one that is chosen', async () => {
    const all = await json((options, io) => planCommand(['both.yaml'], options, io));
    expect(all.value).toMatchObject({ plans: [{ portal: 'city' }, { portal: 'county' }] });
    const one = await json((options, io) => planCommand(['both.yaml'], options, io), 'county');
    expect(one.value).toMatchObject({ plans: [{ portal: 'county', manifest: 'both' }] });
    const output = planCommand(['both.yaml'], { ...place.options, output: 'plan.json' }, place.io().io);
    await expect(output).rejects.toThrow(/one portal/);
    expect(
      await planCommand(['both.yaml'], { ...place.options, portal: 'city', output: 'plan.json' }, place.io().io),
    ).toBe(0);
    const nowhere = { ...place.options, portal: 'city', output: 'nowhere/plan.json' };
    await expect(planCommand(['both.yaml'], nowhere, place.io().io)).rejects.toBeInstanceOf(UsageError);
  });

  it('is shown for each, or for the one that is chosen', async () => {
    const all = await json((options, io) => statusCommand(undefined, options, io));
    expect(all.code).toBe(3);
    expect(all.value).toMatchObject({ targets: [{ portal: 'city' }, { portal: 'county' }] });
    const chosen = await json((options, io) => statusCommand(undefined, options, io), 'county');
    expect(chosen.value).toMatchObject({
      targets: [{ portal: 'county' }],
      runs: [{ manifest: 'both', portal: 'county' }],
    });
    const one = await json((options, io) => statusCommand('both/one/good', options, io), 'county');
    expect(one).toMatchObject({ code: 0, value: { items: [{ key: 'both/one/good', portal: 'county', live: true }] } });
  });

  it('is verified and rebuilt for each; the exit code is the worst', async () => {
    const verified = await json((options, io) => verifyCommand('both.yaml', options, io));
    expect(verified.code).toBe(3);
    expect(verified.value).toMatchObject({
      portals: [
        { portal: 'city', checked: 3 },
        { portal: 'county', checked: 3 },
      ],
    });
    const { io, out } = place.io();
    expect(await rebuildCommand('both.yaml', place.options, io)).toBe(0);
    expect(out()).toMatch(/^city:\n(?:.*\n)*3 items: .*\ncounty:\n(?:.*\n)*3 items: /m);
    place.write('map.csv', 'both/one,1\n');
    const mapped = adoptCommand('both.yaml', { ...place.options, mapping: 'map.csv' }, place.io().io);
    await expect(mapped).rejects.toBeInstanceOf(UsageError);
  });

  it('is tried again by key on each, and by run on the portal of that run', async () => {
    const retried = await json((options, io) => retryCommand('both/one/bad', options, io));
    expect(retried.value).toMatchObject({ reports: [{ portal: 'city' }, { portal: 'county' }] });
    const [, second] = (retried.value as { reports: { runId: string }[] }).reports;
    const run = await json((options, io) => retryCommand(second?.runId ?? '', options, io));
    expect(run.value).toMatchObject({ reports: [{ portal: 'county' }] });
  });

  it('loses an item on the chosen portal only, or on all', async () => {
    const one = await json((options, io) => removeCommand('both/one/good', options, io), 'county');
    const removed = { portal: 'county', items: [{ actions: [] }, { actions: ['unpublished'] }] };
    expect(one.value).toMatchObject({ reports: [removed] });
    const all = await json((options, io) => removeCommand('both/one', options, io));
    expect(all.value).toMatchObject({ reports: [{ portal: 'city' }, { portal: 'county' }] });
  });

  it('is found faulty where the configuration does not know one of them', async () => {
    const other = { name: 'other', portals: ['city', 'moon', 'moon'], datasets: [] };
    place.write('other.yaml', JSON.stringify(other));
    const { io, out } = place.io();
    expect(await checkCommand(['other.yaml'], place.options, io)).toBe(2);
    expect(out()).toContain('`moon` is listed twice');
    place.write('other.yaml', JSON.stringify({ ...other, portals: ['city', 'moon'] }));
    const again = place.io();
    expect(await checkCommand(['other.yaml'], place.options, again.io)).toBe(2);
    expect(again.out()).toContain('portals: the configuration has no portal `moon`');
  });

  it('publishes dropped files to all before they are archived', async () => {
    place.write('inbox/trees.csv', 'id\n1\n');
    place.write('drop.yaml', JSON.stringify({ name: 'drops', portals: ['city', 'county'], drop: { folder: 'inbox' } }));
    const first = await json((options, io) => publishCommand(['drop.yaml'], options, io), 'county');
    expect(first).toMatchObject({
      code: 0,
      value: { reports: [{ portal: 'county', items: [{ live: true }, { live: true }] }] },
    });
    const below = (folder: string): string[] => readdirSync(join(place.dir, 'inbox/.sluice', folder));
    expect(below('spool').filter((name) => /^\d/.test(name))).toHaveLength(1);
    const both = await json((options, io) => publishCommand(['drop.yaml'], options, io));
    expect(both).toMatchObject({ code: 0, value: { reports: [{ portal: 'city' }, { portal: 'county' }] } });
    expect(below('spool').filter((name) => /^\d/.test(name))).toEqual([]);
    expect(below('archive')).toEqual(['trees']);
  });
});
