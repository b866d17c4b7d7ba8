// Declarations of commands: arguments, options and examples as `--help` shows them, and the function to run.
import { InvalidArgumentError } from 'commander';
import { durationMs } from '../util/quantity.ts';
import type { Io } from './io.ts';

export type Parameter =
  | string
  | { text: string; choices?: readonly string[]; fallback?: string; parse?: (text: string) => unknown };

/** A command; its description is in `program.ts`, so that `sluice --help` loads no command. */
export interface CommandDeclaration {
  /** By their form: `<manifest...>`. */
  arguments?: Record<string, Parameter>;
  /** By their flags: `-o, --output <file>`; {@link commonOptions} where they are left out. */
  options?: Record<string, Parameter>;
  examples: string[];
  /** Arguments as declared, then the options (with those of the commands above), then {@link Io}; returns the exit code. */
  run?(...given: never[]): Promise<number>;
  subcommands?: Record<string, Subcommand>;
}

export type Subcommand = CommandDeclaration & { description: string };

/** What a command file exports as `commands`, by name. */
export type CommandDeclarations = Record<string, CommandDeclaration>;

export const jsonOption = { '--json': 'print one JSON value on standard output and nothing else' };

export const placeOptions = {
  '--config <file>': 'configuration file (default: config/sluice.yaml if it exists)',
  '--state <dir>': 'state folder (default: .sluice)',
};

/** The options that all commands but those of the embedded portal take: `CommonOptions`. */
export const commonOptions = {
  ...placeOptions,
  '--portal <name|URL>': 'portal to use; with a URL, set SLUICE_USERNAME and SLUICE_PASSWORD',
  ...jsonOption,
  '--verbose': 'log every step on standard error',
};

export const refreshOption = {
  '--refresh': 'compare with the portal and refetch files from the web, instead of relying on local state',
};

/** Its value is in milliseconds. */
export const waitOption: Record<string, Parameter> = {
  '--wait <duration>': {
    text: 'time to wait for portals that are paused or do not answer (default: 60s)',
    parse: (text) => {
      try {
        return durationMs(text);
      } catch {
        throw new InvalidArgumentError('Expected a number with ms, s, m, h or d, such as 90s.');
      }
    },
  },
};

export const parseCount = (text: string): number => wholeNumber(text, [1, Number.MAX_SAFE_INTEGER], 'of at least 1');

export const parsePort = (text: string): number => wholeNumber(text, [0, 65535], 'from 0 to 65535');

const wholeNumber = (text: string, [least, most]: [number, number], which: string): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new InvalidArgumentError(`Expected a whole number ${which}.`);
};
