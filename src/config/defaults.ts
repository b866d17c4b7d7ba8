// The value of every key that a configuration leaves out, in the words of the file.

/** Defaults by section; `portal` is for both kinds. `config/default.yaml` repeats them with comments. */
export const defaults = {
  portal: { dialect: 'auto', importTimeout: '10m' },
  embedded: {
    username: 'admin',
    concurrency: 8,
    requestsPerSecond: 0,
    profile: 'spec',
    host: '127.0.0.1',
    port: 0,
    tokens: false,
    xmlrpc: false,
  },
  /** `requestsPerSecond` null: what the portal takes. */
  remote: { concurrency: 4, requestsPerSecond: null },
  manifests: [],
  redis: { appendfsync: 'everysec', fetch: true, prefix: 'sluice' },
  retry: { attempts: 8, backoff: '1s', maxBackoff: '60s' },
  breaker: { failures: 5, probe: '5s', maxProbe: '5m' },
  http: { connect: '10s', headers: '60s', body: '60s', upload: '30m', readRetries: 3 },
  jobs: { keepLogs: 1000, keepRuns: '30d', lock: '5s', stalledCheck: '1s', stuck: '30s' },
  watch: { every: '1m' },
  inbox: { settle: '2s', rescan: '60s', poll: false, archiveKeep: 5 },
  kept: { total: '1 GB', file: '100 MB' },
  limits: { table: '10 GB', row: '1 MB' },
  sources: {
    allow: [],
    maxSize: '10 GB',
    maxRedirects: 5,
    connect: '10s',
    headers: '60s',
    body: '60s',
    requestsPerSecond: 10,
    proxy: 'none',
  },
  web: { host: '127.0.0.1', port: 4283, username: 'operator', public: false },
  log: { level: 'info' },
  email: { port: 587, secure: false },
} as const;
