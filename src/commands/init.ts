// `sluice init`: prompts for the portal and writes a configuration and manifests to begin with.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { normalUrl, portalUrlFault } from '../config/addresses.ts';
import { loadConfig, portalNameOf } from '../config/load.ts';
import { InterruptedError, SluiceError, UsageError, unreadable } from '../model/errors.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import { isDropManifest } from '../sources/manifest/schema.ts';
import { makeFolder } from '../util/files.ts';
import { type PortalFinding, portalLines, probePortal } from './check-portal.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import {
  type ChosenPortal,
  configPath,
  inboxFolder,
  type NewFile,
  sampleFiles,
  schemaFiles,
  settingsFiles,
} from './init-files.ts';
import { type CommonOptions, exitCodes, type Io, print, say, unwritable } from './io.ts';
import { canPrompt, openPrompt } from './prompt.ts';
import { oneOffLog } from './session.ts';
import { lines, shellWord } from './text.ts';

/** Missing options are prompted for on a terminal. */
export interface InitOptions extends CommonOptions {
  /** Address of the portal; the embedded one when absent. */
  url?: string;
  username?: string;
  passwordFile?: string;
  yes?: boolean;
}

/** Writes configuration and samples below `folder`, probes the portal. @throws UsageError before it writes */
export const initCommand = async (folder: string, options: InitOptions, io: Io): Promise<number> => {
  const root = resolve(io.cwd, folder);
  refuseExisting(root, [{ path: configPath }]);
  const portal = await choosePortal(options, io);
  const settings = settingsFiles(portal);
  refuseExisting(root, settings);
  const [written, kept]: [string[], string[]] = [[], []];
  for (const file of [...settings, ...(await schemaFiles()), ...(await sampleFiles(portal))]) {
    ((await writeNew(root, file)) ? written : kept).push(file.path);
  }
  // Of an inbox manifest that was there already, the folder that it names; `check` reports a faulty one.
  const manifest = await loadManifest(join(root, 'jobs/inbox.yaml')).catch(() => null);
  const inbox = manifest && isDropManifest(manifest) ? relative(root, manifest.drop.folder) : inboxFolder;
  await addFolder(root, inbox);
  const probe = await probeUntilLogin(root, portal, options, io);
  const password = settings.find(({ secret }) => secret)?.path;
  const shown = relative(io.cwd, root);
  const text = lines(
    probe && [portalLines(probe), ''],
    written.map((path) => `wrote ${join(shown, path)}`),
    kept.map((path) => `kept  ${join(shown, path)}, which already exists`),
    '',
    password && [`The password is in ${join(shown, password)}, readable by its owner only.`, ''],
    probe?.ok === false && ['The portal is not ready, see NO above; the files were written anyway.', ''],
    'Next:',
    shown !== '' && `  cd ${shellWord(shown)}`,
    '  sluice check                      # configuration, manifests and tables',
    `  sluice publish jobs/first.yaml    # publish the sample${portal.url === null ? '' : ', as a draft'}`,
    `  sluice start                      # the service: drop tables into ${inbox}/`,
  );
  print(io, options, { json: { folder: root, written, kept, portal: probe }, lines: text });
  return exitCodes.ok;
};

const refuseExisting = (root: string, files: Pick<NewFile, 'path'>[]): void => {
  const exists = files.map(({ path }) => join(root, path)).find((path) => existsSync(path));
  if (exists === undefined) return;
  throw new UsageError(`${exists} already exists; nothing was written`, {
    hint: 'edit that file, or choose another folder: sluice init FOLDER',
  });
};

/** Writes a file that is not there yet; false when it is. */
const writeNew = async (root: string, { path, text, secret }: NewFile): Promise<boolean> => {
  await addFolder(root, dirname(path));
  try {
    await writeFile(join(root, path), text, { flag: 'wx', mode: secret ? 0o600 : 0o644 });
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw unwritable(root, cause, 'sluice init FOLDER');
  }
};

const addFolder = (root: string, path: string): Promise<unknown> =>
  makeFolder(join(root, path)).catch((cause: unknown) => {
    throw unwritable(root, cause, 'sluice init FOLDER');
  });

const choosePortal = async (options: InitOptions, io: Io): Promise<ChosenPortal> => {
  const username = options.username ?? (options.url ? io.env.SLUICE_USERNAME : undefined);
  const given = { url: options.url, username, password: await passwordGiven(options, io) };
  if (options.yes || !canPrompt(io)) return chosen(given);
  using prompt = openPrompt(io);
  const url = given.url ?? (await promptUrl(prompt, io));
  if (url === '') return chosen({ ...given, url });
  return chosen({
    url,
    username: given.username || (await prompt.line('User name on the portal')),
    password: given.password ?? (await prompt.secret('Password')),
  });
};

const passwordGiven = async ({ passwordFile }: InitOptions, { cwd, env }: Io): Promise<string | undefined> => {
  if (passwordFile === undefined) return env.SLUICE_PASSWORD || undefined;
  try {
    return (await readFile(resolve(cwd, passwordFile), 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    throw new UsageError(`--password-file: ${passwordFile} cannot be read: ${unreadable(cause).why}`, {
      hint: 'the file must hold the password and nothing else',
      cause,
    });
  }
};

const promptUrl = async (prompt: ReturnType<typeof openPrompt>, io: Io): Promise<string> => {
  say(io, 'The portal to publish to, such as https://data.example.org; empty for the embedded one');
  for (;;) {
    const url = await prompt.line('Address of the portal');
    const fault = url === '' ? null : portalUrlFault(url);
    if (fault === null) return url;
    say(io, `  The address ${fault}.`);
  }
};

const chosen = (answers: Record<'url' | 'username' | 'password', string | undefined>): ChosenPortal => {
  const fault = answers.url ? portalUrlFault(answers.url) : null;
  if (fault !== null) throw new UsageError(`--url ${fault}`, { hint: 'for example https://data.example.org' });
  const url = answers.url ? normalUrl(answers.url) : null;
  const [username, password] = [answers.username || null, answers.password || null];
  const hasBoth = username !== null && password !== null;
  if (url !== null && !hasBoth)
    throw new UsageError(`the ${username === null ? 'user name' : 'password'} for ${url} is missing`, {
      hint: 'use --username, and --password-file or SLUICE_PASSWORD, or answer on a terminal',
    });
  // The embedded portal has its own account for sluice; another account needs both.
  const login = hasBoth ? { username, password } : { username: null, password: null };
  return { name: url === null ? 'local' : portalNameOf(url), url, ...login };
};

/** Probes a remote portal; on a terminal, prompts up to twice again for a refused login and stores the last one typed. */
const probeUntilLogin = async (root: string, portal: ChosenPortal, options: InitOptions, io: Io) => {
  let chosen = portal;
  // With the configuration just written, which tests that as well.
  const probeChosen = async (): Promise<PortalFinding | null> => {
    if (chosen.url === null) return null;
    const config = await loadConfig({ file: join(root, configPath), cwd: root, env: io.env });
    if (!options.json) say(io, `Checking ${chosen.url} …`);
    try {
      return await probePortal(chosen.name, config, { log: oneOffLog(config, options, io), signal: io.stop });
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      say(io, `  ${error.message}`);
      return null;
    }
  };
  for (let asked = 1; ; asked += 1) {
    const probe = await probeChosen();
    const refused = probe?.login != null && 'code' in probe.login ? probe.login : null;
    if (refused?.code !== 'portal-login' || options.yes || !canPrompt(io) || asked === 3) return probe;
    say(io, `  ${refused.message}`);
    try {
      using prompt = openPrompt(io);
      const username = await prompt.line('User name on the portal', chosen.username ?? '');
      chosen = { ...chosen, username, password: await prompt.secret('Password') };
    } catch (error) {
      if (error instanceof InterruptedError) return probe; // what was written stays, to be edited
      throw error;
    }
    for (const { path, text } of settingsFiles(chosen)) await writeFile(join(root, path), text);
  }
};

export const commands = {
  init: {
    arguments: { '[folder]': { text: 'where to write', fallback: '.' } },
    options: {
      ...commonOptions,
      '--url <url>': 'address of the portal (default: use the embedded portal)',
      '--username <name>': 'user name on the portal',
      '--password-file <file>': 'file with the password (default: prompt)',
      '--yes': 'do not prompt',
    },
    examples: ['sluice init my-city'],
    run: initCommand,
  },
} satisfies CommandDeclarations;
