// Measured in a process of its own: reads a table in the way that is asked for and prints rows, seconds and
// processor seconds as JSON.

import { createReadStream } from 'node:fs';
import Papa from 'papaparse';
import { importFile } from '../../src/embedded-portal/datastore/import-worker.ts';
import { mostExamples } from '../../src/model/table-history.ts';
import { rowChanges } from '../../src/tables/changes/changes.ts';
import { inspectTable } from '../../src/tables/check.ts';
import { defaultRowBytes, rfc4180 } from '../../src/tables/scan/dialect.ts';

const [how = '', path = '', target = '', about = ''] = process.argv.slice(2);

const ways: Record<string, () => Promise<number>> = {
  /** Everything that a check does, its thread's start included. */
  check: async () => {
    const { rows } = await inspectTable(path);
    return rows;
  },
  /** The changes since the version at `target`, its thread's start included. */
  changes: async () => {
    const rows = Number(about);
    const versions = { before: { path: target, rows }, after: { path, rows } };
    const { added, removed, before } = await rowChanges({
      ...versions,
      key: null,
      rowBytes: defaultRowBytes,
      examples: mostExamples,
    });
    return before + added - removed;
  },
  papaparse: () =>
    new Promise((resolve, reject) => {
      let rows = -1;
      Papa.parse<string[]>(createReadStream(path), {
        skipEmptyLines: true,
        chunk: ({ data }) => {
          rows += data.length;
        },
        complete: () => resolve(rows),
        error: reject,
      });
    }),
  import: async () => {
    const cancelled = new Int32Array(new SharedArrayBuffer(4));
    const answer = await importFile({ path, target, dialect: rfc4180, cancelled });
    if (answer.kind !== 'imported') throw new Error(`not imported: ${JSON.stringify(answer)}`);
    return answer.rows;
  },
};

const [begun, used] = [performance.now(), process.cpuUsage()];
const rows = await ways[how]?.();
const { user, system } = process.cpuUsage(used);
process.stdout.write(JSON.stringify({ rows, seconds: (performance.now() - begun) / 1000, cpu: (user + system) / 1e6 }));
