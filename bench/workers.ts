// What more workers bring: 1, 2, 4 and 8 processes on one Redis against a portal that answers slowly, and a simulation to 64.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '../src/model/log.ts';
import { openRedis } from '../src/redis-server/embedded.ts';
import type { BenchOptions } from './options.ts';
import { cpuSeconds, lean, runSluice, startPortal, startServer } from './support/processes.ts';
import { simulate } from './support/scaling-model.ts';
import { account, makeWorkload, rowsPerTable, type Workload, writeConfig } from './support/workload.ts';

const [cli = '', forwarder = ''] = ['../src/cli.ts', './support/forwarder.ts'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** So long that the limit of the portal decides, and not the processor. */
const latencyMs = 1000;

interface Measured {
  filesPerSecond: number;
  requests: number;
  atOnce: number;
  /** Processor time of the workers for one file, milliseconds. */
  workMs: number;
}

/** A portal that takes much, and files that keep a worker busy: what a simulation to 64 workers is made of. */
const heavy = { files: 1000, requests: 6, workMs: 5000, latencyMs, concurrency: 32 };

/** Measures, with the simulation of the same beside it, then simulates up to 64 workers. */
export const run = async ({ datasets, concurrency }: BenchOptions): Promise<void> => {
  const files = Math.max(8, Math.round(datasets / 20));
  const workload = await makeWorkload(files);
  process.stdout.write(
    `${files} files of ${rowsPerTable} rows; the portal answers after ${latencyMs} ms, ${concurrency} requests at once\n`,
  );
  try {
    const rows: Row[] = [];
    for (const workers of [1, 2, 4, 8]) {
      const measured = await measure(workload, workers, concurrency);
      const { requests, workMs } = measured;
      const model = simulate({ workers, files, requests, workMs, latencyMs, concurrency, requestsPerSecond: 0 });
      rows.push({
        ...{ workers, ...measured },
        note: `${requests.toFixed(1)} requests a file, simulated ${model.filesPerSecond.toFixed(2)} files/s`,
      });
    }
    print(rows);
  } finally {
    await rm(workload.folder, { recursive: true, force: true });
  }
  for (const requestsPerSecond of [0, 10]) {
    const rate = requestsPerSecond === 0 ? '' : `, ${requestsPerSecond} requests a second`;
    process.stdout.write(
      `simulated: files that keep a worker busy for ${heavy.workMs / 1000} s; ${heavy.concurrency} requests at once${rate}\n`,
    );
    print(
      [1, 2, 4, 8, 16, 32, 64].map((workers) => ({ workers, ...simulate({ ...heavy, workers, requestsPerSecond }) })),
    );
  }
};

interface Row {
  workers: number;
  filesPerSecond: number;
  atOnce: number;
  note?: string;
}

const print = (rows: readonly Row[]): void => {
  const most = Math.max(...rows.map(({ filesPerSecond }) => filesPerSecond));
  for (const { workers, filesPerSecond, atOnce, note } of rows) {
    const bar = '█'.repeat(Math.max(1, Math.round((32 * filesPerSecond) / most)));
    const [left, middle] = [String(workers).padStart(2), filesPerSecond.toFixed(2).padStart(5)];
    const end = note === undefined ? '' : `  ${note}`;
    process.stdout.write(`${left} workers ${middle} files/s, at most ${atOnce} at once  ${bar}${end}\n`);
  }
};

/** One run by so many worker processes, each with a state folder of its own, on an empty portal. */
const measure = async (workload: Workload, workers: number, concurrency: number): Promise<Measured> => {
  const folder = join(workload.folder, `with-${workers}`);
  const env = { ...process.env, BENCH_PASSWORD: account.password };
  const portal = await startPortal(join(folder, 'portal'), workload.users);
  const between = await startServer(forwarder, [portal.url, String(latencyMs)]);
  const redis = await openRedis({
    ...{ url: undefined, prefix: 'sluice', stateDir: folder, appendfsync: 'everysec', fetch: true },
    ...{ env: { ...process.env, REDIS_URL: '' }, log: createLog({ level: 'error' }) },
  });
  const config = await writeConfig(workload, between.url, concurrency);
  const onRedis = { ...env, REDIS_URL: `unix://${redis.options.path}` };
  const args = (command: string, state: string): string[] => [
    command,
    '--config',
    config,
    '--state',
    join(folder, state),
  ];
  const children = Array.from({ length: workers }, (_, index) =>
    spawn(process.execPath, [...lean, cli, ...args('worker', `worker-${index}`)], {
      env: onRedis,
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  try {
    for (const { stdout } of children) {
      for await (const chunk of stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
        if (String(chunk).includes('worker is running')) break;
      }
      stdout.resume();
    }
    const used = (): number => children.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
    const before = used();
    const ended = await runSluice([...args('publish', 'publish'), workload.manifest, '--json'], { env: onRedis });
    const [report] = (JSON.parse(ended.stdout) as { reports: [{ startedAt: string; endedAt: string }] }).reports;
    const counts = (await (await fetch(`${between.url}/__requests`)).json()) as Record<string, number>;
    const { most } = (await (await fetch(`${between.url}/__at-once`)).json()) as { most: number };
    const files = workload.tables.length;
    return {
      filesPerSecond: (files * 1000) / (Date.parse(report.endedAt) - Date.parse(report.startedAt)),
      requests: Object.values(counts).reduce((sum, count) => sum + count, 0) / files,
      atOnce: most,
      workMs: ((used() - before) * 1000) / files,
    };
  } finally {
    for (const child of children) {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }
    await between.stop();
    await portal.stop();
    await redis.close();
  }
};
