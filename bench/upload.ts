// One large file: the peak memory of the worker beside that for a file of 10 MB.
import { createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BenchOptions } from './options.ts';
import { runSluice, startPortal } from './support/processes.ts';
import { account, makeWorkload, writeConfig } from './support/workload.ts';

/** Publishes a file of 10 MB and one of the asked size, each with its own portal. */
export const run = async ({ megabytes }: BenchOptions): Promise<void> => {
  const small = await publishFile(10);
  const large = await publishFile(megabytes);
  for (const [name, result] of [
    ['10 MB', small],
    [`${megabytes} MB`, large],
  ] as const) {
    process.stdout.write(
      `${name.padEnd(8)} ${result.seconds.toFixed(1)} s, peak RSS worker ${result.worker} MB, portal ${result.portal} MB\n`,
    );
  }
  process.stdout.write(`worker: ${large.worker - small.worker} MB more for the large file (mark 50)\n`);
};

const publishFile = async (megabytes: number) => {
  const workload = await makeWorkload(0);
  try {
    const table = join(workload.folder, 'large.csv');
    await pipeline(Readable.from(rows(megabytes * 1e6)), createWriteStream(table));
    await writeFile(
      workload.manifest,
      `name: bench\nportal: portal\ndatasets:\n  - { id: large, title: Large, resources: [{ id: table, title: Large table, file: large.csv }] }\n`,
    );
    const portal = await startPortal(join(workload.folder, 'portal'), workload.users);
    try {
      const config = await writeConfig(workload, portal.url, 4);
      const args = [
        'publish',
        workload.manifest,
        '--config',
        config,
        '--state',
        join(workload.folder, 'state'),
        '--json',
      ];
      const ended = await runSluice(args, { env: { ...process.env, BENCH_PASSWORD: account.password } });
      return { seconds: ended.seconds, worker: ended.peak, portal: portal.peak() };
    } finally {
      await portal.stop();
    }
  } finally {
    await rm(workload.folder, { recursive: true, force: true });
  }
};

/** Lines of a table up to about `bytes`, in blocks. */
function* rows(bytes: number): Generator<string> {
  yield 'id,name,amount,date,note\n';
  let written = 0;
  for (let row = 0; written < bytes; ) {
    const lines: string[] = [];
    for (let index = 0; index < 1000; index++, row++) {
      lines.push(
        `${row},"Name ${row}, with a comma",${(row % 100_000) / 100},2026-01-${String((row % 28) + 1).padStart(2, '0')},note ${row * 31}`,
      );
    }
    const block = `${lines.join('\n')}\n`;
    written += block.length;
    yield block;
  }
}
