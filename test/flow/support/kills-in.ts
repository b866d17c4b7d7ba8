// Processes that kill themselves at steps of their jobs.
import { fileURLToPath } from 'node:url';
import type { Start } from './place.ts';

const preload = fileURLToPath(new URL('../../support/kill-at-step.ts', import.meta.url));

/** How a process is started that takes its kills from a folder, as test/support/kill-at-step.ts tells. */
export const killsIn = (dir: string): Start => ({ preload, fromSources: true, env: { KILL_DIR: dir } });
