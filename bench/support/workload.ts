// The input of the publish benchmarks: datasets with one small table each, a manifest, a configuration and a users file.
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Name and password of the account that every contestant uses. */
export const account = { name: 'bench', password: 'bench-password' } as const;

/** Rows of each table. */
export const rowsPerTable = 200;

/** Folders and files of a workload. */
export interface Workload {
  folder: string;
  manifest: string;
  users: string;
  /** Paths of the tables, one per dataset. */
  tables: string[];
}

const table = (index: number): string => {
  const lines = ['id,name,amount,date,note'];
  for (let row = 0; row < rowsPerTable; row++) {
    const cents = (index * 7919 + row * 104_729) % 1_000_000;
    lines.push(
      `${row},"Name ${row}, item ${index}",${(cents / 100).toFixed(2)},2026-01-${String((row % 28) + 1).padStart(2, '0')},note ${row * index}`,
    );
  }
  return `${lines.join('\n')}\n`;
};

/** Writes a workload of `datasets` datasets with one resource of {@link rowsPerTable} rows each into a temporary folder. */
export const makeWorkload = async (datasets: number): Promise<Workload> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  await mkdir(join(folder, 'data'));
  const tables: string[] = [];
  const manifest = ['name: bench', 'portal: portal', 'datasets:'];
  for (let index = 0; index < datasets; index++) {
    const path = join(folder, 'data', `table-${index}.csv`);
    await writeFile(path, table(index));
    tables.push(path);
    manifest.push(
      `  - { id: dataset-${index}, title: Dataset ${index}, description: Benchmark dataset ${index}, license: cc-by,`,
      `      resources: [{ id: table, title: Table ${index}, file: data/table-${index}.csv }] }`,
    );
  }
  const users = join(folder, 'users.yaml');
  await writeFile(
    users,
    `users:\n  - { name: ${account.name}, password: ${account.password}, roles: [administrator] }\n`,
    { mode: 0o600 },
  );
  const path = join(folder, 'bench.yaml');
  await writeFile(path, `${manifest.join('\n')}\n`);
  return { folder, manifest: path, users, tables };
};

/** Writes a configuration for a portal at `url`. */
export const writeConfig = async (workload: Workload, url: string, concurrency: number): Promise<string> => {
  const path = join(workload.folder, 'sluice.yaml');
  await writeFile(
    path,
    [
      'portals:',
      `  portal: { kind: remote, url: "${url}", username: ${account.name}, password: "\${BENCH_PASSWORD}", concurrency: ${concurrency}, requestsPerSecond: 0, imports: parallel }`,
      '',
    ].join('\n'),
  );
  return path;
};
