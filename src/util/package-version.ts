// The version of this program.
import { readFileSync } from 'node:fs';

/** The version that package.json states, beside `src` and `dist` alike. */
export const packageVersion = (): string => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return String((JSON.parse(text) as { version: unknown }).version); // our own file
};
