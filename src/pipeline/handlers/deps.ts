// What handlers work with; the composition root supplies it.
import type { JobContext } from '../../model/job.ts';
import type { Portal } from '../../portal-client/client.ts';
import type { KeptFiles } from '../../sources/drop/kept.ts';
import type { Fetcher } from '../../sources/fetch/fetch.ts';
import type { FetchedFiles } from '../../sources/fetch/fetched-files.ts';
import type { Manifest } from '../../sources/manifest/schema.ts';
import type { GatheredSource } from '../../sources/source-kinds.ts';
import type { Ledger } from '../../state/ledger.ts';
import type { Runs } from '../../state/runs.ts';
import type { TableLimits } from '../compare/local-file.ts';

interface HandlerSettings extends TableLimits {
  /** Longest wait for one datastore import, milliseconds. */
  importTimeoutMs: (portal: string) => number;
  /** True where a portal takes imports concurrently, so that its states need not be checked again. */
  importsTogether: (portal: string) => boolean;
  /** Age at which a comparison with the portal's listing is repeated, milliseconds; null: only on request. */
  refreshAfterMs: (portal: string) => number | null;
  rejectsDir: string;
  changeLogsDir: string;
}

/** What was gathered for a run: the wishes, which must be closed, and the rules of their manifest. */
export interface Gathered extends GatheredSource {
  /** True for a drop manifest: what it does not name is archived, not missing. */
  isDrop: boolean;
  manifest: Pick<Manifest, 'priority' | 'expectMs' | 'onMissing' | 'missingForMs' | 'onDrift' | 'guard' | 'defaults'>;
}

export interface HandlerDeps {
  ledger: Ledger;
  runs: Runs;
  settings: HandlerSettings;
  /** The last good file of each resource, on this host. */
  kept: KeptFiles;
  fetched: FetchedFiles;
  /** Checks whether addresses still serve the published version. */
  fetcher: Fetcher;
  portal(name: string): Portal;
  /** True where other workers may use the portal as well: workers know only each other's jobs, not their requests. */
  isShared(portal: string): Promise<boolean>;
}

export interface ExportDeps extends HandlerDeps {
  /** A client without a login: it sees what the public may see. */
  publicPortal(name: string): Promise<Portal>;
}

/** Dependencies for one job: its writes to ledger, run record and portal are refused once another worker has the job. */
export const forJob = <D extends HandlerDeps>(deps: D, { writer }: JobContext): D => ({
  ...deps,
  ledger: deps.ledger.forJob(writer),
  runs: deps.runs.forJob(writer),
  portal: (name) => deps.portal(name).forJob(writer?.lease ?? null),
});
