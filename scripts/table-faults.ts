// Writes the lists of faults in docs/reference/table-faults.md: each line is a fixture, below the code that an inspection finds.
// Run it with `node scripts/table-faults.ts` after a change of a message; a test fails while the page is behind.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspectTable } from '../src/tables/check.ts';
import type { Inspection } from '../src/tables/inspect/inspect-file.ts';
import { type FaultFixture, faultFixtures } from '../test/tables/fault-fixtures.ts';
import { type MadeFile, page } from './schemas.ts';

const root = join(import.meta.dirname, '..');

/** A fixture and what an inspection finds in it. */
export interface InspectedFixture {
  fixture: FaultFixture;
  inspection: Inspection;
}

/** Inspects every fixture. */
export const inspectFixtures = async (): Promise<InspectedFixture[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-faults-'));
  try {
    const inspected: InspectedFixture[] = [];
    for (const [at, fixture] of faultFixtures.entries()) {
      const path = join(folder, `${at}.csv`);
      await writeFile(path, fixture.content);
      inspected.push({ fixture, inspection: await inspectTable(path, { rowBytes: fixture.rowBytes }) });
    }
    return inspected;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const inText = (text: string): string => text.replaceAll('<', '&lt;').replaceAll('*', '\\*').replaceAll('\n', ' ');

/** The code under which the page lists a fixture, and its line there. */
const entryOf = ({ fixture, inspection }: InspectedFixture): { code: string; line: string } => {
  const finding = inspection.findings.find(({ kind }) => kind === fixture.kind);
  if (finding === undefined) throw new Error(`${fixture.title}: not found`);
  const fixable = finding.mend === null ? '' : ' *(fixable)*';
  return { code: finding.code ?? 'remark', line: `- ${inText(fixture.title)}${fixable}` };
};

/** Makes the page; the prose around the lists is kept. */
export const madeFaultPage = async (inspected: InspectedFixture[]): Promise<MadeFile> => {
  const byCode = Map.groupBy(inspected.map(entryOf), ({ code }) => code);
  const lists = [...byCode].map(([code, entries]) => [code, entries.map(({ line }) => line).join('\n')]);
  return page('docs/reference/table-faults.md', Object.fromEntries(lists));
};

if (import.meta.main) {
  const { path, text } = await madeFaultPage(await inspectFixtures());
  await writeFile(join(root, path), text);
}
