// Writes YAML files for tests, and gives faults as short lines.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError, ManifestError } from '../../src/model/errors.ts';

/** Writes `text` to `name` in `dir` (folders are made) and returns the path. */
export const writeText = (dir: string, name: string, text: string | Uint8Array): string => {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
};

/** The problems that `load` is refused with, as `line:column key: message`; throws when it is not refused. */
export const problemsOf = async (load: Promise<unknown>): Promise<string[]> => {
  const error = await load.then(
    () => new Error('it was accepted'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigError) && !(error instanceof ManifestError)) throw error;
  return error.problems.map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`);
};
