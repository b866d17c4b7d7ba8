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

/** Runs the three contestants in turn, each on an empty portal in a process of its own. */
export const run = async ({ datasets, concurrency, rounds }: BenchOptions): Promise<void> => {
  const workload = await makeWorkload(datasets);
  const all = {
    sluice: [] as Measured[],
    bare: [] as Measured[],
    sequential: [] as Measured[],
    oneLogin: [] as Measured[],
  };
  try {
    for (let round = 0; round < rounds; round++) {
      all.sluice.push(await publish(workload, concurrency, round));
      all.bare.push(await bare(workload, [concurrency, 'once'], `bare-${round}`));
      all.sequential.push(await bare(workload, [1, 'each'], `sequential-${round}`));
      all.oneLogin.push(await bare(workload, [1, 'once'], `one-login-${round}`));
    }
  } finally {
    await rm(workload.folder, { recursive: true, force: true });
  }
  const of = (name: keyof typeof all): Measured => median(all[name]);
  process.stdout.write(
    `${datasets} datasets x 1 resource x ${rowsPerTable} rows, ${concurrency} at once, ${rounds} round(s)\n`,
  );
  for (const name of ['sluice', 'bare', 'sequential', 'oneLogin'] as const) {
    const { seconds, client, portal } = of(name);
    process.stdout.write(
      `${name.padEnd(10)} ${(datasets / seconds).toFixed(1).padStart(7)} files/s  ${seconds.toFixed(1).padStart(6)} s  peak RSS client ${client} MB, portal ${portal} MB\n`,
    );
  }
  const ratio = (name: 'bare' | 'sequential' | 'oneLogin'): string =>
    (of(name).seconds / of('sluice').seconds).toFixed(2);
  process.stdout.write(
    `ratio to the bare loop ${ratio('bare')} (mark 0.5), to the sequential loop ${ratio('sequential')} (mark 3), to one with a single login ${ratio('oneLogin')}\n`,
  );
};

const median = (list: Measured[]): Measured => {
  const sorted = [...list].sort((a, b) => a.seconds - b.seconds);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (!middle) throw new Error('nothing was measured');
  return middle;
};

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
