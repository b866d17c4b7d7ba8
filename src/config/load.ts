// Finds, reads and resolves the configuration, and chooses the portal of `--portal`.
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { byPlace, ConfigError, type FileProblem, UsageError } from '../model/errors.ts';
import { checkDocument } from '../model/yaml/check.ts';
import { readYaml } from '../model/yaml/document.ts';
import { nearest } from '../model/yaml/nearest.ts';
import { recordOf } from '../util/json.ts';
import { addressProblems, normalUrl, portalUrlFault } from './addresses.ts';
import { type Config, type PortalConfig, remotePortal, resolveConfig } from './config.ts';
import { redacting, resolveReferences } from './references.ts';
import { configFileSchema } from './schema.ts';

interface LoadConfigOptions {
  /** `--config`, relative to `cwd`; without it `config/sluice.yaml` below `cwd` where that exists. */
  file: string | undefined;
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** `--portal`: the name of a configured portal, or the address of another. */
  portal?: string | undefined;
  /** True: a portal that is only read needs no login. */
  isReadOnly?: boolean | undefined;
  /** `--state`, relative to `cwd`; `.sluice` when absent. */
  stateDir?: string | undefined;
}

/**
 * Loads the configuration: file, defaults, secrets and `--portal`. Without any file the defaults hold (one embedded portal
 * `local`). Throws ConfigError with all problems of the file at once, UsageError for a wrong `--portal`.
 */
export const loadConfig = async (options: LoadConfigOptions): Promise<Config> => {
  const { cwd, env } = options;
  const stateDir = resolve(cwd, options.stateDir ?? '.sluice');
  const path = findFile(options.file, cwd);
  const { file, secrets } = path === null ? { file: {}, secrets: new Map() } : await readConfig(path, env);
  const config = resolveConfig(file, { path, dir: path === null ? cwd : dirname(path), stateDir, env, secrets });
  return options.portal === undefined ? config : choosePortal(config, options.portal, options);
};

/** Absolute path of the configuration file; null when there is none and none was requested. */
const findFile = (asked: string | undefined, cwd: string): string | null => {
  if (asked !== undefined) return resolve(cwd, asked);
  const usual = resolve(cwd, 'config', 'sluice.yaml');
  return existsSync(usual) ? usual : null;
};

const readConfig = async (path: string, env: NodeJS.ProcessEnv) => {
  const { document, problems } = await readYaml(path);
  if (document === null) throw new ConfigError(problems);
  const resolved = await resolveReferences(document, { env, dir: dirname(path) });
  const checked = checkDocument(document, configFileSchema, resolved.value);
  const faults = checked.problems.map((problem) => withoutOauth(problem, resolved.value));
  const addresses = addressProblems(document, resolved.value, resolved.secrets);
  const all = [...resolved.problems, ...faults, ...addresses];
  if (checked.value === null || all.length > 0) throw new ConfigError(all.sort(byPlace));
  return { file: checked.value, secrets: resolved.secrets };
};

/**
 * Returns `config` with `portal` set to the one that `wanted` names; the address of an unknown portal adds it, with
 * SLUICE_USERNAME and SLUICE_PASSWORD. The same two fill in what a named portal lacks. Throws UsageError.
 */
const choosePortal = (config: Config, wanted: string, { env, isReadOnly = false }: LoadConfigOptions): Config => {
  if (!/^[a-z]+:\/\//i.test(wanted)) return named(config, wanted, env);
  const fault = portalUrlFault(wanted);
  if (fault !== null) throw new UsageError(`--portal: the address ${fault}`);
  const url = normalUrl(wanted);
  const known = Object.values(config.portals).find((portal) => portal.kind === 'remote' && portal.url === url);
  if (known !== undefined) return named(config, known.name, env);
  const { SLUICE_USERNAME: username = '', SLUICE_PASSWORD: password = '' } = env;
  if ((username === '' || password === '') && !(isReadOnly && username === ''))
    throw new UsageError(`--portal ${url}: the login is missing`, {
      hint: 'set SLUICE_USERNAME and SLUICE_PASSWORD in the environment, or name the portal in a configuration file',
    });
  const name = portalNameOf(url);
  const secrets = new Map([[`portals.${name}.password`, password]]);
  return withPortal(config, remotePortal(name, { kind: 'remote', url, username }, { secrets }));
};

/** A portal by its name; UsageError naming the configured ones where there is none of that name. */
export const portalNamed = (config: Config, name: string): PortalConfig => {
  const portal = Object.hasOwn(config.portals, name) ? config.portals[name] : undefined;
  if (portal !== undefined) return portal;
  const names = Object.keys(config.portals);
  const meant = nearest(name, names);
  throw new UsageError(`unknown portal \`${name}\`${meant ? `; did you mean \`${meant}\`?` : ''}`, {
    hint: `configured: ${names.join(', ') || 'none'}; --portal also takes an address that begins with http:// or https://`,
  });
};

const named = (config: Config, name: string, env: NodeJS.ProcessEnv): Config => {
  const portal = portalNamed(config, name);
  const { SLUICE_USERNAME, SLUICE_PASSWORD } = env;
  const hasLogin = Boolean(portal.password) || (portal.kind === 'remote' && portal.token !== null);
  if (hasLogin || !SLUICE_PASSWORD) return withPortal(config, portal);
  const filled = { ...portal, username: SLUICE_USERNAME || portal.username, password: SLUICE_PASSWORD };
  return withPortal(config, redacting(filled, 'password'));
};

const withPortal = (config: Config, portal: PortalConfig): Config => ({
  ...config,
  portals: { ...config.portals, [portal.name]: portal },
  portal: portal.name,
});

/** The name of a portal that is known by its address alone: host, port and path with dashes. */
export const portalNameOf = (url: string): string =>
  url
    .replace(/^https?:\/\//, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 64);

/** An unknown key `oauth` of a portal is no misspelling: the problem says what takes its place. */
const withoutOauth = (problem: FileProblem, value: unknown): FileProblem => {
  const [, name] = /^portals\.(.+)\.oauth$/.exec(problem.key) ?? [];
  if (name === undefined) return problem;
  const isRemote = recordOf(recordOf(recordOf(value).portals)[name]).kind === 'remote';
  const instead = isRemote ? '`username` and `password`' : 'sessions, or access tokens (`tokens: true`)';
  return { ...problem, message: `OAuth is not supported; use ${instead}` };
};
