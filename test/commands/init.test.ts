import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkCommand } from '../../src/commands/check.ts';
import { type InitOptions, initCommand } from '../../src/commands/init.ts';
import { loadConfig } from '../../src/config/load.ts';
import { startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { InterruptedError, UsageError } from '../../src/model/errors.ts';
import { createLog } from '../../src/model/log.ts';
import { placeRule } from '../../src/sources/drop/drop-target.ts';
import { loadManifest } from '../../src/sources/manifest/load.ts';
import { isDropManifest } from '../../src/sources/manifest/schema.ts';
import { commandIo } from '../support/command-io.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';
import { writeText } from '../support/yaml-file.ts';

const secret = 'ope:n #sesame"';

const init = async (dir: string, options: InitOptions = {}, env: NodeJS.ProcessEnv = {}) => {
  const { io, out } = commandIo(dir, { env });
  const code = await initCommand('.', options, io);
  return { code, out: out() };
};

const portal = async () => {
  const server = await startPortalServer({
    dataDir: join(tempDir(), 'portal'),
    users: [{ name: 'ann', password: secret, roles: ['content creator'] }],
    log: createLog({ level: 'silent' }),
  });
  onTestFinished(() => server.close());
  return server;
};

describe('init without questions', () => {
  it('writes a configuration, manifests and a table that check finds sound', async () => {
    const dir = tempDir();
    expect((await init(dir)).code).toBe(0);
    expect(readdirSync(dir, { recursive: true }).sort()).toEqual([
      '.gitignore',
      'config',
      'config/config.schema.json',
      'config/manifest.schema.json',
      'config/sluice.yaml',
      'data',
      'data/first.csv',
      'inbox',
      'jobs',
      'jobs/first.yaml',
      'jobs/inbox.yaml',
    ]);
    const { io, out } = commandIo(dir);
    expect(await checkCommand([], {}, io)).toBe(0);
    expect(out()).toMatch(/^4 files, all sound$/m);
    expect(await loadManifest(join(dir, 'jobs/inbox.yaml'))).toMatchObject({ drop: { folder: join(dir, 'inbox') } });
  });

  it('names the next three commands, and the folder to go to', async () => {
    const dir = tempDir();
    const { io, out } = commandIo(dir);
    await initCommand('my-city', {}, io);
    expect(out()).toMatch(
      /Next:\n {2}cd my-city\n {2}sluice check .*\n {2}sluice publish jobs\/first\.yaml .*\n {2}sluice start/,
    );
  });

  it.each([
    ["Ann's city", "cd 'Ann'\\''s city'"],
    ['köln/2026', 'cd köln/2026'],
  ])('names the folder %s so that a shell takes it', async (folder, command) => {
    const { io, out } = commandIo(tempDir());
    await initCommand(folder, {}, io);
    expect(out()).toContain(`Next:\n  ${command}\n`);
  });

  it('keeps the password out of the configuration, in a file that only its owner may read', async () => {
    const dir = tempDir();
    const { url } = await portal();
    writeText(dir, 'pw', `${secret}\n`);
    const { code, out } = await init(dir, { url: `${url}/`, username: 'ann', passwordFile: 'pw' });
    expect(code).toBe(0);
    expect(out).toMatch(/ok {2}logged in as ann/);
    expect(out).not.toContain(secret);
    const name = new URL(url).host.replace(':', '-');
    expect(statSync(join(dir, `config/${name}.password`)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(dir, 'config/sluice.yaml'), 'utf8')).not.toContain(secret);
    const config = await loadConfig({ file: undefined, cwd: dir, env: {} });
    expect(config.portals[name]).toMatchObject({ kind: 'remote', url, username: 'ann' });
    expect(config.portals[name]?.password).toBe(secret);
    expect(await loadManifest(join(dir, 'jobs/first.yaml'))).toMatchObject({ portal: name });
  });

  it('takes the login from the environment, too', async () => {
    const dir = tempDir();
    const { url } = await portal();
    const { out } = await init(dir, { url, json: true }, { SLUICE_USERNAME: 'ann', SLUICE_PASSWORD: secret });
    expect(JSON.parse(out)).toMatchObject({ folder: dir, kept: [], portal: { ok: true, login: { name: 'ann' } } });
  });

  it('writes a sample for a portal elsewhere as a draft, so that no visitor sees it', async () => {
    const dir = tempDir();
    const { url } = await portal();
    const { out } = await init(dir, { url, username: 'ann' }, { SLUICE_PASSWORD: secret });
    expect(out).toContain('# publish the sample, as a draft\n');
    const manifest = await loadManifest(join(dir, 'jobs/first.yaml'));
    expect(manifest).toMatchObject({
      datasets: [{ details: { published: false }, resources: [{ details: { published: false } }] }],
    });
  });

  it('writes an inbox that takes every kind of table, and fixes what has one possible fix', async () => {
    const dir = tempDir();
    await init(dir, { yes: true });
    const manifest = await loadManifest(join(dir, 'jobs/inbox.yaml'));
    if (!isDropManifest(manifest)) throw new Error('no inbox');
    expect(manifest.defaults.resource.mend).toBe('safe');
    const placed = placeRule({ files: manifest.drop.files, marker: '.done' });
    for (const name of ['a.csv', 'd/a.TSV', 'd/a.xlsx', 'd/a.xlsm', 'a.json', 'a.geojson', 'a.zip', 'd/a.csv.gz'])
      expect(placed(name).kind, name).toBe('file');
    const advice = expect.stringMatching(/xlsx.*: save it as one of these, add its ending to `files`/);
    for (const name of ['a.xls', 'd/a.ods', 'a.pdf']) expect(placed(name)).toEqual({ kind: 'left', reason: advice });
  });

  it('reports what is wrong with the portal and writes the files all the same', async () => {
    const dir = tempDir();
    const { url } = await portal();
    const { code, out } = await init(dir, { url, username: 'ann' }, { SLUICE_PASSWORD: 'wrong' });
    expect(code).toBe(0);
    expect(out).toMatch(/NO {2}.*login/);
    expect(out).toMatch(/The portal is not ready/);
    expect(readdirSync(join(dir, 'config'))).toHaveLength(4);
  });

  it('refuses before anything is written when a configuration is there', async () => {
    const dir = tempDir();
    const path = writeText(dir, 'config/sluice.yaml', 'portals: {}\n');
    await expect(init(dir)).rejects.toThrow(`${path} already exists; nothing was written`);
    expect(readFileSync(path, 'utf8')).toBe('portals: {}\n');
    expect(readdirSync(dir)).toEqual(['config']);
  });

  it.each(['', 'config', 'jobs', 'inbox'])(
    'says that it cannot write where a file is in the way: folder/%s',
    async (name) => {
      const dir = tempDir();
      writeText(dir, join('folder', name), 'a file\n');
      await expect(init(join(dir, 'folder'))).rejects.toThrow(`the folder ${join(dir, 'folder')} cannot be written to`);
    },
  );

  it('never replaces a password file', async () => {
    const dir = tempDir();
    const path = writeText(dir, 'config/city.example.password', 'old\n');
    const options = { url: 'http://city.example', username: 'ann' };
    await expect(init(dir, options, { SLUICE_PASSWORD: secret })).rejects.toThrow(/already exists/);
    expect(readFileSync(path, 'utf8')).toBe('old\n');
    expect(readdirSync(join(dir, 'config'))).toEqual(['city.example.password']);
  });

  it('keeps a sample that is there, names it, and goes by its inbox', async () => {
    const dir = tempDir();
    const text = 'name: drops\ndrop: { folder: ../in }\n';
    const path = writeText(dir, 'jobs/inbox.yaml', text);
    const { code, out } = await init(dir);
    expect(code).toBe(0);
    expect(out).toMatch(/^kept {2}jobs\/inbox\.yaml, which already exists$/m);
    expect(out).toMatch(/drop tables into in\/$/m);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it.each([
    ['a missing user name', { url: 'http://city.example' }, {}, /the user name .* is missing/],
    ['a missing password', { url: 'http://city.example', username: 'ann' }, {}, /the password .* is missing/],
    ['an address that is none', { url: 'city.example' }, {}, /--url must be a full address/],
    ['a password file that is not there', { passwordFile: 'gone' }, {}, /--password-file: gone cannot be read/],
  ])('refuses %s', async (_, options, env, message) => {
    const dir = tempDir();
    const failure = init(dir, options, env);
    await expect(failure).rejects.toThrow(message);
    await expect(failure).rejects.toThrow(UsageError);
    expect(readdirSync(dir).filter((name) => name !== 'gone')).toEqual([]);
  });
});

describe('init on a terminal', () => {
  const talk = (dir: string, options: InitOptions = {}) => {
    const { io, input, out } = commandIo(dir, { terminal: true });
    const ended = initCommand('.', options, io).catch((error: unknown) => error);
    const answer = async (question: RegExp, text: string): Promise<void> => {
      await waitUntil(String(question), () => question.test(out()));
      input.write(text);
    };
    return { answer, out, ended };
  };

  it('asks for address, user and password and does not show the password', async () => {
    const dir = tempDir();
    const { url } = await portal();
    const { answer, out, ended } = talk(dir);
    await answer(/Address of the portal/, 'data.example.org\r');
    await answer(/must be a full address[\s\S]*Address of the portal/, `${url}\r`);
    await answer(/User name/, 'ann\r');
    await answer(/Password \(not shown\): /, `${secret}\r`);
    expect(await ended).toBe(0);
    expect(out()).toMatch(/ok {2}logged in as ann/);
    expect(out()).not.toContain(secret);
    expect(readFileSync(join(dir, `config/${new URL(url).host.replace(':', '-')}.password`), 'utf8')).toBe(
      `${secret}\n`,
    );
  });

  it('asks again while the portal refuses the login, keeps the last one, and names its file', async () => {
    const dir = tempDir();
    const { url } = await portal();
    const { answer, out, ended } = talk(dir);
    await answer(/Address of the portal/, `${url}\rann\rwrong\r`);
    await answer(/User name on the portal \[ann\]: /, '\r');
    await answer(/Password[\s\S]*Password \(not shown\): $/, `${secret}\r`);
    expect(await ended).toBe(0);
    const file = `config/${new URL(url).host.replace(':', '-')}.password`;
    expect(out()).toContain(`The password is in ${file}, readable by its owner only.`);
    expect(out()).toMatch(/ok {2}logged in as ann/);
    expect(readFileSync(join(dir, file), 'utf8')).toBe(`${secret}\n`);
    expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
  });

  it('takes answers that were typed ahead', async () => {
    const dir = tempDir();
    const { url } = await portal();
    const { answer, ended } = talk(dir);
    await answer(/Address of the portal/, `${url}\rann\r${secret}\r`);
    expect(await ended).toBe(0);
    expect((await loadConfig({ file: undefined, cwd: dir, env: {} })).portals).toMatchObject({
      [new URL(url).host.replace(':', '-')]: { username: 'ann' },
    });
  });

  it('takes the embedded portal for an empty address', async () => {
    const dir = tempDir();
    const { answer, ended } = talk(dir);
    await answer(/Address of the portal/, '\r');
    expect(await ended).toBe(0);
    expect(readFileSync(join(dir, 'config/sluice.yaml'), 'utf8')).toMatch('kind: embedded');
  });

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('writes nothing after %s', async (_, key) => {
    const dir = tempDir();
    const { answer, ended } = talk(dir);
    await answer(/Address of the portal/, key);
    expect(await ended).toBeInstanceOf(InterruptedError);
    expect(readdirSync(dir)).toEqual([]);
  });

  it('asks nothing with --yes', async () => {
    expect(await talk(tempDir(), { yes: true }).ended).toBe(0);
  });
});
