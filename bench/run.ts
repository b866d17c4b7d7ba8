// `npm run bench -- <name> [--option value]…`: runs one benchmark, or all of them.
import { parseArgs } from 'node:util';
import type { BenchOptions } from './options.ts';

const benches: Record<string, () => Promise<{ run(options: BenchOptions): Promise<void> }>> = {
  publish: () => import('./publish.ts'),
  noop: () => import('./noop.ts'),
  plan: () => import('./plan.ts'),
  upload: () => import('./upload.ts'),
  portal: () => import('./portal.ts'),
  check: () => import('./check.ts'),
  workers: () => import('./workers.ts'),
  scale: () => import('./scale.ts'),
  queue: () => import('./queue.ts'),
  web: () => import('./web.ts'),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    datasets: { type: 'string', default: '1000' },
    concurrency: { type: 'string', default: '8' },
    megabytes: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '1' },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(benches);
for (const name of names) {
  const load = benches[name];
  if (!load) {
    process.stderr.write(`no benchmark is named ${name}; there are ${Object.keys(benches).join(', ')}\n`);
    process.exit(2);
  }
  process.stdout.write(`# ${name}\n`);
  await (await load()).run({
    datasets: Number(values.datasets),
    concurrency: Number(values.concurrency),
    megabytes: Number(values.megabytes),
    rounds: Number(values.rounds),
  });
}
