// `sluice plan` of a synced manifest: how long a person waits, with and without the portal's listing, and that nothing is written.
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/config/load.ts';
import { startPortalServer } from '../src/embedded-portal/portal-server.ts';
import { createLog } from '../src/model/log.ts';
import { openRuntime } from '../src/service/runtime.ts';
import { loadManifest, targetOf } from '../src/sources/manifest/load.ts';
import type { BenchOptions } from './options.ts';
import { runSluice } from './support/processes.ts';
import { account, makeWorkload, type Workload, writeConfig } from './support/workload.ts';

/** Publishes once to a portal in this process, then plans in processes of their own. */
export const run = async ({ datasets, concurrency, rounds }: BenchOptions): Promise<void> => {
  const workload = await makeWorkload(datasets);
  const log = createLog({ level: 'error' });
  const server = await startPortalServer({ dataDir: join(workload.folder, 'store'), usersFile: workload.users, log });
  const file = await writeConfig(workload, server.url, concurrency);
  const env: NodeJS.ProcessEnv = { ...process.env, BENCH_PASSWORD: account.password };
  delete env.REDIS_URL;
  try {
    await publish(workload, workload.manifest, file, env);
    const catalogue = await catalogueManifest(workload);
    await publish(workload, catalogue.manifest, file, env);
    const before = server.requests().writes;
    const empty = join(workload.folder, 'empty.yaml');
    await writeFile(empty, 'name: empty\nportal: portal\ndatasets: []\n');
    const median = async (args: string[]): Promise<number> => {
      const times: number[] = [];
      for (let round = 0; round < Math.max(3, rounds); round++) {
        const begun = performance.now();
        const { stdout } = await runSluice(['plan', ...args, '--config', file], { cwd: workload.folder, env });
        times.push(performance.now() - begun);
        if (round === 0) process.stdout.write(`${stdout.trim().split('\n').at(-1)}\n`);
      }
      return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
    };
    const base = await median([empty]);
    const plain = await median([workload.manifest]);
    const refreshed = await median([workload.manifest, '--refresh']);
    const harvested = await median([catalogue.manifest]);
    process.stdout.write(
      `start of the process and of Redis (plan of an empty manifest): ${base.toFixed(0)} ms\n` +
        `planning ${datasets} files: ${(plain - base).toFixed(0)} ms (mark 1000), the whole command ${plain.toFixed(0)} ms\n` +
        `with the portal's listing of ${2 * datasets} nodes: ${(refreshed - base).toFixed(0)} ms\n` +
        `planning ${catalogue.what}: ${(harvested - base).toFixed(0)} ms (mark 1000), the whole command ${harvested.toFixed(0)} ms\n`,
    );
    process.stdout.write(`write requests of all plans: ${server.requests().writes - before} (mark 0)\n`);
  } finally {
    await server.close();
    await rm(workload.folder, { recursive: true, force: true });
  }
};

/** The catalogue of a whole agency where it lies beside the repository, else one of our own of that size. */
const catalogueManifest = async ({ folder }: Workload): Promise<{ manifest: string; what: string }> => {
  const real = fileURLToPath(new URL('../../shared/data/catalogues/dcatus_with_none.json', import.meta.url));
  const manifest = join(folder, 'catalogue.yaml');
  const from = existsSync(real) ? real : join(folder, 'data.json');
  await writeFile(manifest, `name: catalogue\nportal: portal\ncatalogue: ${JSON.stringify(from)}\n`);
  if (from === real) return { manifest, what: 'the real catalogue of 402 datasets and 2,841 distributions' };
  const dataset = Array.from({ length: 402 }, (_, index) => ({
    identifier: `https://example.org/id/${index}`,
    title: `Dataset ${index}`,
    description: 'What the data is about, in a few words. '.repeat(20),
    keyword: ['public safety', `keyword ${index % 50}`],
    publisher: { name: `Office ${index % 30}` },
    contactPoint: { fn: 'Open data office', hasEmail: 'mailto:data@example.org' },
    license: 'https://creativecommons.org/licenses/by/4.0/',
    distribution: Array.from({ length: 7 }, (_none, at) => ({
      title: `File ${at}`,
      downloadURL: `https://example.org/files/${index}/${at}.csv`,
      mediaType: 'text/csv',
    })),
  }));
  await writeFile(from, JSON.stringify({ dataset }));
  return { manifest, what: 'a made catalogue of 402 datasets and 2,814 distributions' };
};

const publish = async (workload: Workload, manifest: string, file: string, env: NodeJS.ProcessEnv): Promise<void> => {
  const config = await loadConfig({ file, cwd: workload.folder, env, stateDir: join(workload.folder, '.sluice') });
  const runtime = await openRuntime({ config, log: createLog({ level: 'error' }), env, role: 'bench' });
  try {
    await runtime.startWorkers();
    const { runId } = await runtime.requestRun(targetOf(await loadManifest(manifest)), 'command');
    for (;;) {
      const report = await runtime.runs.report(runId);
      if (report) return void process.stdout.write(`published: ${JSON.stringify(report.counts)}\n`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    await runtime.close();
  }
};
