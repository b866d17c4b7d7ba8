// The check of a table beside papaparse, its changes beside the check, and the import into the embedded datastore beside `sqlite3 .import`, same bytes.
import { spawnSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from './options.ts';
import { lean, runScript, runSluice } from './support/processes.ts';

const script = fileURLToPath(new URL('./support/check-run.ts', import.meta.url));

/** The SQLite command line, from `SQLITE3` or the path; it is no part of this project. */
const sqlite = process.env.SQLITE3 ?? 'sqlite3';

/** Runs the comparisons with 1,000,000 rows (95 MB) and with a table of the asked size. */
export const run = async ({ megabytes, rounds }: BenchOptions): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-check-'));
  try {
    await compare(join(folder, 'million.csv'), 1_000_000, rounds);
    if (megabytes > 95) await compare(join(folder, 'large.csv'), Math.round((megabytes * 1e6) / 95.5), rounds);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

interface Measure {
  seconds: number;
  /** Processor seconds of all threads: what is left of a comparison on a machine that does other work, too. */
  cpu: number;
  peak: number;
}

const compare = async (table: string, rows: number, rounds: number): Promise<void> => {
  const former = `${table}.former.csv`;
  await pipeline(Readable.from(blocks(rows)), createWriteStream(table));
  await pipeline(Readable.from(edited(blocks(rows))), createWriteStream(former));
  const { size } = await stat(table);
  process.stdout.write(`${rows.toLocaleString('en')} rows, ${Math.round(size / 1e6)} MB\n`);
  const measures = new Map<string, Measure[]>();
  const measure = async (name: string, work: () => Promise<Measure>): Promise<void> => {
    measures.set(name, [...(measures.get(name) ?? []), await work()]);
  };
  const target = `${table}.sqlite`;
  for (let round = 0; round < Math.max(1, rounds); round++) {
    await measure('papaparse', () => measured('papaparse', rows, table));
    await measure('check', () => measured('check', rows, table));
    await measure('changes', () => measured('changes', rows, table, former, String(rows)));
    await measure('sluice check', () => wholeCommand(table));
    await measure('import', () => measured('import', rows, table, target));
    await rm(target, { force: true });
    const baseline = sqliteImport(table, target, rows);
    if (baseline !== null) await measure('sqlite3 .import', () => Promise.resolve(baseline));
    await rm(target, { force: true });
  }
  const medians = new Map([...measures].map(([name, all]) => [name, median(all)]));
  for (const [name, { seconds, cpu, peak }] of medians) {
    const memory = peak === 0 ? '' : `, peak RSS ${peak} MB`;
    const processor = cpu === 0 ? '' : `, ${cpu.toFixed(2)} s of processor`;
    process.stdout.write(`  ${name.padEnd(16)} ${seconds.toFixed(2)} s${processor}${memory}\n`);
  }
  ratio(medians, 'check', 'papaparse');
  ratio(medians, 'changes', 'check');
  const [grown, mark] = [(medians.get('changes')?.peak ?? 0) - (medians.get('check')?.peak ?? 0), (16 * rows) / 1e6];
  process.stdout.write(
    `  memory of changes beyond that of check: ${Math.round(grown)} MB (mark ${Math.round(mark)})\n`,
  );
  ratio(medians, 'import', 'sqlite3 .import');
  process.stdout.write(`  peak memory of sluice check: ${medians.get('sluice check')?.peak} MB (mark 200)\n`);
};

const ratio = (medians: Map<string, Measure>, ours: string, theirs: string): void => {
  const [one, other] = [medians.get(ours), medians.get(theirs)];
  if (!one || !other) return;
  const [wall, cpu] = [one.seconds / other.seconds, one.cpu / other.cpu];
  process.stdout.write(`  ${ours} : ${theirs} = ${wall.toFixed(2)}, of processor time ${cpu.toFixed(2)} (mark 1.5)\n`);
};

const median = (all: Measure[]): Measure => {
  const sorted = all.toSorted((a, b) => a.seconds - b.seconds);
  return sorted[Math.floor(sorted.length / 2)] ?? { seconds: 0, cpu: 0, peak: 0 };
};

/** Reads the table in a process of its own; the start of the process is not counted. */
const measured = async (how: string, rows: number, ...args: string[]): Promise<Measure> => {
  const ended = await runScript(script, [how, ...args], { flags: lean });
  const told: unknown = JSON.parse(ended.stdout);
  const { rows: found, ...times } = told as { rows: number; seconds: number; cpu: number }; // our own script's
  if (found !== rows) throw new Error(`${how} found ${found} rows, there are ${rows}`);
  return { ...times, peak: ended.peak };
};

const wholeCommand = async (table: string): Promise<Measure> => {
  const { seconds, peak } = await runSluice(['check', table]);
  return { seconds, cpu: 0, peak };
};

/** Null, and the reason is told, where there is no SQLite command line. */
const sqliteImport = (table: string, target: string, rows: number): Measure | null => {
  const begun = performance.now();
  const command = [sqlite, target, '-cmd', '.mode csv', '-cmd', `.import ${table} data`, 'SELECT count(*) FROM data'];
  // `times` of the shell tells what its children used: user and system, minutes and seconds.
  const { error, status, stdout } = spawnSync('sh', ['-c', '"$@" && times', 'sh', ...command], { encoding: 'utf8' });
  const seconds = (performance.now() - begun) / 1000;
  if (error || status === 127) {
    process.stdout.write(`  no comparison: ${sqlite} cannot be run (apt-get install sqlite3, or set SQLITE3)\n`);
    return null;
  }
  const [found, , children = ''] = stdout.trim().split('\n');
  if (status !== 0 || Number(found) !== rows) throw new Error(`${sqlite} imported ${found} rows, there are ${rows}`);
  const used = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  );
  return { seconds, cpu: used.reduce((sum, one) => sum + one, 0), peak: 0 };
};

/** The version before: of a thousand rows one is not there yet, one is gone since, and two had another note. */
function* edited(pieces: Iterable<string>): Generator<string> {
  let piece = 0;
  for (const text of pieces) {
    const lines = text.split('\n');
    if (lines.length > 500) {
      lines.splice(300, 1, `${9_000_000 + piece},Finance,Gone,category 1,1.00,2020-01-31,true,01000,note`);
      for (const at of [20, 400]) lines[at] = `${lines[at]} of then`;
    }
    piece += 1;
    yield lines.join('\n');
  }
}

const agencies = ['Parks & Recreation', 'Public Works', 'Finance', '"Health, Human Services"', 'Büro für Kultur'];

/** Lines of a table of nine columns and some 95 bytes a row, in blocks: plain and quoted cells, numbers, dates, UTF-8. */
function* blocks(rows: number): Generator<string> {
  yield 'id,agency,name,category,amount,date,active,zip,note\n';
  let seed = 1;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % below;
  };
  for (let row = 0; row < rows; ) {
    const lines: string[] = [];
    for (let index = 0; index < 1000 && row < rows; index++, row++) {
      const date = `20${10 + random(15)}-0${1 + random(9)}-${10 + random(18)}`;
      const name = `"Name ${random(1_000_000)}, ${random(1000)}"`;
      const amount = (random(1_000_000) / 100).toFixed(2);
      lines.push(
        `${100_000 + row},${agencies[random(5)]},${name},category ${random(50)},${amount},${date},${random(2) === 1},0${1000 + random(8999)},note ${random(100_000)}`,
      );
    }
    yield `${lines.join('\n')}\n`;
  }
}
