// Release C (7.x-1.14.7) as recorded: create and update through the editing form, no datastore endpoints, import by cron.
import { dkan718Profile } from './dkan-7.18.ts';
import { readFormCore, readFormNode } from './form-core.ts';
import type { Profile } from './profile.ts';
import { extensions } from './spec.ts';

/** The `dkan-7.14` profile. */
export const dkan714Profile: Profile = {
  ...dkan718Profile,
  name: 'dkan-7.14',
  resources: { file: false, datastore: false, term: false },
  readCore: readFormCore,
  readFields: readFormNode,
  extensions: extensions.filter((extension) => !/^(?:kml|kmz|shp)$/.test(extension)),
  hasLoginVersions: false,
  renewsDatasets: false,
  operators: 'known',
  keepsDatastoreStatus: true,
  pathFirst: true,
  recordedDatastore: { ...dkan718Profile.recordedDatastore, cronMs: 60_000, searchFaults: { tells: 'fatal' } },
};
