// Worker-thread entry: what the columns of a table hold, in one pass.
import { missingSource } from '../../model/errors.ts';
import type { Cancellable } from '../../util/worker-pool.ts';
import { defaultRowBytes } from '../scan/dialect.ts';
import { type Answer, answerOf } from '../thread-answer.ts';
import { openDelimited } from '../transform/input/delimited.ts';

export interface MeasureTask {
  path: string;
  encoding: string | null;
  skipRows: number | null;
}

/** A column: what all of its values are, how many cells have none, and between which they lie (numbers, ISO dates and years). */
export interface MeasuredColumn {
  name: string;
  kind: 'number' | 'year' | 'date' | 'text' | 'empty';
  empty: number;
  least: string | null;
  most: string | null;
}

export interface MeasuredTable {
  rows: number;
  columns: MeasuredColumn[];
}

const number = /^-?(?:0|[1-9]\d{0,17})(?:\.\d+)?$/;
const date =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;
const year = /^(?:1[5-9]|20)\d\d$/;

class Measure {
  empty = 0;
  #kind: MeasuredColumn['kind'] = 'empty';
  #range: [string, string] | null = null;

  take(cell: string): void {
    if (cell === '') this.empty += 1;
    else if (this.#kind !== 'text') this.#widen(cell);
  }

  end(name: string): MeasuredColumn {
    const isText = this.#kind === 'text';
    const [least, most] = isText ? [null, null] : (this.#range ?? [null, null]);
    return { name, kind: this.#kind, empty: this.empty, least, most };
  }

  #widen(cell: string): void {
    const kind = date.test(cell) ? 'date' : year.test(cell) ? 'year' : number.test(cell) ? 'number' : 'text';
    const known = this.#kind === 'empty' ? kind : this.#kind;
    const areNumbers = known !== 'date' && kind !== 'date' && kind !== 'text';
    this.#kind = known === kind ? kind : areNumbers ? 'number' : 'text';
    const [least, most] = this.#range ?? [cell, cell];
    const isLess = (a: string, b: string): boolean => (kind === 'date' ? a < b : Number(a) < Number(b));
    this.#range = [isLess(cell, least) ? cell : least, isLess(most, cell) ? cell : most];
  }
}

export const measureFile = (task: Cancellable<MeasureTask>): Promise<Answer<MeasuredTable>> =>
  answerOf(
    async () => {
      const { path, encoding, skipRows: skip, cancelled } = task;
      const reading = { encoding, delimiter: null, skip, limits: { rowBytes: defaultRowBytes }, cancelled };
      const report = { notes: [], mended: [], warnings: [] };
      const table = await openDelimited(path, reading, report);
      const measures = table.columns.map(() => new Measure());
      let rows = 0;
      try {
        for await (const batch of table.batches)
          for (const { cells, fault } of batch) {
            if (fault !== undefined) throw fault;
            rows += 1;
            for (const [at, measure] of measures.entries()) measure.take(cells[at] ?? '');
          }
      } finally {
        await table.close?.();
      }
      return { rows, columns: table.columns.map((name, at) => (measures[at] ?? new Measure()).end(name)) };
    },
    (error) => missingSource(task.path, error),
  );
