// Feeds spoilt bodies to every parser: `npm run fuzz -- --seconds 60 [--seed N] [--parser NAME]`.
// A parser runs in a worker with bounded memory; an error other than its own, or a case over one second, ends the run
// with exit code 1 and leaves the case in a file.
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { caseSlotBytes, type FuzzTask, parserNames, readCase } from './fuzz-worker.ts';

const longestCaseMs = 1000;
const lookEveryMs = 100;
const memoryMb = 512;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    parser: { type: 'string' },
  },
});

const say = (line: string): boolean => process.stdout.write(`${line}\n`);

const keep = (parser: string, body: Uint8Array): string => {
  const file = join(tmpdir(), `fuzz-${parser}-${process.pid}.bin`);
  writeFileSync(file, body);
  return file;
};

/** Fuzzes one parser; resolves with the number of cases, rejects with what went wrong and where the case lies. */
const fuzzOne = (parser: string, milliseconds: number, seed: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const slot = new SharedArrayBuffer(caseSlotBytes);
    const task: FuzzTask = { parser, milliseconds, seed, slot };
    const worker = new Worker(new URL('./fuzz-worker.ts', import.meta.url), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    let last = { count: -1, since: Date.now() };
    let fault: string | null = null;
    const watch = setInterval(() => {
      const { count } = readCase(slot);
      if (count !== last.count) last = { count, since: Date.now() };
      else if (count > 0 && Date.now() - last.since > longestCaseMs) {
        fault = `no answer within ${longestCaseMs} ms`;
        void worker.terminate(); // it is stuck; one that answered ends by itself
      }
    }, lookEveryMs);
    let cases = 0;
    worker.on('message', (count: number) => {
      cases = count;
    });
    worker.on('error', (error) => {
      fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    worker.on('exit', () => {
      clearInterval(watch);
      if (fault === null) resolve(cases);
      else reject(new Error(`${fault}; case kept in ${keep(parser, readCase(slot).body)}`));
    });
  });

const parsers = values.parser === undefined ? parserNames : parserNames.filter((name) => name === values.parser);
if (parsers.length === 0) {
  say(`no parser ${values.parser}; there are ${parserNames.join(', ')}`);
  process.exit(2);
}
say(`seed ${values.seed}, ${values.seconds} s over ${parsers.join(', ')}`);
for (const parser of parsers) {
  try {
    const count = await fuzzOne(parser, (Number(values.seconds) * 1000) / parsers.length, Number(values.seed));
    say(`${parser}: ${count} cases, none crashed or hung`);
  } catch (error) {
    say(`${parser}: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
