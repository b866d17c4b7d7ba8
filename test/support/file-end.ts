// What a test file has opened, ended when the file ends. Vitest's workers run one file after the other with the modules
// that they have loaded, so a hook that a helper registers on import would belong to the first file alone.
import { afterAll } from 'vitest';

type End = () => unknown;

declare global {
  var endsOfFile: End[] | undefined;
}

globalThis.endsOfFile ??= [];
const ends = globalThis.endsOfFile;

/** Calls it when the test file ends, whatever became of its tests; what was opened last ends first. */
export const atFileEnd = (end: End): void => void ends.push(end);

// As a set-up file this module is evaluated again for each test file.
afterAll(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
