// The page of a resource: description, file or link, datastore, its rows, addresses for programs.
import { paths } from '../../dataset-api/paths.ts';
import { type DatastoreState, datastoreState } from '../../dataset-api/values.ts';
import { type Html, html, momentHtml, sizeWords } from '../../util/html.ts';
import { countText } from '../../util/plural.ts';
import { mayRead } from '../access.ts';
import type { Answer } from '../answer.ts';
import { fileUrl, publicPath } from '../content/view.ts';
import type { Call } from '../portal.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import { type Fact, factsHtml, isExposed, linksHtml, nodeAnswer, termNames, titleText, wishOf } from './layout.ts';
import { type Rows, readRows, rowsHtml } from './rows.ts';

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

const factsOf = (call: Call, node: StoredNode, rows: Rows | null): Fact[] => {
  const { portal, baseUrl } = call;
  const files = portal.store.files.ofNode(node.nid);
  const formats = termNames(call, node, 'field_format');
  return [
    [files.length > 1 ? 'Files' : 'File', files.length === 0 ? null : files.map((file) => fileHtml(file, baseUrl))],
    ['File elsewhere', linksHtml(node, 'field_link_remote_file', { baseUrl, key: 'uri' })],
    ['Link', linksHtml(node, 'field_link_api', { baseUrl })],
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
  if (wish === null || (rows !== null && wish.page > rows.pages)) return null;
  const main = html`${factsHtml(factsOf(call, node, rows))}
${rows && rowsHtml(rows, { wish, path: publicPath(node, call.baseUrl), wanted: call.query.chart })}
<h2>For programs</h2>
${factsHtml(apiFacts(call, node, rows !== null))}`;
  return nodeAnswer(call, node, main, crumbsOf(call, node));
};
