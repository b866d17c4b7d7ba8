import { defineConfig } from 'vitest/config';

const long = 'test/**/*.long.test.ts';

/** Tests run real servers, a real Redis and real child processes, so the limits are generous and the files few at a time. */
export default defineConfig({
  test: {
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 3,
    globalSetup: ['test/support/redis-required.ts'],
    projects: [
      { extends: true, test: { name: 'main', include: ['test/**/*.test.ts'], exclude: [long] } },
      // Exhaustive suites: kills at every step, long races, recorded exchanges.
      { extends: true, test: { name: 'long', include: [long] } },
    ],
  },
});
