// The page of a resource: description, file or link, datastore, its rows, searched and page by page, with a chart of a column
// of numbers, addresses for programs.
import { paths } from '../../dataset-api/paths.ts';
import { type DatastoreState, datastoreState } from '../../dataset-api/values.ts';
import { type Html, html, momentHtml, sizeWords, trusted } from '../../util/html.ts';
import { countText, plural } from '../../util/plural.ts';
import type { Answer } from '../answer.ts';
import { fileUrl, publicPath } from '../content/view.ts';
import type { SearchAnswer, SearchQuery } from '../datastore/query.ts';
import { serialColumn } from '../datastore/table-files.ts';
import type { Call, Portal } from '../portal.ts';
import { mayRead, Refusal } from '../refusal.ts';
import type { StoredFile, StoredNode } from '../store/nodes.ts';
import { type Column, chartHtml, chartOf, columnOf } from './chart.ts';
import { type Fact, factsHtml, isExposed, linksHtml, nodeAnswer, shortened, termNames, titleText } from './layout.ts';
import { type ListWish, listHtml, pageSize, pagesOf, queryOf, wishOf } from './list.ts';

const crumbsOf = (call: Call, node: StoredNode): Html[] =>
  call.portal.store.nodes
    .linked(node.nid, 20)
    .filter((row) => row.type === 'dataset' && mayRead(call.user, row))
    .map((row) => html` › <a href="${publicPath(row, call.baseUrl)}"><bdi>${titleText(row)}</bdi></a>`);

const fileHtml = (file: StoredFile, baseUrl: string): Html =>
  html`<a href="${fileUrl(file, baseUrl)}"><bdi>${file.filename}</bdi></a> (${sizeWords(file.filesize)}, ${file.filemime})<br>`;

const stateWords: Partial<Record<DatastoreState, string>> = {
  none: 'not imported',
  ready: 'ready to be imported',
  running: 'being imported',
  failed: 'the import of this file failed',
};

const datastoreText = ({ portal }: Call, nid: string, hasRows: boolean): string => {
  const numbers = portal.datastore.status(nid);
  if (numbers === null) return 'none: only CSV and TSV files are imported';
  const state = datastoreState(numbers);
  const line = state === 'failed' ? portal.datastore.failure(nid)?.line : undefined;
  const where = line === undefined ? '' : ` in line ${line}`;
  const older = hasRows && portal.datastore.fieldStatus(nid) !== '2';
  return `${stateWords[state] ?? state}${where}${older ? '; the rows are those of an earlier file' : ''}`;
};

const factsOf = (call: Call, node: StoredNode, rows: Rows | null): Fact[] => {
  const { portal, baseUrl } = call;
  const files = portal.store.files.ofNode(node.nid);
  const formats = termNames(call, node, 'field_format');
  return [
    [files.length > 1 ? 'Files' : 'File', files.length === 0 ? null : files.map((file) => fileHtml(file, baseUrl))],
    ['File elsewhere', linksHtml(node, 'field_link_remote_file', baseUrl)],
    ['Link', linksHtml(node, 'field_link_api', baseUrl)],
    ['Format', formats.join(', ')],
    ['Datastore', files.length === 0 ? null : datastoreText(call, String(node.nid), rows !== null)],
    ['Rows', rows && countText(rows.all)],
    ['Changed', momentHtml(node.changed * 1000)],
  ];
};

const apiFacts = (call: Call, node: StoredNode, hasRows: boolean): Fact[] => {
  const nid = String(node.nid);
  const address = (path: string): Html =>
    html`<a href="${call.baseUrl}${path}"><code>${call.baseUrl}${path}</code></a>`;
  const search = `${paths.datastoreSearch}?resource_id=${encodeURIComponent(node.uuid)}`;
  const hasDatastore = call.portal.datastore.status(nid) !== null && isExposed(call.portal, 'datastore', 'retrieve');
  return [
    ['Identifier', html`<code>${node.uuid}</code>`],
    ['Node', isExposed(call.portal, 'node', 'retrieve') ? address(`${paths.node(nid)}.json`) : null],
    ['Datastore (with a login)', hasDatastore ? address(`${paths.datastore(nid)}.json`) : null],
    ['Search in the rows', hasRows ? address(search) : null],
  ];
};

/** The page of a resource; null for a page of its rows that does not exist. */
export const resourceAnswer = async (call: Call, node: StoredNode): Promise<Answer | null> => {
  const wish = wishOf(call);
  const rows = wish && (await readRows(call.portal, node, wish));
  if (wish === null || (rows !== null && wish.page > pagesOf(rows.total))) return null;
  const main = html`${factsHtml(factsOf(call, node, rows))}
${rows && rowsHtml(rows, { wish, path: publicPath(node, call.baseUrl), wanted: call.query.chart })}
<h2>For programs</h2>
${factsHtml(apiFacts(call, node, rows !== null))}`;
  return nodeAnswer(call, node, main, crumbsOf(call, node));
};

const mostColumns = 40;
const mostCharted = 2000;
const longestCell = 200;

/**
 * The rows of a resource that are `shown` on a page, and the first of those that were found, for a chart; how many were found
 * (`total`), and how many there are (`all`). Null where nothing is imported.
 */
const readRows = async ({ datastore }: Portal, node: StoredNode, { search: query, page }: ListWish) => {
  const read = async (wish: Omit<SearchQuery, 'nid' | 'resourceUuid'>) => {
    const answer = await datastore.search({ nid: String(node.nid), resourceUuid: node.uuid, ...wish });
    const { fields, total, records } = (answer as SearchAnswer).result; // pages are of the profile `spec` only
    const columns = fields.map(({ id }) => id).filter((id) => id !== serialColumn);
    return { total, columns, rows: records.map((record) => columns.map((id) => String(record[id] ?? ''))) };
  };
  const offset = (page - 1) * pageSize;
  try {
    const { total, columns, rows: first } = await read({ query, limit: mostCharted, budget: { left: 500_000 } });
    const isRead = first.length >= Math.min(total, offset + pageSize);
    const shown = isRead
      ? first.slice(offset, offset + pageSize)
      : (await read({ query, limit: pageSize, offset })).rows;
    const all = query === '' ? total : (await read({ limit: 1 })).total;
    return { all, total, columns, shown, first };
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  }
};

type Rows = NonNullable<Awaited<ReturnType<typeof readRows>>>;

const [atEnd, asWritten] = [trusted(' class="n"'), trusted(' dir="auto"')];

/** The rows as a table that scrolls sideways by itself; long cells are cut. */
const tableHtml = (
  { shown }: Rows,
  columns: readonly Column[],
): Html => html`<div class="scroll" role="region" aria-label="Rows" tabindex="0">
<table>
<thead>
<tr>${columns.map(({ name, numbers }) => html`<th scope="col"${numbers && atEnd}>${shortened(name, longestCell)}</th>`)}</tr>
</thead>
<tbody>
${shown.map((row) => html`<tr>${columns.map(({ numbers }, at) => html`<td${numbers ? atEnd : asWritten}>${shortened(row[at] ?? '', longestCell)}</td>`)}</tr>\n`)}</tbody>
</table>
</div>`;

const countWords = ({ total, columns, shown }: Rows, { search, page }: ListWish): string => {
  const from = (page - 1) * pageSize;
  const some =
    from === 0 ? `The first ${shown.length}` : `Rows ${countText(from + 1)} to ${countText(from + shown.length)}`;
  const rows = total > shown.length ? `${some} of ${countText(total)} rows` : plural(total, 'row');
  const most = `${mostColumns} of ${countText(columns.length)} columns`;
  return `${rows}${search === '' ? '' : ' found'}, ${columns.length > mostColumns ? most : plural(columns.length, 'column')}.`;
};

/** Chart and rows at the path of the page, without columns beyond the fortieth; `wanted` is the column of the chart, where one is asked for. */
const rowsHtml = (rows: Rows, { wish, path, wanted }: { wish: ListWish; path: string; wanted: unknown }): Html => {
  const { first, total } = rows;
  const cellsOf = (at: number): string[] => first.map((row) => row[at] ?? '');
  const columns = rows.columns.slice(0, mostColumns).map((name, at) => columnOf(name, cellsOf(at)));
  const chart = chartOf(columns, wanted);
  const chosen = typeof wanted === 'string' && chart?.column === wanted ? { chart: wanted } : {};
  const chartOn = (name: string): string => `${path}${queryOf({ search: wish.search, chart: name })}#chart`;
  const drawn =
    chart && html`<h2 id="chart">Chart</h2>\n${chartHtml(chart, chartOn, { shown: first.length, total })}\n`;
  const list = { label: 'Search the rows', words: countWords(rows, wish), rows: tableHtml(rows, columns), total };
  return html`${drawn}<h2 id="rows">Rows</h2>
${listHtml(list, wish, (to) => `${path}${queryOf({ ...to, ...chosen })}#rows`)}`;
};
