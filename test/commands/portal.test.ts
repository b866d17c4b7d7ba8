import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Io } from '../../src/commands/io.ts';
import { type PortalCommandOptions, portalCommand } from '../../src/commands/portal.ts';
import { sendRaw } from '../support/portal.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const begin = (options: PortalCommandOptions, cwd = tempDir()) => {
  const stdout = new PassThrough();
  const stop = new AbortController();
  const force = new AbortController();
  const io: Io = {
    stdin: process.stdin,
    stdout,
    stderr: stdout,
    env: {},
    cwd,
    terminal: false,
    columns: null,
    colours: { stdout: false, stderr: false },
    line: null,
    stop: stop.signal,
    force: force.signal,
    writing: new Set(),
  };
  let printed = '';
  stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString('utf8');
  });
  const ended = portalCommand(options, io);
  ended.catch(() => undefined);
  return { ended, stop: () => stop.abort('SIGTERM'), printed: () => printed, cwd };
};

const addressIn = (text: string): string | undefined => /portal ready at (http:\S+)/.exec(text)?.[1];

describe('sluice portal', () => {
  it('prints its address and the new password of admin, serves, and ends with 0 when it is told to stop', async () => {
    const { ended, stop, printed } = begin({ data: 'store' });
    const url = await waitUntil('the address', () => addressIn(printed()));
    const password = /password of its user admin is (\S+)/.exec(printed())?.[1];
    const body = { username: 'admin', password };
    expect((await sendRaw(url, 'POST', '/api/dataset/user/login', { body })).status).toBe(200);
    stop();
    expect(await ended).toBe(0);
    await expect(sendRaw(url, 'GET', '/healthz')).rejects.toThrow();
  });

  it('takes accounts from a users file', async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, 'users.yaml'), 'users: [{ name: admin, password: known, roles: [administrator] }]', {
      mode: 0o600,
    });
    const { ended, stop, printed } = begin({ users: 'users.yaml', profile: 'dkan-7.18' }, cwd);
    const url = await waitUntil('the address', () => addressIn(printed()));
    expect(printed()).not.toContain('password of its user');
    const body = { username: 'admin', password: 'known' };
    expect((await sendRaw(url, 'POST', '/api/dataset/user/login', { body })).status).toBe(200);
    stop();
    expect(await ended).toBe(0);
  });
});
