// A watched folder under `sluice start`: however a file arrives, it is published once and never in part.

import { execFile } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { LedgerEntry } from '../../src/model/ledger-entry.ts';
import { ledgerIn } from '../../src/state/ledger.ts';
import type { Started } from '../support/sluice-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { makePlace, type Place } from './support/place.ts';
import { type Reader, readEmbedded } from './support/reader.ts';

const table = (rows: number, word: string): string =>
  `id,word\n${Array.from({ length: rows }, (_, row) => `${row},${word}`).join('\n')}\n`;

let place: Place;
let inbox: string;
let service: Started;
let redis: Redis;
let reader: Reader;
beforeAll(async () => {
  place = makePlace();
  inbox = join(place.dir, 'inbox');
  place.write('inbox/while-down/table.csv', table(4, 'down'));
  const manifest = place.manifest({ name: 'inbox', drop: { folder: 'inbox', files: '**/*.csv' } });
  service = await place.serve([manifest]);
  redis = place.redis();
  reader = await readEmbedded(place.stateDir);
});
afterAll(async () => {
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
  const said = service.out() + service.err();
  expect(said).not.toContain('"level":"error"');
  expect(said).not.toContain(readFileSync(join(place.stateDir, 'portal/local/service.password'), 'utf8').trim());
});

const entryOf = (key: string): Promise<LedgerEntry | null> =>
  ledgerIn(redis, place.keys).entry('local', `inbox/${key}`);

const live = (key: string): Promise<LedgerEntry> =>
  waitUntil(`${key} to be live`, async () => {
    const entry = await entryOf(key);
    return entry?.live ? entry : null;
  });

const archived = (key: string): string[] => {
  const folder = join(inbox, '.sluice/archive', key);
  return existsSync(folder) ? readdirSync(folder) : [];
};

/** The portal holds these bytes and all their rows, from one claim that is in the archive. */
const expectWhole = async (key: string, content: string): Promise<LedgerEntry> => {
  const entry = await live(key);
  expect((await reader.file(entry.nid ?? ''))?.content).toBe(content);
  expect(await reader.count(entry.uuid)).toBe(content.trimEnd().split('\n').length - 1);
  await waitUntil(`${key} to be archived`, () => archived(key).length > 0);
  expect(archived(key)).toHaveLength(1);
  return entry;
};

it('publishes what was dropped while it was down', async () => {
  await expectWhole('while-down/table', table(4, 'down'));
});

it('has no newer version where only the folder of a dataset is left', async () => {
  mkdirSync(join(inbox, 'while-down'), { recursive: true });
  const { out } = await place.run(['status', 'inbox/while-down']);
  expect(out).toContain('inbox/while-down/table (resource');
  expect(out).not.toContain('newer version');
});

it('publishes what is copied, moved in, or written slowly, each whole and once', async () => {
  const big = table(150_000, 'copied');
  const source = place.write('elsewhere/big.csv', big);
  mkdirSync(join(inbox, 'copied'));
  await promisify(execFile)('cp', [source, join(inbox, 'copied/big.csv')]);
  const moved = place.write('elsewhere/moved.csv', table(9, 'moved'));
  renameSync(moved, join(inbox, 'moved.csv'));

  // From this process, in which the service runs, too: however slow the machine is, a row is written before it may take the file.
  mkdirSync(join(inbox, 'slow'));
  const held = openSync(join(inbox, 'slow/log.csv'), 'a');
  let written = '';
  const append = (text: string): void => {
    written += text;
    writeSync(held, text);
  };
  append('id,word\n');
  const writing = setInterval(() => append(`${written.length},x\n`), 20);
  onTestFinished(() => clearInterval(writing));
  const told = await waitUntil('status to show the file', async () => {
    const { out } = await place.run(['status']);
    return /log\.csv/.test(out) ? out : null;
  });
  expect(told).toMatch(/waiting until slow\/log\.csv is unchanged/);
  const one = await place.run(['status', 'inbox/slow/log.csv']);
  expect(one.code).toBe(3);
  expect(one.out).toContain('waiting until the file is complete');
  clearInterval(writing);
  closeSync(held);

  await expectWhole('copied/big', big);
  await expectWhole('moved/moved', table(9, 'moved'));
  await expectWhole('slow/log', written);
});

it('publishes a new version of a name to the same resource, and keeps the old file', async () => {
  place.write('inbox/news.csv', table(9, 'first'));
  const before = await expectWhole('news/news', table(9, 'first'));
  place.write('inbox/news.csv', table(11, 'again'));
  const after = await waitUntil('the new version', async () => {
    const entry = await entryOf('news/news');
    return entry?.live && entry.rows === 11 ? entry : null;
  });
  expect(after.nid).toBe(before.nid);
  expect(await reader.count(after.uuid)).toBe(11);
  await waitUntil('two versions in the archive', () => archived('news/news').length === 2);
});

it('quarantines a faulty file with its reason, and publishes it once it is fixed and dropped again', async () => {
  writeFileSync(join(inbox, 'faulty.csv'), 'a,b\n1,2,3\n');
  const folder = join(inbox, '_faulty/faulty');
  const name = await waitUntil('the quarantine', () => {
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names.length === 2 ? names.find((each) => each.endsWith('.csv')) : null;
  });
  const reason = readFileSync(join(folder, `${name}.reason.yaml`), 'utf8');
  expect(reason).toContain('code: table-ragged');
  expect(reason).toContain('line: 2');
  expect(readFileSync(join(folder, name), 'utf8')).toBe('a,b\n1,2,3\n');
  const status = await place.run(['status', 'inbox/faulty.csv']);
  expect(status.code).toBe(3);
  expect(status.out).toContain('table-ragged');
  const shown = await waitUntil('the run to end', async () => {
    const { out } = await place.run(['status']);
    return out.includes('faulty/faulty: not live') ? out : null;
  });
  for (const out of [status.out, shown]) {
    expect(out).toContain('| 1,2,3\n');
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      `the file is in ${join(folder, name)}: fix it, and drop it again as faulty.csv`,
    );
  }
  expect(service.out()).not.toContain('1,2,3');
  const aside = await place.run(['status', join(folder, name)]);
  expect(aside.code).toBe(3);
  expect(aside.out).toMatch(/^inbox\/faulty\/faulty \(resource "Faulty" on local\): not live$/m);
  expect(aside.out).not.toContain('newer version');
  const note = await place.run(['status', join(folder, `${name}.reason.yaml`)]);
  expect(note.code).toBe(2);
  expect(note.err).toContain('no key, file or title matches');
  // A first line that is still written to is not taken, however slow this machine is.
  writeFileSync(join(inbox, 'faulty.csv'), 'a,b\n');
  const touch = setInterval(() => appendFileSync(join(inbox, 'faulty.csv'), '1,2\n'), 20);
  const newer = await place.run(['status', 'inbox/faulty/faulty']).finally(() => clearInterval(touch));
  expect(newer.code).toBe(3);
  expect(newer.out).toContain('table-ragged');
  expect(newer.out).toContain('inbox/faulty/faulty, a newer version: not live yet: waiting until the file is complete');
  await expectWhole('faulty/faulty', readFileSync(join(inbox, 'faulty.csv'), 'utf8'));
  expect((await place.run(['status', 'inbox/faulty.csv'])).code).toBe(0);
});

it('says of a faulty file that a fixed one was taken, until that is live', async () => {
  writeFileSync(join(inbox, 'mended.csv'), 'a,b\n1,2,3\n');
  const status = (): Promise<string> => place.run(['status', 'inbox/mended/mended']).then(({ out }) => out);
  await waitUntil('the quarantine', () => existsSync(join(inbox, '_faulty/mended')));
  await waitUntil('the fault', async () => (await status()).includes('table-ragged'));
  expect(await status()).not.toContain('newer version');
  await place.run(['pause', 'local']);
  writeFileSync(join(inbox, 'mended.csv'), table(3, 'mended'));
  const shown = await waitUntil('the file to be taken', async () => {
    const out = await status();
    return out.includes('taken from the inbox') ? out : null;
  });
  expect(shown).toContain('table-ragged');
  expect(shown).toContain('inbox/mended/mended, a newer version: not live yet: taken from the inbox');
  await place.run(['resume', 'local']);
  await expectWhole('mended/mended', table(3, 'mended'));
  expect(await status()).not.toContain('newer version');
});

it('leaves alone what is not for it, and status says why', async () => {
  place.write('inbox/a/b/deep.csv', table(1, 'deep'));
  place.write('inbox/notes.pdf', 'x');
  place.write('inbox/half.csv.part', 'x');
  const out = await waitUntil('status to show them', async () => {
    const status = await place.run(['status']);
    return status.out.includes('deep.csv') ? status.out : null;
  });
  expect(out).toMatch(/^inbox .* \(inbox\): (?:.*, )?\d+ ignored$/m);
  expect(out).not.toMatch(/\b0 (?:live|stale|not |in progress|ignored)/);
  expect(out).toMatch(/ignored a\/b\/deep\.csv: \S/);
  expect(out).toMatch(/ignored notes\.pdf: \S/);
  for (const path of ['a/b/deep.csv', 'notes.pdf', 'half.csv.part']) expect(existsSync(join(inbox, path))).toBe(true);
});

it('a file of another name that gives the same id replaces the table only if a column agrees', async () => {
  const drop = (name: string, content: string): void => {
    mkdirSync(join(inbox, 'shop'), { recursive: true });
    writeFileSync(join(inbox, 'shop', name), content);
  };
  drop('Stock list.csv', table(5, 'stock'));
  const key = 'shop/stock-list';
  await live(key);
  drop('stock-LIST.csv', 'street,lamp\nHigh St,1\n');
  const held = await waitUntil('the other table to be held', async () => {
    const entry = await entryOf(key);
    return entry?.refused?.guard === 'held' ? entry : null;
  });
  expect(held.refused?.reason.message).toContain('another name than `Stock list.csv`, and no column is the same');
  expect(await reader.count(held.uuid)).toBe(5);
  drop('STOCK list.csv', `${table(7, 'more').replace('id,word', 'id,term')}`);
  await waitUntil('the table with a known column to be live', async () => (await reader.count(held.uuid)) === 7);
});

it('a folder that cannot be watched when the service starts ends it only where nothing else is served', async () => {
  const other = makePlace();
  other.write('bad', 'a file in the place of a folder');
  other.write('fine/town/table.csv', table(2, 'x'));
  const [bad = '', fine = ''] = ['bad', 'fine'].map((name) =>
    other.manifest({ name, drop: { folder: name, files: '**/*.csv' } }),
  );
  const refused = await other.run(['start', bad]);
  expect([refused.code, refused.err]).toEqual([3, expect.stringContaining(join(other.dir, 'bad'))]);
  const served = await other.serve([bad, fine]);
  const ledger = ledgerIn(other.redis(), other.keys);
  await waitUntil('the other to be live', async () => (await ledger.entry('local', 'fine/town/table'))?.live);
  await waitUntil('the fault to be said', () => served.out().includes('the manifests cannot all be served now'));
  expect(await served.end('SIGTERM')).toBe(0);
});
