import { appendFileSync, closeSync, lstatSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { completeClaims, type Spooled } from '../../../src/sources/drop/claim.ts';
import { snapshotOf } from '../../../src/sources/drop/inbox-view.ts';
import { claimId, claimPaths, foldersOf, listClaims } from '../../../src/sources/drop/spool.ts';
import { tempDir } from '../../support/temp-dir.ts';

const { signal } = new AbortController();

const taken = (inbox: string, path: string, marker: 'now' | 'none' = 'none'): Spooled & { file: string } => {
  const folder = join(foldersOf(inbox).spool, claimId(1_790_000_000_000 + path.length, 'abcd0123'));
  const { file } = claimPaths(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'a,b\n');
  const place = { dataset: 'x', resource: 'x', datasetName: 'x' };
  const still = snapshotOf(lstatSync(file, { bigint: true }));
  return { path, place, still, since: 0, marker, folder, file };
};

describe('completeClaims', () => {
  it('records a file that stands still', async () => {
    const inbox = tempDir();
    const { claims, moving } = await completeClaims([taken(inbox, 'x.csv')], signal);
    expect(moving).toEqual([]);
    expect(await listClaims(foldersOf(inbox).spool)).toEqual(claims);
    expect(claims).toMatchObject([{ dropped: 'x.csv', fingerprint: { bytes: 4 }, claimedAt: 1_790_000_000_005 }]);
  });

  it('does not record a file that was written to between settling and the claim', async () => {
    const inbox = tempDir();
    const file = taken(inbox, 'x.csv');
    appendFileSync(file.file, '1,2\n');
    expect(await completeClaims([file], signal)).toEqual({ claims: [], moving: [file] });
    expect(await listClaims(foldersOf(inbox).spool)).toEqual([]);
  });

  it('does not record a file that is written to after it was hashed, and still records the others', async () => {
    const inbox = tempDir();
    const [moves, stands] = [taken(inbox, 'x.csv', 'now'), taken(inbox, 'stands.csv')];
    const writer = setInterval(() => appendFileSync(moves.file, '1,2\n'), 5);
    const { claims, moving } = await completeClaims([moves, stands], signal);
    clearInterval(writer);
    expect(claims.map(({ dropped }) => dropped)).toEqual(['stands.csv']);
    expect(moving).toEqual([moves]);
  });

  it('records a file that stands still although a program has it open', async () => {
    const inbox = tempDir();
    const file = taken(inbox, 'x.csv');
    const open = openSync(file.file, 'a');
    const { claims } = await completeClaims([file], signal);
    closeSync(open);
    expect(claims.map(({ dropped }) => dropped)).toEqual(['x.csv']);
  });

  it('leaves alone what another watcher has taken over', async () => {
    const inbox = tempDir();
    const file = taken(inbox, 'x.csv');
    const pending = completeClaims([file], signal);
    rmSync(file.folder, { recursive: true });
    expect((await pending).claims).toEqual([]);
  });
});
