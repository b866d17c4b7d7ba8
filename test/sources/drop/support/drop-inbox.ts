// Opens a real inbox over a folder, for tests: short settling, and a record of every batch it hands over.
import { afterEach } from 'vitest';
import { createLog, type Log } from '../../../../src/model/log.ts';
import { type Inbox, openInbox } from '../../../../src/sources/drop/inbox.ts';
import type { Claim } from '../../../../src/sources/drop/spool.ts';
import { type DropManifest, defaultRules } from '../../../../src/sources/manifest/schema.ts';

/** A drop manifest named `inbox` over `folder`. */
export const dropManifest = (folder: string, drop: Partial<DropManifest['drop']> = {}): DropManifest => ({
  path: `${folder}.yaml`,
  name: 'inbox',
  portal: 'local',
  ...defaultRules,
  defaults: { dataset: {}, resource: {} },
  drop: { folder, files: ['**/*.csv'], settleMs: null, ...drop },
});

/** A log that says nothing. */
export const silentLog = createLog({ level: 'silent' });

/** What differs from the tests' usual inbox. */
export interface DropInboxOptions {
  drop?: Partial<DropManifest['drop']>;
  settleMs?: number;
  rescanMs?: number;
  poll?: boolean;
  spoolId?: string;
  log?: Log;
  /** Runs before a batch is recorded. */
  onClaimed?: (claims: Claim[]) => Promise<void>;
}

/** An open inbox with the batches it has handed over. */
export interface DropInbox {
  inbox: Inbox;
  batches: Claim[][];
  /** All claims handed over so far. */
  claims: () => Claim[];
}

const opened: Inbox[] = [];

afterEach(async () => {
  for (const inbox of opened.splice(0)) await inbox.close();
});

/** Opens the inbox at `folder`; closed after the test. */
export const openDrop = async (folder: string, options: DropInboxOptions = {}): Promise<DropInbox> => {
  const batches: Claim[][] = [];
  const { settleMs = 300, rescanMs = 60_000, poll = false } = options;
  const inbox = await openInbox({
    manifest: dropManifest(folder, options.drop),
    settings: { settleMs, rescanMs, poll, archiveKeep: 5 },
    spoolId: options.spoolId ?? 'redis-1',
    onClaimed: async (claims) => {
      await options.onClaimed?.(claims);
      batches.push(claims);
    },
    log: options.log ?? silentLog,
  });
  opened.push(inbox);
  return { inbox, batches, claims: () => batches.flat() };
};
