import { defineConfig } from 'vitest/config';

/** Tests run real servers, a real Redis and real child processes, so the limits are generous and the files few at a time. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: ['test/support/redis-required.ts'],
  },
});
