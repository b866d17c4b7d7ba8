// How fast `sluice publish` is beside a bare loop that sends the same requests to the same portal, near and far away.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from './options.ts';
import { runScript, runSluice, type ServerProcess, startPortal, startServer } from './support/processes.ts';
import { account, makeWorkload, rowsPerTable, type Workload, writeConfig } from './support/workload.ts';

const [bareLoop = '', forwarder = ''] = ['bare-loop', 'forwarder'].map((name) =>
  fileURLToPath(new URL(`./support/${name}.ts`, import.meta.url)),
);

/** Milliseconds that each request takes longer, the share of the datasets that is published then, and the ratio wanted. */
const distances = [
  { delay: 0, share: 1, mark: 0.75 },
  { delay: 80, share: 0.3, mark: 0.95 },
  { delay: 300, share: 0.1, mark: 0.95 },
];

interface Measured {
  seconds: number;
  client: number;
  portal: number;
  /** Requests by kind. */
  requests: Record<string, number>;
}

/**
 * Runs the contestants in turn, each on an empty portal in a process of its own. A machine's speed moves within minutes,
 * so sluice and the bare loop run side by side in each round, in turn the one or the other first, and the ratio is the
 * median of the rounds' own ratios.
 */
export const run = async ({ datasets, concurrency, rounds: wanted }: BenchOptions): Promise<void> => {
  for (const { delay, share, mark } of distances) {
    const workload = await makeWorkload(Math.max(10, Math.round(datasets * share)));
    try {
      await compare(workload, { delay, mark, concurrency, rounds: Math.max(delay === 0 ? 5 : 3, wanted) | 1 });
    } finally {
      await rm(workload.folder, { recursive: true, force: true });
    }
  }
};

const compare = async (
  workload: Workload,
  { delay, mark, concurrency, rounds }: { delay: number; mark: number; concurrency: number; rounds: number },
): Promise<void> => {
  const all: Record<'sluice' | 'bare', Measured[]> = { sluice: [], bare: [] };
  for (let round = 0; round < rounds; round++) {
    const contestants = [
      async () =>
        all.sluice.push(await beside(workload, delay, (url) => publish(workload, { url, concurrency, round }))),
      async () => all.bare.push(await beside(workload, delay, (url) => bare(workload, url, concurrency))),
    ];
    for (const run of round % 2 === 0 ? contestants : contestants.reverse()) await run();
  }
  const files = workload.tables.length;
  process.stdout.write(
    `${files} datasets x 1 resource x ${rowsPerTable} rows, ${concurrency} at once, ${delay} ms further away, ${rounds} rounds\n`,
  );
  for (const [name, measured] of Object.entries(all)) {
    const { seconds, client, portal } = median(measured);
    process.stdout.write(
      `${name.padEnd(8)} ${(files / seconds).toFixed(1).padStart(7)} files/s  ${seconds.toFixed(1).padStart(6)} s  peak RSS client ${client} MB, portal ${portal} MB\n${requestLines(median(measured), files)}`,
    );
  }
  const ratios = all.sluice.map(({ seconds }, round) => (all.bare[round]?.seconds ?? 0) / seconds);
  process.stdout.write(
    `ratio to the bare loop ${middle(ratios.toSorted((x, y) => x - y)).toFixed(2)} (mark ${mark}; of the rounds: ${ratios.map((each) => each.toFixed(2)).join(' ')})\n`,
  );
};

/** Requests for each file, by kind. */
const requestLines = ({ requests }: Measured, files: number): string => {
  const kinds = Object.entries(requests).sort(([, x], [, y]) => y - x);
  const total = kinds.reduce((sum, [, count]) => sum + count, 0);
  const each = kinds.map(([kind, count]) => `${kind} ${(count / files).toFixed(2)}`).join(', ');
  return `         ${(total / files).toFixed(2)} requests a file: ${each}\n`;
};

const middle = <T>(sorted: T[]): T => {
  const one = sorted[Math.floor(sorted.length / 2)];
  if (one === undefined) throw new Error('nothing was measured');
  return one;
};

const median = (list: Measured[]): Measured => middle([...list].sort((a, b) => a.seconds - b.seconds));

let portals = 0;

/** Runs a contestant against an empty portal behind the forwarder. */
const beside = async (
  workload: Workload,
  delay: number,
  contest: (url: string) => Promise<Pick<Measured, 'seconds' | 'client'>>,
): Promise<Measured> => {
  portals += 1;
  const portal = await startPortal(join(workload.folder, `portal-${portals}`), workload.users);
  let between: ServerProcess | null = null;
  try {
    between = await startServer(forwarder, [portal.url, String(delay)]);
    const measured = await contest(between.url);
    const requests = (await (await fetch(`${between.url}/__requests`)).json()) as Record<string, number>; // the forwarder's own
    return { ...measured, portal: portal.peak(), requests };
  } finally {
    await between?.stop();
    await portal.stop();
  }
};

const publish = async (
  workload: Workload,
  { url, concurrency, round }: { url: string; concurrency: number; round: number },
): Promise<Pick<Measured, 'seconds' | 'client'>> => {
  const config = await writeConfig(workload, url, concurrency);
  const ended = await runSluice(
    ['publish', workload.manifest, '--config', config, '--state', join(workload.folder, `state-${round}`), '--json'],
    { env: { ...process.env, BENCH_PASSWORD: account.password } },
  );
  const [report] = (JSON.parse(ended.stdout) as { reports: [{ startedAt: string; endedAt: string }] }).reports;
  // From the run's begin to its report, as the bare loop counts from its first create.
  const seconds = (Date.parse(report.endedAt) - Date.parse(report.startedAt)) / 1000;
  return { seconds, client: ended.peak };
};

const bare = async (
  workload: Workload,
  url: string,
  concurrency: number,
): Promise<Pick<Measured, 'seconds' | 'client'>> => {
  const ended = await runScript(bareLoop, [url, String(concurrency), ...workload.tables]);
  const { seconds } = JSON.parse(ended.stdout) as { seconds: number }; // written by the loop
  return { seconds, client: ended.peak };
};
