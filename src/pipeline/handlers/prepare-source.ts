// Steps `fetch` and `prepare`: the bytes of a resource on this host, or the proof that none are needed; then the table made of them.
import { join } from 'node:path';
import { SourceRefusedError } from '../../model/errors.ts';
import type { SourceFingerprint } from '../../model/ledger-entry.ts';
import { type ResourceSource, sentName, sourcePathOf } from '../../model/wish.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import { shown } from '../../sources/fetch/policy.ts';
import {
  type Prepared,
  type PreparedTable,
  removePreparedFile,
  sweepPrepared,
} from '../../tables/transform/prepare.ts';
import { fetchedFileOf, prepareFile } from '../compare/local-file.ts';
import { isSent, wantsImport, withSource } from '../plan/known-wish.ts';
import { type ResourceState, sourceName, sourcePath } from './resource-state.ts';

/** Rejected rows that the job log lists one by one. */
const mostReportedRejects = 20;

/**
 * Makes the table and sets `state.prepared`. The file is this attempt's own: what an earlier attempt left is removed, never
 * used. `raw`: where the source lies on this host, and its name.
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
      const how = { folder, label: item.id, rejects, maxBytes, rowBytes, signal };
      return prepareFile({ ...raw, source }, { ...wish, recipe }, how);
    },
    (prepared) => outcomeOf(prepared.made),
  );
  state.prepared = file;
  if (made.kind === 'as-is') return;
  for (const line of made.mended) await item.note(`  fixed: ${line}`);
  for (const line of made.said) await item.note(`  ${line}`);
  if (made.rejected.rows > 0) await noteRejected(state, made);
};

/** Removes the table that was made, once the job has ended or ends its attempt. */
export const removePrepared = async ({ prepared }: ResourceState): Promise<void> => {
  if (prepared?.isMade) await removePreparedFile(prepared.path);
};

const outcomeOf = (prepared: Prepared): string => {
  if (prepared.kind === 'as-is') return `${prepared.why}: sent unchanged`;
  const { rowsIn, rowsOut, columns, bytes, said, mended } = prepared;
  if (mended.length > 0 && said.length === 0)
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
  else state.source = await fingerprintSource(state);
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
 * Fetches the file of a resource unless the version that is published is still the present one and nothing has to be
 * done with its bytes; then `wish.source` stays an address. A fetched file takes its place in the wish, for this job on
 * this host only: another worker fetches it again. `isNeeded`: the bytes are requested whatever is published.
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
        // A line that cannot be kept is not worth a failure.
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

/** Removes what was fetched for a resource, once it is published. */
export const forgetFetched = async ({ deps, target, wish, fetched }: ResourceState): Promise<void> => {
  if (fetched) await deps.fetched.remove({ portal: target.item.portal, uuid: wish.uuid });
};

/** False where the portal holds what the address gave last, complete and proven. */
const needsBytes = ({ entry, wish, intent, recreated }: ResourceState, { url }: UrlSource): boolean => {
  const { source, fetched, file, datastore, nid } = entry;
  if (recreated || nid === null || intent?.action === 'attach' || intent?.action === 'import') return true;
  if (source === null || fetched?.url !== url || (fetched.etag === null && fetched.lastModified === null)) return true;
  const isUnproven = wantsImport(wish) && (datastore === 'pending' || datastore === 'failed');
  return (
    isUnproven || (!isSent(file, source.sha256, wish) && (entry.refused === null || entry.refused.guard === 'released'))
  );
};
