// What changed in a table, as a diff that people read: old and new cells side by side, rows that came and went.
import { isGuarded } from '../../model/item-state.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import { changesText, type RowChanges } from '../../model/row-changes.ts';
import { type Html, html, type Part } from '../../util/html.ts';
import { countText, plural } from '../../util/plural.ts';
import { tableHtml } from './layout.ts';

/** Of a held version: what would change. */
export const changesHtml = (entry: LedgerEntry, portal: string): Part => {
  const { changes } = entry;
  if (changes === null) return null;
  const { added, removed, changed, examples } = changes;
  return html`<section class="diff" aria-label="Row changes"><h2>${isGuarded(entry) ? 'What would change' : 'What changed'}</h2>
<p>Rows <bdi>${changesText(changes)}</bdi></p>
${changed === 0 ? null : partOf(['changed', portal], changed, changedHtml(examples.changed))}
${added === 0 ? null : partOf(['added', portal], added, rowsHtml(examples.added, 'ins'))}
${removed === 0 ? null : partOf(['removed', portal], removed, rowsHtml(examples.removed, 'del'))}
</section>`;
};

/** Says how many there are where not all are shown. */
const partOf = (
  [what, portal]: [string, string],
  count: number,
  { shown, table }: { shown: number; table: Html },
): Html =>
  html`<details id="rows-${what}-${portal}" open><summary>${plural(count, 'row')} ${what}${shown < count ? `, the first ${countText(shown)} of them` : null}</summary>${table}</details>`;

type Examples = RowChanges['examples'];

const changedHtml = (rows: Examples['changed']): { shown: number; table: Html } => {
  const lines = rows.flatMap(({ key, cells }) =>
    cells.map(({ column, old, new: now }, at) => {
      const name = key.map(({ value }) => value).join(', ');
      const row = at === 0 ? html`<th scope="rowgroup" rowspan="${cells.length}"><bdi>${name}</bdi></th>` : null;
      return html`<tr>${row}<td><bdi>${column}</bdi></td><td><del><bdi>${old}</bdi></del></td><td><ins><bdi>${now}</bdi></ins></td></tr>\n`;
    }),
  );
  const key = rows[0]?.key.map(({ column }) => column).join(', ') ?? 'Row';
  return { shown: rows.length, table: tableHtml('Changed rows', [key, 'Column', 'Before', 'Now'], lines) };
};

const rowsHtml = (rows: Examples['added'], mark: 'ins' | 'del'): { shown: number; table: Html } => {
  const cellHtml = (value: string): Html =>
    mark === 'ins' ? html`<ins><bdi>${value}</bdi></ins>` : html`<del><bdi>${value}</bdi></del>`;
  const lines = rows.map((cells) => html`<tr>${cells.map(({ value }) => html`<td>${cellHtml(value)}</td>`)}</tr>\n`);
  const columns = rows[0]?.map(({ column }) => column) ?? [];
  return { shown: rows.length, table: tableHtml(mark === 'ins' ? 'Added rows' : 'Removed rows', columns, lines) };
};
