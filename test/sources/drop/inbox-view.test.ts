// A view of an inbox with more files than a call may have arguments.
import { expect, it } from 'vitest';
import { createLog } from '../../../src/model/log.ts';
import { inboxView } from '../../../src/sources/drop/inbox-view.ts';
import { tempDir } from '../../support/temp-dir.ts';

it('says when the next of very many files is due', () => {
  const view = inboxView({
    inbox: tempDir(),
    placed: () => ({ kind: 'ignored' }),
    marker: { ending: '.done', isRequired: false },
    settleMs: 2000,
    log: createLog({ level: 'silent' }),
  });
  expect(view.nextDue()).toBe(Number.POSITIVE_INFINITY);
  const place = { dataset: 'd', resource: 'r', datasetName: 'd' };
  const still = { bytes: 1, mtimeNs: '1', dev: '1', ino: '1' };
  for (let at = 0; at < 200_000; at++)
    view.settlers.set(`${at}`, { path: `${at}`, place, still, since: 300_000 - at, marker: 'none', folder: null });
  expect(view.nextDue()).toBe(102_001);
});
