// `sluice portal` with a configuration: each way in and each right is switched by one key, and seen over HTTP.
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type PortalCommandOptions,
  portalBackupCommand,
  portalCommand,
  portalTokenCommand,
} from '../../src/commands/portal.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createLog } from '../../src/model/log.ts';
import { portalAccess } from '../../src/service/portal-access.ts';
import { runHere } from '../flow/support/here.ts';
import { type CommandIo, commandIo } from '../support/command-io.ts';
import { type Reply, type Sent, sendRaw } from '../support/portal.ts';
import type { Ended } from '../support/sluice-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';
import { writeText } from '../support/yaml-file.ts';

const users = `users:
  - { name: ann, password: "pass", roles: [content creator] }
  - { name: bob, password: "pass", roles: [editor] }
`;

/** A folder with a configuration of these portals (`local` has the users ann and bob). */
const placeWith = (portals: Record<string, unknown>): string => {
  const cwd = tempDir();
  writeText(cwd, 'config/sluice.yaml', JSON.stringify({ portals }));
  const file = writeText(cwd, 'config/users.yaml', users);
  chmodSync(file, 0o600);
  return cwd;
};

const local = (more: Record<string, unknown> = {}) => ({
  local: { kind: 'embedded', users: 'users.yaml', ...more },
});

const running: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stop) => stop()));
});

interface Served {
  url: string;
  command: CommandIo;
  send(method: string, path: string, sent?: Sent): Promise<Reply>;
  /** Headers of a session. */
  login(username: string): Promise<Record<string, string>>;
}

const serve = async (cwd: string, options: PortalCommandOptions = {}): Promise<Served> => {
  const command = commandIo(cwd);
  const ended = portalCommand(options, command.io);
  ended.catch(() => undefined);
  running.push(() => {
    command.stop();
    return ended;
  });
  const address = (): string | undefined => /portal ready at (http:\S+)/.exec(command.out())?.[1];
  const url = await Promise.race([waitUntil('the address', address), ended.then(() => '')]);
  const send = (method: string, path: string, sent: Sent = {}) => sendRaw(url, method, path, sent);
  return {
    url,
    command,
    send,
    async login(username) {
      const reply = await send('POST', '/api/dataset/user/login', { body: { username, password: 'pass' } });
      const { session_name, sessid, token } = reply.json<Record<string, string>>();
      return { cookie: `${session_name}=${sessid}`, 'x-csrf-token': token ?? '' };
    },
  };
};

const body = { type: 'dataset', title: 'x' };

const token = async (cwd: string, ...args: [Parameters<typeof portalTokenCommand>[0], object?]): Promise<CommandIo> => {
  const command = commandIo(cwd);
  await portalTokenCommand(args[0], args[1] ?? {}, command.io);
  return command;
};

describe('tokens', () => {
  it.each([
    [true, 200],
    [false, 403],
  ])('%s: a write with an access token answers %i', async (tokens, status) => {
    const cwd = placeWith(local({ tokens }));
    const { send } = await serve(cwd);
    const made = await token(cwd, { action: 'add', user: 'ann' });
    const headers = { authorization: `Bearer ${made.out().trim()}` };
    expect((await send('POST', '/api/dataset/node', { body, headers })).status).toBe(status);
    expect(made.err()).toBe(tokens ? '' : 'tokens are off: set portals.local.tokens: true in the configuration\n');
  });

  it('of the portal that --portal names are listed and revoked', async () => {
    const cwd = placeWith({ a: { kind: 'embedded', tokens: true }, b: local({ tokens: true }).local });
    const { send } = await serve(cwd, { portal: 'b' });
    const made = await token(cwd, { action: 'add', user: 'bob' }, { portal: 'b', label: 'night' });
    const headers = { authorization: `Bearer ${made.out().trim()}` };
    expect((await token(cwd, { action: 'list' }, { portal: 'b' })).out()).toMatch(/^1\tbob\t.*\tnight\n$/);
    await token(cwd, { action: 'revoke', id: '1' }, { portal: 'b' });
    expect((await send('POST', '/api/dataset/node', { body, headers })).status).toBe(401);
    await expect(token(cwd, { action: 'list' }, { portal: 'a' })).rejects.toThrow('there is no portal store');
  });
});

const sluice = (...args: string[]): Promise<Ended> => runHere(['portal', ...args], { cwd: tempDir(), env: {} });

it('sluice portal refuses an unknown profile and names the known ones', async () => {
  const { code, err } = await sluice('--profile', 'bogus');
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/'bogus' is invalid\. Allowed choices are spec, dkan-7\.18\.16, /),
  ]);
});

it('sluice portal --close ends every connection after its reply', async () => {
  const { send } = await serve(tempDir(), { data: 'store', close: true });
  const { headers } = await send('GET', '/api/dataset/node');
  expect([headers.connection, headers['content-length'], headers['transfer-encoding']]).toEqual([
    'close',
    undefined,
    undefined,
  ]);
});

describe('sluice portal token', () => {
  it('takes the options of `sluice portal` before and after its own words', async () => {
    const cwd = placeWith(local({ dataDir: 'store' }));
    await serve(cwd);
    const data = join(cwd, 'config/store');
    expect((await sluice('token', 'add', 'ann', '--label', 'night', '--data', data)).out).toMatch(/^[\w-]{43}\n$/);
    const listed = await sluice('--data', data, 'token', 'list', '--json');
    expect(JSON.parse(listed.out).tokens).toMatchObject([{ id: 1, user: 'ann', label: 'night' }]);
    expect(await sluice('token', 'revoke', '1', '--data', data)).toMatchObject({ code: 0, out: '' });
    expect((await sluice('token', 'list', '--config', join(cwd, 'config/sluice.yaml'))).out).toBe('');
    expect((await sluice('token', 'revoke', '1', '--data', data)).code).toBe(2);
  });
});

describe('xmlrpc', () => {
  const call = '<methodCall><methodName>node.index</methodName><params/></methodCall>';
  const headers = { 'content-type': 'text/xml' };

  it('true: it answers at /api/xmlrpc', async () => {
    const { send } = await serve(placeWith(local({ xmlrpc: true })));
    const reply = await send('POST', '/api/xmlrpc', { body: call, headers });
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('<methodResponse><params>')]);
  });

  it('false: nothing is there', async () => {
    const { send } = await serve(placeWith(local({ xmlrpc: false })));
    expect((await send('POST', '/api/xmlrpc', { body: call, headers })).status).toBe(404);
  });

  it('takes an access token instead of a session where both are on', async () => {
    const cwd = placeWith(local({ xmlrpc: true, tokens: true }));
    const { send } = await serve(cwd);
    const made = await token(cwd, { action: 'add', user: 'ann' });
    const create =
      '<methodCall><methodName>node.create</methodName><params><param><value><struct><member><name>type</name><value>dataset</value></member><member><name>title</name><value>t</value></member></struct></value></param></params></methodCall>';
    const authorization = `Bearer ${made.out().trim()}`;
    const reply = await send('POST', '/api/xmlrpc', { body: create, headers: { ...headers, authorization } });
    expect(reply.text).toContain('<name>nid</name>');
  });
});

describe('roles', () => {
  const statusOfEdit = async (roles: Record<string, string[]>): Promise<number[]> => {
    const { send, login } = await serve(placeWith(local({ roles })));
    const [ann, bob] = [await login('ann'), await login('bob')];
    const made = await send('POST', '/api/dataset/node', { body, headers: ann });
    const path = `/api/dataset/node/${made.json<{ nid: string }>().nid}`;
    const own = await send('PUT', path, { body: { title: 'y' }, headers: ann });
    const other = await send('PUT', path, { body: { title: 'z' }, headers: bob });
    return [own.status, other.status];
  };

  it('without the key may do what they may by default', async () => {
    expect(await statusOfEdit({})).toEqual([200, 200]);
  });

  it('may do what the key grants, and no more', async () => {
    expect(await statusOfEdit({ 'content creator': ['create content'], editor: [] })).toEqual([403, 403]);
  });

  it('of the key can be given to accounts of the users file', async () => {
    const cwd = placeWith(local({ roles: { reviewer: ['edit any content'] } }));
    writeText(cwd, 'config/users.yaml', users.replace('[editor]', '[reviewer]'));
    const { send, login } = await serve(cwd);
    const nid = (await send('POST', '/api/dataset/node', { body, headers: await login('ann') })).json().nid;
    const headers = await login('bob');
    expect((await send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'y' }, headers })).status).toBe(200);
    expect((await send('POST', '/api/dataset/node', { body, headers })).status).toBe(403);
  });
});

describe('expose', () => {
  it('hides what it does not name, with the recorded 404', async () => {
    const { send, login } = await serve(placeWith(local({ expose: { node: ['index'], user: ['login'] } })));
    const headers = await login('ann');
    expect((await send('GET', '/api/dataset/node')).status).toBe(200);
    const replies = await Promise.all([
      send('POST', '/api/dataset/node', { body, headers }),
      send('GET', '/api/dataset/node/1'),
      send('GET', '/api/dataset/datastore/1', { headers }),
    ]);
    expect(replies.map(({ reason }) => reason)).toEqual([
      'Not found : Could not find the controller.',
      'Not found : Could not find the controller.',
      'Not found : Could not find resource datastore.',
    ]);
  });
});

describe('publicUrl', () => {
  it('is in answers, and does not keep our own client out', async () => {
    const cwd = placeWith(local({ publicUrl: 'https://data.example.org' }));
    const { send } = await serve(cwd);
    const login = await send('POST', '/api/dataset/user/login', { body: { username: 'ann', password: 'pass' } });
    expect(String(login.headers['set-cookie'])).toContain('; secure');
    const config = await loadConfig({ file: undefined, cwd, env: {} });
    const access = portalAccess(config, createLog({ level: 'silent' }));
    running.push(() => access.close());
    // The store is served by the command: the client finds that process and logs in as sluice's own account.
    const portal = await access.open('local');
    const { signal } = new AbortController();
    expect(await portal.session.identity(signal)).toMatchObject({ name: 'sluice' });
    const node = { type: 'dataset', title: 'x', status: 1, uuid: crypto.randomUUID(), log: '', fields: {} } as const;
    expect(await portal.createNode(node, signal)).toEqual({ nid: '1' });
  });
});

describe('options and configuration', () => {
  it('options take precedence over the file', async () => {
    const cwd = placeWith(local({ profile: 'dkan-7.14', dataDir: 'of-file' }));
    const one = await serve(cwd, { profile: 'spec', data: 'given' });
    expect(one.command.out()).toContain(`(profile spec, store ${join(cwd, 'given')})`);
    const two = await serve(cwd);
    expect(two.command.out()).toContain(`(profile dkan-7.14, store ${join(cwd, 'config/of-file')})`);
  });

  it('--config names another file, --state the folder of its stores', async () => {
    const cwd = tempDir();
    writeText(cwd, 'other.yaml', 'portals: { mine: { kind: embedded } }');
    const { command } = await serve(cwd, { config: 'other.yaml', state: 'st' });
    expect(command.out()).toContain(`store ${join(cwd, 'st/portal/mine')}`);
  });

  it('a configuration of remote portals only leaves the default portal', async () => {
    const remote = { kind: 'remote', url: 'https://x.example.org', username: 'u', password: { file: 'pw' } };
    const cwd = placeWith({ city: remote });
    writeText(cwd, 'config/pw', 'x');
    const { command } = await serve(cwd);
    expect(command.out()).toContain(`store ${join(cwd, '.sluice/portal/local')}`);
    const start = (options: PortalCommandOptions) => portalCommand(options, commandIo(cwd).io);
    await expect(start({ portal: 'city' })).rejects.toThrow('the portal city is not embedded');
    await expect(start({ config: 'config/sluice.yaml' })).rejects.toThrow('has no embedded portal');
  });

  it('one of several embedded portals must be named', async () => {
    const cwd = placeWith({ a: { kind: 'embedded' }, b: { kind: 'embedded' } });
    const refused = expect.objectContaining({ code: 'usage', hint: 'name one: --portal a, --portal b' });
    await expect(portalCommand({}, commandIo(cwd).io)).rejects.toEqual(refused);
  });

  it('oauth is refused before anything is started', async () => {
    const cwd = placeWith(local({ oauth: {} }));
    await expect(portalCommand({}, commandIo(cwd).io)).rejects.toThrow('portals.local.oauth: OAuth is not supported');
  });

  it('backup copies the store of the configured portal', async () => {
    const cwd = placeWith(local({ dataDir: 'store' }));
    await serve(cwd);
    const command = commandIo(cwd);
    expect(await portalBackupCommand('copy', {}, command.io)).toBe(0);
    expect(command.out()).toContain(`in ${join(cwd, 'copy')}`);
  });
});
