// The first rows of a resource's table.
import { z } from 'zod';
import type { Portal } from '../call.ts';
import { serialColumn } from '../datastore/columns.ts';
import { Refusal } from '../refusal.ts';
import type { StoredNode } from '../store/nodes.ts';
import { type Html, html } from './html.ts';
import { counted, countText, shortened } from './words.ts';

const mostRows = 20;
const mostColumns = 40;
const longestCell = 200;

const answerSchema = z.object({
  result: z.object({
    fields: z.array(z.object({ id: z.string() })),
    total: z.number(),
    records: z.array(z.record(z.string(), z.unknown())),
  }),
});

/** What is in the datastore of a resource: how many rows, and the first of them. */
export interface Preview {
  total: number;
  columns: string[];
  rows: string[][];
}

/** The first rows of a resource, 20 at most; null where nothing is imported. */
export const readPreview = async ({ datastore }: Portal, node: StoredNode): Promise<Preview | null> => {
  const wish = { nid: String(node.nid), resourceUuid: node.uuid, limit: mostRows };
  const answer = await datastore.search(wish).catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  });
  if (answer === null) return null;
  const { fields, total, records } = answerSchema.parse(answer).result;
  const columns = fields.map(({ id }) => id).filter((id) => id !== serialColumn);
  return { total, columns, rows: records.map((record) => columns.map((id) => String(record[id] ?? ''))) };
};

const isNumber = (cell: string): boolean => /^\s*[-+]?\d[\d.,' ]{0,40}%?\s*$/.test(cell);

/** True for columns of numbers, empty cells aside. */
const numeric = ({ rows }: Preview, column: number): boolean => {
  const filled = rows.map((row) => row[column] ?? '').filter((cell) => cell !== '');
  return filled.length > 0 && filled.every(isNumber);
};

const cellHtml = (tag: 'th' | 'td', cell: string, isEnd: boolean): Html => {
  const text = shortened(cell, longestCell);
  if (tag === 'th') return isEnd ? html`<th scope="col" class="n">${text}</th>` : html`<th scope="col">${text}</th>`;
  return isEnd ? html`<td class="n">${text}</td>` : html`<td dir="auto">${text}</td>`;
};

/** The preview as a table that scrolls sideways by itself; long cells and columns beyond the fortieth are left out. */
export const previewHtml = (preview: Preview): Html => {
  const { total, columns, rows } = preview;
  const shown = columns.slice(0, mostColumns);
  const ends = shown.map((_, index) => numeric(preview, index));
  const line = (tag: 'th' | 'td', cells: string[]): Html =>
    html`<tr>${shown.map((_, index) => cellHtml(tag, cells[index] ?? '', ends[index] === true))}</tr>\n`;
  const columnWords =
    columns.length > mostColumns
      ? `${mostColumns} of ${countText(columns.length)} columns`
      : counted(columns.length, 'column');
  const rowWords = total > rows.length ? `The first ${rows.length} of ${countText(total)} rows` : counted(total, 'row');
  return html`<p class="soft">${rowWords}, ${columnWords}.</p>
<div class="scroll" role="region" aria-label="Preview of the rows" tabindex="0">
<table>
<thead>
${line('th', columns)}</thead>
<tbody>
${rows.map((row) => line('td', row))}</tbody>
</table>
</div>`;
};
