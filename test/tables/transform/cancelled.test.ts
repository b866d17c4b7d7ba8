// A table that is cancelled leaves nothing behind, also when its thread notices only later.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, vi } from 'vitest';
import { recipeOf } from '../../../src/sources/gather/dataset-wish.ts';
import type { PrepareTask } from '../../../src/tables/transform/prepare-worker.ts';
import { sweepAttempts } from '../../../src/util/files.ts';
import { WorkerPool } from '../../../src/util/worker-pool.ts';
import { tempDir } from '../../support/temp-dir.ts';

const pool = new WorkerPool<PrepareTask, unknown>({
  file: 'prepare-worker',
  of: new URL('../../../src/tables/transform/prepare.ts', import.meta.url).href,
  name: 'prepareFile',
  threads: 1,
});

const folder = tempDir();

const taskOf = (name: string, content: string | Buffer, details: Parameters<typeof recipeOf>[0]): PrepareTask => {
  const path = join(tempDir(), name);
  writeFileSync(path, content);
  const recipe = recipeOf(details, { kind: 'file', path, name }, 'auto');
  if (recipe === null) throw new Error('no recipe');
  const into = join(folder, 'job.attempt.csv');
  return { path, name, recipe, into, rejects: `${into}.rejects`, limits: { tableBytes: 1e9, rowBytes: 1e6 } };
};

it('before it began', async () => {
  const { answer, cancel } = pool.start(taskOf('t.csv.gz', gzipSync('n\n1\n'), { badRows: 'skip' }));
  cancel();
  await expect(answer).rejects.toThrow('cancelled');
  expect(readdirSync(folder)).toEqual([]);
});

it('while it writes rows that are rejected', async () => {
  const [begun, go, module] = ['begun', 'go', 'step.mjs'].map((name) => join(tempDir(), name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(
    module,
    `import { existsSync, writeFileSync } from 'node:fs';
    import { setTimeout } from 'node:timers/promises';
    export async function* transform() {
      writeFileSync(${JSON.stringify(begun)}, '');
      while (!existsSync(${JSON.stringify(go)})) await setTimeout(5);
      yield { n: 'x' };
    }`,
  );
  const steps = { table: [{ transform: module }, { cast: { n: 'integer' as const } }] };
  const task = taskOf('t.csv', 'n\n1\n', { ...steps, badRows: 'quarantine', maxBadRows: 5 });
  const { answer, cancel } = pool.start(task);
  await vi.waitFor(() => expect(existsSync(begun)).toBe(true), { timeout: 30_000 });
  cancel();
  await sweepAttempts(folder, 'job.attempt');
  writeFileSync(go, '');
  await answer;
  expect(readdirSync(folder)).toEqual([]);
});
