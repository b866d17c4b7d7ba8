// The state that the steps of a resource share, and its steps `fetch` and `prepare`: the bytes on this host, or the proof that none
// are needed, then the table made of them.
import { join } from 'node:path';
import { SourceRefusedError } from '../../model/errors.ts';
import { manifestOfKey } from '../../model/key.ts';
import type { FetchedFrom, Intent, LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import { type ResourceSource, type ResourceWish, sentName, sourcePathOf } from '../../model/wish.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import { shown } from '../../sources/fetch/policy.ts';
import type { SoundTable } from '../../tables/check.ts';
import {
  type Prepared,
  type PreparedTable,
  removePreparedFile,
  sweepPrepared,
} from '../../tables/transform/prepare.ts';
import {
  fetchedFileOf,
  type PreparedFile,
  prepareFile,
  type SentFile,
  shapeOfTable,
  type TableShape,
} from '../compare/local-file.ts';
import { isSent, wantsImport, withBytes, withSource } from '../plan/known-wish.ts';
import type { HandlerDeps } from './deps.ts';
import type { NodeTarget } from './node-locate.ts';

/** What the steps of one attempt share. */
export interface ResourceState {
  readonly deps: HandlerDeps;
  /** Where its node is written, and for which item. */
  readonly target: NodeTarget;
  /** Node of the dataset where resources refer to it; null where the dataset lists its resources. */
  readonly datasetNid: string | null;
  /** True: its table is proven in this attempt. False: by a later job, together with others. */
  readonly provesNow: boolean;
  /** Once its file is fetched, `source` is that file on this host. */
  wish: ResourceWish;
  /** The file as the run saw it, to avoid hashing it again. */
  readonly seen: SourceFingerprint | null;
  entry: LedgerEntry;
  intent: Intent | null;
  /** The node as it was read last in this attempt; null after a write. */
  node: PortalNode | null;
  /** Set by `fetch`. */
  source: SourceFingerprint | null;
  /** Set by `prepare`, for wishes with a recipe. */
  prepared: PreparedFile | null;
  /** Set by `fetch` where the file was fetched; null where the published version is current. */
  fetched: FetchedFrom | null;
  /** Set by `check`. */
  table: SoundTable | null;
  /** True once the node was recreated in this attempt. */
  recreated: boolean;
  /** True while the last good file is restored. */
  readonly fallsBack: boolean;
}

/** One step: whether the wish needs it, and what it does. */
export interface ResourceStep {
  name: 'fetch' | 'prepare' | 'check' | 'guard' | 'node' | 'attach' | 'import' | 'verify' | 'ledger';
  applies(state: ResourceState): boolean;
  run(state: ResourceState): Promise<void>;
}

/** False for links, and for an address that still serves the published and proven version. */
export const isHere = ({ wish }: Pick<ResourceState, 'wish'>): boolean => wish.source.kind === 'file';

/** Path of the source on this host; empty for links. */
export const sourcePath = ({ wish }: ResourceState): string => (wish.source.kind === 'file' ? wish.source.path : '');

/** Name of the source; empty for links. */
export const sourceName = ({ wish }: ResourceState): string => (wish.source.kind === 'file' ? wish.source.name : '');

/** The file that is sent; null before it exists, for links, and where the current version was not fetched again. */
export const sentFile = ({ wish, source, prepared }: ResourceState): SentFile | null => {
  if (prepared) return prepared;
  return source && wish.source.kind === 'file' ? { path: wish.source.path, name: wish.source.name, source } : null;
};

/** The shape that the table of the sent file should have. */
export const shapeOf = (state: ResourceState, table: SoundTable, signal: AbortSignal): TableShape =>
  shapeOfTable(sentFile(state)?.path ?? '', table, signal);

/** True when rows are to be imported: an archive or JSON file without a table is sent unchanged, without rows. */
export const importsRows = ({ wish, prepared }: Pick<ResourceState, 'wish' | 'prepared'>): boolean =>
  isHere({ wish }) && wantsImport(wish) && (prepared === null || isTabular(prepared.name));

/** Rejected rows that the job log lists one by one. */
const mostReportedRejects = 20;

/**
 * Makes the table and sets `state.prepared`. The file belongs to this attempt: what an earlier one left is removed, never
 * used. `raw`: path of the source on this host, and its name.
 *
 * @throws as `prepareFile`
 */
export const prepareSource = async (state: ResourceState, raw: { path: string; name: string }): Promise<void> => {
  const { deps, wish, source } = state;
  const { item } = state.target;
  const { recipe } = wish;
  if (!recipe || !source) return;
  const { preparedDir: folder, rejectsDir, maxFileBytes: maxBytes, maxRowBytes: rowBytes } = deps.settings;
  const rejects = join(rejectsDir, ...wish.key.split('/'), sentName(wish).replace(/\.csv$/, '.rejects.csv'));
  const { file, made } = await item.step(
    { name: 'prepare', on: raw.name },
    async (signal) => {
      await sweepPrepared(folder, item.id);
      const how = { folder, label: item.id, manifest: manifestOfKey(wish.key), rejects, maxBytes, rowBytes, signal };
      return prepareFile({ ...raw, source }, { ...wish, recipe }, how);
    },
    (prepared) => outcomeOf(prepared.made),
  );
  state.prepared = file;
  if (made.kind === 'as-is') return;
  for (const line of made.mended) await item.note(`  fixed: ${line}`);
  for (const line of made.warnings) await item.note(`  warning: ${line}`);
  for (const line of made.notes) await item.note(`  ${line}`);
  if (made.rejected.rows > 0) await noteRejected(state, made);
};

/** Removes the table that was made, at the end of the attempt. */
export const removePrepared = async ({ prepared }: ResourceState): Promise<void> => {
  if (prepared?.isMade) await removePreparedFile(prepared.path);
};

const outcomeOf = (prepared: Prepared): string => {
  if (prepared.kind === 'as-is') return `${prepared.why}: sent unchanged`;
  const { rowsIn, rowsOut, columns, bytes, notes, mended } = prepared;
  if (mended.length > 0 && notes.length === 0)
    return `fixed, ${rowsOut} rows of ${columns.length} columns, ${bytes} bytes`;
  return `${rowsIn} rows in, ${rowsOut} rows of ${columns.length} columns out, ${bytes} bytes of CSV`;
};

const noteRejected = async (
  { target: { item } }: ResourceState,
  { rejected, rejects }: PreparedTable,
): Promise<void> => {
  const where = rejects === null ? 'left out' : `set aside in ${rejects}`;
  await item.note(`  ${rejected.rows} bad ${rejected.rows === 1 ? 'row' : 'rows'} ${where}`);
  for (const line of rejected.examples.slice(0, mostReportedRejects)) await item.note(`    ${line}`);
};

type UrlSource = Extract<ResourceSource, { kind: 'url' }>;

/** Step `fetch`: sets `state.source`. Throws SourceRefusedError for a file that is too large. */
export const fetchSource = async (state: ResourceState): Promise<void> => {
  const { wish, deps } = state;
  if (wish.source.kind === 'url') await fetchAddress(state, wish.source);
  else {
    state.source = await fingerprintSource(state);
    state.wish = withBytes(wish, state.source);
  }
  const bytes = state.source?.bytes ?? 0;
  const limit = deps.settings.maxFileBytes;
  if (bytes <= limit) return;
  throw new SourceRefusedError(`${sourcePathOf(wish.source)} has ${bytes} bytes, more than the limit of ${limit}`, {
    hint: 'split the file, or raise limits.table in the configuration',
  });
};

const fingerprintSource = (state: ResourceState): Promise<SourceFingerprint> =>
  state.target.item.step(
    { name: 'fetch', light: true, on: sourceName(state) },
    (signal) => fingerprintFile(sourcePath(state), state.seen, signal),
    ({ bytes, sha256 }) => `${bytes} bytes, sha256 ${sha256.slice(0, 12)}`,
  );

/**
 * Fetches the file of a resource unless the published version is current and its bytes are not needed; then `wish.source`
 * stays an address. A fetched file replaces it in the wish, for this job on this host only: another worker fetches it again.
 * `isNeeded`: fetches whatever is published.
 */
export const fetchAddress = async (state: ResourceState, source: UrlSource, isNeeded = false): Promise<void> => {
  const { deps, wish, entry } = state;
  const { item } = state.target;
  const where = shown(new URL(source.url));
  const published = isNeeded || needsBytes(state, source) ? null : entry.fetched;
  const got = await item.step(
    { name: 'fetch', light: true, on: where },
    (signal) =>
      deps.fetched.get(
        { portal: item.portal, uuid: wish.uuid, url: source.url, name: source.name, by: item.runId, published },
        // A lost log line must not fail the job.
        { signal, report: (line) => void item.note(line).catch(() => undefined) },
      ),
    (file) => (file === 'unchanged' ? 'unchanged' : `${file.bytes} bytes, sha256 ${file.sha256.slice(0, 12)}`),
  );
  if (got === 'unchanged') {
    state.source = entry.source;
    return;
  }
  const here = await fetchedFileOf(source, got);
  state.source = here.source;
  state.fetched = here.fetched;
  state.wish = withSource(wish, here.file);
};

/** Removes the fetched file of a resource, once it is published. */
export const forgetFetched = async ({ deps, target, wish, fetched }: ResourceState): Promise<void> => {
  if (fetched) await deps.fetched.remove({ portal: target.item.portal, uuid: wish.uuid });
};

/** False where the portal holds the last fetched version, complete and proven. */
const needsBytes = ({ entry, wish, intent, recreated }: ResourceState, { url }: UrlSource): boolean => {
  const { source, fetched, file, datastore, nid } = entry;
  if (recreated || nid === null || intent?.action === 'attach' || intent?.action === 'import') return true;
  if (source === null || fetched?.url !== url || (fetched.etag === null && fetched.lastModified === null)) return true;
  const isUnproven = wantsImport(wish) && (datastore === 'pending' || datastore === 'failed');
  return (
    isUnproven || (!isSent(file, source.sha256, wish) && (entry.refused === null || entry.refused.guard === 'released'))
  );
};
