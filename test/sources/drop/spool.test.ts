import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import {
  archiveClaim,
  asideOf,
  foldersOf,
  listClaims,
  parseClaimId,
  quarantineClaim,
} from '../../../src/sources/drop/spool.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { csvBelow, spooled } from './support/spooled.ts';

const at = Date.UTC(2026, 10, 30, 11, 33, 44, 123);
const reason = { code: 'table-ragged', message: 'row 2 has 3 cells', hint: 'mend it', line: 2, column: 3 } as const;

const spoolFolders = (inbox: string): string[] =>
  readdirSync(foldersOf(inbox).spool).filter((name) => parseClaimId(name) !== null);

describe('listClaims', () => {
  it('lists complete claims, oldest first, wherever the inbox is mounted', async () => {
    const inbox = tempDir();
    await spooled(inbox, 'budget/b.csv', 'b\n', at + 1);
    const older = await spooled(inbox, 'budget/a.csv', 'a\n', at);
    symlinkSync(inbox, join(tempDir(), 'mounted'));
    const claims = await listClaims(foldersOf(inbox).spool);
    expect(claims.map((claim) => claim.dropped)).toEqual(['budget/a.csv', 'budget/b.csv']);
    expect(claims[0]).toEqual(older);
  });

  it('lists nothing in a folder that does not exist', async () => {
    expect(await listClaims(join(tempDir(), 'none'))).toEqual([]);
  });

  it('leaves out claims without a record, with a torn record, and records whose file is gone', async () => {
    const inbox = tempDir();
    const claim = await spooled(inbox, 'a.csv', 'a\n', at);
    const torn = await spooled(inbox, 'b.csv', 'b\n', at + 1);
    truncateSync(join(torn.path, '../../claim.json'), 20);
    mkdirSync(join(foldersOf(inbox).spool, `${at + 2}-abcd0123`, 'file'), { recursive: true });
    expect(await listClaims(foldersOf(inbox).spool)).toEqual([claim]);
  });
});

describe('archiveClaim', () => {
  it('keeps the newest versions of the resource and deletes only older ones', async () => {
    const inbox = tempDir();
    for (const n of [1, 2, 3, 4]) {
      await archiveClaim(await spooled(inbox, 'budget/a.csv', `v${n}\n`, at + n), { keep: 3 });
    }
    expect(Object.values(csvBelow(join(foldersOf(inbox).archive, 'budget/a')))).toEqual(['v2\n', 'v3\n', 'v4\n']);
    expect(spoolFolders(inbox)).toEqual([]);
  });

  it('names a version by the UTC time of its claim and the head of its sha256', async () => {
    const inbox = tempDir();
    const claim = await spooled(inbox, 'budget/a.csv', 'v\n', at);
    expect(await archiveClaim(claim, { keep: 1 })).toBe(
      join(inbox, `.sluice/archive/budget/a/20261130T113344.123Z-${claim.fingerprint.sha256.slice(0, 8)}.csv`),
    );
  });

  it('never prunes files that somebody else put into the archive, nor another resource', async () => {
    const inbox = tempDir();
    await archiveClaim(await spooled(inbox, 'budget/b.csv', 'b\n', at), { keep: 1 });
    await archiveClaim(await spooled(inbox, 'budget/a.csv', 'v1\n', at), { keep: 1 });
    writeFileSync(join(foldersOf(inbox).archive, 'budget/a/notes.csv'), 'notes\n');
    await archiveClaim(await spooled(inbox, 'budget/a.csv', 'v2\n', at + 1), { keep: 1 });
    expect(Object.values(csvBelow(foldersOf(inbox).archive)).sort()).toEqual(['b\n', 'notes\n', 'v2\n']);
  });

  it('does not archive a file that was written to after its claim, but leaves it to be claimed again', async () => {
    const inbox = tempDir();
    const claim = await spooled(inbox, 'budget/a.csv', 'v1\n', at);
    appendFileSync(claim.path, 'late row\n');
    expect(await archiveClaim(claim, { keep: 1 })).toBeNull();
    expect(readFileSync(claim.path, 'utf8')).toBe('v1\nlate row\n');
    expect(await listClaims(foldersOf(inbox).spool)).toEqual([]);
  });

  it('answers the same when it is called again', async () => {
    const inbox = tempDir();
    const claim = await spooled(inbox, 'budget/a.csv', 'v1\n', at);
    const first = await archiveClaim(claim, { keep: 1 });
    expect(first).not.toBeNull();
    expect(await archiveClaim(claim, { keep: 1 })).toBe(first);
  });
});

describe('quarantineClaim', () => {
  it('keeps the file and writes beside it what is wrong, where, and how to submit it again', async () => {
    const inbox = tempDir();
    const way = await quarantineClaim(await spooled(inbox, 'budget/a.csv', 'x\n', at), reason);
    const path = join(inbox, '_faulty/budget/a-20261130T113344.123Z.csv');
    expect(way).toBe(path);
    expect(readFileSync(path, 'utf8')).toBe('x\n');
    expect(load(readFileSync(`${path}.reason.yaml`, 'utf8'))).toMatchObject({
      ...reason,
      file: 'budget/a.csv',
      when: expect.stringMatching(/^\d{4}-/),
      resubmit: expect.stringContaining('drop it into the inbox again as budget/a.csv'),
    });
    expect(spoolFolders(inbox)).toEqual([]);
  });

  it('puts the file where the wish says before it is there', async () => {
    const claim = await spooled(tempDir(), 'budget/Größe.tar.CSV', 'x\n', at);
    const source = { kind: 'file' as const, path: claim.path, name: claim.name, claim: claim.id };
    const said = asideOf({ source, key: `drops/${claim.dataset}/${claim.resource}` });
    expect(said).toEqual({ file: await quarantineClaim(claim, reason) });
    expect(asideOf({ source: { kind: 'file', path: claim.path, name: claim.name }, key: 'm/d/r' })).toEqual({});
    expect(asideOf({ source: { kind: 'link', url: 'http://127.0.0.1/' }, key: 'm/d/r' })).toEqual({});
  });

  it('answers the same when it is called again, and leaves the first reason', async () => {
    const inbox = tempDir();
    const claim = await spooled(inbox, 'budget/a.csv', 'x\n', at);
    const first = await quarantineClaim(claim, reason);
    expect(first).not.toBeNull();
    expect(await quarantineClaim(claim, { ...reason, message: 'other' })).toBe(first);
    expect(readFileSync(`${first}.reason.yaml`, 'utf8')).toContain('row 2 has 3 cells');
  });

  it('does not blame a file for what its writer had not finished', async () => {
    const inbox = tempDir();
    const claim = await spooled(inbox, 'budget/a.csv', 'a,b\n1', at);
    appendFileSync(claim.path, ',2\n');
    expect(await quarantineClaim(claim, reason)).toBeNull();
    expect(existsSync(claim.path)).toBe(true);
  });
});
