// Exit codes, and real processes that end: at the first signal, after an unexpected error, after their command.
import { spawnSync } from 'node:child_process';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exitCodeOfError, exitCodeOfReports } from '../../src/commands/io.ts';
import {
  HeldError,
  InterruptedError,
  RedisMissingError,
  UnfinishedError,
  UsageError,
  VerifyFailedError,
} from '../../src/model/errors.ts';
import type { Report } from '../../src/model/report.ts';
import { bundled } from '../support/bundled.ts';
import { startTestRedis } from '../support/redis.ts';
import { runSluice, type Sluice, startSluice } from '../support/sluice-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { writeText } from '../support/yaml-file.ts';

const program = bundled(new URL('../../src/cli.ts', import.meta.url));
const preload = fileURLToPath(new URL('../support/fault-preload.ts', import.meta.url));

const started = (...parameters: Parameters<typeof startSluice>): Sluice => {
  const sluice = startSluice(...parameters);
  onTestFinished(() => void sluice.child.kill('SIGKILL'));
  return sluice;
};

const startPortal = async (env: NodeJS.ProcessEnv = {}): Promise<Sluice> => {
  const dir = tempDir();
  const sluice = started(['portal', '--port', '0', '--data', join(dir, 'store')], { cwd: dir, preload, env });
  await sluice.said('http://');
  return sluice;
};

it.each([
  ['error', 'SyntaxError'],
  ['rejection', 'TypeError: on purpose'],
])('an unexpected %s is reported and ends the process as a bug, although closing hangs', async (fault, text) => {
  const sluice = await startPortal({ FAULT: fault });
  expect(await sluice.end('SIGUSR2')).toBe(1);
  expect(sluice.err()).toContain(`sluice: a bug: ${text}`);
});

it('the first signal ends the process although closing hangs', async () => {
  const sluice = await startPortal();
  expect(await sluice.end('SIGINT')).toBe(130);
  expect(sluice.err()).toContain('stopping takes too long');
});

it('a command that is over ends the process, whatever was left open', async () => {
  const { code, out } = await runSluice(['portal', 'token', 'list', '--json', '--data', 'none'], {
    cwd: tempDir(),
    preload,
  });
  expect(code).not.toBe(0);
  expect(JSON.parse(out)).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } });
});

it.each([
  ['the working directory no longer exists', 'rmdir "$PWD"; "$@" status', 2],
  ['a file could not be written: ENOSPC', '"$@" help config > /dev/full', 3],
  ['an argument or option value is empty', '"$@" publish ""', 2],
  ['an argument or option value is empty', '"$@" status --state ""', 2],
])('says what stops it, and that it is no bug: %s', (text, line, code) => {
  const words = ['-c', line, 'sh', process.execPath, program];
  const { status, stderr } = spawnSync('sh', words, {
    cwd: tempDir(),
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  });
  expect(stderr).toContain(text);
  expect(stderr).not.toContain('a bug');
  expect(status).toBe(code);
});

/** A Redis behind a proxy that may change what it answers to a client. */
const openProxy = async (change: (data: Buffer, client: Socket) => Buffer): Promise<string> => {
  const redis = await startTestRedis();
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect(redis.options.path ?? '');
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined));
    server.on('data', (data) => client.write(change(data, client)));
    client.pipe(server);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await redis.close();
  });
  const address = proxy.address();
  return `redis://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
};

/** Puts a number where the text of INFO stands. */
const withoutInfo = (data: Buffer): Buffer => {
  const text = data.toString('latin1');
  const begin = /[$=](\d+)\r\n(txt:)?# Server/.exec(text);
  if (begin === null) return data;
  const end = text.indexOf('\n', begin.index) + 1 + Number(begin[1]) + 2;
  return Buffer.from(`${text.slice(0, begin.index)}:1\r\n${text.slice(end)}`, 'latin1');
};

const writeConfig = (dir: string): void => {
  writeText(dir, 'data.csv', 'a,b\n1,2\n');
  const resources = [{ id: 'r', title: 'R', file: './data.csv' }];
  writeText(
    dir,
    'm.yaml',
    JSON.stringify({ name: 'm', portal: 'local', datasets: [{ id: 'd', title: 'D', resources }] }),
  );
  writeText(dir, 'sluice.yaml', JSON.stringify({ portals: { local: { kind: 'embedded' } }, web: { port: 0 } }));
};

it('a command whose workers could not start is over, and says why', async () => {
  const dir = tempDir();
  writeConfig(dir);
  const asked = new Map<Socket, number>();
  const REDIS_URL = await openProxy((data, client) => {
    if (!asked.has(client)) asked.set(client, asked.size);
    return (asked.get(client) ?? 0) > 1 ? withoutInfo(data) : data; // a first look and the main connection take precedence over
  });
  const options = { cwd: dir, env: { REDIS_URL } };
  const { code, err } = await runSluice(['publish', 'm.yaml', '--config', 'sluice.yaml'], options);
  expect(err).toContain('sluice: a bug: TypeError: doc.split is not a function');
  expect(code).toBe(1);
});

it('a service ends as a bug when a reply of Redis is lost, so that each command gets the reply of another', async () => {
  const dir = tempDir();
  writeConfig(dir);
  let isArmed = false;
  const hit = new Set<Socket>();
  const REDIS_URL = await openProxy((data, client) => {
    if (!isArmed || hit.has(client)) return data;
    hit.add(client);
    return Buffer.alloc(0);
  });
  const sluice = started(['start', 'm.yaml', '--config', 'sluice.yaml'], { cwd: dir, env: { REDIS_URL } });
  await sluice.said('sluice is running');
  isArmed = true;
  expect(await sluice.ended).toBe(1);
  expect(sluice.out()).toContain('out of sync');
});

const report = (run: string | null, ...items: string[]): Report => {
  const reason = (code: string) => ({ code, message: '', hint: null });
  return {
    reason: run === null ? null : reason(run),
    items: items.map((code) => ({ reason: code === '' ? null : reason(code) })),
  } as Report; // all that the exit code looks at
};

describe('the exit code of an error', () => {
  it.each([
    [new UsageError('x'), 2],
    [new RedisMissingError('x'), 2],
    [new UnfinishedError('x'), 3],
    [new VerifyFailedError('x'), 3],
    [new HeldError('x'), 4],
    [new InterruptedError('x'), 130],
    [new TypeError('x'), 1],
    ['thrown text', 1],
  ])('%s is %i', (error, code) => {
    expect(exitCodeOfError(error)).toBe(code);
  });
});

describe('the exit code of reports', () => {
  it('is 0 when nothing failed', () => {
    expect(exitCodeOfReports([report(null, '', ''), report(null)])).toBe(0);
  });

  it('is the first of bug, usage, held and failed, over all reports', () => {
    expect(exitCodeOfReports([report(null, '', 'table-ragged')])).toBe(3);
    expect(exitCodeOfReports([report(null, 'table-ragged'), report('held')])).toBe(4);
    expect(exitCodeOfReports([report('held'), report('manifest', 'table-ragged')])).toBe(2);
    expect(exitCodeOfReports([report('manifest'), report(null, 'bug', 'held')])).toBe(1);
    // A run that ends with the code of wrong use, such as an export to a folder of others.
    expect(exitCodeOfReports([report('usage')])).toBe(exitCodeOfError(new UsageError('')));
  });
});
