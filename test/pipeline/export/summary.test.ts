// What the files of a whole export say of its packages.
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { DatasetRecord } from '../../../src/pipeline/export/record.ts';
import { writeSummary } from '../../../src/pipeline/export/summary.ts';

const facts = { nid: '7', vid: '8', changed: '1700000000', title: 'Budget', status: '1' };

const writePackage = async (
  root: string,
  folder: string,
  node: object,
  resources: DatasetRecord['resources'] = [],
): Promise<void> => {
  const record: DatasetRecord = {
    ...{ version: 1, node: { ...facts, ...node }, resources, removed: null, removedResources: [] },
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

it('what all catalogues say of a dataset is made once', async () => {
  const root = mkdtempSync(join(tmpdir(), 'sluice-summary-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const upload = { und: [{ uri: 'public://a.csv', filename: 'a.csv', filesize: '4' }] };
  const file = { path: 'data/a.csv', name: 'a.csv', bytes: 4, sha256: 'f', version: '1', from: 'portal' } as const;
  const node = { ...facts, nid: '8', field_upload: upload };
  await writePackage(root, 'budget', {}, [{ name: 'a', node, file, findings: [] }]);
  const asked: string[] = [];
  const fileUrl = (uri: string): string => {
    asked.push(uri);
    return `https://portal.example/${uri.slice('public://'.length)}`;
  };
  const portal = { name: 'city', fileUrl };
  await writeSummary(root, { name: 'm', portal, findings: [], onDataset: async () => undefined });
  const catalogues = ['catalogue.json', 'dcat-us-3.json', 'dcat-ap.jsonld'];
  for (const name of catalogues) expect(await readFile(join(root, name), 'utf8')).toContain(fileUrl('public://a.csv'));
  expect(asked).toHaveLength(catalogues.length + 2); // by this test; for all catalogues, and for CKAN
});
