// The fingerprint of metadata: equal for equal meaning, whatever the order of keys.
import { hash } from 'node:crypto';
import type { NodeFields } from '../../model/wish.ts';

/** The part of a wish that the portal shall hold as metadata. */
export interface FingerprintedMetadata {
  title: string;
  published: boolean;
  fields: NodeFields;
}

/** sha256 (hex) over the canonical JSON of what the portal shall hold. */
export const metadataFingerprint = ({ title, published, fields }: FingerprintedMetadata): string =>
  hash('sha256', canonicalJson({ title, published, fields }));

/** JSON without spaces and with the keys of every object sorted; `undefined` entries are left out. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
  return `{${entries.join(',')}}`;
};
