// Finds, reads and resolves the configuration.
import { access } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ConfigError, type FileProblem } from '../model/errors.ts';
import { checkDocument } from '../model/yaml/check.ts';
import { readYaml } from '../model/yaml/document.ts';
import { addressProblems } from './addresses.ts';
import type { Config } from './config.ts';
import { choosePortal } from './one-off.ts';
import { resolveReferences } from './references.ts';
import { resolveConfig } from './resolve.ts';
import { type ConfigFile, configFileSchema } from './schema.ts';
import { withoutUnsupported } from './unsupported.ts';

/** How the configuration is found. */
export interface LoadConfigOptions {
  /** `--config`, relative to `cwd`; without it `config/sluice.yaml` below `cwd` where that exists. */
  file: string | undefined;
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** `--portal`: the name of a configured portal, or the address of another. */
  portal?: string | undefined;
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
  const path = await findFile(options.file, cwd);
  const { file, secrets } = path === null ? { file: {}, secrets: new Map() } : await readConfig(path, options);
  const config = resolveConfig(file, { path, dir: path === null ? cwd : dirname(path), stateDir, env, secrets });
  return options.portal === undefined ? config : choosePortal(config, options.portal, env);
};

/** Absolute path of the configuration file; null when there is none and none was asked for. */
const findFile = async (asked: string | undefined, cwd: string): Promise<string | null> => {
  if (asked !== undefined) return resolve(cwd, asked);
  const usual = resolve(cwd, 'config', 'sluice.yaml');
  return access(usual).then(
    () => usual,
    () => null,
  );
};

const readConfig = async (
  path: string,
  { env }: LoadConfigOptions,
): Promise<{ file: ConfigFile; secrets: Map<string, string> }> => {
  const { document, problems } = await readYaml(path);
  if (document === null) throw new ConfigError(problems);
  const resolved = await resolveReferences(document, { env, dir: dirname(path) });
  const supported = withoutUnsupported(document, resolved.value);
  const checked = checkDocument(document, configFileSchema, supported.value);
  const addresses = addressProblems(document, resolved.value, resolved.secrets);
  const all = [...resolved.problems, ...supported.problems, ...checked.problems, ...addresses];
  if (checked.value === null || all.length > 0) throw new ConfigError(all.sort(byPlace));
  return { file: checked.value, secrets: resolved.secrets };
};

const byPlace = (a: FileProblem, b: FileProblem): number => a.line - b.line || a.column - b.column;
