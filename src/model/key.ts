// Keys: the stable name of a dataset or resource, its parts, and the uuid made from it.
import { hash } from 'node:crypto';
import { BoundedMap } from '../util/bounded-map.ts';

/** Namespace of all uuids that sluice sends; never changes, because a changed namespace would duplicate every node. */
const identityNamespace = Buffer.from('6f1c9b528a4e5d379c062b7e41d0a3f8', 'hex');

export const datasetKey = (manifest: string, dataset: string): string => `${manifest}/${dataset}`;

export const resourceKey = (manifest: string, dataset: string, resource: string): string =>
  `${manifest}/${dataset}/${resource}`;

/** Key of the dataset that a resource belongs to; of a dataset, the name of its manifest. */
export const parentKey = (key: string): string => key.slice(0, key.lastIndexOf('/'));

/** True for a key below `parent`, which is that of a dataset or the name of a manifest. */
export const isBelow = (key: string, parent: string): boolean => key.startsWith(`${parent}/`);

export const isWithin = (key: string, whole: string): boolean => key === whole || isBelow(key, whole);

/** Ids of the dataset and of the resource that a key names; empty where it names none. */
export const idsOfKey = (key: string): { dataset: string; resource: string } => {
  const [, dataset = '', resource = ''] = key.split('/');
  return { dataset, resource };
};

export const manifestOfKey = (key: string): string => key.split('/', 1)[0] ?? key;

export const itemKinds = ['dataset', 'resource'] as const;

export const kindOfKey = (key: string): (typeof itemKinds)[number] =>
  key.includes('/', key.indexOf('/') + 1) ? 'resource' : 'dataset';

/** Uuids that were asked for last: an item's is needed for each line of its log. */
const lastUuids = new BoundedMap<string, string>(1000);

/** The uuid that the node of a key has on every portal: name-based, version 5 (RFC 9562 section 5.5). */
export const uuidOfKey = (key: string): string => {
  const known = lastUuids.get(key);
  if (known !== undefined) return known;
  const hex = hash('sha1', Buffer.concat([identityNamespace, Buffer.from(key)]));
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  const whole = Buffer.from(uuid, 'latin1').toString('latin1'); // in one piece: kept by the thousand, the parts take six times as much
  lastUuids.set(key, whole);
  return whole;
};

/** Id of the change log of a dataset: none that a manifest can give. */
export const changeLogId = '_change-log';

export const isChangeLog = (key: string): boolean => key.endsWith(`/${changeLogId}`);

export const idPattern = /^[a-z0-9][a-z0-9._-]{0,63}$/;
