// Many files dropped at once under `sluice start`.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ledgerIn } from '../../src/state/ledger.ts';
import { waitUntil } from '../support/wait-until.ts';
import { makePlace } from './support/place.ts';
import { doubles, readEmbedded } from './support/reader.ts';

it('publishes 500 files dropped at once, each once', async () => {
  const place = makePlace();
  const inbox = join(place.dir, 'inbox');
  const service = await place.spawnService([place.manifest({ name: 'inbox', drop: { folder: 'inbox' } })]);
  const redis = place.redis();
  const ledger = ledgerIn(redis, place.keys);
  const reader = await readEmbedded(place.stateDir);
  const names = Array.from({ length: 500 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
  const rowsOf = (index: number): number => (index % 9) + 1;
  for (const [index, name] of names.entries()) {
    writeFileSync(join(inbox, `${name}.csv`), `id,word\n${`1,${name}\n`.repeat(rowsOf(index))}`);
  }
  await waitUntil('all to be live', async () => {
    const entries = [...(await ledger.index({ manifest: 'inbox', portal: 'local' })).values()];
    return entries.filter(({ key, live }) => live && key.split('/').length === 3).length === names.length;
  });
  expect(doubles(await reader.list())).toEqual([]);
  for (const [index, name] of names.entries()) {
    const entry = await ledger.entry('local', `inbox/${name}/${name}`);
    expect(await reader.count(entry?.uuid ?? ''), name).toBe(rowsOf(index));
  }
  const archived = (name: string): string[] => {
    const folder = join(inbox, '.sluice/archive', name, name);
    return existsSync(folder) ? readdirSync(folder) : [];
  };
  await waitUntil('all to be archived', () => names.every((name) => archived(name).length === 1));
  expect(readdirSync(inbox).filter((name) => name.startsWith('many-'))).toEqual([]);
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.out() + service.err()).not.toContain('many-007,');
});
