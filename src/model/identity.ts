// Stable identities: the key of a dataset or resource, and the uuid made from it.
import { hash } from 'node:crypto';

/** Namespace of all uuids that sluice sends; never changes, because a changed namespace would duplicate every node. */
export const identityNamespace = '6f1c9b52-8a4e-5d37-9c06-2b7e41d0a3f8';

const uuidBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

/** Name-based uuid, version 5 (RFC 9562 section 5.5) of `name` in `namespace`. */
export const uuidV5 = (namespace: string, name: string): string => nameBased(uuidBytes(namespace), name);

const nameBased = (namespace: Buffer, name: string): string => {
  const hex = hash('sha1', Buffer.concat([namespace, Buffer.from(name)]));
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** Key of a dataset: `<manifest>/<dataset id>`. */
export const datasetKey = (manifest: string, dataset: string): string => `${manifest}/${dataset}`;

/** Key of a resource: `<manifest>/<dataset id>/<resource id>`. */
export const resourceKey = (manifest: string, dataset: string, resource: string): string =>
  `${manifest}/${dataset}/${resource}`;

const identityBytes = uuidBytes(identityNamespace);

/** The uuid that the node of a key carries on every portal. */
export const uuidOfKey = (key: string): string => nameBased(identityBytes, key);

/** What an id in a manifest may look like. */
export const idPattern = /^[a-z0-9][a-z0-9._-]{0,63}$/;
