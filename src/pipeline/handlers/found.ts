// What a resumed job tells first: the state in which the killed worker left its item.
import type { Intent, LedgerEntry } from '../../model/ledger-entry.ts';
import type { Item } from './item.ts';

/** After a kill, adds a line to the job's log that says what the ledger knows and whether a write was under way. */
export const noteFound = async (item: Item, entry: LedgerEntry | null, intent: Intent | null): Promise<void> => {
  if (!item.resumed) return;
  const known = entry?.nid ? `node ${entry.nid}${entry.file ? ` with file ${entry.file.fid}` : ''}` : 'no node yet';
  const next = intent ? `${writeOf[intent.action]} under way: looking whether it took effect` : 'no write under way';
  await item.note(`found ${known}, ${next}`);
};

const writeOf: Record<Intent['action'], string> = {
  create: 'a create',
  update: 'an update',
  attach: 'an attach',
  import: 'an import',
};
