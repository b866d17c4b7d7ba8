// The files of a whole export, made of one look at every package: the catalogue, the manifest, and the findings.
import { join } from 'node:path';
import { yamlItem } from '../../model/yaml/document.ts';
import { datasetsName, openWhole, records, sizeOf, writeWhole } from './folder.ts';
import { catalogueEntry, type DatasetView, type ExportedPortal, findingsOf, manifestEntry, viewOf } from './package.ts';
import type { Finding } from './record.ts';

/** What is odd, and where: the folder of the dataset, and the name of the resource in it. */
export type PlacedFinding = Finding & Record<'dataset' | 'resource' | 'nid', string | null>;

export type ExportTotals = Record<'datasets' | 'resources' | 'files' | 'bytes' | 'removed', number> & {
  findings: PlacedFinding[];
  /** Paths of files that are not there with their size. */
  missing: string[];
};

const catalogueHead = {
  '@context': 'https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld',
  '@type': 'dcat:Catalog',
  conformsTo: 'https://project-open-data.cio.gov/v1.1/schema',
  describedBy: 'https://project-open-data.cio.gov/v1.1/schema/catalog.json',
};

interface SummaryOptions {
  /** Name of the manifest. */
  name: string;
  portal: ExportedPortal;
  /** Those about the portal as a whole. */
  findings: readonly PlacedFinding[];
  /** Called with every dataset. */
  onDataset: (view: DatasetView) => Promise<void>;
}

/** Writes catalogue, manifest and findings, each where it differs, and counts and verifies what is in the folder. */
export const writeSummary = async (
  root: string,
  { name, portal, findings, onDataset }: SummaryOptions,
): Promise<ExportTotals> => {
  const counts = { datasets: 0, resources: 0, files: 0, bytes: 0, removed: 0 };
  const totals: ExportTotals = { ...counts, findings: [...findings], missing: [] };
  // A resource of several datasets is one node.
  const places = new Map<string, Place>();
  await using catalogue = await openWhole(join(root, 'catalogue.json'));
  await using manifest = await openWhole(join(root, 'manifest.yaml'));
  let [comma, key] = ['', 'datasets:\n'];
  await catalogue.write(`${JSON.stringify(catalogueHead).slice(0, -1)},"dataset":[`);
  await manifest.write(`# Publishes this export: sluice publish manifest.yaml --portal NAME\nname: ${name}\n`);
  for await (const { folder, record } of records(root)) {
    const view = viewOf(folder, record, portal);
    await onDataset(view);
    await count(root, view, totals, places);
    const entry = catalogueEntry(view, portal);
    if (entry !== null) {
      await catalogue.write(`${comma}\n${JSON.stringify(entry)}`);
      comma = ',';
    }
    const item = manifestEntry(view);
    if (item !== null) {
      await manifest.write(`${key}${yamlItem(item)}`);
      key = '';
    }
  }
  await catalogue.write('\n]}\n');
  if (key !== '') await manifest.write('datasets: []\n');
  totals.findings.push(...twinsAmong([...places.values()]));
  await catalogue.end();
  await manifest.end();
  await writeWhole(join(root, 'findings.json'), [`${JSON.stringify(totals.findings, null, 2)}\n`]);
  return totals;
};

type Place = { uuid: string; dataset: string; resource: string | null; nid: string };

/** Adds a dataset to the totals, and its nodes to those of the export. */
const count = async (
  root: string,
  view: DatasetView,
  totals: ExportTotals,
  places: Map<string, Place>,
): Promise<void> => {
  const { folder, record } = view;
  const { node, resources } = record;
  for (const { file } of resources) {
    const path = file && join(datasetsName, folder, file.path);
    if (path && (await sizeOf(join(root, path))) !== file.bytes) totals.missing.push(path);
  }
  totals.removed += record.removedResources.length + (record.removed === null ? 0 : 1);
  if (record.removed !== null) return;
  const files = resources.flatMap(({ file }) => file ?? []);
  totals.datasets += node ? 1 : 0;
  totals.resources += resources.length;
  totals.files += files.length;
  totals.bytes += files.reduce((sum, { bytes }) => sum + bytes, 0);
  const nids = new Map<string | null, string>();
  for (const { name, node: each } of [...(node ? [{ name: null, node }] : []), ...resources]) {
    nids.set(name, each.nid);
    const uuid = String(each.uuid ?? '').toLowerCase();
    places.set(each.nid, { uuid, dataset: folder, resource: name, nid: each.nid });
  }
  for (const { code, message, resource } of findingsOf(view))
    totals.findings.push({ code, dataset: folder, resource, nid: nids.get(resource) ?? null, message });
};

/** Nodes that share a uuid with others. */
const twinsAmong = (places: Place[]): PlacedFinding[] =>
  [...Map.groupBy(places, ({ uuid }) => uuid)].flatMap(([uuid, all]) => {
    if (uuid === '' || all.length < 2) return [];
    const message = `nodes ${all.map(({ nid }) => nid).join(', ')} have the uuid ${uuid}`;
    return all.map(({ dataset, resource, nid }) => ({ code: 'duplicate-uuid', dataset, resource, nid, message }));
  });
