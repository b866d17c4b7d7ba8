import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const long = 'test/**/*.long.test.ts';
/** Files that the long suite runs again, with everything. */
const partial = globSync('test/**/*.test.ts').filter((path) =>
  /\b(?:draws|cases|sampled|isWhole)\b.*support\/extent/.test(readFileSync(path, 'utf8')),
);
const quickPasswords = fileURLToPath(new URL('test/support/quick-passwords.ts', import.meta.url));

/** Files that wait for processes and timers most of the time. */
const waiting = /\/test\/(?:chaos|flow|queue|commands|sources\/drop)\//;

/** Begins with what waits, so that the rest is computed meanwhile and no long file is the last one. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isWaiting = ({ moduleId }: TestSpecification): boolean => waiting.test(moduleId);
    return [...sorted.filter(isWaiting), ...sorted.filter((file) => !isWaiting(file))];
  }
}

/** Tests run real servers, a real Redis and real child processes, so the limits are generous and the files few at a time. */
export default defineConfig({
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: 'forks',
    // Modules are loaded once for each worker: compiling them takes longer than most of the files.
    isolate: false,
    execArgv: ['--import', quickPasswords],
    maxWorkers: 6,
    sequence: { sequencer: WaitingFirst },
    globalSetup: ['test/support/redis-required.ts', 'test/support/shared-redis.ts', 'test/support/bundle.ts'],
    setupFiles: ['test/support/file-end.ts'],
    projects: [
      { extends: true, test: { name: 'main', include: ['test/**/*.test.ts'], exclude: [long] } },
      // Exhaustive suites: kills at every step, long races, recorded exchanges, all draws.
      {
        extends: true,
        test: {
          name: 'long',
          include: [long, ...partial],
          env: { EXTENT: 'whole' },
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
