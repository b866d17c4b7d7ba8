// Preload (`node --import`) that kills its own process with SIGKILL just before the n-th changing file system call below a folder.
// KILL_AT = n (from 1), KILL_BELOW = the folder whose calls count.
import { promises } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const below = process.env.KILL_BELOW ?? '/';
let left = Number(process.env.KILL_AT ?? Number.POSITIVE_INFINITY);

const count = (args: unknown[]): void => {
  if (!args.some((arg) => typeof arg === 'string' && arg.startsWith(below))) return;
  left -= 1;
  if (left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // the signal ends the process before this returns
};

const table = promises as unknown as Record<string, (...args: unknown[]) => unknown>; // patched by name
for (const name of ['link', 'mkdir', 'open', 'rename', 'rm', 'rmdir', 'unlink', 'utimes', 'writeFile']) {
  const original = table[name];
  if (original === undefined) throw new Error(`node:fs/promises has no ${name}`);
  table[name] = (...args) => {
    count(args);
    return original.apply(promises, args);
  };
}
syncBuiltinESMExports();
