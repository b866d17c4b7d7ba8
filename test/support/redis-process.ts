// Processes of Redis servers for tests, which never outlive the process that started them.
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';

/** Starts the server program with these arguments. */
export const spawnRedis = (args: readonly string[]): ChildProcess => {
  const binary = process.env.REDIS_SERVER_BIN;
  if (binary === undefined) throw new Error('REDIS_SERVER_BIN is not set: run the tests through vitest');
  const server = spawn(binary, args, { stdio: 'ignore' });
  const kill = (): void => void server.kill('SIGKILL');
  process.once('exit', kill);
  server.once('exit', () => process.removeListener('exit', kill));
  return server;
};

/** Settings as arguments of the server program. */
export const redisArguments = (settings: Record<string, string | number>): string[] =>
  Object.entries(settings).flatMap(([key, value]) => [`--${key}`, String(value)]);

/** Kills a server; resolves when it has ended. */
export const killRedis = (server: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (server.exitCode !== null || server.signalCode !== null) return resolve();
    server.once('exit', () => resolve());
    server.kill('SIGKILL');
  });

/** A loopback port that was free just now. */
export const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
};
