// An import ends well once there is space again, wherever the disk was full: in the table, or in the store.
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { TableFiles } from '../../../src/embedded-portal/datastore/table-files.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type OpenDatastore, openDatastore } from './open-datastore.ts';

const open = (dir: string, options: Parameters<typeof openDatastore>[1] = {}): OpenDatastore => {
  const made = openDatastore(dir, options);
  onTestFinished(() => made.close());
  return made;
};

const state = ({ db }: OpenDatastore): unknown => db.prepare('SELECT state FROM datastore').get()?.state;

it('an import that could not be stored is stored when there is space again, without a restart', async () => {
  let isFull = false;
  let refused = 0;
  const write = async <T>(work: () => T): Promise<T> => {
    if (isFull) {
      refused += 1;
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
    }
    const result = work();
    isFull = refused === 0;
    return result;
  };
  const d = open(tempDir(), { write, pickUpMs: 5, attachWaitMs: 1 });
  await d.attach('1', 'a,b\n1,2\n');
  await waitUntil('it was tried more than once', () => refused > 2);
  expect(state(d)).toBe('running');
  isFull = false;
  await waitUntil('it is stored', () => state(d) === 'imported');
  expect(await d.rows('1')).toEqual([['1', '2', '1']]);
  expect(d.tables()).toHaveLength(1);
});

// Whatever is written to /dev/full meets a full disk.
it.skipIf(!existsSync('/dev/full'))(
  'an import whose table found no space is made when there is space again',
  async () => {
    const dir = tempDir();
    const d = open(dir, { pickUpMs: 5 });
    await d.attach('1', 'a,b\n1,2\n');
    const full = '1.full.sqlite';
    symlinkSync('/dev/full', join(dir, 'tables', full));
    const newName = vi.spyOn(TableFiles.prototype, 'newName').mockReturnValue(full);
    onTestFinished(() => newName.mockRestore());
    expect(await d.attach('1', 'a,b\n3,4\n')).toBe('running');
    expect(state(d)).toBe('running');
    expect(d.datastore.failure('1')).toBeNull();
    expect(await d.rows('1')).toEqual([['1', '2', '1']]);
    newName.mockRestore();
    await waitUntil('it is imported', () => state(d) === 'imported');
    expect(await d.rows('1')).toEqual([['3', '4', '1']]);
    expect(d.tables()).toHaveLength(1);
  },
);

it('an import that was noted and never started is picked up', async () => {
  const dir = tempDir();
  const d = open(dir, { pickUpMs: 5 });
  const path = d.file('a,b\n1,2\n');
  d.datastore.note({ nid: '1', fid: '7', path, filename: 'data.csv', mime: 'text/csv' });
  await waitUntil('it is imported', () => state(d) === 'imported');
  expect(path).toContain(join(dir, 'files'));
});

it('a store that stays full is given back at once when the portal is closed', async () => {
  let isFull = false;
  const write = async <T>(work: () => T): Promise<T> => {
    if (isFull) throw new Error('database or disk is full');
    isFull = true;
    return work();
  };
  const d = open(tempDir(), { write, attachWaitMs: 1 });
  expect(await d.attach('1', 'a,b\n1,2\n')).toBe('running');
  await d.datastore.close();
  expect(state(d)).toBe('running');
});
