// `sluice demo` as people run it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { serversOf } from '../redis-server/embedded-support.ts';
import { runSluice, startSluice } from '../support/sluice-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const folderOf = (out: string): string => /sluice demo in (\S+)/.exec(out)?.[1] ?? '';

it('publishes, drops, reads back, explains the planted fault, sends nothing twice, and cleans up', async () => {
  const { code, out, err } = await runSluice(['demo'], { cwd: tempDir() });
  expect(code, out + err).toBe(0);
  expect(out).toContain('table-ragged');
  expect(out).toMatch(/Street trees +60 +http/);
  expect(out).toMatch(/boardings +5 +http/i);
  expect(out).toContain('0 write requests counted at the portal');
  expect(out).toContain('Done: everything is live except the faulty table.');
  expect(existsSync(folderOf(out))).toBe(false);
});

it('stopped in the middle ends with 130 and leaves neither its folder nor a Redis', async () => {
  const demo = startSluice(['demo'], { cwd: tempDir() });
  await demo.said('1. Publishing');
  demo.child.kill('SIGINT');
  expect(await demo.ended, demo.out() + demo.err()).toBe(130);
  expect(serversOf(join(folderOf(demo.out()), 'state'))).toEqual([]);
  expect(existsSync(folderOf(demo.out()))).toBe(false);
});

it('kept running can be checked until it is stopped', async () => {
  const demo = startSluice(['demo', '--keep'], { cwd: tempDir() });
  await demo.said('Running until Ctrl-C');
  const url = /until Ctrl-C: (http:\S+),/.exec(demo.out())?.[1] ?? '';
  const nodes = await fetch(`${url}/api/dataset/node?parameters[type]=dataset`, {
    headers: { accept: 'application/json' },
  });
  expect(((await nodes.json()) as unknown[]).length).toBe(4);
  expect(await demo.end('SIGINT')).toBe(0);
  await waitUntil('the portal to end', () =>
    fetch(url).then(
      () => false,
      () => true,
    ),
  );
});
