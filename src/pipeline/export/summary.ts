// The files of a whole export: the catalogue, the manifest, and the findings.
import { join } from 'node:path';
import { yamlItem } from '../../model/yaml/document.ts';
import { records, writeChanged } from './folder.ts';
import { catalogueEntry, type ExportedPortal, findingsOf, manifestEntry, viewOf } from './package.ts';
import type { Finding } from './record.ts';

/** What is odd, and where: the folder of the dataset, and the name of the resource in it. */
export type PlacedFinding = Finding & Record<'dataset' | 'resource' | 'nid', string | null>;

export type ExportTotals = Record<'datasets' | 'resources' | 'files' | 'bytes' | 'removed', number> & {
  findings: PlacedFinding[];
};

/** Counts what is in the folder, and collects what is odd about it. */
export const totalsOf = async (root: string, about: ExportedPortal): Promise<ExportTotals> => {
  const totals: ExportTotals = { datasets: 0, resources: 0, files: 0, bytes: 0, removed: 0, findings: [] };
  // A resource of several datasets is one node.
  const places = new Map<string, Place>();
  for await (const { folder, record } of records(root)) {
    const { node, resources } = record;
    totals.removed += record.removedResources.length + (record.removed === null ? 0 : 1);
    if (record.removed !== null) continue;
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
    for (const { code, message, resource } of findingsOf(viewOf(folder, record, about))) {
      totals.findings.push({ code, dataset: folder, resource, nid: nids.get(resource) ?? null, message });
    }
  }
  totals.findings.push(...twinsAmong([...places.values()]));
  return totals;
};

type Place = { uuid: string; dataset: string; resource: string | null; nid: string };

/** Nodes that share a uuid with others. */
const twinsAmong = (places: Place[]): PlacedFinding[] =>
  [...Map.groupBy(places, ({ uuid }) => uuid)].flatMap(([uuid, all]) => {
    if (uuid === '' || all.length < 2) return [];
    const message = `nodes ${all.map(({ nid }) => nid).join(', ')} have the uuid ${uuid}`;
    return all.map(({ dataset, resource, nid }) => ({ code: 'duplicate-uuid', dataset, resource, nid, message }));
  });

/** Writes catalogue, manifest and findings, each where it differs; `name` is that of the manifest. */
export const writeSummary = async (
  root: string,
  { name, about, findings }: { name: string; about: ExportedPortal; findings: readonly PlacedFinding[] },
): Promise<void> => {
  await writeChanged(join(root, 'catalogue.json'), catalogueText(root, about));
  await writeChanged(join(root, 'manifest.yaml'), manifestText(root, name, about));
  await writeChanged(join(root, 'findings.json'), [`${JSON.stringify(findings, null, 2)}\n`]);
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
  for await (const { folder, record } of records(root)) {
    const entry = catalogueEntry(viewOf(folder, record, about), about);
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
    const entry = manifestEntry(viewOf(folder, record, about));
    if (entry === null) continue;
    yield `${isEmpty ? 'datasets:\n' : ''}${yamlItem(entry)}`;
    isEmpty = false;
  }
  if (isEmpty) yield 'datasets: []\n';
}
