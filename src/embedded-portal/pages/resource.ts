// The page of a resource: description, file or link, datastore, first rows, addresses for programs.
import { type DatastoreState, datastoreState } from '../../dataset-api/datastore-status.ts';
import { paths } from '../../dataset-api/paths.ts';
import { mayRead } from '../access.ts';
import type { Call } from '../call.ts';
import { publicPath } from '../content/view.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import { type Fact, factsHtml, firstText, formattedHtml, tidsOf } from './facts.ts';
import { type Html, html } from './html.ts';
import { isExposed, pageText } from './layout.ts';
import { type Preview, previewHtml, readPreview } from './preview.ts';
import { countText, linkHtml, momentHtml, sizeText, titleText } from './words.ts';

/** Most datasets that are named above a resource. */
const mostParents = 20;

const crumbHtml = (call: Call, node: StoredNode): Html => {
  const parents = call.portal.store.publicNodes
    .linked(node.nid, mostParents)
    .filter((row) => row.type === 'dataset' && mayRead(call.user, row));
  const links = parents.map(
    (row) => html` › <a href="${publicPath(row, call.baseUrl)}"><bdi>${titleText(row)}</bdi></a>`,
  );
  return html`<p class="crumb"><a href="${call.baseUrl}/">Datasets</a>${links}</p>`;
};

const fileHtml = ({ name, filename, filesize, filemime }: StoredFile, baseUrl: string): Html =>
  html`<a href="${baseUrl}/sites/default/files/${encodeURIComponent(name)}"><bdi>${filename}</bdi></a> (${sizeText(filesize)}, ${filemime})<br>`;

const storedLink = (node: StoredNode, { field, key, baseUrl }: { field: string; key: string; baseUrl: string }) => {
  const url = firstText(node, field, key);
  return url === null ? null : linkHtml(url, { title: firstText(node, field, 'title'), baseUrl });
};

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
  const tids = tidsOf(node, 'field_format');
  return [
    [files.length > 1 ? 'Files' : 'File', files.length === 0 ? null : files.map((file) => fileHtml(file, baseUrl))],
    ['File elsewhere', storedLink(node, { field: 'field_link_remote_file', key: 'uri', baseUrl })],
    ['Link', storedLink(node, { field: 'field_link_api', key: 'url', baseUrl })],
    ['Format', tids.length === 0 ? null : portal.store.publicNodes.termNames(tids).join(', ')],
    ['Datastore', files.length === 0 ? null : datastoreText(call, String(node.nid), preview !== null)],
    ['Rows', preview === null ? null : countText(preview.total)],
    ['Changed', momentHtml(node.changed)],
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

/** The page of a resource. */
export const resourceText = async (call: Call, node: StoredNode): Promise<string> => {
  const preview = await readPreview(call.portal, node);
  const title = titleText(node);
  const main = html`${crumbHtml(call, node)}
<h1 dir="auto">${title}</h1>
${node.status === 1 ? null : html`<p class="soft">Not published: only you and administrators see this page.</p>`}
${formattedHtml(node, 'body')}
${factsHtml(factsOf(call, node, preview))}
${preview === null ? null : html`<h2>Preview</h2>\n${previewHtml(preview)}`}
<h2>For programs</h2>
${factsHtml(apiFacts(call, node, preview))}`;
  return pageText(call, { title, canonical: publicPath(node, call.baseUrl), main });
};
