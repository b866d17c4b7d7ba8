// How an error that ended a command is told: to people, and to programs with `--json`.
import { ConfigError, ManifestError, reasonOf, SluiceError } from '../model/errors.ts';

/** What went wrong and what to do; of a bug where it happened. */
export const errorText = (error: unknown): string => {
  if (error instanceof SluiceError) return `sluice: ${error.message}${error.hint ? `\n-> ${error.hint}` : ''}`;
  return `sluice: a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
};

/** `{"error": {code, message, hint, …}}`; of a faulty file with its `problems`. */
export const errorJson = (error: unknown): string => {
  const problems = error instanceof ConfigError || error instanceof ManifestError ? { problems: error.problems } : {};
  return JSON.stringify({ error: { ...reasonOf(error), ...problems } }, null, 2);
};
