// Compares a portal with what was to be published, item by item, through its API: no duplicate, none lost, none in half.
import { createHash } from 'node:crypto';
import { doubles, type Reader, type Row } from '../../flow/support/reader.ts';
import type { Expected } from './city.ts';

/** What was found wrong, one line each. */
export interface Verdict {
  duplicates: string[];
  lost: string[];
  /** Nodes that nobody asked for. */
  foreign: string[];
  wrongWords: string[];
  partialFiles: string[];
  halfDatastores: string[];
}

/** Reads everything and compares it. */
export const verifyPortal = async (reader: Reader, expected: Expected[]): Promise<Verdict> => {
  const rows = await reader.list();
  const byUuid = new Map(rows.map((row) => [row.uuid, row]));
  const wanted = new Set(expected.flatMap(({ uuid, table }) => [uuid, table.uuid]));
  const verdict: Verdict = {
    duplicates: doubles(rows),
    lost: [],
    foreign: rows.flatMap(({ uuid, title }) => (wanted.has(uuid) ? [] : [`${title} (${uuid})`])),
    wrongWords: [],
    partialFiles: [],
    halfDatastores: [],
  };
  for (const item of expected) {
    const dataset = byUuid.get(item.uuid);
    const table = byUuid.get(item.table.uuid);
    if (dataset) await compareDataset(reader, item, dataset, verdict);
    else verdict.lost.push(`dataset ${item.id}`);
    if (table) await compareTable(reader, item, { dataset, table }, verdict);
    else verdict.lost.push(`table of ${item.id}`);
  }
  return verdict;
};

const compareDataset = async (reader: Reader, item: Expected, row: Row, verdict: Verdict): Promise<void> => {
  const node = await reader.read(row.nid);
  const text = JSON.stringify(node);
  const tags = (node.field_tags as { und?: unknown[] } | undefined)?.und?.length ?? 0; // a reply of our own portal
  const sound =
    node.title === item.title && node.status === '1' && text.includes(item.description) && tags === item.tags.length;
  if (!sound) verdict.wrongWords.push(`dataset ${item.id}: "${node.title}", status ${node.status}, ${tags} tags`);
};

const compareTable = async (
  reader: Reader,
  { id, table }: Expected,
  rows: { dataset: Row | undefined; table: Row },
  verdict: Verdict,
): Promise<void> => {
  const node = await reader.read(rows.table.nid);
  const refers = (node.field_dataset_ref as { und?: { target_id: string }[] } | undefined)?.und?.[0]?.target_id;
  if (node.title !== table.title || node.status !== '1' || refers !== rows.dataset?.nid) {
    verdict.wrongWords.push(`table of ${id}: "${node.title}", status ${node.status}, of node ${refers}`);
  }
  const file = await reader.file(rows.table.nid);
  const sha256 = createHash('sha256')
    .update(file?.content ?? '')
    .digest('hex');
  if (!file || file.name.slice(0, id.length) !== id || file.bytes !== table.bytes || sha256 !== table.sha256) {
    verdict.partialFiles.push(
      `file of ${id}: ${file ? `${file.name}, ${file.bytes} of ${table.bytes} bytes` : 'none'}`,
    );
  }
  const count = await reader.count(table.uuid);
  const [record] = await reader.records(table.uuid);
  if (count !== table.rows || record?.name !== id) {
    verdict.halfDatastores.push(`datastore of ${id}: ${count} of ${table.rows} rows, ${JSON.stringify(record)}`);
  }
};
