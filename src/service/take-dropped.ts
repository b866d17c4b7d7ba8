// One look at the inbox of a drop manifest, for a one-off run: what is there and settles is claimed.
import { setTimeout as sleep } from 'node:timers/promises';
import { openInbox } from '../sources/drop/inbox.ts';
import type { DropManifest } from '../sources/manifest/schema.ts';
import type { Runtime } from './runtime.ts';

/** Claims every file of the inbox that settles; returns when none is settling any more. */
export const takeDropped = async (runtime: Runtime, manifest: DropManifest, signal: AbortSignal): Promise<void> => {
  const inbox = await openInbox({
    manifest,
    settings: runtime.config.inbox,
    spoolId: await runtime.spoolId(),
    onClaimed: async () => undefined, // the run that follows takes all claims of the spool
    log: runtime.log,
  });
  try {
    await inbox.scanned;
    while (!signal.aborted && inbox.state().settling.length > 0) {
      await sleep(50, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await inbox.close();
  }
};
