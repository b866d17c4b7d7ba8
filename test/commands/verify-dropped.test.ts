import { expect, it } from 'vitest';
import { publishCommand } from '../../src/commands/publish.ts';
import { verifyCommand } from '../../src/commands/reconcile.ts';
import { commandPlace } from '../support/command-place.ts';

it('says that what was published from a watched folder is not looked at', async () => {
  const place = commandPlace();
  place.write('inbox/trees.csv', 'id\n1\n');
  place.write('inbox.yaml', 'name: inbox\ndrop: { folder: inbox, files: "*.csv", settle: 0s }\n');
  expect(await publishCommand(['inbox.yaml'], place.options, place.io().io)).toBe(0);
  const { io, out } = place.io();
  expect(await verifyCommand('inbox.yaml', place.options, io)).toBe(0);
  expect(out()).toMatch(/^0 items checked, 0 faults\nnote: in a watched folder, only waiting files/);
});
