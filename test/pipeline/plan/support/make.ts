// Wishes and ledger entries for tests of pure planning.
import { createHash } from 'node:crypto';
import { uuidOfKey } from '../../../../src/model/key.ts';
import { type LedgerEntry, newEntry, type SourceFingerprint } from '../../../../src/model/ledger-entry.ts';
import type { DatasetWish, ResourceWish } from '../../../../src/model/wish.ts';
import type { KnownState } from '../../../../src/pipeline/plan/plan.ts';

/** sha256 of a text, as of a file with that content. */
export const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A file of that content, as last read. */
export const source = (content: string): SourceFingerprint => ({
  bytes: content.length,
  sha256: sha(content),
  mtimeNs: '1',
  ctimeNs: '1',
  ino: '1',
  hashedAt: 1,
});

/** A wish for a resource with a CSV file. */
export const resourceWish = (key: string, more: Partial<ResourceWish> = {}): ResourceWish => {
  const title = more.title ?? key;
  return {
    key,
    uuid: uuidOfKey(key),
    datasetKey: key.slice(0, key.lastIndexOf('/')),
    title,
    published: true,
    fields: {},
    source: { kind: 'file', path: `/data/${key}.csv`, name: 'table.csv' },
    import: 'auto',
    metadataFingerprint: sha(`${key} ${title}`),
    ...more,
  };
};

/** A wish for a dataset with resources of these ids. */
export const datasetWish = (key: string, resources: string[] = [], more: Partial<DatasetWish> = {}): DatasetWish => {
  const title = more.title ?? key;
  return {
    key,
    uuid: uuidOfKey(key),
    title,
    published: true,
    fields: {},
    metadataFingerprint: sha(`${key} ${title}`),
    resources: resources.map((id) => resourceWish(`${key}/${id}`)),
    ...more,
  };
};

/** Everything known when these wishes are live, with a file of the content `content` for each resource. */
export const liveState = (
  wishes: DatasetWish[],
  content = 'a\n1\n',
): KnownState & {
  entries: Map<string, LedgerEntry>;
  sources: Map<string, SourceFingerprint | null>;
} => {
  const known = {
    entries: new Map<string, LedgerEntry>(),
    sources: new Map<string, SourceFingerprint | null>(),
    sent: new Map(),
    listed: null,
  };
  let nid = 0;
  for (const wish of wishes) {
    const { key, uuid, title } = wish;
    const dataset: LedgerEntry = {
      ...newEntry({ key, kind: 'dataset', uuid, title }),
      nid: String(++nid),
      vid: '1',
      metadataFingerprint: wish.metadataFingerprint,
      live: true,
    };
    known.entries.set(key, dataset);
    known.sent.set(key, { title, published: true, fields: wish.fields });
    const links: string[] = [];
    for (const resource of wish.resources) {
      const text = `${content}${resource.key}`;
      known.sources.set(resource.key, source(text));
      known.entries.set(resource.key, {
        ...newEntry({ key: resource.key, kind: 'resource', uuid: resource.uuid, title: resource.title }),
        nid: String(++nid),
        vid: '1',
        metadataFingerprint: resource.metadataFingerprint,
        file: { fid: '1', name: 'table.csv', bytes: text.length, sha256: sha(text) },
        datastore: 'imported',
        live: true,
      });
      links.push(String(nid));
    }
    known.entries.set(key, { ...dataset, links });
  }
  return known;
};
