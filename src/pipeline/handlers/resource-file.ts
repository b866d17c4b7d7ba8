// The file of a resource on this host, in steps: fetched or found, the table made of it, checked. Values go from step to step.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SourceRefusedError, TableInputError } from '../../model/errors.ts';
import type { FetchedFrom, LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import { brief, changesText, isOfTable, type RowChanges } from '../../model/table-history.ts';
import { type ResourceSource, type ResourceWish, sentName, sourcePathOf } from '../../model/wish.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import { shown } from '../../sources/fetch/policy.ts';
import { checkTable, type SoundTable } from '../../tables/check.ts';
import { type Prepared, removePreparedFile } from '../../tables/transform/prepare.ts';
import { isSmall, sweepAttempts } from '../../util/files.ts';
import { plural } from '../../util/plural.ts';
import {
  fetchedFileOf,
  madeTable,
  type PreparedFile,
  prepareFile,
  type SentFile,
  shapeOfTable,
  sourceChanged,
  type TableShape,
} from '../compare/local-file.ts';
import { changesSince } from '../compare/row-changes.ts';
import { isRefusedFile, isSent, unreadTable, wantsImport, withBytes } from '../plan/known-wish.ts';
import { keepChanges, type LogState, makeChangeLog, mostListed } from './change-log.ts';

export interface ResourceState extends LogState {
  /** Node of the dataset where resources refer to it; null where the dataset lists its resources. */
  readonly datasetNid: string | null;
  /** True: its table is proven in this attempt. False: by a later job, together with others. */
  readonly provesNow: boolean;
  /** True while the last good file is restored. */
  readonly fallsBack: boolean;
  /** Null before it is fetched, and for links. */
  readonly source: SourceFingerprint | null;
  /** Of wishes with a recipe. */
  readonly prepared: PreparedFile | null;
  /** Null where the published version is current. */
  readonly fetched: FetchedFrom | null;
  /** Null before it is checked, and for what is no table. */
  readonly table: SoundTable | null;
  /** What changed in it since the live version; null where that is not known. */
  readonly changes: RowChanges | null;
  /** The node as it was read last in this attempt; null after a write. */
  readonly node: PortalNode | null;
}

/** Does what a resource needs and gives what is known then; the same where it needs nothing. */
export type ResourceStep = (state: ResourceState) => Promise<ResourceState>;

export const sentAgain = 'this file is sent again once it or its manifest entry changes, or by `sluice retry`';

/** The file that is sent; null before it exists, for links, and where the current version was not fetched again. */
export const sentFile = ({ wish, source, prepared }: ResourceState): SentFile | null => {
  if (prepared) return prepared;
  return source && wish.source.kind === 'file' ? { path: wish.source.path, name: wish.source.name, source } : null;
};

/** The shape that the table of the sent file should have. */
export const shapeOf = (state: ResourceState, table: SoundTable, signal: AbortSignal): TableShape =>
  shapeOfTable(sentFile(state)?.path ?? '', table, signal);

/** True when rows are to be imported: an archive or JSON file without a table is sent unchanged, without rows. */
export const importsRows = ({ wish, prepared }: ResourceState): boolean =>
  wish.source.kind === 'file' && wantsImport(wish) && (prepared === null || isTabular(prepared.name));

/** True when the file of the job is known to be one that the portal cannot import, or that is held. */
export const isRefused = ({ entry, wish, source }: ResourceState): boolean =>
  source !== null && isRefusedFile(entry, wish, source.sha256);

type UrlSource = Extract<ResourceSource, { kind: 'url' }>;

/** Step `fetch`: the bytes on this host, or the proof that none are needed. @throws SourceRefusedError for a file that is too large */
export const fetchSource: ResourceStep = async (state) => {
  const { wish, deps, entry, seen, target } = state;
  const { source: from } = wish;
  let found = state;
  if (from.kind === 'url')
    found = await fetchAddress(state, from, needsBytes(entry, wish, from) ? null : entry.fetched);
  else if (from.kind === 'file') {
    const label = { name: 'fetch', light: true, on: from.name };
    const source = await target.item.step(label, (signal) => fingerprintFile(from.path, seen, signal), bytesOf);
    found = { ...state, source, wish: withBytes(wish, source) };
  } else if (from.kind === 'changes') found = { ...state, ...(await makeChangeLog(state, from.name)) };
  const bytes = found.source?.bytes ?? 0;
  const limit = deps.settings.tableBytes;
  if (bytes <= limit) return found;
  throw new SourceRefusedError(`${sourcePathOf(wish.source)} has ${bytes} bytes, more than the limit of ${limit}`, {
    hint: 'split the file, or raise limits.table in the configuration',
  });
};

const bytesOf = ({ bytes, sha256 }: { bytes: number; sha256: string }): string =>
  `${plural(bytes, 'byte')}, sha256 ${sha256.slice(0, 12)}`;

/** Fetches the file unless it is the `published` version; it replaces the address in the wish, for this job on this host. */
export const fetchAddress = async (state: ResourceState, source: UrlSource, published: FetchedFrom | null) => {
  const { deps, wish, entry } = state;
  const { item } = state.target;
  const { url, name } = source;
  const wanted = { portal: item.portal, uuid: wish.uuid, url, name, by: item.runId, published };
  const got = await item.step(
    { name: 'fetch', light: true, on: shown(new URL(url)) },
    (signal, moved) => deps.fetched.get(wanted, { signal, moved }),
    (file) => (file === 'unchanged' ? 'unchanged' : bytesOf(file)),
  );
  if (got === 'unchanged') return { ...state, source: entry.source };
  return { ...state, ...(await fetchedFileOf(wish, source, got)) };
};

/** False where the portal holds the last fetched version, complete and proven. */
const needsBytes = (entry: LedgerEntry, wish: ResourceWish, { url }: UrlSource): boolean => {
  const { source, fetched, file, datastore, nid, pending } = entry;
  if (nid === null || pending?.what === 'attach' || pending?.what === 'import') return true;
  if (source === null || fetched?.url !== url || (fetched.etag === null && fetched.lastModified === null)) return true;
  const isUnproven = wantsImport(wish) && (datastore === 'pending' || datastore === 'failed');
  return (
    isUnproven || (!isSent(file, source.sha256, wish) && (entry.refused === null || entry.refused.guard === 'released'))
  );
};

/** Step `prepare`: makes the table; what an earlier attempt left is removed, never used. @throws as `prepareFile` */
export const prepareTable: ResourceStep = async (state) => {
  const { deps, wish, source } = state;
  const { item } = state.target;
  const { recipe, source: raw } = wish;
  if (recipe === undefined || source === null || raw.kind !== 'file') return state;
  const { preparedDir, rejectsDir } = deps.settings;
  const rejects = join(rejectsDir, ...wish.key.split('/'), sentName(wish).replace(/\.csv$/, '.rejects.csv'));
  const prepared = await item.step(
    { name: 'prepare', on: raw.name },
    async (signal) => {
      await sweepAttempts(preparedDir, item.id);
      const { path, name } = raw;
      const tools = { ...deps.settings, signal };
      return prepareFile({ path, name, source }, { ...wish, recipe }, tools, { label: item.id, rejects });
    },
    ({ made }) => outcomeOf(made),
  );
  const before = state.entry.rejected?.path;
  if (before && before !== rejects) await rm(before, { force: true }); // under a former name of the file or key
  for (const line of linesOf(prepared.made)) await item.note(`  ${line}`);
  return { ...state, prepared };
};

const outcomeOf = (prepared: Prepared): string => {
  if (prepared.kind === 'as-is') return `${prepared.why}: left unchanged`;
  const { rowsIn, rowsOut, columns, bytes, notes, fixes } = prepared;
  if (fixes.length > 0 && notes.length === 0)
    return `fixed, ${plural(rowsOut, 'row')} of ${plural(columns.length, 'column')}, ${plural(bytes, 'byte')}`;
  return `${plural(rowsIn, 'row')} in, ${plural(rowsOut, 'row')} of ${plural(columns.length, 'column')} out, ${plural(bytes, 'byte')} of CSV`;
};

const linesOf = (made: Prepared): string[] => {
  if (made.kind === 'as-is') return (made.warnings ?? []).map((line) => `warning: ${line}`);
  const { fixes, warnings, notes, rejected, rejects } = made;
  const lines = [...fixes.map((line) => `fixed: ${line}`), ...warnings.map((line) => `warning: ${line}`), ...notes];
  if (rejected.rows === 0) return lines;
  const where = rejects === null ? 'left out' : `set aside in ${rejects}`;
  const examples = rejected.examples.map((line) => `  ${line}`);
  return [...lines, `${rejected.rows} bad ${rejected.rows === 1 ? 'row' : 'rows'} ${where}`, ...examples];
};

/** What of the file may be missing where it is live. */
export const doubtsOf = ({ prepared, wish, source }: ResourceState): string[] =>
  prepared?.made.warnings ?? unreadTable(wish, source?.kind);

/** Step `check`: whether the file is a sound table, or none where none is live. @throws TableFaultError, TableInputError, SourceChangedError */
export const checkFile: ResourceStep = async (state) => {
  const sent = sentFile(state);
  const { entry, wish, fallsBack } = state;
  if (!sent || wish.import === 'unchecked') return state;
  const { bytes } = sent.source;
  if (!isTabular(sent.name)) {
    if (wish.import === 'never' || entry.good === null || fallsBack) return state;
    const why = sent.made?.kind === 'as-is' ? sent.made.why : `${sent.name} is no table that can be read`;
    throw new TableInputError(`${why}, and a table is live`, {
      hint: 'publish a table, or set `import: never` to replace it by a file without rows',
    });
  }
  const table = await state.target.item.step(
    { name: 'check', on: sent.name, light: isSmall(bytes) },
    async (signal) => {
      const { rowBytes } = state.deps.settings;
      const table = await checkTable(sent.path, { signal, rowBytes, ...madeTable(state.prepared)?.reading });
      if (table.sha256 !== sent.source.sha256) throw changed(state);
      return table;
    },
    (table) => `sound, ${plural(table.rows, 'row')}, ${plural(table.columns.length, 'column')}`,
  );
  return { ...state, table };
};

export const changed = ({ wish: { source } }: ResourceState): Error =>
  sourceChanged(source.kind === 'file' ? source.path : '', 'it was being published');

/** What copies of its good file are found by. */
export const copyOf = ({ deps, wish, target }: ResourceState) => ({
  kept: deps.kept,
  wish,
  portal: target.item.portal,
});

/** Step `changes`: which rows of a new version of a table are not as in the live one. */
export const compareRows: ResourceStep = async (state) => {
  const { table, entry, target, deps, wish, fallsBack } = state;
  const sent = sentFile(state);
  if (!table || !sent || fallsBack || entry.good === null) return state;
  if (entry.version === null || isOfTable(entry.version, table)) return state;
  const version = { path: sent.path, table, skipRows: madeTable(state.prepared)?.reading.skipRows };
  const { item, portal } = target;
  const path = join(deps.settings.preparedDir, `${item.id}.live.csv`);
  // The rows of another file may have been imported since.
  const isLive =
    entry.datastore === 'imported' && entry.file?.sha256 === entry.good.sha256 && portal.datastore.counts();
  const { rowBytes } = deps.settings;
  const listed = wish.isLogged ? { examples: mostListed } : {};
  const live = isLive ? { datastore: portal.datastore, uuid: entry.uuid, path } : null;
  try {
    const changes = await item.step(
      { name: 'changes', on: item.key, light: true },
      (signal) => changesSince(entry, version, copyOf(state), { rowBytes, signal, live, ...listed }),
      (found) => (found === null ? 'not known' : `rows ${changesText(found)}`),
    );
    if (changes?.key === null && wish.rowKey)
      item.tell(
        `rows were compared as a whole: \`key: [${wish.rowKey.join(', ')}]\` does not tell them apart in both versions`,
      );
    if (changes && wish.isLogged) await keepChanges(state, table.sha256, changes);
    return { ...state, changes: changes && brief(changes) };
  } finally {
    if (live) await removePreparedFile(path);
  }
};
