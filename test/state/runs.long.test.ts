// The plan of a run that no single command could hold.
import { expect, it } from 'vitest';
import { uuidOfKey } from '../../src/model/key.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { runsIn } from '../../src/state/runs.ts';
import { useLedger } from '../pipeline/handlers/support/job.ts';

const { redis } = useLedger();

it('writes a plan that is longer than a string can be', async () => {
  // Sent as one command, it made the client throw half-way: replies were out of step with commands from then on.
  const runs = runsIn(redis(), redisKeys('test'), 60_000);
  const body = 'x'.repeat(1_000_000);
  const key = (index: number): string => `city/d${index}`;
  const wish = { uuid: uuidOfKey('city'), title: 't', published: true, fields: { body }, metadataFingerprint: 'm' };
  const state = { verify: false, frozen: false, refused: null, removal: null, createMissing: false };
  const datasets = Array.from({ length: 560 }, (_, index) => {
    const lists = { resources: [], order: [], next: [] };
    return { wish: { ...wish, key: key(index) }, nid: null, onDrift: 'hold' as const, ...lists, ...state };
  });
  await runs.phases.startOver('r');
  const plan = runs.newPlan('r');
  await plan.add({ datasets, resources: [], settled: [], claims: [] });
  await plan.end([]);
  expect(await redis().ping()).toBe('PONG');
  expect(await runs.phases.open('r', 0, 1000)).toHaveLength(datasets.length);
  expect(await runs.datasetWork('r', key(559))).toEqual(datasets[559]);
});
