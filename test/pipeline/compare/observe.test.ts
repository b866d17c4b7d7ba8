// Which files are read before a plan is made, and which are left to their jobs.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { observe } from '../../../src/pipeline/compare/observe.ts';
import type { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { entryOf } from '../handlers/support/job.ts';
import { datasetWish, resourceWish, sha } from '../plan/support/make.ts';

const fetcher = {} as Fetcher; // no resource here has an address

const dir = tempDir();
const resource = (key: string, content: string) => {
  const path = join(dir, `${sha(key)}.csv`);
  writeFileSync(path, content);
  return resourceWish(key, { source: { kind: 'file', path, name: 'table.csv' } });
};

it('files of what was never published are left to their jobs, where that is requested', async () => {
  const wishes = [
    datasetWish('m/d', [], { resources: [resource('m/d/old', 'id\n1\n'), resource('m/d/new', 'id\n2\n')] }),
  ];
  const entries = new Map([
    ['m/d/old', entryOf('m/d/old', { nid: '7' })],
    ['m/d/new', entryOf('m/d/new', { nid: null })], // failed before it had a node
  ]);
  const read = async (leavesNew: boolean): Promise<string[]> => {
    const options = { fetcher, leavesNew };
    const { sources } = await observe(wishes, entries, options, new AbortController().signal);
    return [...sources.keys()].sort();
  };
  expect(await read(false)).toEqual(['m/d/new', 'm/d/old']);
  expect(await read(true)).toEqual(['m/d/old']);
});
