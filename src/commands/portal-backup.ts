// `sluice portal backup`: a copy of a portal's store, taken while the portal runs.
import { resolve } from 'node:path';
import { backupStore } from '../embedded-portal/store/backup.ts';
import { exitCodes } from './exit-code.ts';
import { type Io, plural, say } from './io.ts';
import { type PortalChoice, storeDirOf } from './portal-settings.ts';

/** Writes the store to a new folder, which `sluice portal --data` can serve. Throws what `backupStore` does. */
export const portalBackupCommand = async (target: string, options: PortalChoice, io: Io): Promise<number> => {
  const to = resolve(io.cwd, target);
  const facts = await backupStore(await storeDirOf(options, io), to);
  const held = [plural(facts.nodes, 'node'), plural(facts.files, 'file'), plural(facts.tables, 'table')].join(', ');
  say(io, `backup of ${held} in ${to}`);
  say(io, `to restore, stop the portal and start it on a copy: sluice portal --data ${to}`);
  return exitCodes.ok;
};
