// Jobs that come again after their end was written, as after a kill just before the queue learned of it.
import { expect, it } from 'vitest';
import type { JobContext, RunRequest } from '../../../src/model/job.ts';
import { redisKeys } from '../../../src/model/redis-keys.ts';
import { datasetHandler } from '../../../src/pipeline/handlers/dataset.ts';
import type { HandlerDeps } from '../../../src/pipeline/handlers/deps.ts';
import { proveHandler } from '../../../src/pipeline/handlers/prove.ts';
import { runsIn } from '../../../src/state/runs.ts';
import { plainRequest } from '../../support/plain-request.ts';
import { useLedger } from './support/job.ts';

const { redis, ledger } = useLedger();
const request: RunRequest = {
  manifest: 'm',
  portal: 'p',
  manifestPath: 'm.yaml',
  why: 'command',
  only: null,
  ...plainRequest,
};

it.each(['publish', 'closing'] as const)('end at once in phase %s, and ask the portal nothing', async (phase) => {
  const runs = runsIn(redis(), redisKeys('test'), 60_000);
  const runId = `run-${phase}`;
  await runs.begin(runId, request);
  await redis().hset(redisKeys('test').run(runId), 'phase', phase);
  // What is still open of a closing run is ended by the job that closes it.
  if (phase === 'closing') await redis().zadd(redisKeys('test').runOpen(runId), 0, 'm/d');
  const job = { data: { runId, manifest: 'm', portal: 'p', key: 'm/d', group: 0 }, writer: null };
  const deps = { runs, ledger: ledger(), portal: () => ({ forJob: () => expect.fail('the portal was asked') }) };
  for (const handler of [datasetHandler, proveHandler]) {
    const { run } = handler(deps as unknown as HandlerDeps); // all that they may use here
    await expect(run(job as unknown as JobContext<never>)).resolves.toBeUndefined();
  }
  expect(await redis().exists(redisKeys('test').runLines(runId))).toBe(0);
});
