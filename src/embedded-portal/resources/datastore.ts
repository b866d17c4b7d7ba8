// The datastore resource: status, import, drop, delete, configuration (spec 4.9 to 4.11), and the search beside it.

import { escapeHtml } from '../../util/html.ts';
import { isObject } from '../../util/json.ts';
import { demand, may, mayEdit, mayRead } from '../access.ts';
import { type Call, operation, type Resource, type Result } from '../call.ts';
import { textOf } from '../content/items.ts';
import { type AnswerBudget, demandKnown, searchRefused } from '../datastore/query.ts';
import { accessDenied, Refusal } from '../refusal.ts';
import { needNode } from './node.ts';

const nidOf = (call: Call): string => String(needNode(call).nid);

/** Datastores are for those who manage them and may edit the node; without an importable file nobody may (recorded behaviour 13). */
const demandDatastore = (call: Call): void => {
  const node = needNode(call);
  demand(call.user, may(call.user, 'manage datastore') && mayEdit(call.user, node));
  demand(call.user, call.portal.datastore.isImportable(String(node.nid)));
};

const status = (call: Call): Result => {
  const value = call.portal.datastore.status(nidOf(call));
  if (value === null) throw accessDenied(call.user.name);
  return { value };
};

const importNow = async (call: Call): Promise<Result> => {
  const nid = nidOf(call);
  const outcome = await call.portal.datastore.importNow(nid);
  if (outcome === 'not-importable') throw accessDenied(call.user.name);
  if (outcome === 'failed') {
    const reason = call.portal.datastore.failure(nid);
    throw new Refusal(406, `The import failed: ${escapeHtml(reason?.message ?? 'the table is faulty')}`);
  }
  return { value: true };
};

const remove = async (call: Call): Promise<Result> => {
  await call.portal.datastore.remove(nidOf(call));
  return { value: true };
};

const drop = async (call: Call): Promise<Result> => {
  await call.portal.datastore.drop(nidOf(call));
  return { value: [] };
};

const configure = async (call: Call): Promise<Result> => {
  const { manager, configuration } = call.body;
  if ((textOf(manager) ?? '') !== '') {
    throw call.portal.profile.refuse(
      'You may not change the manager of an existing datastore. Drop the datastore and create a new one to use a different manager.',
    );
  }
  if (isObject(configuration)) await call.portal.datastore.configure(nidOf(call), configuration);
  return { value: null };
};

/** The datastore resource. */
export const datastoreResource: Resource = {
  retrieve: operation({ access: demandDatastore, run: status }),
  update: operation({ writes: true, access: demandDatastore, run: configure }),
  createOn: operation({
    writes: true,
    access: demandDatastore,
    run: () => ({ value: "Configuration for this resource's datastore already exists." }),
  }),
  delete: operation({ writes: true, access: demandDatastore, run: remove }),
  targetedActions: {
    import: operation({ writes: true, access: demandDatastore, run: importNow }),
    drop: operation({ writes: true, access: demandDatastore, run: drop }),
  },
};

/**
 * The answer of `GET /api/action/datastore/search.json`: rows of the resource whose uuid is `resource_id`, for those
 * who may read its node. Throws a Refusal in the recorded shape of such errors.
 */
export const searchAnswer = async (
  call: Call,
  query: Record<string, unknown>,
  budget: AnswerBudget,
): Promise<unknown> => {
  const { resource_id: given, ...wish } = query;
  const uuid = textOf(given) ?? '';
  call.warned ||= uuid === '' || typeof wish.fields === 'string';
  if (call.portal.profile.recordedDatastore === null) demandKnown(Object.keys(wish));
  if (uuid === '') throw searchRefused(400, 'The resource_id is a required parameter.');
  const { nodes } = call.portal.store;
  const found = nodes.byUuid(uuid);
  const node = found === null ? null : nodes.byNid(found.nid);
  if (node === null || !mayRead(call.user, node)) throw searchRefused(404, `uuid ${escapeHtml(uuid)} not found.`);
  const isUnlimited = may(call.user, 'unlimited lists');
  return call.portal.datastore.search({ ...wish, nid: String(node.nid), resourceUuid: node.uuid, budget, isUnlimited });
};
