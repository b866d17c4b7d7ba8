import { rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { redisKeys, type Target } from '../../src/model/redis-keys.ts';
import { inboxesOf } from '../../src/service/inboxes.ts';
import type { Runtime } from '../../src/service/runtime.ts';
import { deadlinesIn, expectedOf } from '../../src/state/deadlines.ts';
import { dropManifest, silentLog } from '../sources/drop/support/drop-inbox.ts';
import { openTestRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const { redis } = openTestRedis();
const keys = redisKeys('n');
const deadlines = deadlinesIn(redis, keys);

const runtimeWith = (gate: object): Runtime => {
  const inbox = { settleMs: 50, rescanMs: 60_000, poll: false, archiveKeep: 1 };
  const runtime: unknown = {
    ...{ redis, keys, deadlines, gate, log: silentLog, config: { inbox, watch: { everyMs: 60_000 } } },
    requestRun: async () => ({ runId: 'r' }),
  };
  return runtime as Runtime;
};

it('watch all folders that can be watched, also beside one that cannot, which is watched at the next try', async () => {
  const [bad = '', fine = ''] = [join(tempDir(), 'inbox'), tempDir()];
  writeFileSync(bad, 'a file in the place of a folder');
  const manifests = [bad, fine].map((folder) => ({ ...dropManifest(folder), name: basename(folder) }));
  const inboxes = inboxesOf(runtimeWith({ state: async () => ({ current: null }) }));
  const watched = async () => (await redis.hkeys(keys.inboxes)).sort();
  await expect(inboxes.sync(manifests)).rejects.toThrow(/cannot be used/);
  expect(await watched()).toEqual([basename(fine)]);
  rmSync(bad);
  await inboxes.sync(manifests);
  expect(await watched()).toEqual([basename(fine), 'inbox'].sort());
  await inboxes.close();
});

it('give signs of life of each folder, and show the others, while what is known of one hangs', async () => {
  const manifests = ['dead', 'fine'].map((name) => ({ ...dropManifest(tempDir()), name }));
  const reply = Promise.withResolvers<{ current: null }>();
  let hangs = false;
  const gate = {
    state: async ({ manifest }: Target) => {
      if (manifest !== 'dead') return { current: null };
      hangs = true; // as what follows does on a dead network drive
      return reply.promise;
    },
  };
  const inboxes = inboxesOf(runtimeWith(gate));
  await inboxes.sync(manifests);
  writeFileSync(join(manifests[0]?.drop.folder ?? '', 'a.csv'), 'a\n1\n');
  await waitUntil('a view that hangs', () => hangs);
  const members = manifests.map(({ name }) => expectedOf.inbox(name));
  await deadlines.promise(members.map((member) => ({ member, form: '/inbox', at: 1 })));
  await waitUntil('a sign of each', async () => (await deadlines.countLate(Date.now())) === 0, 10_000);
  writeFileSync(join(manifests[1]?.drop.folder ?? '', 'b.csv'), 'b\n1\n');
  await waitUntil(
    'the other view',
    async () => (await redis.hget(keys.inboxes, 'fine'))?.includes('"spooled":1') === true,
  );
  reply.resolve({ current: null });
  await inboxes.close();
  expect(await redis.hkeys(keys.inboxes)).toEqual([]);
});
