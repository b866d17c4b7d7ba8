// Patterns and modules of publishers that never come to their end, or end their thread.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Step } from '../../../src/model/recipe/steps.ts';
import { badRowsOf } from '../../../src/tables/transform/bad-rows.ts';
import { pipelineOf } from '../../../src/tables/transform/pipeline.ts';
import type { Row, Table } from '../../../src/tables/transform/row.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { made, textOf } from './support/made.ts';

/** For ever: each letter more doubles the time. */
const endless = '^(a+)+$';
const trap = `${'a'.repeat(60)}!`;

const table = (): Table => ({
  columns: ['a'],
  batches: (async function* (): AsyncGenerator<Row[]> {
    yield [
      { line: 2, cells: ['b'] },
      { line: 3, cells: [trap] },
    ];
  })(),
});

const run = async (steps: Step[], pattern?: string): Promise<void> => {
  const dir = tempDir();
  const bad = badRowsOf({ badRows: 'fail', maxBadRows: { rows: 0 } }, { columns: [] }, join(dir, 'rejects'));
  const fields = [{ name: 'a', constraints: { pattern: pattern ?? '' } }];
  const pipeline = await pipelineOf(
    table(),
    { steps, schema: pattern === undefined ? null : { fields } },
    { bad, scratch: (name) => join(dir, name), rowBytes: 1e6, batchMs: 300 },
  );
  try {
    for await (const _ of pipeline.batches);
  } finally {
    await pipeline.close();
  }
};

describe('a regular expression without end', () => {
  it.each<[string, Step[], string?]>([
    ['in replace', [{ replace: { pattern: endless, with: 'x' } }]],
    ['in filter', [{ filter: `a matches "${endless}"` }]],
    ['in computed', [{ computed: { b: `if(a matches "${endless}", 1, 2)` } }]],
    ['in a schema', [], '(?:b|(a+)+)'],
  ])('is stopped %s, and the line is told', async (_where, steps, pattern) => {
    await expect(run(steps, pattern)).rejects.toMatchObject({
      code: 'table-step',
      message: expect.stringContaining('line 3: a step does not finish'),
    });
  });
});

describe('a module without end', () => {
  it.each([
    ['loops', 'export async function* transform(rows) { for await (const _ of rows) for (;;); }'],
    ['waits for what never comes', 'export async function* transform() { await new Promise(() => {}); }'],
  ])('that %s is stopped, and its thread is free again', async (_, text) => {
    const dir = tempDir();
    const module = join(dir, 'step.mjs');
    writeFileSync(module, text);
    const stuck = [1, 2, 3].map(() => made('t.csv', 'a\n1\n', { table: [{ transform: module }] }, { silenceMs: 1500 }));
    for (const { status, reason } of (await Promise.allSettled(stuck)) as PromiseRejectedResult[]) {
      expect({ status, reason }).toMatchObject({
        status: 'rejected',
        reason: { code: 'table-step', message: expect.stringContaining('does not finish') },
      });
    }
    expect(await textOf('t.csv', 'a\n1\n', { table: [{ constant: { b: 2 } }] })).toBe('a,b\n1,2\n');
  });
});
