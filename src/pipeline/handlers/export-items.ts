// Items of the report of an export.
import { datasetKey, kindOfKey, resourceKey } from '../../model/key.ts';
import type { ItemAction, Reason, ReportItem } from '../../model/report.ts';
import type { ExportedPortal } from '../export/package.ts';
import { findingsOf } from '../export/package.ts';
import type { DatasetRecord, ExportedNode } from '../export/record.ts';

/** How an item ended. */
interface Ended {
  outcome: 'done' | 'unchanged' | 'failed';
  actions?: ItemAction[];
  warnings?: string[];
  reason?: Reason | null;
  file?: ReportItem['file'];
  rows?: number | null;
}

/** The item of a dataset or resource; `node` is null for one that could not be read. */
export const datasetItem = (key: string, node: ExportedNode | null, ended: Ended): ReportItem => ({
  key,
  kind: kindOfKey(key),
  nid: node?.nid ?? null,
  uuid: String(node?.uuid ?? ''),
  url: typeof node?.path === 'string' ? node.path : null,
  actions: ended.actions ?? [],
  outcome: ended.outcome,
  live: ended.outcome !== 'failed' && node !== null && String(node.status) === '1',
  stale: false,
  rows: ended.rows ?? null,
  file: ended.file ?? null,
  rejected: null,
  mended: [],
  warnings: ended.warnings ?? [],
  reason: ended.reason ?? null,
  jobId: null,
  attempts: 0,
  ms: 0,
});

/** The items of a dataset and its resources as they were exported. */
export const itemsOfRecord = (
  manifest: string,
  { folder, record, about }: { folder: string; record: DatasetRecord; about: ExportedPortal },
  outcome: 'done' | 'unchanged',
): ReportItem[] => {
  const findings = findingsOf(record, about);
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
