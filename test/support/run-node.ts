// Runs TypeScript in a child process of this Node, for tests that need real processes and real kills.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const preload = fileURLToPath(new URL('./kill-at-call.ts', import.meta.url));

/** How the child is run. */
export interface NodeOptions {
  /** Arguments of the script, in `process.argv.slice(2)`. */
  args?: string[];
  /** Kill it just before this changing file system call (from 1) below the folder. */
  kill?: { at: number; below: string };
}

/** Starts a script file (`.ts` is run as it is); its output is ours. Killed when the test ends before it does. */
export const startNode = (script: string, { args = [], kill }: NodeOptions = {}): ChildProcess => {
  const child = spawn(process.execPath, [...(kill === undefined ? [] : ['--import', preload]), script, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...(kill === undefined ? {} : { KILL_AT: String(kill.at), KILL_BELOW: kill.below }) },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
};

/** Runs a script to its end; `killed` when a signal ended it. Throws on a non-zero exit. */
export const runNode = async (script: string, options: NodeOptions = {}): Promise<'ended' | 'killed'> => {
  const child = startNode(script, options);
  const [code, signal] = await once(child, 'exit');
  if (signal !== null) return 'killed';
  if (code !== 0) throw new Error(`${script} ended with exit code ${code}`);
  return 'ended';
};
