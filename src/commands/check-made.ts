// Checks a file as the table that would be made of it, for `sluice check`: nothing is kept.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TableRecipe } from '../model/recipe/recipe.ts';
import { inspectTable, reportOf } from '../tables/check.ts';
import { prepareTable } from '../tables/transform/prepare.ts';
import type { CheckContext, FileFinding, PublishedFile } from './check-finding.ts';
import { plural } from './io.ts';
import { faultsOfTable, summaryOfTable } from './table-text.ts';

/** Makes the table in a folder of its own, looks at it, and writes what was found into `finding`. Throws what making throws. */
export const lookAtMade = async (
  { path, name, recipe }: PublishedFile & { recipe: TableRecipe },
  finding: FileFinding,
  { io, config }: CheckContext,
): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-check-'));
  const rowBytes = config?.limits.rowBytes ?? 1024 * 1024;
  const maxBytes = config?.limits.tableBytes ?? 10e9;
  try {
    const how = { path, name, recipe, folder, label: 'check', rejects: null, maxBytes, rowBytes, signal: io.stop };
    const made = await prepareTable(how);
    if (made.kind === 'as-is') {
      finding.summary = `${made.why}: sent as it is`;
      return;
    }
    finding.kind = 'table';
    finding.notes = [...made.said, ...(made.rejected.rows > 0 ? [rejectedText(made.rejected)] : [])];
    const { mend: _, ...found } = await inspectTable(made.path, { signal: io.stop, rowBytes });
    // What is made anew each time is mended by steps or in its source, not by `--fix`.
    const inspection = { ...found, verdict: found.verdict === 'mendable' ? ('faulty' as const) : found.verdict };
    finding.inspection = inspection;
    finding.faults.push(...faultsOfTable(inspection, finding.file));
    finding.summary = `made into CSV from ${plural(made.rowsIn, 'row')}: ${summaryOfTable(inspection)}`;
    if (finding.faults.length === 0) finding.table = reportOf(inspection);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const rejectedText = ({ rows, told }: { rows: number; told: string[] }): string =>
  `${plural(rows, 'bad row')} left out: ${told.slice(0, 3).join('; ')}${rows > 3 ? '; …' : ''}`;
