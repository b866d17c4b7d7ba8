// Runs one program of the machine to its end.
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** How a program is run. */
export interface ToolOptions {
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** After so many milliseconds it is killed and counts as failed. */
  timeoutMs: number;
}

/** What came of it. `code` is null when it could not be started or was killed; `output` is stdout, then stderr. */
export interface ToolResult {
  code: number | null;
  output: string;
}

/** Runs a program without a shell and collects what it prints; never rejects. */
export const runTool = (file: string, args: string[], { timeoutMs, ...options }: ToolOptions): Promise<ToolResult> =>
  new Promise((resolve) => {
    const settings = { ...options, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 * 1024 * 1024 } as const;
    execFile(file, args, settings, (error, stdout, stderr) => {
      if (error === null) return resolve({ code: 0, output: `${stdout}${stderr}` });
      const code = typeof error.code === 'number' ? error.code : null;
      const why = error.killed === true ? `ended after ${timeoutMs} ms without a result` : error.message;
      resolve({ code, output: `${stdout}${stderr}` || why });
    });
  });

const isProgram = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
};

/** Every executable file of that name on the `PATH` of `env`, in its order; empty entries are passed over. */
export const findOnPath = async (name: string, env: NodeJS.ProcessEnv): Promise<string[]> => {
  const folders = new Set((env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''));
  const found: string[] = [];
  for (const folder of folders) {
    const path = join(folder, name);
    if (await isProgram(path)) found.push(path);
  }
  return found;
};
