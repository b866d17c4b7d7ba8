// The step `transform`: a module that the publisher provides, an async generator over rows.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorMessage, SluiceError, TableStepError } from '../../../model/errors.ts';
import { isObject, recordOf } from '../../../util/json.ts';
import { plural } from '../../../util/plural.ts';
import { inBatches, type Row, type StepTools, type Table } from '../row.ts';
import type { Stage } from './rows.ts';

type NamedRow = Record<string, string>;

/** What a module exports as `transform` or by default. */
type Transform = (rows: AsyncIterable<NamedRow>, context: { columns: string[] }) => unknown;

/** Runs rows through a module. Its columns are the keys of the first row that it yields, if any. */
export const pluginStage = async (
  table: Table,
  path: string,
  { alive = () => undefined }: Pick<StepTools, 'alive'>,
): Promise<Stage> => {
  const name = basename(path);
  const transform = await load(path);
  const counts = { read: 0, given: 0 };
  const given = begun(() => transform(namedRows(table, counts, alive), { columns: [...table.columns] }), path);
  const next = async (): Promise<NamedRow | null> => {
    try {
      const result = await given.next();
      alive();
      return result.done ? null : checkedRow(result.value, name, counts.given + 1);
    } catch (error) {
      throw error instanceof SluiceError ? error : failed(path, error);
    }
  };
  /** Lets the module end what it began, where its other rows are not wanted. People are told of what ended the table. */
  const close = (): Promise<unknown> => (async () => given.return?.())().catch(() => undefined);
  const first = await next().catch(async (error) => {
    await close();
    throw error;
  });
  const columns = first === null ? table.columns : Object.keys(first);
  const known = new Set(columns);
  async function* rows(): AsyncGenerator<Row> {
    for (let row = first; row !== null; row = await next()) {
      const own = row;
      counts.given++;
      const strange = Object.keys(own).find((key) => !known.has(key));
      if (strange !== undefined) {
        throw new TableStepError(
          `transform ${name}: row ${counts.given} has a key ${JSON.stringify(strange)} that the first row does not have`,
          { hint: 'give every row the same keys' },
        );
      }
      const cells = columns.map((column) => (Object.hasOwn(own, column) ? (own[column] ?? '') : ''));
      yield { line: counts.given, cells };
    }
  }
  return {
    columns,
    batches: inBatches(rows()),
    summary: () => `transform ${name}: ${plural(counts.read, 'row')} in, ${plural(counts.given, 'row')} out`,
    close,
  };
};

async function* namedRows({ columns, batches }: Table, counts: { read: number }, alive: () => void) {
  for await (const batch of batches) {
    for (const { cells } of batch) {
      alive();
      counts.read++;
      yield Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? '']));
    }
  }
}

const load = async (path: string): Promise<Transform> => {
  const name = basename(path);
  let loaded: Record<string, unknown>;
  try {
    // Threads are reused and load an address once, so changed content needs another address.
    const version = createHash('sha256').update(readFileSync(path)).digest('hex');
    loaded = (await import(`${pathToFileURL(path).href}?v=${version}`)) as Record<string, unknown>; // a module's exports
  } catch (error) {
    // An error of an import does not say where the syntax is wrong.
    if (!(error instanceof SyntaxError) || lineIn(path, error) !== undefined) throw failed(path, error);
    throw failed(path, error, { stack: spawnSync(process.execPath, ['--check', path]).stderr.toString() });
  }
  const found = loaded.transform ?? loaded.default;
  if (typeof found === 'function') return found as Transform; // its rows are checked one by one
  throw new TableStepError(`transform ${name}: the module does not export a function`, {
    hint: 'export async function* transform(rows) { for await (const row of rows) yield row; }',
  });
};

/** Calls a module's function and returns the iterator of its rows. */
const begun = (call: () => unknown, path: string): AsyncIterator<unknown> => {
  let given: unknown;
  try {
    given = call();
  } catch (error) {
    throw failed(path, error);
  }
  if (given instanceof Object && Symbol.asyncIterator in given)
    return (given as AsyncIterable<unknown>)[Symbol.asyncIterator](); // just checked
  throw new TableStepError(`transform ${basename(path)}: the function does not return an async iterable of rows`, {
    hint: 'make it an async generator: `async function*`',
  });
};

const checkedRow = (value: unknown, name: string, number: number): NamedRow => {
  if (!isObject(value)) {
    throw new TableStepError(`transform ${name}: row ${number} is not an object`, {
      hint: 'yield objects of cells by column, such as {id: "1", name: "Parks"}',
    });
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, cell]) => {
      if (cell !== null && typeof cell === 'object') {
        throw new TableStepError(
          `transform ${name}: row ${number}: the cell ${JSON.stringify(key)} is ${Array.isArray(cell) ? 'a list' : 'an object'}`,
          { hint: 'cells are text, numbers or truth values' },
        );
      }
      return [key, cell === null || cell === undefined ? '' : String(cell)];
    }),
  );
};

const failed = (path: string, error: unknown, placed = error): TableStepError =>
  new TableStepError(`transform ${moduleAt(path, placed)} failed: ${errorMessage(error)}`, {
    hint: `fix the module ${path}; the job log has no more details`,
    cause: error,
  });

/** The name of a module, with the line that an error comes from where that is known: `step.ts:12`. */
export const moduleAt = (path: string, error: unknown): string => {
  const line = lineIn(path, error);
  return line === undefined ? basename(path) : `${basename(path)}:${line}`;
};

const lineIn = (path: string, error: unknown): string | undefined =>
  [pathToFileURL(path).href, path]
    .flatMap((name) => String(recordOf(error).stack).split(name).slice(1))
    .map((behind) => /^(?:\?v=\w+)?:(\d+)/.exec(behind)?.[1])
    .find((line) => line !== undefined);
