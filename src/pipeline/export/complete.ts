// Completes an export once all datasets are here: resources that no list names, names of terms and groups, facts about tables.
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { tidsOf } from '../../dataset-api/fields.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import type { ExportOrder } from '../../model/report.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { targetsOf, uploadOf } from './describe.ts';
import { exportDataset, markRemoved, writeRecord } from './export-dataset.ts';
import type { ExportTools } from './fetch-file.ts';
import { datasetFolders, datasetsName, records, slugName, takenNames } from './folder.ts';
import type { Listing } from './listing.ts';
import type { DatasetRecord } from './record.ts';

const straysAtOnce = 4;

type Exported = { folder: string; record: DatasetRecord };

/** What the packages of an export know: resources of datasets, folders of datasets by node id, resources alone, and terms. */
export const surveyOf = async (root: string) => {
  const loners: Exported[] = [];
  const terms: TermNames = { names: new Map(), nameless: new Set() };
  const survey = { known: new Set<string>(), folders: new Map<string, string>(), loners, terms };
  for await (const { folder, record } of records(root)) {
    if (record.removed !== null) continue;
    noteTerms(terms, record);
    if (record.node === null) survey.loners.push({ folder, record });
    else survey.folders.set(record.node.nid, folder);
    for (const { node } of record.node ? record.resources : []) survey.known.add(node.nid);
  }
  return survey;
};

type Survey = Awaited<ReturnType<typeof surveyOf>>;

/** Names of terms by id, and ids whose name is not known yet. */
type TermNames = { names: Map<string, string>; nameless: Set<string> };

const noteTerms = ({ names, nameless }: TermNames, record: DatasetRecord): void => {
  for (const tid of termsIn(record)) {
    const name = record.terms[tid];
    if (typeof name === 'string') names.set(tid, name);
    // A term without a name is looked up again only with a dataset that was exported again.
    else if (name === undefined) nameless.add(tid);
  }
};

/** Exports resources that no list of a dataset names: with the dataset that they refer to, or alone; returns those datasets, and what may not be read. */
export const exportStrays = async (
  tools: ExportTools,
  { order, listing, survey }: { order: ExportOrder; listing: Listing; survey: Survey },
) => {
  const { known, folders, loners } = survey;
  for (const { folder, record } of loners) {
    const nids = record.resources.map(({ node }) => node.nid);
    // They are in a dataset now.
    if (nids.every((nid) => known.has(nid))) await markRemoved(tools, { order, folder, record });
    else for (const nid of nids) known.add(nid);
  }
  const more = new Map<string, string[]>();
  const [alone, hidden]: [string[], string[]] = [[], []];
  const strays = Object.keys(listing.resources).filter((nid) => !known.has(nid));
  await eachAtOnce(strays, straysAtOnce, async (nid) => {
    const node = await tools.portal.nodes.look(nid, tools.signal);
    if (node === 'hidden') hidden.push(nid);
    if (node === 'hidden' || node === null) return;
    const parents = targetsOf(node, 'field_dataset_ref').filter((parent) => listing.datasets[parent]);
    if (parents.length === 0) alone.push(nid);
    // A dataset that could not be exported is exported with its resources another time.
    for (const parent of parents.filter((one) => folders.has(one)))
      more.set(parent, [...(more.get(parent) ?? []), nid]);
  });
  const byNumber = (a: string, b: string): number => Number(a) - Number(b);
  const taken = takenNames(await datasetFolders(order.folder));
  const wanted = [
    ...[...more].map(([nid, nids]) => ({ nid, folder: folders.get(nid) ?? '', more: nids.sort(byNumber) })),
    ...alone
      .sort(byNumber)
      .map((nid) => ({ nid: null, folder: slugName(`no-dataset-${nid}`, nid, taken), more: [nid] })),
  ];
  const joined: Exported[] = [];
  await eachAtOnce(wanted, straysAtOnce, async (one) => {
    const exported = await exportDataset(tools, { order, ...one });
    if (exported === null) return;
    noteTerms(survey.terms, exported.record);
    if (one.nid !== null) joined.push({ folder: one.folder, record: exported.record });
  });
  return { joined, hidden };
};

const [namesAtOnce, tablesAtOnce] = [4, 20];

/** Adds names of terms and groups, and facts about tables, to the packages in `root`; `groups`: titles by node id. */
export const completeRecords = async (
  tools: ExportTools,
  root: string,
  { groups, terms: { names, nameless } }: Pick<Listing, 'groups'> & Pick<Survey, 'terms'>,
): Promise<void> => {
  const { portal, signal } = tools;
  await eachAtOnce(nameless, namesAtOnce, async (tid) => {
    const name = names.has(tid) ? null : await portal.suggestions.termName(tid, signal);
    if (name !== null) names.set(tid, name);
  });
  let waiting: Exported[] = [];
  let tables = 0;
  const flush = async (): Promise<void> => {
    await addTables(tools, waiting);
    for (const { folder, record } of waiting)
      await writeRecord(join(root, datasetsName, folder), folder, record, portal);
    [waiting, tables] = [[], 0];
  };
  for await (const { folder, record } of records(root)) {
    if (record.removed !== null) continue;
    const nids = record.node ? targetsOf(record.node, 'og_group_ref') : [];
    const named = {
      terms: Object.fromEntries(termsIn(record).map((tid) => [tid, names.get(tid) ?? record.terms[tid] ?? null])),
      groups: Object.fromEntries(nids.map((nid) => [nid, groups[nid] ?? record.groups[nid] ?? null])),
    };
    const open = record.resources.filter(lacksTable).length;
    if (open === 0 && isDeepStrictEqual(named, { terms: record.terms, groups: record.groups })) continue;
    if (tables + open > tablesAtOnce || waiting.length === tablesAtOnce) await flush();
    waiting.push({ folder, record: { ...record, ...named } });
    tables += open;
  }
  await flush();
};

const termsIn = ({ node, resources }: DatasetRecord): string[] =>
  [...(node ? [node] : []), ...resources.map((resource) => resource.node)].flatMap((each) =>
    ['field_tags', 'field_topic', 'field_format'].flatMap((field) => tidsOf(each, field)),
  );

const lacksTable = ({ node, table }: DatasetRecord['resources'][number]): boolean =>
  table === undefined && isTabular(uploadOf(node)?.name ?? '') && Boolean(node.uuid);

const addTables = async ({ portal, signal }: ExportTools, waiting: readonly Exported[]): Promise<void> => {
  const open = waiting.flatMap(({ record }) => record.resources.filter(lacksTable));
  const uuids = [...new Set(open.map(({ node }) => String(node.uuid)))];
  if (uuids.length === 0) return;
  const tables = await portal.datastore.tables(uuids, signal);
  for (const resource of open) {
    const table = tables.get(String(resource.node.uuid));
    if (table !== undefined) resource.table = table && { rows: table.rows, columns: [...table.columns] };
  }
};
