// What the files of a whole export say of its packages.
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { DatasetRecord } from '../../../src/pipeline/export/record.ts';
import { writeSummary } from '../../../src/pipeline/export/summary.ts';

const writePackage = async (root: string, folder: string, node: object): Promise<void> => {
  const facts = { nid: '7', vid: '8', changed: '1700000000', title: 'Budget', status: '1' };
  const record: DatasetRecord = {
    ...{ version: 1, node: { ...facts, ...node }, resources: [], removed: null, removedResources: [] },
    ...{ terms: {}, groups: {}, findings: [] },
  };
  await mkdir(join(root, 'datasets', folder), { recursive: true });
  await writeFile(join(root, 'datasets', folder, 'datapackage.json'), JSON.stringify({ sluice: record }));
};

it('a finding names fields without what a terminal would obey', async () => {
  const root = mkdtempSync(join(tmpdir(), 'sluice-summary-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  await writePackage(root, 'budget', { 'field_\u009b31m\u202ecost': { und: [{ value: '5' }] } });
  const portal = { name: 'city', fileUrl: () => null };
  const { findings } = await writeSummary(root, { name: 'm', portal, findings: [], onDataset: async () => undefined });
  const named = findings.filter(({ code }) => code === 'catalogue-lacks');
  expect(named).toMatchObject([{ dataset: 'budget', resource: null, nid: '7' }]);
  expect(named[0]?.message).toContain('catalogue.json lacks field__31m_cost; dcat-us-3.json lacks field__31m_cost');
  expect(await readFile(join(root, 'findings.json'), 'utf8')).not.toMatch(/[\u0080-\u009f\u202a-\u202e]/);
});
