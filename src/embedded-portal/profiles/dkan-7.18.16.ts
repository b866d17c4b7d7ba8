// Release A (7.x-1.18.16): as release B, with what the last release changed.
import { dkan718Profile } from './dkan-7.18.ts';
import type { Profile } from './profile.ts';

const { recordedDatastore } = dkan718Profile;

/** The `dkan-7.18.16` profile. */
export const dkan71816Profile: Profile = {
  ...dkan718Profile,
  name: 'dkan-7.18.16',
  recordedDatastore: {
    ...recordedDatastore,
    defaultProperties: { encoding: { PHP: 'UTF-8', MYSQL: 'utf8' }, ...recordedDatastore.defaultProperties },
    searchFaults: { tells: 'log' },
  },
  writeStyle: 'keyless',
  takesPrograms: false,
  pagesCatalogue: true,
};
