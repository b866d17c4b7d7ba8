// Dependencies of handlers; the composition root supplies them.
import type { JobContext, RunData, RunRequest, TriggerData } from '../../model/job.ts';
import type { Target } from '../../model/redis-keys.ts';
import type { Reason, StoredReport } from '../../model/report.ts';
import type { Portal } from '../../portal-client/client.ts';
import type { KeptFiles } from '../../sources/drop/kept.ts';
import type { Claim } from '../../sources/drop/spool.ts';
import type { Fetcher } from '../../sources/fetch/fetch.ts';
import type { FetchedFiles } from '../../sources/fetch/fetched-files.ts';
import type { Stated } from '../../sources/gather/dataset-wish.ts';
import type { Manifest } from '../../sources/manifest/schema.ts';
import type { WishList } from '../../sources/wish-list.ts';
import type { Deadlines } from '../../state/deadlines.ts';
import type { Ledger } from '../../state/ledger.ts';
import type { Runs, SettledClaim } from '../../state/runs.ts';
import type { StoredPlans } from '../../state/stored-plans.ts';
import type { TriggerRecord } from '../../state/targets.ts';

/** Limits and folders of handlers. */
interface HandlerSettings {
  /** Longest wait for one datastore import, milliseconds. */
  importTimeoutMs: (portal: string) => number;
  /** True where a portal takes imports concurrently, so that its states need not be checked again. */
  importsTogether: (portal: string) => boolean;
  /** Age at which a comparison with the portal's listing is repeated, milliseconds; null: only on request. */
  refreshAfterMs: (portal: string) => number | null;
  /** Largest file that is sent, bytes. */
  maxFileBytes: number;
  /** Largest record of a table, bytes. */
  maxRowBytes: number;
  /** Folder for tables that were made to be sent, each while its job runs. */
  preparedDir: string;
  /** Folder for bad rows that were left out of tables. */
  rejectsDir: string;
}

/** What was gathered for a run. */
export interface Gathered extends Stated {
  /** Must be closed. */
  wishes: WishList;
  /** Claims that a newer drop of the same name replaced. */
  superseded: Claim[];
  /** Claims that cannot become a wish. */
  refused: { claim: Claim; reason: Reason }[];
  /** What is published differently from the source. */
  remarks: string[];
  /** True for a drop manifest: what it does not name is archived, not missing. */
  isDrop: boolean;
  /** The rules of the manifest that was gathered. */
  manifest: Pick<
    Manifest,
    'name' | 'portal' | 'priority' | 'expectMs' | 'onMissing' | 'missingForMs' | 'onDrift' | 'guard' | 'defaults'
  >;
}

export interface HandlerDeps {
  ledger: Ledger;
  runs: Runs;
  /** When runs and new data are expected. */
  deadlines: Pick<Deadlines, 'expect'>;
  settings: HandlerSettings;
  /** Plans that runs are pinned to, and runs that the guard holds. */
  plans: StoredPlans;
  /** The last good file of each resource, on this host. */
  kept: KeptFiles;
  /** Fetched files, on this host. */
  fetched: FetchedFiles;
  /** Checks whether addresses still serve the published version. */
  fetcher: Fetcher;
  /** The client of a portal. */
  portal(name: string): Portal;
  /** A client without a login: it sees what the public may see. */
  publicPortal(name: string): Promise<Portal>;
  /** True where other workers may use the portal as well: workers know only each other's jobs, not their requests. */
  isShared(portal: string): Promise<boolean>;
  /** Gathers the wishes of a manifest as it is now, those for this run. */
  gather(request: Pick<RunRequest, 'manifestPath' | 'portal' | 'why'>, signal: AbortSignal): Promise<Gathered>;
  /** Leaves the dropped files of a run that was cancelled before it was planned to runs on request. */
  leaveDrops(run: { manifestPath: string; portal: string }, reason: Reason): Promise<void>;
  /** Moves dropped files where a closed run puts them; idempotent. */
  settleDrops(run: { manifestPath: string; portal: string }, claims: SettledClaim[]): Promise<void>;
  /** Asks the run gate for a run. */
  requestRun(request: RunRequest): Promise<{ runId: string; starts: 'now' | 'later' | 'busy' }>;
  /** Delays a trigger to a time, Unix milliseconds. */
  holdTrigger(data: TriggerData, until: number): Promise<void>;
  /** Records what the schedule of a target did. */
  triggered(data: TriggerData, record: TriggerRecord): Promise<void>;
  /** Notifies monitors that a run begins; waits for nothing and never fails. */
  started(request: RunData): void;
  /** Sends notices of faults and recoveries after a run; idempotent, never rejects. */
  notify(report: StoredReport, request: RunRequest): Promise<void>;
  /** Removes jobs of a run; returns how many stay because a worker has them. */
  closeJobs(portal: string, ids: string[]): Promise<number>;
  /** True when somebody cancelled the run. */
  isCancelled(runId: string): Promise<boolean>;
  /** Opens the run gate after a run. */
  openGate(target: Target, runId: string): Promise<void>;
}

/** The dependencies for one job: its writes to ledger, run record and portal are refused once another worker has the job. */
export const inNameOf = (deps: HandlerDeps, { writer }: Pick<JobContext, 'writer'>): HandlerDeps => ({
  ...deps,
  ledger: deps.ledger.inNameOf(writer),
  runs: deps.runs.inNameOf(writer),
  portal: (name) => deps.portal(name).inNameOf(writer?.lease ?? null),
});
