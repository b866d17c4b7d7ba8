// Child processes of a benchmark, with their peak memory.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/** Peak resident memory of a live process in megabytes (10^6 bytes), from the kernel; 0 where it does not tell. */
export const peakMegabytes = (pid: number | undefined): number => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Math.round((Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024) / 1e6);
  } catch {
    return 0; // the process has ended
  }
};

/** A process that has ended. */
export interface Ended {
  stdout: string;
  seconds: number;
  peak: number;
}

/** How package.json starts sluice. */
export const lean = ['--max-semi-space-size=8'];

/** Where and how a script is run; `flags` are for Node. */
interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  flags?: string[];
}

/** Runs a script to its end and watches its peak memory; throws when it fails. */
export const runScript = async (
  script: string,
  args: string[],
  { flags = [], ...options }: RunOptions = {},
): Promise<Ended> => {
  const begun = performance.now();
  const child = spawn(process.execPath, [...flags, script, ...args], {
    ...options,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let [stdout, peak] = ['', 0];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const watch = setInterval(() => {
    peak = Math.max(peak, peakMegabytes(child.pid));
  }, 50);
  const [code] = (await once(child, 'close')) as [number | null];
  clearInterval(watch);
  if (code !== 0) throw new Error(`${script} ${args[0]} exited with ${code}: ${stdout.slice(-2000)}`);
  return { stdout, seconds: (performance.now() - begun) / 1000, peak };
};

/** Runs a sluice command to its end; throws when it fails. */
export const runSluice = (args: string[], options: RunOptions = {}): Promise<Ended> =>
  runScript(cli, args, { ...options, flags: lean });

/** Processor seconds that a live process has used in all its threads; 0 where the kernel does not tell. */
export const cpuSeconds = (pid: number | undefined): number => {
  try {
    const [, , , , , , , , , , , user = '0', system = '0'] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^\d+ \(.*\) /s, '')
      .split(' ');
    return (Number(user) + Number(system)) / 100;
  } catch {
    return 0; // the process has ended
  }
};

/** A server in a process of its own. */
export interface ServerProcess {
  url: string;
  peak(): number;
  cpu(): number;
  stop(): Promise<void>;
}

/** Starts a script that prints its address on standard output. */
export const startServer = async (script: string, args: string[], node: string[] = []): Promise<ServerProcess> => {
  const child: ChildProcess = spawn(process.execPath, [...node, script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      const found = /http:\/\/\S+/.exec(text);
      if (found) resolve(found[0]);
    });
    child.once('exit', () => reject(new Error(`the server ended: ${text}`)));
  });
  return {
    url,
    peak: () => peakMegabytes(child.pid),
    cpu: () => cpuSeconds(child.pid),
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
};

/** Starts `sluice portal` on an empty folder; `node` are further options of Node, such as `--cpu-prof`. */
export const startPortal = (data: string, users: string, node: string[] = []): Promise<ServerProcess> =>
  startServer(cli, ['portal', '--data', data, '--users', users], node);
