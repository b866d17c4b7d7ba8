import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Path of a program for a process to start from: in the bundle where there is one, else the source file. */
export const bundled = (source: URL): string => {
  const path = fileURLToPath(source);
  const folder = process.env.SLUICE_BUNDLE;
  return folder === undefined ? path : join(folder, `${basename(path, '.ts')}.mjs`);
};
