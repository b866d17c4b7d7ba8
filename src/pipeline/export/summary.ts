// The files of a whole export: the catalogue, the manifest, and the findings.
import { join } from 'node:path';
import { yamlItem } from '../../model/yaml/document.ts';
import { records, writeChanged } from './folder.ts';
import { catalogueEntry, type ExportedPortal, findingsOf, manifestEntry } from './package.ts';
import type { DatasetRecord, ExportedNode, FindingCode } from './record.ts';

const summaryNames = {
  catalogue: 'catalogue.json',
  manifest: 'manifest.yaml',
  findings: 'findings.json',
} as const;

/** What is odd, and where: the folder of the dataset, and the name of the resource in it. */
export interface PlacedFinding {
  code: FindingCode;
  dataset: string | null;
  resource: string | null;
  nid: string | null;
  message: string;
}

/** What was exported in all. */
export interface ExportTotals {
  datasets: number;
  resources: number;
  files: number;
  bytes: number;
  removed: number;
  findings: PlacedFinding[];
}

/** Counts what is in the folder, and collects what is odd about it. */
export const totalsOf = async (root: string, about: ExportedPortal): Promise<ExportTotals> => {
  const totals: ExportTotals = { datasets: 0, resources: 0, files: 0, bytes: 0, removed: 0, findings: [] };
  // A resource of several datasets is one node.
  const places = new Map<string, Place>();
  for await (const { folder, record } of records(root)) {
    totals.removed += record.removedResources.length + (record.removed === null ? 0 : 1);
    if (record.removed !== null) continue;
    count(totals, record);
    const ofNode = (node: ExportedNode, resource: string | null): void =>
      void places.set(node.nid, { uuid: String(node.uuid ?? ''), dataset: folder, resource, nid: node.nid });
    if (record.node) ofNode(record.node, null);
    for (const { name, node } of record.resources) ofNode(node, name);
    const nids = new Map(record.resources.map(({ name, node }) => [name, node.nid]));
    for (const { code, message, resource } of findingsOf(record, about)) {
      const nid = (resource === null ? record.node?.nid : nids.get(resource)) ?? null;
      totals.findings.push({ code, dataset: folder, resource, nid, message });
    }
  }
  totals.findings.push(...twinsAmong([...places.values()]));
  return totals;
};

type Place = { uuid: string; dataset: string; resource: string | null; nid: string };

const count = (totals: ExportTotals, { node, resources }: DatasetRecord): void => {
  totals.datasets += node ? 1 : 0;
  totals.resources += resources.length;
  for (const { file } of resources) {
    if (!file) continue;
    totals.files += 1;
    totals.bytes += file.bytes;
  }
};

/** Nodes that share a uuid with others. */
const twinsAmong = (places: Place[]): PlacedFinding[] =>
  [...Map.groupBy(places, ({ uuid }) => uuid.toLowerCase())].flatMap(([uuid, all]) => {
    if (uuid === '' || all.length < 2) return [];
    const message = `nodes ${all.map(({ nid }) => nid).join(', ')} have the uuid ${uuid}`;
    return all.map(({ dataset, resource, nid }) => ({ code: 'duplicate-uuid', dataset, resource, nid, message }));
  });

/** Writes catalogue, manifest and findings, each where it differs; `name` is that of the manifest. */
export const writeSummary = async (
  root: string,
  { name, about, findings }: { name: string; about: ExportedPortal; findings: readonly PlacedFinding[] },
): Promise<void> => {
  await writeChanged(join(root, summaryNames.catalogue), catalogueText(root, about));
  await writeChanged(join(root, summaryNames.manifest), manifestText(root, name, about));
  await writeChanged(join(root, summaryNames.findings), [`${JSON.stringify(findings, null, 2)}\n`]);
};

async function* catalogueText(root: string, about: ExportedPortal): AsyncGenerator<string> {
  const head = {
    '@context': 'https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld',
    '@type': 'dcat:Catalog',
    conformsTo: 'https://project-open-data.cio.gov/v1.1/schema',
    describedBy: 'https://project-open-data.cio.gov/v1.1/schema/catalog.json',
  };
  yield `${JSON.stringify(head).slice(0, -1)},"dataset":[`;
  let isFirst = true;
  for await (const { record } of records(root)) {
    const entry = catalogueEntry(record, about);
    if (entry === null) continue;
    yield `${isFirst ? '' : ','}\n${JSON.stringify(entry)}`;
    isFirst = false;
  }
  yield '\n]}\n';
}

async function* manifestText(root: string, name: string, about: ExportedPortal): AsyncGenerator<string> {
  yield `# Publishes this export: sluice publish manifest.yaml --portal NAME\nname: ${name}\n`;
  let isEmpty = true;
  for await (const { folder, record } of records(root)) {
    const entry = manifestEntry(folder, record, about);
    if (entry === null) continue;
    yield `${isEmpty ? 'datasets:\n' : ''}${yamlItem(entry)}`;
    isEmpty = false;
  }
  if (isEmpty) yield 'datasets: []\n';
}
