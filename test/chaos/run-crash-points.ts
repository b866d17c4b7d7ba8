// `npm run crash-points [-- --sample 40 --seed N --modes before,after …]`: a fault at every point of a run, with its figures.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLog } from '../../src/model/log.ts';
import { resolveBinary } from '../../src/redis-server/resolve.ts';
import { setup as makeBundle } from '../support/bundle.ts';
import { type Outcome, recoveryLimitMs, tryCrashPoints } from './crash-points.ts';
import { type CrashMode, crashModes } from './support/crash-mode.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    /** How many trials are drawn; all when left out. */
    sample: { type: 'string' },
    minutes: { type: 'string' },
    /** Only points whose line matches, such as `portal PUT`. */
    match: { type: 'string', default: '' },
    modes: { type: 'string', default: crashModes.join(',') },
    /** Runs concurrently: each waits for locks of the dead most of the time. */
    lanes: { type: 'string', default: '4' },
  },
});

// Processes of the trials end with this one, which the default for a signal would keep from doing so.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const say = (line: string): void => {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
};
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const modes = values.modes.split(',').map((name): CrashMode => {
  const mode = crashModes.find((each) => each === name);
  if (mode === undefined) throw new Error(`there is no mode "${name}": ${crashModes.join(', ')}`);
  return mode;
});

const cache = join(import.meta.dirname, '../../node_modules/.cache/sluice-redis');
const log = createLog({ level: 'warn', destination: process.stderr });
process.env.REDIS_SERVER_BIN = (await resolveBinary({ folder: cache, fetch: true, env: process.env, log })).path;

await makeBundle();

const nameOf = ({ at, mode, point }: Outcome): string => `${mode} ${point ?? `${at}, not met`}`.slice(0, 160);

let count = 0;
const { points, outcomes } = await tryCrashPoints({
  seed: Number(values.seed),
  sample: Number(values.sample ?? Number.POSITIVE_INFINITY),
  modes,
  match: new RegExp(values.match),
  lanes: Number(values.lanes),
  forMs: Number(values.minutes ?? Number.POSITIVE_INFINITY) * 60_000,
  onOutcome: (outcome) => {
    count += 1;
    if (outcome.hangs) say(`HANG ${nameOf(outcome)}`);
    for (const line of outcome.differences) say(`DIFFERENCE ${nameOf(outcome)}: ${line}`);
    if (count % 25 === 0) say(`${count} trials`);
  },
});
const met = outcomes.filter(({ point }) => point !== null);
const slowest = met.toSorted((a, b) => b.recoveryMs - a.recoveryMs);
const late = slowest.filter(({ recoveryMs }) => recoveryMs > recoveryLimitMs);
const hangs = met.filter(({ hangs }) => hangs).length;
const different = met.filter(({ differences }) => differences.length > 0).length;
say(`points: ${points.publish} of a publish${points.worker > 0 ? `, ${points.worker} of one of two workers` : ''}`);
for (const mode of modes) {
  const of = outcomes.filter((outcome) => outcome.mode === mode);
  say(`${mode}: ${of.length} trials, ${of.filter(({ point }) => point === null).length} points not met`);
}
for (const outcome of slowest.slice(0, 3)) say(`${seconds(outcome.recoveryMs)} after ${nameOf(outcome)}`);
say(`${hangs} hangs, ${different} runs with differences, ${late.length} later than ${seconds(recoveryLimitMs)}`);
process.exitCode = hangs + different === 0 ? 0 : 1;
