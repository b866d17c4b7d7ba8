// Entries of many published items, written straight into the state.

import { datasetKey, kindOfKey, resourceKey, uuidOfKey } from '../../src/model/key.ts';
import { newEntry } from '../../src/model/ledger-entry.ts';
import type { Reason } from '../../src/model/report.ts';
import type { Runtime } from '../../src/service/runtime.ts';

const faulty: Reason = {
  code: 'table-ragged-row',
  message: 'line 7: 3 cells, but the header has 4',
  hint: 'add the missing cell, or quote the one that holds the delimiter',
};

/** What is written. */
export interface ManyItems {
  manifest: string;
  portal: string;
  /** Items, four of five resources; one in 50 is faulty. */
  count: number;
  runId?: string;
  /** Absolute path of the manifest. */
  path?: string;
}

/** Writes them; returns the keys. */
export const writeManyItems = async (runtime: Runtime, items: ManyItems): Promise<string[]> => {
  const { manifest, portal, count, runId = '20261121-031500-many0', path = `/data/${manifest}.yaml` } = items;
  await runtime.ledger.remember({ manifest, portal }, path);
  const keys = Array.from({ length: count }, (_, at) => {
    const dataset = `d${String(Math.floor(at / 5)).padStart(5, '0')}`;
    return at % 5 === 0 ? datasetKey(manifest, dataset) : resourceKey(manifest, dataset, `table-${at % 5}`);
  });
  for (let at = 0; at < keys.length; at += 200) {
    await Promise.all(
      keys.slice(at, at + 200).map((key, index) => {
        const number = at + index;
        const kind = kindOfKey(key);
        const isFaulty = kind === 'resource' && number % 50 === 1;
        const sha256 = uuidOfKey(key).replaceAll('-', '').repeat(2);
        const name = `readings-${number}.csv`;
        return runtime.ledger.put(portal, {
          ...newEntry({ key, kind, uuid: uuidOfKey(key), title: `Air quality, readings of station ${number}` }),
          nid: String(number + 1),
          vid: String(number + 1),
          url: `http://127.0.0.1/dataset/air-quality-${number}`,
          fieldNames: ['body', 'field_tags', 'field_license'],
          metadataFingerprint: sha256,
          sourcePath: kind === 'resource' ? `/data/stations/${name}` : null,
          file: kind === 'resource' ? { fid: String(number), name, bytes: 20_480, sha256 } : null,
          rows: kind === 'resource' ? 365 : null,
          datastore: kind === 'resource' ? 'imported' : 'none',
          live: !isFaulty,
          stale: isFaulty,
          reason: isFaulty ? faulty : null,
          runId,
          syncedAt: Date.now(),
        });
      }),
    );
  }
  return keys;
};
