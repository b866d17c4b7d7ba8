import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Io } from '../../src/commands/io.ts';
import { portalTokenCommand } from '../../src/commands/portal.ts';
import { openForTest } from '../portal-client/support/open.ts';
import { startTestPortal, type TestPortal } from '../support/portal.ts';
import { tempDir } from '../support/temp-dir.ts';

const run = async (action: Parameters<typeof portalTokenCommand>[0], data: string, label?: string): Promise<string> => {
  const stdout = new PassThrough();
  const { signal } = new AbortController();
  const io: Io = {
    stdin: process.stdin,
    stdout,
    stderr: stdout,
    env: {},
    cwd: '/',
    terminal: false,
    columns: null,
    colours: { stdout: false, stderr: false },
    line: null,
    stop: signal,
    force: signal,
    writing: new Set(),
  };
  await portalTokenCommand(action, { data, ...(label ? { label } : {}) }, io);
  return String(stdout.read() ?? '').trim();
};

const create = ({ anonymous }: TestPortal, authorization: string) =>
  anonymous.send('POST', '/api/dataset/node', { body: { type: 'dataset', title: 'x' }, headers: { authorization } });

describe('access tokens', () => {
  it('are not looked at unless they are switched on', async () => {
    const portal = await startTestPortal();
    const token = await run({ action: 'add', user: 'creator' }, portal.server.dataDir);
    expect((await create(portal, `Bearer ${token}`)).json()).toEqual(['Access denied for user anonymous']);
  });

  it('let their user in without session and CSRF token, while the portal runs, until they are revoked', async () => {
    const portal = await startTestPortal({ tokens: true });
    const { dataDir } = portal.server;
    const token = await run({ action: 'add', user: 'creator' }, dataDir, 'nightly job');
    expect(token).toMatch(/^[\w-]{43}$/);
    const made = await create(portal, `Bearer ${token}`);
    expect(await portal.anonymous.read(made.json<{ nid: string }>().nid)).toMatchObject({ name: 'creator' });
    const list = await run({ action: 'list' }, dataDir);
    expect(list).toMatch(/^1\tcreator\t.+\tnightly job$/);
    expect(list).not.toContain(token);
    await run({ action: 'revoke', id: '1' }, dataDir);
    expect((await create(portal, `Bearer ${token}`)).status).toBe(401);
  });

  it('are taken by our client in the place of a password', async () => {
    const portal = await startTestPortal({ tokens: true });
    const token = await run({ action: 'add', user: 'creator' }, portal.server.dataDir);
    const client = openForTest(portal.url, { username: '', password: '', token });
    const { signal } = new AbortController();
    const core = { title: 'By token', uuid: randomUUID(), log: '', fields: {} } as const;
    const { nid } = await client.createNode({ ...core, type: 'dataset', status: 1 }, signal);
    expect(await portal.anonymous.read(nid)).toMatchObject({ name: 'creator', title: 'By token' });
    await client.nodes.update(nid, { title: 'Changed', log: '' }, signal);
    const other = openForTest(portal.url, { username: '', password: '', token: 'wrong' });
    await expect(other.nodes.remove(nid, signal)).rejects.toMatchObject({ code: 'portal-login' });
    expect(await portal.anonymous.read(nid)).toMatchObject({ title: 'Changed' });
  });

  it.each([
    ['Bearer wrong', 'The access token is not valid.'],
    ['Bearer', 'The access token is not valid.'],
    ['OAuth oauth_token="x"', 'OAuth is not supported; use a session or an access token.'],
  ])('"%s" is refused', async (authorization, words) => {
    const portal = await startTestPortal({ tokens: true });
    const reply = await create(portal, authorization);
    expect([reply.status, reply.reason]).toEqual([401, `Unauthorized : ${words}`]);
  });

  it('are made for accounts that exist, in a store that exists', async () => {
    const portal = await startTestPortal();
    const notFound = expect.objectContaining({ code: 'not-found' });
    await expect(run({ action: 'add', user: 'nobody' }, portal.server.dataDir)).rejects.toEqual(notFound);
    await expect(run({ action: 'revoke', id: '99' }, portal.server.dataDir)).rejects.toEqual(notFound);
    await expect(run({ action: 'list' }, tempDir())).rejects.toThrow(/there is no portal store/);
  });
});
