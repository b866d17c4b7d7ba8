// What a datastore record reads as from outside.
import { type ConfigurableProperties, shownProperties } from './configuration.ts';
import type { DatastoreRecord } from './records.ts';

/** A datastore status (spec 2.7). */
export interface DatastoreStatus {
  class: string;
  storage: number;
  data_import: number;
  configurable_properties: ConfigurableProperties;
}

const importManager = 'Dkan\\Datastore\\Manager\\SimpleImport\\SimpleImport';

/** `data_import` of the `spec` profile; see `dkan/datastore-status.ts`. */
const importNumbers: Record<DatastoreRecord['state'], number> = {
  none: 2,
  ready: 3,
  running: 4,
  imported: 2,
  failed: 7,
};

/** The status of a datastore; `storage` is 1 while rows are searchable, of whichever file they are. */
export const statusOf = (record: DatastoreRecord): DatastoreStatus => ({
  class: importManager,
  storage: record.table === null ? 0 : 1,
  data_import: importNumbers[record.state],
  configurable_properties: shownProperties(record.configuration, record.mime),
});

/** Value of `field_datastore_status`: "2" while the rows of the attached file are in the datastore, else "0". */
export const fieldStatusOf = ({ table, fid }: DatastoreRecord): string => (table?.fid === fid ? '2' : '0');
