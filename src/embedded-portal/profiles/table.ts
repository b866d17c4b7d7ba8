// The profiles by name.

import { dkan714Profile } from './dkan-7.14.ts';
import { dkan71816Profile } from './dkan-7.18.16.ts';
import { dkan718Profile } from './dkan-7.18.ts';
import type { Profile, ProfileName } from './profile.ts';
import { specProfile } from './spec.ts';

/** Every profile. */
export const profiles: Readonly<Record<ProfileName, Profile>> = {
  spec: specProfile,
  'dkan-7.18.16': dkan71816Profile,
  'dkan-7.18': dkan718Profile,
  'dkan-7.14': dkan714Profile,
};
