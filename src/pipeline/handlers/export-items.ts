// What an export reports of a dataset and its resources, and what it reads a portal with.
import { datasetKey, resourceKey } from '../../model/key.ts';
import { type ExportOrder, type ItemAction, type ReportItem, reportItem } from '../../model/report.ts';
import { filePath, type Portal } from '../../portal-client/client.ts';
import type { ExportTools } from '../export/fetch-file.ts';
import { type ExportedPortal, findingsOf, viewOf } from '../export/package.ts';
import type { DatasetRecord, ExportedNode } from '../export/record.ts';
import type { ExportDeps } from './deps.ts';

/** A portal as an export uses it. */
export const exportTools = async (
  deps: ExportDeps,
  { name, order, attempt }: { name: string; order: ExportOrder; attempt: number },
  signal: AbortSignal,
): Promise<ExportTools> => {
  const portal = order.isPublic ? await deps.publicPortal(name) : deps.portal(name);
  return { portal, about: aboutPortal(portal), fetcher: deps.fetcher, attempt, signal };
};

const aboutPortal = ({ name, url }: Portal): ExportedPortal => ({
  name,
  fileUrl: (uri) => {
    const path = filePath(uri);
    return path === null ? null : `${url}${path}`;
  },
});

/** How an item ended. */
type Ended = Pick<ReportItem, 'outcome'> & Partial<ReportItem>;

/** The item of a dataset or resource; `node` is null for one that could not be read. */
export const datasetItem = (key: string, node: ExportedNode | null, ended: Ended): ReportItem =>
  reportItem({
    key,
    nid: node?.nid ?? null,
    uuid: String(node?.uuid ?? ''),
    url: typeof node?.path === 'string' ? node.path : null,
    live: ended.outcome !== 'failed' && node !== null && String(node.status) === '1',
    ...ended,
  });

/** The items of a dataset and its resources as they were exported. */
export const itemsOfRecord = (
  manifest: string,
  { folder, record, about }: { folder: string; record: DatasetRecord; about: ExportedPortal },
  outcome: 'done' | 'unchanged',
): ReportItem[] => {
  const findings = findingsOf(viewOf(folder, record, about));
  const warningsOf = (name: string | null): string[] =>
    findings.flatMap(({ resource, message }) => (resource === name ? [message] : []));
  const did: ItemAction = record.removed === null ? 'exported' : 'marked as removed';
  const actions = outcome === 'done' ? [did] : [];
  return [
    datasetItem(datasetKey(manifest, folder), record.node, { outcome, actions, warnings: warningsOf(null) }),
    ...record.resources.map(({ name, node, file, table }) =>
      datasetItem(resourceKey(manifest, folder, name), node, {
        outcome,
        actions,
        warnings: warningsOf(name),
        rows: table?.rows ?? null,
        file: file && { name: file.name, bytes: file.bytes, sha256: file.sha256 },
      }),
    ),
  ];
};
