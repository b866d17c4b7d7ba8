// The node resource: index, retrieve, create, update, delete, attach_file, files (spec 4.3 to 4.8).
import { paths } from '../../dataset-api/paths.ts';
import { escapeHtml } from '../../util/html.ts';
import { isObject } from '../../util/json.ts';
import { isNodeType, type NodeChanges, type ReadContext } from '../content/fields.ts';
import { renderTexts } from '../content/long-texts.ts';
import { type Copies, createNode, deleteNode, updateNode } from '../content/save.ts';
import { viewNode } from '../content/view.ts';
import { type Call, needById, type Resource, type Result } from '../portal.ts';
import { accessDenied, demand, may, mayEdit, mayRead, Refusal } from '../refusal.ts';
import type { NodeType, StoredNode } from '../store/nodes.ts';
import { attachFile, removeBytes } from './attach.ts';
import { listNodes } from './node-list.ts';
import { inRace, noteFile, saveWith, touchedBy } from './node-saves.ts';

/** The node of the path; 404 with the id as sent when there is none (recorded behaviour 2). */
export const needNode = (call: Call): StoredNode =>
  needById(call, call.portal.store.nodes.byNid, (id) => `Node ${id} could not be found`);

/** `field_datastore_status` where the portal keeps it and the resource has a file; null: as stored. */
const shownStatusOf = ({ portal: { store, datastore } }: Call, { nid }: StoredNode): string | null =>
  store.files.ofNode(nid).length > 0 ? datastore.fieldStatus(String(nid)) : null;

const view = (call: Call, node: StoredNode): Record<string, unknown> => {
  const { store, profile } = call.portal;
  return viewNode(node, {
    store,
    fields: profile.fields[node.type],
    fileItem: profile.uploads.item,
    baseUrl: call.baseUrl,
    datastoreStatus: shownStatusOf(call, node),
  });
};

/** The body of a create or update; one wrapping `{node: {…}}` is taken off (recorded behaviour 4). */
export const nodeBody = (call: Call): Record<string, unknown> => {
  const { body } = call;
  const inner = body.node;
  return isObject(inner) && Object.keys(body).length === 1 ? inner : body;
};

const typeIn = (call: Call): NodeType => {
  const { type } = nodeBody(call);
  if (type === undefined || type === null) throw new Refusal(406, 'Node type is required');
  if (type === '') throw accessDenied(call.user.name);
  const name = typeof type === 'string' ? type : '';
  const isOther = name !== 'dataset' && name !== 'resource';
  demand(call.user, !isOther || may(call.user, 'create other content') || typeof type !== 'string');
  if (isNodeType(name)) return name;
  throw new Refusal(406, `Node type ${escapeHtml(name)} does not exist.`);
};

const changeOf = ({ portal: { store, now, profile }, user: { uid } }: Call, copies: Copies) => {
  const { mostGroupedAtOnce } = profile;
  return { store, uid, now: now(), copies, mostGroupedAtOnce };
};

const mostNewTerms = 1000;

const readBody = (call: Call, body: Record<string, unknown>, context: ReadContext): NodeChanges => {
  const { terms } = context.store;
  let added = 0;
  const add: typeof terms.add = (term) => {
    added += 1;
    if (added > mostNewTerms) throw new Refusal(406, `A request may create ${mostNewTerms} terms at most.`);
    return terms.add(term);
  };
  return call.portal.profile.readNode(body, { ...context, store: { ...context.store, terms: { ...terms, add } } });
};

/** Saves what a body says of a node as it was when the request began; null: of a new one. */
const saveBody = async (call: Call, begun: StoredNode | null, type: NodeType): Promise<Result> => {
  const { portal, user } = call;
  const { store, profile } = portal;
  const body = nodeBody(call);
  const fields = profile.fields[type];
  const rendered = await renderTexts(fields, body, begun?.fields);
  const write = (copies: Copies) => {
    const present = begun === null ? null : needNode(call); // it may have gone meanwhile
    const node = present === null ? null : (copies.get(present.nid)?.node ?? present);
    const shownStatus = (node === null ? null : shownStatusOf(call, node)) ?? '0';
    const context = { store, user, type, node, fields, rendered, shownStatus, now: portal.now() };
    const read = readBody(call, body, context);
    const change = changeOf(call, copies);
    const before = node === null ? [] : store.files.ofNode(node.nid);
    const saved = node === null ? createNode(change, { type, fields }, read) : updateNode(change, node, read);
    const { nid } = saved;
    if (node !== null) saveWith(call, nid, copies);
    const hasList = store.nodes.targets(nid).length > 0;
    const isFragile = node === null && type === 'dataset';
    const lost = isFragile ? portal.races?.settle({ hasList }, () => store.nodes.remove(nid)) : null;
    return { ...saved, lost, late: read.late, settle: noteFile(portal, nid, before) };
  };
  const touched = touchedBy(call, begun?.nid ?? null, body);
  const { nid, droppedFiles, lost, late, settle } = await inRace(call, touched, write);
  if (lost) throw lost;
  await settle();
  removeBytes(portal, droppedFiles);
  if (late) throw late;
  return { value: { nid: String(nid), uri: `${call.baseUrl}${paths.node(String(nid))}` } };
};

const update = (call: Call): Promise<Result> => {
  const node = needNode(call);
  const { type } = nodeBody(call);
  if (![undefined, null, '', node.type].includes(type as NodeType))
    throw new Refusal(406, 'Node type cannot be changed');
  return saveBody(call, node, node.type);
};

const remove = async (call: Call): Promise<Result> => {
  const { portal } = call;
  const { nid } = needNode(call);
  await portal.datastore.nodeRemoved(String(nid));
  const dropped = await inRace(call, portal.store.nodes.sources(nid), (copies) =>
    deleteNode(changeOf(call, copies), needNode(call)),
  );
  removeBytes(portal, dropped);
  return { body: '' };
};

const demandEdit = (call: Call): void => demand(call.user, mayEdit(call.user, needNode(call)));

const demandRead = (call: Call): void => demand(call.user, mayRead(call.user, needNode(call)));

export const nodeResource = {
  index: { run: (call) => ({ value: listNodes(call, (node) => view(call, node)), shape: 'rows' }) },
  retrieve: { access: demandRead, run: (call) => ({ value: view(call, needNode(call)), shape: 'node' }) },
  create: {
    writes: true,
    access: (call) => {
      typeIn(call);
      demand(call.user, may(call.user, 'create content'));
    },
    run: (call) => saveBody(call, null, typeIn(call)),
  },
  update: { writes: true, access: demandEdit, run: update },
  delete: { writes: true, access: demandEdit, run: remove },
  attach_file: {
    place: 'targeted',
    writes: true,
    takesFiles: true,
    requires: () => ['field_name'],
    access: demandEdit,
    run: (call) => attachFile(call, needNode(call)),
  },
  // Always empty: the upload field is not of the kind this relationship lists (recorded behaviour 7).
  files: { place: 'relationship', access: demandRead, run: () => ({ value: [] }) },
} satisfies Resource;
