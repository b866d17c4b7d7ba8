// The datastore resource: status, import, drop, delete, configuration (spec 4.9 to 4.11).
import { isObject } from '../../util/json.ts';
import { textOf } from '../content/items.ts';
import type { Call, Operation, PortalDatastore, Resource } from '../portal.ts';
import { demand, may, mayEdit, Refusal } from '../refusal.ts';
import { needNode } from './node.ts';

const nidOf = (call: Call): string => String(needNode(call).nid);

/** Datastores are for those who manage them and may edit the node; without an importable file nobody may (recorded behaviour 13). */
const demandDatastore = (call: Call): void => {
  const node = needNode(call);
  demand(call.user, may(call.user, 'manage datastore') && mayEdit(call.user, node));
  demand(call.user, call.portal.datastore.isImportable(String(node.nid)));
};

/** The message where a configuration names the manager of the datastore. */
export const otherManager =
  'You may not change the manager of an existing datastore. Drop the datastore and create a new one to use a different manager.';

/** An operation on a datastore, which answers with `value` when it is done. */
const onDatastore = (
  act: (datastore: PortalDatastore, nid: string, call: Call) => Promise<void>,
  value: unknown,
  place?: Operation['place'],
): Operation => ({
  writes: true,
  access: demandDatastore,
  place,
  run: async (call) => {
    await act(call.portal.datastore, nidOf(call), call);
    return { value };
  },
});

const configure = async (datastore: PortalDatastore, nid: string, { body }: Call): Promise<void> => {
  if ((textOf(body.manager) ?? '') !== '') throw new Refusal(406, otherManager);
  if (isObject(body.configuration)) await datastore.configure(nid, body.configuration);
};

export const datastoreResource = {
  retrieve: { access: demandDatastore, run: (call) => ({ value: call.portal.datastore.status(nidOf(call)) }) },
  update: onDatastore(configure, null),
  createOn: onDatastore(async () => {}, "Configuration for this resource's datastore already exists."),
  delete: onDatastore((datastore, nid) => datastore.remove(nid), true),
  import: onDatastore((datastore, nid) => datastore.importNow(nid), true, 'targeted'),
  drop: onDatastore((datastore, nid) => datastore.drop(nid), [], 'targeted'),
} satisfies Resource;
