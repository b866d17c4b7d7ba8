// The operations of deployed servers, as wrappers of those of the specification.
import { isObject } from '../../../util/json.ts';
import { textOf } from '../../content/items.ts';
import { type Copies, renewDatasets } from '../../content/save.ts';
import { publicPath } from '../../content/view.ts';
import type { Call, Operation, Resource, Result } from '../../portal.ts';
import { may, Refusal } from '../../refusal.ts';
import { keyOf, needField, refusesFilled, removeBytes, tooManyFiles } from '../../resources/attach.ts';
import { datastoreResource, otherManager } from '../../resources/datastore.ts';
import { needNode, nodeBody, nodeResource } from '../../resources/node.ts';
import { loginKeys, loginOperation, refuseInactive, userResource, versionIn } from '../../resources/user.ts';
import { codelessFault } from './faults.ts';
import { listRows, listRowsOfKnown, warnsOfQuery } from './lists.ts';
import { warn } from './wire.ts';

/** The operation with something around it, which gets what the operation itself does. */
const around = (inner: Operation, run: (call: Call, core: () => Promise<Result>) => Promise<Result>): Operation => ({
  ...inner,
  run: (call) => run(call, async () => inner.run(call)),
});

const answering = (inner: Operation, change: (value: Record<string, unknown>, call: Call) => unknown): Operation =>
  around(inner, async (call, core) => {
    const result = await core();
    return 'value' in result && isObject(result.value) ? { ...result, value: change(result.value, call) } : result;
  });

const index = (list: (call: Call) => Record<string, unknown>[]): Operation => ({
  run: (call) => {
    if (warnsOfQuery(call)) warn(call);
    return { value: list(call), shape: 'rows' };
  },
});

/** A new page is shown. */
const create = around(nodeResource.create, async (call, core) => {
  const result = await core();
  if (nodeBody(call).type !== 'page' || !('value' in result)) return result;
  const { nid } = result.value as { nid: string };
  const made = call.portal.store.nodes.byNid(Number(nid));
  if (made === null) return result;
  const location = `${publicPath(made, call.baseUrl)}?edit=true`;
  return { status: 302, headers: { ...call.headers, location }, body: '' };
});

/** Without a file the answer is an empty list, and `attach` 0 empties the field. */
const attachNothing = async (call: Call): Promise<Result> => {
  const { portal, user } = call;
  const node = needNode(call);
  needField(call, node);
  const dropped = await portal.store.write(() => {
    portal.store.nodes.touch(node.nid, { at: portal.now(), uid: user.uid });
    return refusesFilled(call.body.attach) ? [] : portal.store.files.assign(node.nid, []);
  });
  if (dropped.length > 0) await portal.datastore.fileRemoved(String(node.nid));
  removeBytes(portal, dropped);
  return { value: [] };
};

const attach = around(nodeResource.attach_file, async (call, core) => {
  if (call.files.every(({ part }) => keyOf(part) === null)) return attachNothing(call);
  try {
    const result = await core();
    return 'value' in result ? { value: [result.value] } : result;
  } catch (error) {
    throw error instanceof Refusal && error.message === tooManyFiles ? codelessFault(tooManyFiles) : error;
  }
});

const node = {
  ...nodeResource,
  index: index(listRows),
  // The data of an author other than user 1 are null.
  retrieve: answering(nodeResource.retrieve, (shown) => ({ ...shown, data: shown.uid === '1' ? shown.data : null })),
  create,
  delete: around(nodeResource.delete, async (_, core) => {
    await core();
    return { value: true };
  }),
  attach_file: attach,
} satisfies Resource;

/** What an account shows: `init` to who administers accounts, and no data. */
const shownUser = (user: Record<string, unknown>, viewer: Call['user']): Record<string, unknown> => {
  const { init, ...rest } = user;
  return { ...(may(viewer, 'administer users') ? user : rest), data: false };
};

/** A login whose answers tell which accounts are blocked, and which takes the first of a list of names. */
const loginOf = (keys: (call: Call) => [name: string, password: string]): Operation =>
  around(loginOperation(keys, false), async (call, core) => {
    const [key] = keys(call);
    const sent = call.body[key];
    const name = Array.isArray(sent) ? sent[0] : sent;
    call.body = { ...call.body, [key]: name };
    const account = call.portal.store.users.byName(textOf(name) ?? '');
    if (call.session === null && account?.status === 0) await refuseInactive(call, String(name));
    const result = await core();
    if (!('value' in result) || !isObject(result.value) || !isObject(result.value.user)) return result;
    const { user } = result.value;
    const viewer = call.portal.store.users.byUid(Number(user.uid)) ?? call.user;
    return { ...result, value: { ...result.value, user: shownUser(user, viewer) } };
  });

const versionedKeys = (call: Call): [string, string] => {
  const version = versionIn(call, 'login');
  if (version !== undefined && !/^\d+\.\d+$/.test(String(version))) warn(call);
  return loginKeys(call);
};

/** Everybody sees every account. */
const user = {
  ...userResource,
  retrieve: {
    ...answering(userResource.retrieve, (value, call) => shownUser(value, call.user)),
    access: () => undefined,
  },
  login: loginOf(versionedKeys),
} satisfies Resource;

const datastore = {
  ...datastoreResource,
  update: around(datastoreResource.update, async (call, core) => {
    if ((textOf(call.body.manager) ?? '') !== '') throw codelessFault(otherManager);
    return core();
  }),
} satisfies Resource;

/** The resources of releases A and B. */
export const recordedResources: Readonly<Record<string, Resource>> = { node, user, datastore };

/** The resources of release C, which knows no versions of the login. */
export const formResources: Readonly<Record<string, Resource>> = {
  node: {
    ...node,
    index: index(listRowsOfKnown),
    // The path comes before the author.
    retrieve: answering(node.retrieve, ({ name, picture, data, ...rest }) => ({ ...rest, name, picture, data })),
  },
  user: { ...user, login: loginOf(() => ['username', 'password']) },
};

/** Saves the datasets of an updated resource too, where they changed long before it. */
export const renewDatasetsOf = ({ portal, user }: Call, nid: number, copies: Copies): void => {
  const { store, now } = portal;
  const saved = store.nodes.byNid(nid);
  if (saved?.type === 'resource') renewDatasets({ store, uid: user.uid, now: now(), copies }, saved);
};
