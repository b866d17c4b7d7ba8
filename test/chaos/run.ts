// `npm run chaos -- --seed N --minutes M [--datasets 200] [--kills 300]`: the full chaos, with its figures.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLog } from '../../src/model/log.ts';
import { resolveBinary } from '../../src/redis-server/resolve.ts';
import { runChaos } from './chaos.ts';
import { faultsOf, figuresText } from './support/figures.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    minutes: { type: 'string', default: '10' },
    datasets: { type: 'string', default: '200' },
    kills: { type: 'string', default: '300' },
    /** `default`: the product's own lock times; otherwise quick ones, so that more kills meet work. */
    locks: { type: 'string', default: 'quick' },
  },
});

const say = (line: string): void => {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
};

const cache = join(import.meta.dirname, '../../node_modules/.cache/sluice-redis');
const log = createLog({ level: 'warn', destination: process.stderr });
process.env.REDIS_SERVER_BIN = (await resolveBinary({ folder: cache, fetch: true, env: process.env, log })).path;

say(`seed ${values.seed}, ${values.datasets} datasets, at least ${values.kills} kills and ${values.minutes} minutes`);
const figures = await runChaos({
  seed: Number(values.seed),
  datasets: Number(values.datasets),
  kills: Number(values.kills),
  forMs: Number(values.minutes) * 60_000,
  jobs: values.locks === 'default' ? null : { lock: '2s', stalledCheck: '500ms' },
  recoveries: 8,
  say,
});
for (const line of figuresText(figures)) say(line);
const faults = faultsOf(figures);
for (const line of faults) say(`FAULT ${line}`);
say(faults.length === 0 ? 'the portal holds exactly what was published' : `again with: --seed ${values.seed}`);
process.exitCode = faults.length === 0 ? 0 : 1;
