import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspectFixtures, madeFaultPage } from '../../scripts/table-faults.ts';
import { checkTable, fixTable, inspectTable } from '../../src/tables/check.ts';
import { faultKinds } from '../../src/tables/scan/fault-kinds.ts';
import { fileOf } from '../support/table-file.ts';
import { tempDir } from '../support/temp-dir.ts';
import { faultFixtures } from './fault-fixtures.ts';

const dir = tempDir();
const inspected = await inspectFixtures();

let targets = 0;

describe('faults of tables', () => {
  it('are of more than 40 kinds, each with a file of its own', () => {
    const kinds = new Set(faultFixtures.map(({ kind }) => kind));
    expect(kinds.size).toBeGreaterThan(40);
    expect(Object.keys(faultKinds).filter((kind) => !kinds.has(kind as keyof typeof faultKinds))).toEqual([]);
  });

  it('are listed in the reference page (else run `node scripts/table-faults.ts`)', async () => {
    const { path, text } = await madeFaultPage(inspected);
    expect(readFileSync(join(import.meta.dirname, '../..', path), 'utf8')).toBe(text);
  });

  it.each(inspected.map((one) => ({ ...one, title: one.fixture.title })))('$title: is found in its place', (one) => {
    const { kind, verdict, line, column } = one.fixture;
    const finding = one.inspection.findings.find((found) => found.kind === kind);
    expect(finding?.places[0]).toMatchObject({ line, column: column ?? null });
    expect(one.inspection.verdict).toBe(verdict);
  });

  it.each(
    inspected
      .filter(({ inspection }) => inspection.encoding.startsWith('UTF-16') === false)
      .map((one) => ({ ...one, title: one.fixture.title })),
  )('$title: the byte that is told stands in the line that is told', ({ fixture, inspection }) => {
    const text = Buffer.from(fixture.content).toString('latin1');
    for (const { line, offset } of inspection.findings.flatMap(({ places }) => places)) {
      if (offset === null) continue;
      expect(offset).toBeLessThanOrEqual(text.length);
      expect(text.slice(0, offset).split(/\r\n|\n|\r/)).toHaveLength(line);
    }
  });
});

describe('notes below a table', () => {
  const kindsOf = async (content: string) =>
    (await inspectTable(fileOf(content))).findings.map(({ kind, count }) => `${kind} ${count}`);

  it('are distinguished from short rows, which a full row follows', async () => {
    expect(await kindsOf('a,b\n1,2\nnot a note\n3,4\nSource: x y\n\nAnother note\n')).toEqual([
      'row-short 1',
      'footer 2',
      'blank-lines 1',
    ]);
  });

  it('are few: hundreds of them are short rows', async () => {
    expect(await kindsOf(`a,b\n1,2\n${'this is prose\n'.repeat(300)}`)).toEqual(['row-short 300']);
    expect(await kindsOf(`a,b\n${'this is prose\n'.repeat(300)}1,2\nSource: x y\n`)).toEqual([
      'row-short 300',
      'footer 1',
    ]);
  });
});

describe('a fix', () => {
  const withVerdict = (wanted: string) =>
    faultFixtures.filter(({ verdict }) => verdict === wanted).map((fixture) => ({ ...fixture }));

  it.each([...withVerdict('mendable'), ...withVerdict('sound')])('makes a sound file of $title', async (fixture) => {
    const target = join(dir, `mended-${targets++}.csv`);
    const report = await fixTable(fileOf(fixture.content), target, { rowBytes: fixture.rowBytes });
    const again = await inspectTable(target, { rowBytes: fixture.rowBytes });
    expect(again.verdict).toBe('sound');
    expect(again.findings.filter(({ mend }) => mend !== null)).toEqual([]);
    expect(report).toMatchObject({ bytes: again.bytes, sha256: again.sha256 });
    if (fixture.verdict === 'mendable') expect(report.mends.length).toBeGreaterThan(0);
  });

  it.each(withVerdict('faulty'))('is refused for $title', async ({ content, rowBytes }) => {
    const target = join(dir, `refused-${targets++}.csv`);
    await expect(fixTable(fileOf(content), target, { rowBytes })).rejects.toMatchObject({ name: 'TableFaultError' });
    expect(existsSync(target)).toBe(false);
  });

  it('keeps every byte of rows that have no fault', async () => {
    const target = join(dir, 'kept.csv');
    await fixTable(fileOf('a,"b"\r\n"1","x ""y"""\r\n2,5" pipe\r\n  3 ,\r\n'), target);
    expect(readFileSync(target, 'utf8')).toBe('a,"b"\r\n"1","x ""y"""\r\n2,"5"" pipe"\r\n  3 ,\r\n');
  });

  it.each(['a,b\n1,2', 'a,b\r\n1,2\r\n', 'a,b'])('copies a table without faults: %j', async (content) => {
    const target = join(dir, `same-${targets++}.csv`);
    expect(await fixTable(fileOf(content), target)).toMatchObject({ mends: [], changed: 0 });
    expect(readFileSync(target, 'utf8')).toBe(content);
  });

  it('reads the letters of the encoding that was reported by evidence', async () => {
    const target = join(dir, 'letters.csv');
    await fixTable(fileOf(Buffer.from('N\xe4me;x\n\x80 5;Stra\xdfe\n', 'latin1')), target);
    expect(readFileSync(target, 'utf8')).toBe('Näme;x\n€ 5;Straße\n');
  });

  it('gives columns names that portals can tell apart', async () => {
    const target = join(dir, 'names.csv');
    await fixTable(fileOf('name,,Name,name_2,名前\n1,2,3,4,5\n'), target);
    expect(readFileSync(target, 'utf8')).toBe('name,column_2,Name_3,name_2,column_5\n1,2,3,4,5\n');
  });
});

describe('a job', () => {
  it.each(inspected.map((one) => ({ ...one, title: one.fixture.title })))(
    'publishes or refuses: $title',
    async ({ fixture, inspection }) => {
      const check = checkTable(fileOf(fixture.content), { rowBytes: fixture.rowBytes });
      if (inspection.verdict === 'sound') {
        expect(await check).toMatchObject({ rows: inspection.rows, sha256: inspection.sha256 });
      } else await expect(check).rejects.toMatchObject({ name: 'TableFaultError' });
    },
  );

  it.each([
    'a,b\nsecret\n',
    'a,b\n"secret\n',
    'a,b\nsecret"x,2\n',
    'a,b\n"secret"x,2\n',
    'a,b\nsecret,\0\n',
    'a,b\nsecret,1,2\n',
  ])('never tells what stands in the rows: %j', async (content) => {
    const error: unknown = await checkTable(fileOf(content)).catch((e: unknown) => e);
    expect(error).toMatchObject({ name: 'TableFaultError' });
    expect(`${error} ${JSON.stringify(error)}`).not.toContain('secret');
  });

  it('reports how many other faults there are', async () => {
    await expect(checkTable(fileOf('a,b\n1\n2\n3,"x"y\n'))).rejects.toMatchObject({
      line: 2,
      hint: expect.stringContaining('`sluice check` lists 2 more faults'),
    });
  });
});
