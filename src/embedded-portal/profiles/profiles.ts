// The profiles by name.
import type { Profile, ProfileName } from '../portal.ts';
import { releases } from './dkan/releases.ts';
import { specProfile } from './spec.ts';

export const profiles: Readonly<Record<ProfileName, Profile>> = { spec: specProfile, ...releases };
