// The datastore resource: status, import, drop, delete, configuration (spec 4.9 to 4.11).
import { isObject } from '../../util/json.ts';
import { demand, may, mayEdit } from '../access.ts';
import { textOf } from '../content/items.ts';
import { type Call, type Operation, operation, type Resource, type Result } from '../portal.ts';
import { Refusal } from '../refusal.ts';
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

const configure = async (call: Call): Promise<Result> => {
  const { manager, configuration } = call.body;
  if ((textOf(manager) ?? '') !== '') throw new Refusal(406, otherManager);
  if (isObject(configuration)) await call.portal.datastore.configure(nidOf(call), configuration);
  return { value: null };
};

const onDatastore = (parts: Partial<Operation> & Pick<Operation, 'run'>): Operation =>
  operation({ writes: true, access: demandDatastore, ...parts });

/** The datastore resource (spec 4.9 to 4.11). */
export const datastoreResource = {
  retrieve: onDatastore({ writes: false, run: (call) => ({ value: call.portal.datastore.status(nidOf(call)) }) }),
  update: onDatastore({ run: configure }),
  createOn: onDatastore({ run: () => ({ value: "Configuration for this resource's datastore already exists." }) }),
  delete: onDatastore({
    run: async (call) => {
      await call.portal.datastore.remove(nidOf(call));
      return { value: true };
    },
  }),
  import: onDatastore({
    place: 'targeted',
    run: async (call) => {
      await call.portal.datastore.importNow(nidOf(call));
      return { value: true };
    },
  }),
  drop: onDatastore({
    place: 'targeted',
    run: async (call) => {
      await call.portal.datastore.drop(nidOf(call));
      return { value: [] };
    },
  }),
} satisfies Resource;
