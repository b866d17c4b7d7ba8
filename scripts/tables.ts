// `npm run tables -- FOLDER`: publishes the tables of a folder to an embedded portal, reads back what is live, and compares
// it with what the `cases.json` of that folder says is right. Exit code 1 when a table went live wrong, or a clear one did not.
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join, resolve } from 'node:path';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { publish, type ReportItem } from '../src/api.ts';
import { slugOf } from '../src/dataset-api/names.ts';
import { startPortalServer } from '../src/embedded-portal/portal-server.ts';
import { createLog } from '../src/model/log.ts';

const caseSchema = z.object({
  /** Name of the file, in the same folder. */
  file: z.string(),
  /** `exact`: it must be live so; `refuse_ok`: live so, or refused; `refuse`: it must not be live. */
  wanted: z.enum(['exact', 'refuse_ok', 'refuse']),
  /** The right header and rows; null where no reading is the right one. */
  header: z.array(z.string()).nullable(),
  rows: z.array(z.array(z.string())).nullable(),
  /** The verdict of an earlier run, to compare with. */
  // biome-ignore lint/suspicious/noThenProperty: a key of the file; cases are never awaited
  then: z.string().optional(),
});

/** One line of `cases.json`. */
export type TableCase = z.infer<typeof caseSchema>;

/** What became of a table. `AS-IS`: live as a file without rows; `LOOK`: live, and nobody says what is right. */
export type TableVerdict = 'RIGHT' | 'WRONG' | 'LOOK' | 'AS-IS' | 'REFUSED' | 'NO ITEM';

/** What became of a case: `why` says what is wrong with what is live, or why it is not. */
export interface CaseResult {
  of: TableCase;
  verdict: TableVerdict;
  why: string;
}

/** True where the verdict is what the case wants. */
export const isMet = ({ of, verdict }: CaseResult): boolean => {
  if (verdict === 'RIGHT') return true;
  if (of.wanted === 'exact') return false;
  return verdict === 'REFUSED' || verdict === 'NO ITEM' || (of.wanted === 'refuse_ok' && verdict === 'LOOK');
};

/** Publishes the cases of a folder as `sluice publish FOLDER` does, and judges what is live. */
export const runCases = async (folder: string): Promise<CaseResult[]> => {
  const cases = z.array(caseSchema).parse(JSON.parse(await readFile(join(folder, 'cases.json'), 'utf8')));
  const home = await mkdtemp(join(tmpdir(), 'sluice-tables-'));
  try {
    await mkdir(join(home, 'cases'));
    await writeFile(join(home, 'sluice.yaml'), 'portals: { local: { kind: embedded } }\n');
    for (const { file } of cases) await copyFile(join(folder, file), join(home, 'cases', file));
    const { reports } = await publish('cases', { cwd: home, config: 'sluice.yaml', state: 'state' });
    const items = new Map(reports[0]?.items.map((item) => [item.key, item]));
    const log = createLog({ level: 'silent' });
    const server = await startPortalServer({ dataDir: join(home, 'state/portal/local'), log });
    try {
      const results: CaseResult[] = [];
      for (const of of cases) {
        const name = of.file.replace(/\.gz$/i, '');
        const id = slugOf(basename(name, extname(name)))?.slice(0, 64);
        results.push({ of, ...(await judge(of, items.get(`cases/cases/${id}`), server.url)) });
      }
      return results;
    } finally {
      await server.close();
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
};

type Judgement = Omit<CaseResult, 'of'>;

const judge = async (of: TableCase, item: ReportItem | undefined, url: string): Promise<Judgement> => {
  if (item === undefined) return { verdict: 'NO ITEM', why: '' };
  if (!item.live)
    return { verdict: 'REFUSED', why: `${item.reason?.code}: ${item.reason?.message}; ${item.reason?.hint}` };
  if (item.rows === null) return { verdict: 'AS-IS', why: '' };
  const live = await liveTable(url, item);
  if (of.rows === null && of.header === null) return { verdict: 'LOOK', why: JSON.stringify(live).slice(0, 300) };
  const why = differenceOf(of, live, item.rows);
  return { verdict: why === '' ? 'RIGHT' : 'WRONG', why };
};

/** The rows of the datastore below the header of the file that is live, cells in its order. */
const liveTable = async (url: string, { nid, uuid }: ReportItem): Promise<string[][]> => {
  const get = async (path: string): Promise<string> => (await fetch(`${url}${path}`)).text();
  const { result } = JSON.parse(await get(`/api/action/datastore/search.json?resource_id=${uuid}&limit=1000`));
  const fields: string[] = result.fields.map(({ id }: { id: string }) => id).filter((id: string) => id !== 'entry_id');
  const rows: string[][] = result.records.map((record: Record<string, unknown>) =>
    fields.map((id) => String(record[id] ?? '')),
  );
  const node = JSON.parse(await get(`/api/dataset/node/${nid}.json`));
  const name = String(node.field_upload.und[0].uri).replace('public://', '');
  const text = await get(`/sites/default/files/${encodeURIComponent(name)}`);
  return [headerOf(text, fields.length), ...rows];
};

/** The header of a table whose delimiter divides it into so many cells. */
const headerOf = (text: string, width: number): string[] => {
  for (const delimiter of [',', ';', '\t', '|']) {
    const options = { delimiter, bom: true, relax_quotes: true, relax_column_count: true, to: 1 };
    const [header] = parse(text, options) as unknown as string[][]; // without `columns`, rows are lists
    if (header?.length === width) return header;
  }
  throw new Error(`no delimiter divides the header into ${width} cells: ${text.slice(0, 200)}`);
};

const differenceOf = ({ header, rows }: TableCase, live: string[][], imported: number): string => {
  const [liveHeader = [], ...liveRows] = live.map((row) => row.map((cell) => cell.trim()));
  const differs = (right: string[], found: string[] | undefined): boolean =>
    JSON.stringify(right.map((cell) => cell.trim())) !== JSON.stringify(found);
  if (header !== null && differs(header, liveHeader)) return `header ${JSON.stringify(liveHeader)}`;
  if (rows === null) return '';
  if (rows.length !== imported || rows.length !== liveRows.length) return `${imported} rows instead of ${rows.length}`;
  const at = rows.findIndex((row, index) => differs(row, liveRows[index]));
  return at < 0 ? '' : `row ${at + 1}: ${JSON.stringify(liveRows[at])} instead of ${JSON.stringify(rows[at])}`;
};

/** Prints each unmet case and how many there are of each verdict; resolves with the number of unmet ones. */
const main = async (folder: string, isVerbose: boolean): Promise<number> => {
  const say = (line: string): boolean => process.stdout.write(`${line}\n`);
  const results = await runCases(resolve(folder));
  for (const result of results) {
    if (!isVerbose && isMet(result)) continue;
    const { of, verdict, why } = result;
    say(
      `${isMet(result) ? 'ok  ' : 'NOT '} ${of.file}: ${of.wanted}, ${verdict}${of.then ? ` (${of.then} before)` : ''} ${why}`,
    );
  }
  const kinds = Map.groupBy(results, ({ of, verdict }) => `${of.wanted}, ${verdict}`);
  for (const [kind, some] of [...kinds].sort()) say(`${String(some.length).padStart(5)}  ${kind}`);
  const unmet = results.filter((result) => !isMet(result)).length;
  say(`${results.length - unmet} as wanted, ${unmet} not`);
  return unmet;
};

if (import.meta.main) {
  const [folder, ...flags] = process.argv.slice(2);
  if (folder === undefined) throw new TypeError('usage: npm run tables -- FOLDER [--all]');
  process.exitCode = (await main(folder, flags.includes('--all'))) === 0 ? 0 : 1;
}
