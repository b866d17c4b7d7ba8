// The embedded portal that `sluice portal` and its subcommands refer to, and its settings.
import { resolve } from 'node:path';
import { type Config, type EmbeddedPortalConfig, resolveConfig } from '../config/config.ts';
import { UsageError } from '../model/errors.ts';
import type { Io } from './io.ts';
import { configOf } from './session.ts';

/** Options that name the embedded portal. */
export interface PortalChoice {
  config?: string;
  state?: string;
  /** Name of an embedded portal of the configuration. */
  portal?: string;
  /** Folder of the store, relative to the working directory; takes precedence over the configuration. */
  data?: string;
}

/** An embedded portal, and whether a configuration file describes it. */
export interface ChosenEmbedded {
  portal: EmbeddedPortalConfig;
  fromFile: boolean;
}

/**
 * The embedded portal of `--portal`, else the only one of the configuration or its `local`; the default one where no file
 * was requested and none describes any. Throws ConfigError, UsageError when it is unclear which is meant.
 */
export const chosenEmbedded = async (options: PortalChoice, io: Io): Promise<ChosenEmbedded> => {
  const written = await configOf(options, io);
  const isSilent = options.config === undefined && embeddedOf(written).length === 0 && written.portal === null;
  const config = isSilent ? defaultConfig(written.stateDir, io) : written;
  const found = config.portal === null ? theOne(config) : config.portals[config.portal];
  if (found?.kind === 'embedded') {
    const { dataDir } = found;
    const portal = { ...found, dataDir: options.data === undefined ? dataDir : resolve(io.cwd, options.data) };
    return { portal, fromFile: config.file !== null };
  }
  const names = embeddedOf(config).map(({ name }) => name);
  const file = config.file ?? 'the default configuration';
  if (found !== undefined || names.length === 0) {
    const what = found === undefined ? `${file} has no embedded portal` : `the portal ${found.name} is not embedded`;
    throw new UsageError(what, { hint: `embedded portals of ${file}: ${names.join(', ') || 'none'}` });
  }
  throw new UsageError(`${file} has more than one embedded portal`, {
    hint: `name one: ${names.map((name) => `--portal ${name}`).join(', ')}`,
  });
};

/** Folder of the store that is meant; with `--data` no configuration is read. Throws what {@link chosenEmbedded} does. */
export const storeDirOf = async (options: PortalChoice, io: Io): Promise<string> =>
  options.data === undefined ? (await chosenEmbedded(options, io)).portal.dataDir : resolve(io.cwd, options.data);

const embeddedOf = (config: Config): EmbeddedPortalConfig[] =>
  Object.values(config.portals).flatMap((portal) => (portal.kind === 'embedded' ? [portal] : []));

const theOne = (config: Config): EmbeddedPortalConfig | undefined => {
  const all = embeddedOf(config);
  return all.length === 1 ? all[0] : all.find(({ name }) => name === 'local');
};

const defaultConfig = (stateDir: string, { cwd, env }: Io): Config =>
  resolveConfig({}, { path: null, dir: cwd, stateDir, env, secrets: new Map() });
