// Which files are read before a plan is made, and which are left to their jobs.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lookAt } from '../../../src/pipeline/handlers/look.ts';
import type { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { datasetWish, resourceWish, sha } from '../plan/support/make.ts';
import { entryOf, useLedger } from './support/job.ts';

const { ledger, redis } = useLedger();
const fetcher = {} as Fetcher; // no resource here has an address

const dir = tempDir();
const resource = (key: string, content: string) => {
  const path = join(dir, `${sha(key)}.csv`);
  writeFileSync(path, content);
  return resourceWish(key, { source: { kind: 'file', path, name: 'table.csv' } });
};

/** Keys of the files that are read for a plan, when `m/d/old` was published before and `m/d/new` was not. */
const read = async (leavesNew?: boolean): Promise<string[]> => {
  const resources = [resource('m/d/old', 'id\n1\n'), resource('m/d/new', 'id\n2\n')];
  const parts = { ledger: ledger(), target: { manifest: 'm', portal: 'p' }, portal: null, fetcher };
  const options = leavesNew === undefined ? {} : { leavesNew };
  const wishes = [datasetWish('m/d', [], { resources })];
  const { sources } = await lookAt({ ...parts, wishes, ...options }, new AbortController().signal);
  return [...sources.keys()].sort();
};

it('files of what was never published are left to their jobs, where that is asked for', async () => {
  await redis().flushall();
  await ledger().put('p', entryOf('m/d/old', { nid: '7' }));
  await ledger().put('p', entryOf('m/d/new', { nid: null })); // failed before it had a node
  expect(await read()).toEqual(['m/d/new', 'm/d/old']);
  expect(await read(true)).toEqual(['m/d/old']);
});

it('all files are read while a node that nobody wishes any more may be one of theirs under another name', async () => {
  await redis().flushall();
  await ledger().put('p', entryOf('m/d/old', { nid: '7' }));
  await ledger().put('p', entryOf('m/d/gone', { nid: '8' }));
  expect(await read(true)).toEqual(['m/d/new', 'm/d/old']);
});
