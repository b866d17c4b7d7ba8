// Nodes as reads show them (spec 2.1-2.3; key order and constant parts as recorded for release B).
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import type { User } from '../store/users.ts';
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
  fields: readonly Field[];
  fileItem: FileItem;
  baseUrl: string;
  /** The author's account; null for uid 0 or an account that is gone. */
  author: User | null;
  /** Nids the node refers to. */
  targets: number[];
  files: StoredFile[];
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

/** The item of the specification. */
export const fileItem: FileItem = (file, settings) => ({
  ...fileFacts(file),
  rdf_mapping: [],
  metadata: [],
  ...unsetPreview,
  alt: '',
  title: '',
  ...settings,
});

const itemsOf = (field: Field, node: StoredNode, parts: NodeParts): Record<string, unknown>[] => {
  if (field.kind === 'node') return parts.targets.map((target) => ({ target_id: String(target) }));
  if (field.kind === 'file')
    return parts.files.map((file) => {
      const settings = node.fields[field.name]?.find(({ fid }) => fid === String(file.fid));
      return parts.fileItem(file, settings);
    });
  if (field.name === 'field_datastore_status' && parts.datastoreStatus !== null) {
    return [{ value: parts.datastoreStatus }];
  }
  return node.fields[field.name] ?? [];
};

export const publicPath = (node: { nid: number; alias: string | null }, baseUrl: string): string =>
  node.alias === null
    ? `${baseUrl}/node/${node.nid}`
    : `${baseUrl}/${node.alias.split('/').map(encodeURIComponent).join('/')}`;

/** Where the bytes of files are, by public name. */
export const filesPath = '/sites/default/files/';

export const fileUrl = ({ name }: { name: string }, baseUrl: string): string =>
  `${baseUrl}${filesPath}${encodeURIComponent(name)}`;

const coreProperties =
  `vid uid title log status comment promote sticky vuuid nid type language created changed tnid translate
  uuid revision_timestamp revision_uid rdf_mapping name picture data path`.split(/\s+/);

/** True for a property that nodes of any type have in the profile. */
export const hasProperty = (
  { fields }: { fields: Readonly<Record<string, readonly Field[]>> },
  name: string,
): boolean =>
  coreProperties.includes(name) || Object.values(fields).some((own) => own.some((field) => field.name === name));

/** The node object of spec 4.4: ids and times are strings, a field without a value is `[]`. */
export const viewNode = (node: StoredNode, parts: NodeParts): Record<string, unknown> => {
  const view: Record<string, unknown> = {
    vid: String(node.vid),
    uid: String(node.uid),
    title: node.title,
    log: node.log,
    status: String(node.status),
    comment: String(node.comment),
    promote: String(node.promote),
    sticky: String(node.sticky),
    vuuid: node.vuuid,
    nid: String(node.nid),
    type: node.type,
    language: node.language,
    created: String(node.created),
    changed: String(node.changed),
    tnid: String(node.tnid),
    translate: String(node.translate),
    uuid: node.uuid,
    revision_timestamp: String(node.revisionTimestamp),
    revision_uid: String(node.revisionUid),
  };
  for (const field of parts.fields) {
    const items = itemsOf(field, node, parts);
    view[field.name] = items.length === 0 ? [] : { und: items };
  }
  const name = parts.author?.name ?? '';
  return Object.assign(view, {
    rdf_mapping: nodeRdf,
    name,
    picture: '0',
    data: 'b:0;',
    path: publicPath(node, parts.baseUrl),
  });
};
