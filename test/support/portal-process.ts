// The embedded portal in a process of its own, to be killed; in tests and outside of them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { PortalServerOptions } from '../../src/embedded-portal/portal-server.ts';
import { bundled } from './bundled.ts';

const quickPasswords = fileURLToPath(new URL('./quick-passwords.ts', import.meta.url));
// A hash made here is checked there, so passwords cost the same in both.
const imports = process.execArgv.includes(quickPasswords) ? ['--import', quickPasswords] : [];
const program = bundled(new URL('./portal-child.ts', import.meta.url));

/** A portal that runs. */
export interface PortalChild {
  child: ChildProcess;
  url: string;
  exited: Promise<unknown>;
}

/** Starts a portal on a folder and waits for its address; throws when it ends before. */
export const startPortalChild = async (
  dataDir: string,
  options: Pick<PortalServerOptions, 'users' | 'profile' | 'races' | 'roles' | 'site'>,
): Promise<PortalChild> => {
  const child = spawn(process.execPath, [...imports, program, dataDir, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [chunk] = (await Promise.race([once(child.stdout, 'data'), exited.then(() => [null])])) as [Buffer | null];
  if (chunk === null) throw new Error('the portal did not start');
  return { child, url: String(chunk).trim(), exited };
};
