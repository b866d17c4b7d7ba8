// A large file on slow lines: its bytes, share, rate and time left, while it is fetched and while it is sent.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { jobSchemas, noTrace } from '../../src/model/job.ts';
import type { Moved } from '../../src/model/moved.ts';
import { root } from '../support/pages.ts';
import { startSources } from '../support/source-server.ts';
import { hasTerminals, openTerminal } from '../support/terminal.ts';
import { waitUntil } from '../support/wait-until.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { startPortal } from './support/server.ts';
import { slowLineTo } from './support/slow-line.ts';

/** More than the buffers of a connection take. */
const bytes = 24_000_000;
/** The line to the portal takes some 10 MB a second, and the source sends as fast. */
const [piece, pauseMs] = [500_000, 50];

const portal = await startPortal();
const line = await slowLineTo(portal.url, { piece, pauseMs });
const sources = await startSources();
sources.on('/plan.pdf', async (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': bytes });
  for (let sent = 0; sent < bytes; sent += piece) {
    response.write(Buffer.alloc(piece, '%PDF-1.7 '));
    await sleep(pauseMs);
  }
  response.end();
});

const placeWithPlan = (name: string) => {
  const place = makeRemotePlace(line, { sources: { allow: ['127.0.0.1'] } });
  const small = place.write('data/small.csv', 'id\n1\n');
  const resources = [
    { id: 'plan', title: 'Plan', url: `${sources.url}/plan.pdf` },
    { id: 'small', title: 'Small', file: small },
  ];
  return { place, manifest: place.manifest({ name, datasets: [{ id: 'd', title: 'Data', resources }] }) };
};

describe('a large file', () => {
  it.skipIf(!hasTerminals)(
    'is followed on a terminal while it is fetched and sent (needs script of util-linux)',
    async () => {
      const { place, manifest } = placeWithPlan('shown');
      const command = `'${process.execPath}' '${join(root, 'src/cli.ts')}' publish '${manifest}' --state state`;
      const { PATH, REDIS_SERVER_BIN } = process.env;
      const terminal = await openTerminal(command, {
        cwd: place.dir,
        env: { PATH, REDIS_SERVER_BIN, HOME: place.dir },
      });
      const rows = new Set<string>();
      terminal.onShown(() => {
        for (const row of terminal.rows()) rows.add(row);
      });
      expect(await terminal.ended, terminal.text()).toBe(0);
      for (const step of ['fetch', 'attach']) {
        const shown = new RegExp(`^ {2}${step} [1-9]\\d?% of 24\\.0 MB, \\d+\\.\\d MB/s, \\d+ s left {2}shown/d/plan$`);
        expect([...rows].filter((row) => shown.test(row)).length, [...rows].join('\n')).toBeGreaterThan(0);
      }
      expect(terminal.text()).not.toMatch(/% of/);
      expect([...rows].filter((row) => /% of .*small/.test(row))).toEqual([]);
    },
  );

  it.skipIf(!hasTerminals)('is followed where a service sends it (needs script of util-linux)', async () => {
    const { place, manifest } = placeWithPlan('served');
    const command = `'${process.execPath}' '${join(root, 'src/cli.ts')}' start '${manifest}' --state state`;
    const { PATH, REDIS_SERVER_BIN } = process.env;
    const terminal = await openTerminal(command, { cwd: place.dir, env: { PATH, REDIS_SERVER_BIN, HOME: place.dir } });
    await waitUntil('the service', () => terminal.text().includes('sluice is running'));
    await place.run(['run-now', manifest, '--no-wait']);
    await waitUntil('its progress', () =>
      /\nserved@local: \d\/3 items[^\n]*\n {2}attach \d+% of 24\.0 MB, .* left {2}served\/d\/plan\n/.test(
        terminal.text(),
      ),
    );
    await waitUntil('the end', () => /served\/d\/plan {2}new, live/.test(terminal.text()));
    await waitUntil('nothing below it', () => !terminal.text().includes('items'));
    terminal.type('\x03');
    await terminal.ended; // with the code of the shell
  });

  it('is written down of once a second at most, and no small one', async () => {
    const { place, manifest } = placeWithPlan('written');
    await place.run(['status']); // starts Redis
    const redis = place.redis();
    const moved = new Map<string, Moved[]>();
    const look = async (): Promise<void> => {
      for (const key of await redis.keys('*:*.dataset.*')) {
        const data = await redis.hget(key, 'data').catch(() => null);
        const { trace = noTrace } = jobSchemas.dataset.safeParse(JSON.parse(data ?? 'null')).data ?? {};
        for (const [item, { moved: now }] of Object.entries(trace.going)) {
          const of = moved.get(`${item} ${trace.steps[item]}`) ?? [];
          if (now && of.at(-1)?.at !== now.at) moved.set(`${item} ${trace.steps[item]}`, [...of, now]);
        }
      }
    };
    let isOver = false;
    const looking = (async () => {
      for (; !isOver; await sleep(20)) await look();
    })();
    const { code, err } = await place.publish(manifest).finally(() => {
      isOver = true;
    });
    await looking;
    expect(code, err).toBe(0);
    expect([...moved.keys()].sort()).toEqual(['written/d/plan attach', 'written/d/plan fetch']);
    for (const of of moved.values()) {
      const gaps = of.slice(1).map(({ at }, index) => at - (of[index]?.at ?? 0));
      expect(Math.min(...gaps, 1000)).toBeGreaterThanOrEqual(990);
      expect(of.every((now) => now.of === bytes && now.bytes <= bytes && now.rate > 0)).toBe(true);
    }
  });
});
