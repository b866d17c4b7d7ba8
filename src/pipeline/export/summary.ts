// The files of a whole export, made of one look at every package: catalogues, the manifest, and the findings.
import { join } from 'node:path';
import { yamlItem } from '../../model/yaml/document.ts';
import { catalogueFindings, catalogues, publicDataset } from './catalogues.ts';
import { ckanActions } from './ckan.ts';
import { datasetsName, openWhole, records, sizeOf, writeWhole } from './folder.ts';
import { type DatasetView, type ExportedPortal, findingsOf, manifestEntry, viewOf } from './package.ts';
import type { Finding } from './record.ts';

/** What is odd, and where: the folder of the dataset, and the name of the resource in it. */
export type PlacedFinding = Finding & Record<'dataset' | 'resource' | 'nid', string | null>;

export type ExportTotals = Record<'datasets' | 'resources' | 'files' | 'bytes' | 'removed', number> & {
  findings: PlacedFinding[];
  /** Paths of files that are not there with their size. */
  missing: string[];
};

/** A file of the export with something of every dataset, written in one pass over all of them. */
interface Document {
  file: string;
  head: string;
  /** What it holds of a dataset; '' where it holds nothing. `listed`: as catalogues have it. */
  entry: (view: DatasetView, listed: ReturnType<typeof publicDataset>) => string;
  /** In front of an entry, by how many are before it, and after all of them. */
  before: (entries: number) => string;
  end: (entries: number) => string;
}

const documentsOf = (name: string, portal: ExportedPortal): Document[] => {
  const actions = ckanActions(portal);
  return [
    ...catalogues.map(
      ({ file, head, key, entryOf }): Document => ({
        file,
        head: `${JSON.stringify(head(portal)).slice(0, -1)},"${key}":[`,
        entry: (_, listed) => (listed === null ? '' : JSON.stringify(entryOf(listed))),
        before: (entries) => (entries === 0 ? '\n' : ',\n'),
        end: () => '\n]}\n',
      }),
    ),
    {
      file: 'ckan-batch.jsonl',
      head: '',
      entry: (view) =>
        actions(view)
          .map((action) => `${JSON.stringify(action)}\n`)
          .join(''),
      before: () => '',
      end: () => '',
    },
    {
      file: 'manifest.yaml',
      head: `# Publishes this export: sluice publish manifest.yaml --portal NAME\nname: ${name}\n`,
      entry: (view) => {
        const item = manifestEntry(view);
        return item === null ? '' : yamlItem(item);
      },
      before: (entries) => (entries === 0 ? 'datasets:\n' : ''),
      end: (entries) => (entries === 0 ? 'datasets: []\n' : ''),
    },
  ];
};

interface SummaryOptions {
  name: string;
  portal: ExportedPortal;
  /** Those about the portal as a whole. */
  findings: readonly PlacedFinding[];
  onDataset: (view: DatasetView) => Promise<void>;
}

/** Writes catalogues, manifest and findings, each where it differs, and counts and verifies what is in the folder. */
export const writeSummary = async (root: string, { name, portal, findings, onDataset }: SummaryOptions) => {
  const counts = { datasets: 0, resources: 0, files: 0, bytes: 0, removed: 0 };
  const totals: ExportTotals = { ...counts, findings: [...findings], missing: [] };
  // A resource of several datasets is one node.
  const places = new Map<string, Place>();
  await using open = new AsyncDisposableStack();
  const documents = await Array.fromAsync(documentsOf(name, portal), async (document) => {
    const stream = open.use(await openWhole(join(root, document.file)));
    await stream.write(document.head);
    return { ...document, stream, entries: 0 };
  });
  for await (const { folder, record } of records(root)) {
    const view = viewOf(folder, record, portal);
    const listed = publicDataset(view, portal);
    await onDataset(view);
    const found = [...(listed ? catalogueFindings(listed) : []), ...findingsOf(view)];
    await count(root, view, { found, totals, places });
    for (const document of documents) {
      const entry = document.entry(view, listed);
      if (entry === '') continue;
      await document.stream.write(document.before(document.entries++) + entry);
    }
  }
  totals.findings.push(...twinsAmong([...places.values()]));
  for (const { stream, entries, end } of documents) {
    await stream.write(end(entries));
    await stream.end();
  }
  await writeWhole(join(root, 'findings.json'), [`${JSON.stringify(totals.findings, null, 2)}\n`]);
  return totals;
};

type Place = { uuid: string; dataset: string; resource: string | null; nid: string };

/** Adds a dataset to the totals, and its nodes to those of the export. */
const count = async (
  root: string,
  { folder, record }: DatasetView,
  { found, totals, places }: { found: ReturnType<typeof findingsOf>; totals: ExportTotals; places: Map<string, Place> },
): Promise<void> => {
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
  for (const { code, message, resource } of found)
    totals.findings.push({ code, dataset: folder, resource, nid: nids.get(resource) ?? null, message });
};

const twinsAmong = (places: Place[]): PlacedFinding[] =>
  [...Map.groupBy(places, ({ uuid }) => uuid)].flatMap(([uuid, all]) => {
    if (uuid === '' || all.length < 2) return [];
    const message = `nodes ${all.map(({ nid }) => nid).join(', ')} have the uuid ${uuid}`;
    return all.map(({ dataset, resource, nid }) => ({ code: 'duplicate-uuid', dataset, resource, nid, message }));
  });
