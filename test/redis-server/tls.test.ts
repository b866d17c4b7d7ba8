// A Redis behind TLS whose certificate an authority of its own has signed.
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { createServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { startTestRedis } from '../support/redis.ts';
import { runSluice } from '../support/sluice-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/tls-${name}.pem`, import.meta.url));

const redis = await startTestRedis();
const server = createServer({ key: readFileSync(fixture('key')), cert: readFileSync(fixture('cert')) }, (socket) => {
  const inner = createConnection({ path: redis.options.path ?? '' });
  for (const each of [socket, inner]) each.on('error', () => {});
  socket.pipe(inner).pipe(socket);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
afterAll(async () => {
  server.close();
  await redis.close();
});

const status = (host: string, env: NodeJS.ProcessEnv) => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return runSluice(['status'], { cwd: tempDir(), env: { REDIS_URL: `rediss://${host}:${port}`, ...env } });
};

test.each(['localhost', '127.0.0.1'])('NODE_EXTRA_CA_CERTS makes it known, at rediss://%s', async (host) => {
  const { code, err } = await status(host, { NODE_EXTRA_CA_CERTS: fixture('cert') });
  expect(err).toBe('');
  expect(code).toBe(0);
});

test('a certificate of an unknown authority is refused', async () => {
  const { code, err } = await status('localhost', {});
  expect(err).toMatch(/Redis at localhost:\d+ cannot be used: self-signed certificate/);
  expect(code).not.toBe(0);
});
