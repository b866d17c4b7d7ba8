// `sluice demo` that is stopped.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { serversOf } from '../redis-server/embedded-support.ts';
import { startSluice } from '../support/sluice-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const folderOf = (out: string): string => /sluice demo in (\S+)/.exec(out)?.[1] ?? '';

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
