// The second run of an unchanged manifest: no write request at all, and how long it takes for each file.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../src/config/load.ts';
import { createLog } from '../src/model/log.ts';
import type { StoredReport } from '../src/model/report.ts';
import { openRuntime } from '../src/service/runtime.ts';
import { loadManifest, targetOf } from '../src/sources/manifest/load.ts';
import type { BenchOptions } from './options.ts';
import { makeWorkload } from './support/workload.ts';

/** Publishes to an embedded portal in this process, then measures the runs after it. */
export const run = async ({ datasets, rounds }: BenchOptions): Promise<void> => {
  const workload = await makeWorkload(datasets);
  const env = { ...process.env };
  delete env.REDIS_URL;
  const config = await loadConfig({
    file: undefined,
    cwd: workload.folder,
    env,
    stateDir: join(workload.folder, 'state'),
    portal: 'local',
  });
  const runtime = await openRuntime({ config, log: createLog({ level: 'error' }), env, role: 'bench' });
  try {
    await runtime.startWorkers();
    const once = async (): Promise<StoredReport> => {
      const { runId } = await runtime.requestRun(targetOf(await loadManifest(workload.manifest)), 'command');
      for (;;) {
        const report = await runtime.runs.report(runId);
        if (report) return report;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    const first = await once();
    const server = runtime.portals.supervisor('local')?.server;
    const before = server?.requests().writes ?? 0;
    for (let round = 0; round < Math.max(3, rounds); round++) {
      const begun = performance.now();
      const report = await once();
      const ms = performance.now() - begun;
      const unchanged = report.counts.resource.unchanged ?? 0;
      process.stdout.write(
        `${unchanged} of ${datasets} files unchanged in ${ms.toFixed(0)} ms: ${(ms / datasets).toFixed(3)} ms a file (mark 2)\n`,
      );
    }
    process.stdout.write(`write requests after the first run: ${(server?.requests().writes ?? 0) - before} (mark 0)\n`);
    process.stdout.write(`first run: ${JSON.stringify(first.counts)}\n`);
  } finally {
    await runtime.close();
    await rm(workload.folder, { recursive: true, force: true });
  }
};
