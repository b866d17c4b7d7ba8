// Files of watched folders that are not published yet: src/service/waiting-file.ts on a real spool.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newEntry } from '../../src/model/ledger-entry.ts';
import { waitingFile } from '../../src/service/waiting-file.ts';
import { spooled } from '../sources/drop/support/spooled.ts';
import { tempDir } from '../support/temp-dir.ts';

it('a file in the spool is no newer version of the item that is made of it', async () => {
  const folder = tempDir();
  const inbox = { manifest: 'm', folder, settling: [], left: [], settleMs: 0 };
  const claim = await spooled(folder, 'a.csv', 'a\n', Date.now());
  const look = (sourcePath: string | null) => {
    const item = newEntry({ key: 'm/a/a', kind: 'resource', uuid: '', title: 'A', sourcePath });
    return waitingFile([inbox], { what: 'a.csv', path: join(folder, 'a.csv'), items: [item] });
  };
  expect(await look(null)).toMatchObject({ what: 'a.csv', state: 'in progress' });
  expect(await look(claim.path)).toBeNull();
});

it('a file in the spool that no plan has named yet is found by its key', async () => {
  const folder = tempDir();
  const inbox = { manifest: 'm', folder, settling: [], left: [], settleMs: 0 };
  await spooled(folder, 'a.csv', 'a\n', Date.now());
  const look = (what: string) => waitingFile([inbox], { what, path: join(tempDir(), what) });
  expect(await look('m/a/a')).toMatchObject({ what: 'm/a/a', state: 'in progress' });
  expect(await look('m/a/b')).toBeNull();
});
