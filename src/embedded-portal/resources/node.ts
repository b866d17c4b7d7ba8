// The node resource: index, retrieve, create, update, delete, attach_file, files (spec 4.3 to 4.8).

import { paths } from '../../dataset-api/paths.ts';
import { escapeHtml } from '../../util/html.ts';
import { isObject } from '../../util/json.ts';
import { demand, may, mayEdit, mayRead } from '../access.ts';
import { type Call, idIn, operation, type Resource, type Result } from '../call.ts';
import { isNodeType, type NodeType } from '../content/fields.ts';
import { type Copies, createNode, deleteNode, otherSides, type Saved, updateNode } from '../content/save.ts';
import { publicPath, viewNode } from '../content/view.ts';
import { accessDenied, Refusal } from '../refusal.ts';
import type { StoredNode } from '../store/nodes.ts';
import { attachFile, removeBytes } from './attach.ts';
import { listNodes, warnsOfQuery } from './node-list.ts';
import {
  type FileChange,
  inRace,
  noteFileChange,
  renewDatasetsOf,
  sameFile,
  settleFileChange,
  touchedBy,
} from './node-saves.ts';

/** The node of the path; 404 with the id as sent when there is none (recorded behaviour 2). */
export const needNode = (call: Call): StoredNode => {
  const nid = idIn(call);
  const node = nid === null ? null : call.portal.store.nodes.byNid(nid);
  if (node === null) throw new Refusal(404, `Node ${escapeHtml(call.args[0] ?? '')} could not be found`);
  return node;
};

const uriOf = (call: Call, nid: number): string => `${call.baseUrl}${paths.node(String(nid))}`;

/** `field_datastore_status` where the portal keeps it and the resource has a file; null: as stored. */
const shownStatusOf = ({ portal: { store, profile, datastore } }: Call, { nid }: StoredNode): string | null =>
  profile.keepsDatastoreStatus && store.files.ofNode(nid).length > 0 ? datastore.fieldStatus(String(nid)) : null;

/** The node object as the caller sees it. */
const view = (call: Call, node: StoredNode): Record<string, unknown> => {
  const { store, profile } = call.portal;
  const files = node.type === 'resource' ? store.files.ofNode(node.nid) : [];
  return viewNode(node, {
    profile,
    fields: profile.fields[node.type],
    baseUrl: call.baseUrl,
    author: node.uid === 0 ? null : store.users.byUid(node.uid),
    targets: store.nodes.targets(node.nid),
    files,
    datastoreStatus: shownStatusOf(call, node),
  });
};

/** The body of a create or update; one wrapping `{node: {…}}` is taken off (recorded behaviour 4). */
const nodeBody = (call: Call): Record<string, unknown> => {
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

/** A uuid can be used once; which node has it is shown to those who may read that node. */
const checkUuid = ({ portal, user }: Call, uuid: string | undefined): void => {
  if (uuid === undefined || !portal.profile.uuidsAreUnique) return;
  const known = portal.store.nodes.byUuid(uuid);
  const node = known === null ? null : portal.store.nodes.byNid(known.nid);
  if (node === null) return;
  const which = mayRead(user, node) || mayEdit(user, node) ? `: nid ${node.nid}` : '';
  throw new Refusal(409, `A node with the uuid ${uuid} exists already${which}`);
};

/** Refuses references that would change a node which the caller may not edit. */
const checkOtherSides = (
  { portal: { store, profile }, user }: Call,
  node: { nid: number | null; type: NodeType },
  targets: readonly number[] | undefined,
): void => {
  if (!profile.guardsOtherSides || targets === undefined) return;
  const { added, removed } = otherSides(store, node, targets);
  const foreign = [...added, ...removed]
    .flatMap((nid) => store.nodes.byNid(nid) ?? [])
    .find((other) => !mayEdit(user, other));
  if (foreign === undefined) return;
  const { type, nid } = foreign;
  throw new Refusal(
    403,
    `This would change the references of the ${type} ${nid}, which is not allowed for user ${escapeHtml(user.name)}`,
  );
};

const changeOf = ({ portal, user }: Call, copies: Copies) => ({
  uid: user.uid,
  now: portal.now(),
  copies,
  mostGroupedAtOnce: portal.profile.mostGroupedAtOnce,
});

const create = async (call: Call): Promise<Result> => {
  const { portal, user } = call;
  const { store, profile } = portal;
  const type = typeIn(call);
  const body = nodeBody(call);
  const fields = profile.fields[type];
  const rendered = await portal.texts.render(fields, body);
  const save = (copies: Copies): Promise<{ saved: Saved; change: FileChange; fault: Refusal | undefined }> =>
    store.write(() => {
      const context = { store, user, type, node: null, fields, rendered, shownStatus: '0', now: portal.now() };
      const core = profile.readCore(body, context);
      checkUuid(call, core.uuid);
      const changes = profile.readFields(body, context);
      checkOtherSides(call, { nid: null, type }, changes.targets);
      const change = changeOf(call, copies);
      const made = createNode(store, { type, fields }, { core, changes, change });
      const hasList = store.nodes.targets(made.nid).length > 0;
      const takeBack = () => store.nodes.remove(made.nid);
      const lost = type === 'dataset' ? (portal.races?.settle({ hasList }, takeBack) ?? null) : null;
      const fileChange = changes.fids === undefined ? sameFile : noteFileChange(portal, made.nid, []);
      return { saved: made, change: fileChange, fault: lost ?? changes.fault };
    });
  const { saved, change, fault } = await inRace(call, () => touchedBy(call, null, body), save);
  if (fault !== undefined) throw fault;
  await settleFileChange(portal, saved.nid, change);
  const made = type === 'page' && profile.showsNewPages ? store.nodes.byNid(saved.nid) : null;
  if (made !== null) return { redirect: `${publicPath(made, call.baseUrl)}?edit=true` };
  return { value: { nid: String(saved.nid), uri: uriOf(call, saved.nid) } };
};

const update = async (call: Call): Promise<Result> => {
  const { portal, user } = call;
  const { store, profile } = portal;
  const body = nodeBody(call);
  const begun = needNode(call);
  const fields = profile.fields[begun.type];
  const rendered = await portal.texts.render(fields, body, begun.fields);
  const save = (copies: Copies): Promise<{ saved: Saved; change: FileChange; fault: Refusal | undefined }> =>
    store.write(() => {
      const present = needNode(call);
      const node = copies.get(present.nid)?.node ?? present;
      const { type } = node;
      if (![undefined, null, '', type].includes(body.type as NodeType)) {
        throw new Refusal(406, 'Node type cannot be changed');
      }
      const shownStatus = shownStatusOf(call, node) ?? '0';
      const context = { store, user, type, node, fields, rendered, shownStatus, now: portal.now() };
      const core = profile.readCore(body, context);
      const changes = profile.readFields(body, context);
      checkOtherSides(call, node, changes.targets);
      const before = changes.fids === undefined ? [] : store.files.ofNode(node.nid);
      const change = changeOf(call, copies);
      const made = updateNode(store, node, { core, changes, change });
      renewDatasetsOf(call, node.nid, copies);
      const fileChange = changes.fids === undefined ? sameFile : noteFileChange(portal, made.nid, before);
      return { saved: made, change: fileChange, fault: changes.fault };
    });
  const { saved, change, fault } = await inRace(call, () => touchedBy(call, begun.nid, body), save);
  await settleFileChange(portal, saved.nid, change);
  removeBytes(portal, saved.droppedFiles);
  if (fault !== undefined) throw fault;
  return { value: { nid: String(saved.nid), uri: uriOf(call, saved.nid) } };
};

const remove = async (call: Call): Promise<Result> => {
  const { portal } = call;
  const { nid } = needNode(call);
  await portal.datastore.nodeRemoved(String(nid));
  const dropped = await inRace(
    call,
    () => portal.store.nodes.sources(nid),
    (copies) => portal.store.write(() => deleteNode(portal.store, needNode(call), changeOf(call, copies))),
  );
  removeBytes(portal, dropped);
  const { deleteAnswer } = portal.profile;
  return deleteAnswer === null ? { empty: true } : { value: deleteAnswer };
};

const demandEdit = (call: Call): void => demand(call.user, mayEdit(call.user, needNode(call)));

const demandRead = (call: Call): void => demand(call.user, mayRead(call.user, needNode(call)));

/** What a list shows depends on its query and on what the caller may see. */
const list = (call: Call): Result => {
  call.warned ||= warnsOfQuery(call);
  const sees = [may(call.user, 'administer nodes'), may(call.user, 'unlimited lists')];
  return {
    key: `list ${sees} ${call.queryText}`,
    read: () => listNodes(call, (node) => view(call, node)),
    shape: 'rows',
  };
};

/** The node resource. */
export const nodeResource: Resource = {
  index: operation({ run: list }),
  retrieve: operation({
    access: demandRead,
    run: (call) => ({ key: `node ${call.args[0]}`, read: () => view(call, needNode(call)), shape: 'node' }),
  }),
  create: operation({
    writes: true,
    access: (call) => {
      typeIn(call);
      demand(call.user, may(call.user, 'create content'));
    },
    run: create,
  }),
  update: operation({ writes: true, access: demandEdit, run: update }),
  delete: operation({ writes: true, access: demandEdit, run: remove }),
  targetedActions: {
    attach_file: operation({
      writes: true,
      takesFiles: true,
      requires: () => ['field_name'],
      access: demandEdit,
      run: (call) => attachFile(call, needNode(call)),
    }),
  },
  // Always empty: the upload field is not of the kind this relationship lists (recorded behaviour 7).
  relationships: { files: operation({ access: demandRead, run: () => ({ value: [] }) }) },
};
