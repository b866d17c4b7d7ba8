// The page of a resource: description, file or link, datastore, its first rows, addresses for programs.
import { paths } from '../../dataset-api/paths.ts';
import { type DatastoreState, datastoreState } from '../../dataset-api/values.ts';
import { type Html, html, momentHtml, sizeWords } from '../../util/html.ts';
import { countText, plural } from '../../util/plural.ts';
import { mayRead } from '../access.ts';
import type { Answer } from '../answer.ts';
import { fileUrl, publicPath } from '../content/view.ts';
import type { SearchAnswer } from '../datastore/query.ts';
import { serialColumn } from '../datastore/table-files.ts';
import type { Call, Portal } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import { type Fact, factsHtml, isExposed, linksHtml, nodeAnswer, shortened, termNames, titleText } from './layout.ts';

/** Most datasets that are named above a resource. */
const mostParents = 20;

const crumbsOf = (call: Call, node: StoredNode): Html[] =>
  call.portal.store.nodes
    .linked(node.nid, mostParents)
    .filter((row) => row.type === 'dataset' && mayRead(call.user, row))
    .map((row) => html` › <a href="${publicPath(row, call.baseUrl)}"><bdi>${titleText(row)}</bdi></a>`);

const fileHtml = (file: StoredFile, baseUrl: string): Html =>
  html`<a href="${fileUrl(file, baseUrl)}"><bdi>${file.filename}</bdi></a> (${sizeWords(file.filesize)}, ${file.filemime})<br>`;

const stateWords: Record<DatastoreState, string> = {
  none: 'not imported',
  ready: 'ready to be imported',
  running: 'being imported',
  paused: 'import paused',
  imported: 'imported',
  failed: 'the import of this file failed',
  unknown: 'unknown',
};

const datastoreText = ({ portal }: Call, nid: string, hasRows: boolean): string => {
  const numbers = portal.datastore.status(nid);
  if (numbers === null) return 'none: only CSV and TSV files are imported';
  const state = datastoreState(numbers);
  const line = state === 'failed' ? portal.datastore.failure(nid)?.line : undefined;
  const where = line === undefined ? '' : ` in line ${line}`;
  const older = hasRows && portal.datastore.fieldStatus(nid) !== '2';
  return `${stateWords[state]}${where}${older ? '; the rows are those of an earlier file' : ''}`;
};

const factsOf = (call: Call, node: StoredNode, preview: Preview | null): Fact[] => {
  const { portal, baseUrl } = call;
  const files = portal.store.files.ofNode(node.nid);
  const formats = termNames(call, node, 'field_format');
  return [
    [files.length > 1 ? 'Files' : 'File', files.length === 0 ? null : files.map((file) => fileHtml(file, baseUrl))],
    ['File elsewhere', linksHtml(node, 'field_link_remote_file', { baseUrl, key: 'uri' })],
    ['Link', linksHtml(node, 'field_link_api', { baseUrl })],
    ['Format', formats.join(', ')],
    ['Datastore', files.length === 0 ? null : datastoreText(call, String(node.nid), preview !== null)],
    ['Rows', preview === null ? null : countText(preview.total)],
    ['Changed', momentHtml(node.changed * 1000)],
    ['Identifier', html`<code>${node.uuid}</code>`],
  ];
};

const apiFacts = (call: Call, node: StoredNode, preview: Preview | null): Fact[] => {
  const nid = String(node.nid);
  const address = (path: string): Html =>
    html`<a href="${call.baseUrl}${path}"><code>${call.baseUrl}${path}</code></a>`;
  const search = `${paths.datastoreSearch}?resource_id=${encodeURIComponent(node.uuid)}`;
  const hasDatastore = call.portal.datastore.status(nid) !== null && isExposed(call.portal, 'datastore', 'retrieve');
  return [
    ['Node', isExposed(call.portal, 'node', 'retrieve') ? address(`${paths.node(nid)}.json`) : null],
    ['Datastore (with a login)', hasDatastore ? address(`${paths.datastore(nid)}.json`) : null],
    ['Search in the rows', preview === null ? null : address(search)],
  ];
};

export const resourceAnswer = async (call: Call, node: StoredNode): Promise<Answer> => {
  const preview = await readPreview(call.portal, node);
  const main = html`${factsHtml(factsOf(call, node, preview))}
${preview === null ? null : html`<h2>Preview</h2>\n${previewHtml(preview)}`}
<h2>For programs</h2>
${factsHtml(apiFacts(call, node, preview))}`;
  return nodeAnswer(call, node, main, crumbsOf(call, node));
};

const mostRows = 20;
const mostColumns = 40;
const longestCell = 200;

/** What is in the datastore of a resource: how many rows, and the first of them. */
interface Preview {
  total: number;
  columns: string[];
  rows: string[][];
}

/** The first rows of a resource, 20 at most; null where nothing is imported. */
const readPreview = async ({ datastore }: Portal, node: StoredNode): Promise<Preview | null> => {
  const wish = { nid: String(node.nid), resourceUuid: node.uuid, limit: mostRows };
  const answer = await datastore.search(wish).catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  });
  if (answer === null) return null;
  const { fields, total, records } = (answer as SearchAnswer).result; // pages are of the profile `spec` only
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
const previewHtml = (preview: Preview): Html => {
  const { total, columns, rows } = preview;
  const shown = columns.slice(0, mostColumns);
  const ends = shown.map((_, index) => numeric(preview, index));
  const line = (tag: 'th' | 'td', cells: string[]): Html =>
    html`<tr>${shown.map((_, index) => cellHtml(tag, cells[index] ?? '', ends[index] === true))}</tr>\n`;
  const columnWords =
    columns.length > mostColumns
      ? `${mostColumns} of ${countText(columns.length)} columns`
      : plural(columns.length, 'column');
  const rowWords = total > rows.length ? `The first ${rows.length} of ${countText(total)} rows` : plural(total, 'row');
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
