// Nodes as reads show them (spec 2.1-2.3; key order and constant parts as recorded for release B).
import type { StoredFile, StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/open.ts';
import type { Term } from '../store/terms.ts';
import type { Field } from './fields.ts';

/** `rdf_mapping` of every dataset and resource; output only. */
const nodeRdf = {
  rdftype: ['sioc:Item', 'foaf:Document'],
  title: { predicates: ['dc:title'] },
  created: { predicates: ['dc:date', 'dc:created'], datatype: 'xsd:dateTime', callback: 'date_iso8601' },
  changed: { predicates: ['dc:modified'], datatype: 'xsd:dateTime', callback: 'date_iso8601' },
  body: { predicates: ['content:encoded'] },
  uid: { predicates: ['sioc:has_creator'], type: 'rel' },
  name: { predicates: ['foaf:name'] },
  comment_count: { predicates: ['sioc:num_replies'], datatype: 'xsd:integer' },
  last_activity: { predicates: ['sioc:last_activity_date'], datatype: 'xsd:dateTime', callback: 'date_iso8601' },
};

/** The item of a file in `field_upload` (spec 2.3); `settings` say how its preview is shown. */
export type FileItem = (file: StoredFile, settings?: Record<string, unknown>) => Record<string, unknown>;

interface NodeParts {
  store: Store;
  fields: readonly Field[];
  fileItem: FileItem;
  baseUrl: string;
  /** Value of `field_datastore_status` when the portal keeps it; null: as stored. */
  datastoreStatus: string | null;
}

/** What every file's item has. Names are as in the API, values as recorded. */
export const fileFacts = (file: StoredFile): Record<string, unknown> => ({
  fid: String(file.fid),
  uid: String(file.uid),
  filename: file.filename,
  uri: `public://${file.name}`,
  filemime: file.filemime,
  filesize: String(file.filesize),
  status: '1',
  timestamp: String(file.timestamp),
  type: file.type,
  uuid: file.uuid,
});

/** How the preview of a file is shown where nothing else was set. */
export const unsetPreview = { service_id: null, delimiter: null, grid: null, graph: null, map: null, embed: null };

export const fileItem: FileItem = (file, settings) => ({
  ...fileFacts(file),
  rdf_mapping: [],
  metadata: [],
  ...unsetPreview,
  alt: '',
  title: '',
  ...settings,
});

const itemsOf = ({ kind, name }: Field, node: StoredNode, { store, fileItem, datastoreStatus }: NodeParts) => {
  const own = node.fields[name] ?? [];
  if (kind === 'node') return store.nodes.targets(node.nid).map((target) => ({ target_id: String(target) }));
  if (kind === 'file') {
    const settingsOf = (file: StoredFile) => own.find(({ fid }) => fid === String(file.fid));
    return store.files.ofNode(node.nid).map((file) => fileItem(file, settingsOf(file)));
  }
  return name === 'field_datastore_status' && datastoreStatus !== null ? [{ value: datastoreStatus }] : own;
};

/** The terms in a field, in its order; unknown ones are left out. */
export const termsOf = ({ store }: Pick<NodeParts, 'store'>, node: StoredNode, field: string): Term[] =>
  (node.fields[field] ?? []).flatMap(({ tid }) => store.terms.byTid(Number(tid)) ?? []);

export const publicPath = (node: { nid: number; alias: string | null }, baseUrl: string): string =>
  node.alias === null
    ? `${baseUrl}/node/${node.nid}`
    : `${baseUrl}/${node.alias.split('/').map(encodeURIComponent).join('/')}`;

export const filesPath = '/sites/default/files/';

export const fileUrl = ({ name }: { name: string }, baseUrl: string): string =>
  `${baseUrl}${filesPath}${encodeURIComponent(name)}`;

const ownNames =
  'vid uid title log status comment promote sticky vuuid nid type language created changed tnid translate uuid'.split(
    ' ',
  ) as (keyof StoredNode)[]; // as written

export const nodeProperties = [
  ...ownNames,
  ...['revision_timestamp', 'revision_uid', 'rdf_mapping', 'name', 'picture', 'data', 'path'],
];

/** The properties of a node that come before its fields, and behind them: all of them texts (spec 2.1). */
export const coreOf = (node: StoredNode): Record<string, string> => ({
  ...Object.fromEntries(ownNames.map((name) => [name, String(node[name])])),
  revision_timestamp: String(node.revisionTimestamp),
  revision_uid: String(node.revisionUid),
});

export const lastOf = (node: StoredNode, baseUrl: string, name = ''): Record<string, string> => ({
  name,
  picture: '0',
  data: 'b:0;',
  path: publicPath(node, baseUrl),
});

/** The node object of spec 4.4: ids and times are strings, a field without a value is `[]`. */
export const viewNode = (node: StoredNode, parts: NodeParts): Record<string, unknown> => {
  const fields = parts.fields.map((field): [string, unknown] => {
    const items = itemsOf(field, node, parts);
    return [field.name, items.length === 0 ? [] : { und: items }];
  });
  const last = lastOf(node, parts.baseUrl, parts.store.users.byUid(node.uid)?.name);
  return { ...coreOf(node), ...Object.fromEntries(fields), rdf_mapping: nodeRdf, ...last };
};
