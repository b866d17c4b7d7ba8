import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const long = 'test/**/*.long.test.ts';
const quickPasswords = fileURLToPath(new URL('test/support/quick-passwords.ts', import.meta.url));

/** Tests run real servers, a real Redis and real child processes, so the limits are generous and the files few at a time. */
export default defineConfig({
  test: {
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Modules are loaded once for each worker: compiling them takes longer than most of the files.
    isolate: false,
    execArgv: ['--import', quickPasswords],
    maxWorkers: 3,
    globalSetup: ['test/support/redis-required.ts'],
    setupFiles: ['test/support/file-end.ts'],
    projects: [
      { extends: true, test: { name: 'main', include: ['test/**/*.test.ts'], exclude: [long] } },
      // Exhaustive suites: kills at every step, long races, recorded exchanges.
      { extends: true, test: { name: 'long', include: [long] } },
    ],
  },
});
