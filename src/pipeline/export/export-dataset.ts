// One dataset of a portal into its folder: the node, those of its resources, their files, and at last the data package.
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { TableFaultError } from '../../model/errors.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import type { ExportOrder } from '../../model/report.ts';
import { checkTable } from '../../tables/check.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { linkOf, linksOf, targetsOf, uploadOf } from './describe.ts';
import { type ExportTools, type FileTools, fetchFile } from './fetch-file.ts';
import {
  datasetsName,
  filePathFor,
  forgetStored,
  notedStored,
  noteStored,
  ownFolder,
  packageName,
  readRecord,
  type Stored,
  sizeOf,
  slugName,
  sweep,
  type TakenNames,
  takenNames,
  writeWhole,
} from './folder.ts';
import { type ExportedPortal, packageOf } from './package.ts';
import {
  cleanNode,
  type DatasetRecord,
  type ExportedNode,
  type ExportedResource,
  type Finding,
  recordSchema,
  type StoredFile,
} from './record.ts';

interface DatasetOrder {
  order: ExportOrder;
  folder: string;
  /** Null for resources that are in no dataset. */
  nid: string | null;
  /** Resources that it does not list but that may belong to it. */
  more: readonly string[];
}

const resourcesAtOnce = 4;

/** Exports a dataset; null when it is gone and was never exported. Unchanged files are not fetched again, even after a kill. */
export const exportDataset = async (tools: ExportTools, wanted: DatasetOrder) => {
  const { portal, signal } = tools;
  const { order, folder: name, nid } = wanted;
  const folder = await ownFolder(order.folder, datasetsName, name);
  await sweep(folder);
  const known = await readRecord(folder);
  // One that is there and may not be read fails: it is neither exported nor removed.
  const found = nid === null ? null : await portal.nodes.find(nid, signal);
  if (nid !== null && found === null)
    return known && { record: await markRemoved(tools, { order, folder: name, record: known }), replaced: [] };
  const before = known ?? nothing;
  const node = found && cleanNode(found);
  const findings: Finding[] = [];
  const resources = named(await readResources(tools, { wanted, node, before }, findings), before);
  const stored = [...before.resources.map(storedOf), ...(await notedStored(folder))];
  const here = new Map(stored.map((each) => [each.nid, each]));
  const files = [...filesOf(before), ...here.values().flatMap(({ file }) => (file ? [file.path] : []))];
  const taken = takenNames(files.map((path) => path.slice('data/'.length)));
  // Of its files together, as far as they have begun.
  const sum = { bytes: 0, of: 0 };
  const got = (bytes: number, expected: number): void => {
    sum.bytes += bytes;
    sum.of += expected;
    tools.moved(sum.bytes, sum.of);
  };
  const store: FileStore = { ...tools, folder, got, order, taken, here };
  await eachAtOnce(resources, resourcesAtOnce, async (resource) => {
    const { file, findings: found } = await storedFile(store, resource.node);
    resource.file = file;
    resource.findings.push(...found);
  });
  const present = new Set(resources.map((resource) => resource.node.nid));
  const isGone = node === null && resources.length === 0;
  const record: DatasetRecord = {
    version: 1,
    node,
    resources,
    removed: isGone ? (before.removed ?? today()) : null,
    removedResources: [...before.removedResources, ...before.resources].filter((one) => !present.has(one.node.nid)),
    // Others are looked up again.
    terms: Object.fromEntries(Object.entries(before.terms).filter(([, term]) => term !== null)),
    groups: before.groups,
    findings,
  };
  await writeRecord(folder, name, record, portal);
  const kept = new Set(filesOf(record));
  const replaced = filesOf(before).filter((path) => !kept.has(path));
  for (const path of replaced) await rm(join(folder, path), { force: true });
  await forgetStored(folder);
  return { record, replaced };
};

const nothing: DatasetRecord = {
  version: 1,
  node: null,
  removed: null,
  resources: [],
  removedResources: [],
  terms: {},
  groups: {},
  findings: [],
};

const storedOf = ({ node, file, findings }: ExportedResource): Stored => ({
  nid: node.nid,
  file,
  findings: findings.filter(isOfFile),
});

const isOfFile = ({ code }: Finding): boolean => /^(?:file-|rows-)/.test(code);

/** Marks what is in a folder as removed from the portal, and keeps it. */
export const markRemoved = async (
  { portal }: Pick<ExportTools, 'portal'>,
  { order, folder, record: before }: { order: ExportOrder; folder: string; record: DatasetRecord },
): Promise<DatasetRecord> => {
  const record = { ...before, removed: before.removed ?? today() };
  await writeRecord(join(order.folder, datasetsName, folder), folder, record, portal);
  return record;
};

/** Writes the data package of a dataset, its keys in the order of the schema; leaves it alone where nothing is different. */
export const writeRecord = async (folder: string, name: string, record: DatasetRecord, portal: ExportedPortal) => {
  const ordered = packageOf(name, recordSchema.parse(record), portal);
  await writeWhole(join(folder, packageName), [`${JSON.stringify(ordered, null, 2)}\n`]);
};

/** The resources that belong to a dataset, in the order of its list, others behind them. */
const readResources = async (
  { portal, signal }: ExportTools,
  { wanted, node, before }: { wanted: DatasetOrder; node: ExportedNode | null; before: DatasetRecord },
  findings: Finding[],
): Promise<ExportedResource[]> => {
  const listed = new Set(node ? targetsOf(node, 'field_resources') : []);
  const nids = [...new Set([...listed, ...before.resources.map((resource) => resource.node.nid), ...wanted.more])];
  const found = new Map<string, ExportedResource>();
  await eachAtOnce(nids, resourcesAtOnce, async (nid) => {
    const looked = await portal.nodes.look(nid, signal);
    const seen = looked === 'hidden' ? null : looked;
    const known = looked === 'hidden' && before.resources.find((resource) => resource.node.nid === nid);
    const parents = seen ? targetsOf(seen, 'field_dataset_ref') : [];
    const isOwn = node ? parents.includes(node.nid) : parents.length === 0 || wanted.more.includes(nid);
    if (seen?.type === 'resource' && (listed.has(nid) || isOwn))
      found.set(nid, oddities(cleanNode(seen), node, listed));
    else if (known) {
      found.set(nid, { ...known, findings: known.findings.filter((finding) => !isOfFile(finding)) });
      findings.push({ code: 'resource-unreadable', message: `node ${nid} may not be read now, and stays as it was` });
    } else if (listed.has(nid)) {
      const message = `lists node ${nid}, which ${seen ? `is a ${seen.type}` : 'is gone, or may not be read'}`;
      findings.push({ code: 'resource-unreadable', message });
    }
  });
  findings.sort((a, b) => (a.message < b.message ? -1 : 1));
  return nids.flatMap((nid) => found.get(nid) ?? []);
};

const oddities = (node: ExportedNode, dataset: ExportedNode | null, listed: ReadonlySet<string>): ExportedResource => {
  const findings: Finding[] = [];
  const parents = targetsOf(node, 'field_dataset_ref');
  const [upload, { api, remote }] = [uploadOf(node), linksOf(node)];
  const contents = [upload, api, remote].filter(Boolean);
  const add = (code: Finding['code'], message: string): void => void findings.push({ code, message });
  if (dataset === null) add('no-dataset', 'belongs to no readable dataset, so it is not in manifest.yaml');
  else if (!listed.has(node.nid)) add('not-in-list', 'refers to a dataset that does not list it');
  if (parents.length > 1)
    add('in-several-datasets', `is in ${parents.length} datasets (${parents.join(', ')}), and exported with each`);
  if (contents.length > 1) add('several-contents', 'has more than one of file, link and API');
  if (contents.length === 0) add('empty-resource', 'has neither file nor link');
  if (upload === null && remote)
    add('remote-file', `links to the remote file ${linkOf(node).slice(0, 200)}; the manifest has it as a link`);
  return { name: '', node, file: null, findings };
};

/** Resources with names that are unique in their dataset; one that was here keeps its own. */
const named = (resources: ExportedResource[], before: DatasetRecord): ExportedResource[] => {
  const known = new Map(before.resources.map(({ name, node }) => [node.nid, name]));
  const taken = takenNames([...known.values(), ...before.removedResources.map(({ name }) => name)]);
  return resources.map((resource) => {
    const { nid, title } = resource.node;
    return { ...resource, name: known.get(nid) ?? slugName(title, `resource-${nid}`, taken) };
  });
};

interface FileStore extends FileTools {
  order: ExportOrder;
  taken: TakenNames;
  here: ReadonlyMap<string, Stored>;
}

/** The file of a resource, fetched unless it is here; it keeps its path. */
const storedFile = async (store: FileStore, node: ExportedNode): Promise<Stored> => {
  const { nid } = node;
  const { folder, order, taken, here } = store;
  const upload = uploadOf(node);
  if (upload === null) return { nid, file: null, findings: [] };
  const known = here.get(nid);
  const path = known?.file?.name === upload.name ? known.file.path : `data/${filePathFor(upload.name, taken)}`;
  const isHere = known?.file?.version === upload.version && known.file.bytes === (await sizeOf(join(folder, path)));
  if (isHere && order.files !== 'all') return known;
  if (order.files === 'none') return { nid, file: null, findings: [] };
  const findings: Finding[] = [];
  const file = await fetchFile(store, { node, upload, path }, findings);
  if (file !== null) findings.push(...(await odditiesOf(file, join(folder, path), store.signal)));
  await noteStored(folder, { nid, file, findings });
  return { nid, file, findings };
};

const odditiesOf = async ({ path, name }: StoredFile, place: string, signal: AbortSignal): Promise<Finding[]> => {
  const findings: Finding[] = [];
  const kept = basename(path);
  if (kept !== name)
    findings.push({ code: 'file-name', message: `${name} is called ${kept}, as not every disk takes its name` });
  if (!isTabular(name)) return findings;
  try {
    await checkTable(place, { signal });
  } catch (error) {
    if (!(error instanceof TableFaultError)) throw error;
    findings.push({ code: 'file-faulty', message: `${name} is published without its rows: ${error.message}` });
  }
  return findings;
};

const filesOf = ({ resources, removedResources }: DatasetRecord): string[] =>
  [...resources, ...removedResources].flatMap(({ file }) => (file ? [file.path] : []));

const today = (): string => new Date().toISOString().slice(0, 10);
