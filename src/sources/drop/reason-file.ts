// The reason beside a quarantined file: what is wrong, where, and how to submit the file again.
import { dump } from 'js-yaml';
import type { Reason } from '../../model/report.ts';
import type { Claim } from './claim.ts';

/** YAML text of the reason file of a quarantined claim. `when` is an ISO time. */
export const reasonText = (claim: Claim, reason: Reason, when: string): string =>
  dump({
    file: claim.dropped,
    code: reason.code,
    message: reason.message,
    ...(reason.line === undefined ? {} : { line: reason.line }),
    ...(reason.column === undefined ? {} : { column: reason.column }),
    ...(reason.hint === null ? {} : { hint: reason.hint }),
    when,
    dropped: new Date(claim.claimedAt).toISOString(),
    bytes: claim.bytes,
    sha256: claim.sha256,
    resubmit: `mend the file and drop it into the inbox again as ${claim.dropped}; this copy and this note may then be deleted`,
  });
