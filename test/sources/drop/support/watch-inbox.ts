// Child process of the inbox tests: watches an inbox and appends the claims of each batch to a file, one JSON line per claim.
// argv: <inbox> <file> [once]; `once` ends after the first batch, otherwise SIGTERM does.

import { appendFileSync } from 'node:fs';
import { createLog } from '../../../../src/model/log.ts';
import { openInbox } from '../../../../src/sources/drop/inbox.ts';
import { defaultRules } from '../../../../src/sources/manifest/schema.ts';

const [folder = '', told = '', once] = process.argv.slice(2);
const inbox = await openInbox({
  manifest: {
    path: `${folder}.yaml`,
    name: 'inbox',
    portal: 'local',
    ...defaultRules,
    defaults: { dataset: {}, resource: {} },
    drop: { folder, files: ['**/*.csv'], settleMs: null },
  },
  settings: { settleMs: 50, rescanMs: 60_000, poll: false, archiveKeep: 5 },
  spoolId: 'redis-1',
  onClaimed: async (claims) => {
    appendFileSync(told, claims.map((claim) => `${JSON.stringify(claim)}\n`).join(''));
    if (once !== undefined) setImmediate(() => void inbox.close());
  },
  log: createLog({ level: 'silent' }),
});
process.on('SIGTERM', () => void inbox.close());
appendFileSync(told, '');
