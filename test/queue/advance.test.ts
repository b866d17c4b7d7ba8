// What a run needs next, by where it stands.
import { expect, it } from 'vitest';
import { nextStep, type RunState, type Step } from '../../src/queue/advance.ts';

const stuck = { at: 1, why: 'its jobs are not in the queue', repairs: 0 };
const idle: RunState = { phase: 'publish', isCancelled: false, inQueue: 0, waiting: 0, job: null, stuck: null };

it.each<[string, Partial<RunState>, Step['do']]>([
  ['asked for, and nobody looked for its job', { phase: 'queued' }, 'nothing'],
  ['asked for, with its job', { phase: 'queued', job: 'there' }, 'nothing'],
  ['asked for, without its job', { phase: 'queued', job: 'missing' }, 'begin'],
  ['asked for, and cancelled', { phase: 'queued', isCancelled: true }, 'cancel'],
  ['being planned', { phase: 'planning', job: 'there' }, 'nothing'],
  ['being planned, as far as its record shows', { phase: 'planning', waiting: 7 }, 'nothing'],
  ['being planned by nobody', { phase: 'planning', job: 'missing' }, 'begin'],
  ['given up while it was planned', { phase: 'planning', job: { ended: 'why' } }, 'halt'],
  ['cancelled while it is planned', { phase: 'planning', isCancelled: true, job: 'there' }, 'cancel'],
  ['planned', { waiting: 7 }, 'add'],
  ['planned, and there is nothing to do', {}, 'go on'],
  ['cancelled with jobs', { isCancelled: true, inQueue: 3 }, 'cancel'],
  ['full of jobs', { inQueue: 500, waiting: 9000 }, 'nothing'],
  ['short of jobs', { inQueue: 499, waiting: 9000 }, 'add'],
  ['at its last jobs', { inQueue: 3 }, 'nothing'],
  ['stuck', { inQueue: 3, stuck }, 'repair'],
  ['stuck again', { inQueue: 3, stuck: { ...stuck, repairs: 1 } }, 'repair'],
  ['stuck although its jobs were added twice', { inQueue: 3, stuck: { ...stuck, repairs: 2 } }, 'halt'],
  ['stuck and cancelled', { inQueue: 3, stuck, isCancelled: true }, 'cancel'],
  ['proven', { phase: 'prove' }, 'go on'],
  ['to be proven', { phase: 'prove', waiting: 40 }, 'add'],
  ['being proven', { phase: 'prove', inQueue: 40 }, 'nothing'],
  ['stuck in its proofs', { phase: 'prove', inQueue: 40, stuck }, 'repair'],
  ['at its end', { phase: 'closing' }, 'close'],
  ['at its end, with the job for it', { phase: 'closing', job: 'there' }, 'nothing'],
  ['at its end, without the job for it', { phase: 'closing', job: 'missing' }, 'close'],
  ['at its end, which failed', { phase: 'closing', job: { ended: null } }, 'close'],
  [
    'at its end, cancelled, with open keys',
    { phase: 'closing', isCancelled: true, inQueue: 9, job: 'there' },
    'nothing',
  ],
  ['closed', { phase: 'closed' }, 'open the gate'],
  ['closed before somebody cancelled it', { phase: 'closed', isCancelled: true }, 'open the gate'],
])('a run that is %s', (_what, state, step) => {
  expect(nextStep({ ...idle, ...state })).toMatchObject({ do: step, why: expect.stringMatching(/./) });
});

it.each(['publish', 'prove'] as const)('a run in phase %s ends in a bounded number of steps', (phase) => {
  let run: RunState = { ...idle, phase, waiting: 12_345 };
  for (let steps = 0; nextStep(run).do !== 'go on'; steps++) {
    expect(steps).toBeLessThan(30_000);
    const added = nextStep(run).do === 'add' ? Math.min(run.waiting, 1000 - run.inQueue) : 0;
    expect(run.inQueue + added).toBeLessThanOrEqual(1000);
    run = { ...run, inQueue: run.inQueue + added - 1, waiting: run.waiting - added };
  }
});
