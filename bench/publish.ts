// How fast `sluice publish` is beside bare requests to the same portal: at equal concurrency, and one after the other.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from './options.ts';
import { type Ended, runScript, runSluice, startPortal } from './support/processes.ts';
import { account, makeWorkload, rowsPerTable, type Workload, writeConfig } from './support/workload.ts';

const bareLoop = fileURLToPath(new URL('./support/bare-loop.ts', import.meta.url));

interface Measured {
  seconds: number;
  client: number;
  portal: number;
}

/**
 * Runs the contestants in turn, each on an empty portal in a process of its own. A machine's speed moves within minutes,
 * so sluice and the bare loop run side by side in each round, in turn the one or the other first, and the ratio is the
 * median of the rounds' own ratios.
 */
export const run = async ({ datasets, concurrency, rounds: wanted }: BenchOptions): Promise<void> => {
  const rounds = Math.max(5, wanted) | 1; // odd, so that one is in the middle
  const workload = await makeWorkload(datasets);
  const sluice: Measured[] = [];
  const parallel: Measured[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const contestants = [
        async () => sluice.push(await publish(workload, concurrency, round)),
        async () => parallel.push(await bare(workload, [concurrency, 'once'], `bare-${round}`)),
      ];
      for (const run of round % 2 === 0 ? contestants : contestants.reverse()) await run();
    }
    const sequential = [await bare(workload, [1, 'each'], 'sequential')];
    const oneLogin = [await bare(workload, [1, 'once'], 'one-login')];
    process.stdout.write(
      `${datasets} datasets x 1 resource x ${rowsPerTable} rows, ${concurrency} at once, ${rounds} round(s) beside the bare loop\n`,
    );
    for (const [name, all] of Object.entries({ sluice, bare: parallel, sequential, 'one login': oneLogin })) {
      const { seconds, client, portal } = median(all);
      process.stdout.write(
        `${name.padEnd(10)} ${(datasets / seconds).toFixed(1).padStart(7)} files/s  ${seconds.toFixed(1).padStart(6)} s  peak RSS client ${client} MB, portal ${portal} MB\n`,
      );
    }
    const ratios = sluice.map(({ seconds }, round) => (parallel[round]?.seconds ?? 0) / seconds);
    const than = (all: Measured[]): string => (median(all).seconds / median(sluice).seconds).toFixed(2);
    process.stdout.write(
      `ratio to the bare loop ${middle(ratios.toSorted((x, y) => x - y)).toFixed(2)} (mark 0.5; of the rounds: ${ratios.map((each) => each.toFixed(2)).join(' ')}), to the sequential loop ${than(sequential)} (mark 3), to one with a single login ${than(oneLogin)}\n`,
    );
  } finally {
    await rm(workload.folder, { recursive: true, force: true });
  }
};

const middle = <T>(sorted: T[]): T => {
  const one = sorted[Math.floor(sorted.length / 2)];
  if (one === undefined) throw new Error('nothing was measured');
  return one;
};

const median = (list: Measured[]): Measured => middle([...list].sort((a, b) => a.seconds - b.seconds));

const publish = async (workload: Workload, concurrency: number, round: number): Promise<Measured> => {
  const portal = await startPortal(join(workload.folder, `portal-${round}`), workload.users);
  try {
    const config = await writeConfig(workload, portal.url, concurrency);
    const ended = await runSluice(
      ['publish', workload.manifest, '--config', config, '--state', join(workload.folder, `state-${round}`), '--json'],
      { ...process.env, BENCH_PASSWORD: account.password },
    );
    const report = parse(ended);
    // From the run's begin to its report, as the bare loop counts from its first create.
    return {
      seconds: (Date.parse(report.endedAt) - Date.parse(report.startedAt)) / 1000,
      client: ended.peak,
      portal: portal.peak(),
    };
  } finally {
    await portal.stop();
  }
};

const parse = (ended: Ended): { startedAt: string; endedAt: string } => {
  if (ended.code !== 0) throw new Error(`publish ended with ${ended.code}: ${ended.stdout.slice(0, 2000)}`);
  return JSON.parse(ended.stdout) as { startedAt: string; endedAt: string }; // our own report
};

const bare = async (
  workload: Workload,
  [concurrency, logins]: [number, 'once' | 'each'],
  name: string,
): Promise<Measured> => {
  const portal = await startPortal(join(workload.folder, name), workload.users);
  try {
    const ended = await runScript(bareLoop, [portal.url, String(concurrency), logins, ...workload.tables]);
    if (ended.code !== 0) throw new Error(`the bare loop ended with ${ended.code}`);
    const { seconds } = JSON.parse(ended.stdout) as { seconds: number }; // written by the loop
    return { seconds, client: ended.peak, portal: portal.peak() };
  } finally {
    await portal.stop();
  }
};
