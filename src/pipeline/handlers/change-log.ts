// The change log of a dataset, a file on this host that lists the versions of its tables and the rows that changed with each.
import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';
import { idsOfKey, isChangeLog } from '../../model/key.ts';
import type { LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import {
  countsText,
  type RowChanges,
  rowChangesSchema,
  sumOf,
  type TableVersion,
  versionsOf,
} from '../../model/table-history.ts';
import type { ResourceWish } from '../../model/wish.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import type { Ledger } from '../../state/ledger.ts';
import { csvLine } from '../../tables/transform/bad-rows.ts';
import { makeFolder, sha256Of, unless, writeDurably } from '../../util/files.ts';
import { parsedJson } from '../../util/json.ts';
import { plural } from '../../util/plural.ts';
import { fetchRows, goodPath } from '../compare/row-changes.ts';
import type { HandlerDeps } from './deps.ts';
import type { NodeTarget } from './node-locate.ts';

export interface LogState {
  readonly deps: HandlerDeps;
  /** Where its node is written, and for which item. */
  readonly target: NodeTarget;
  /** Once its file is fetched, `source` is that file on this host. */
  readonly wish: ResourceWish;
  readonly entry: LedgerEntry;
  /** The file as the run saw it, to avoid hashing it again. */
  readonly seen: SourceFingerprint | null;
}

/** Where the changes of the newest version of a table wait for the log that lists them. */
const changesPath = ({ deps, target }: LogState, uuid: string): string =>
  join(deps.settings.changeLogsDir, target.item.portal, `${uuid}.json`);

const waitingSchema = z.object({ sum: z.string(), changes: rowChangesSchema });

/** Keeps what a new version of a table changes, until it is live and listed. */
export const keepChanges = async (state: LogState, sha256: string, changes: RowChanges): Promise<void> => {
  const path = changesPath(state, state.wish.uuid);
  const waiting: z.infer<typeof waitingSchema> = { sum: sumOf({ sha256 }), changes };
  await makeFolder(dirname(path), 0o700);
  await writeDurably(path, JSON.stringify(waiting));
};

/** Adds the versions that are live to the log, which is then the file of the resource. */
export const makeChangeLog = async (
  state: LogState,
  name: string,
): Promise<{ source: SourceFingerprint; wish: ResourceWish }> => {
  const { deps, target, wish, seen } = state;
  const { item } = target;
  const path = join(deps.settings.changeLogsDir, item.portal, `${wish.uuid}.csv`);
  await makeFolder(dirname(path), 0o700);
  const source = await item.step(
    { name: 'fetch', light: true, on: name },
    async (signal) => {
      const own = await linesIn(path);
      // Another host may have published the last one; one that is newer was made before a kill.
      const isLive = own !== null && (await sha256Of(path)) === state.entry.file?.sha256;
      const live = isLive ? own : await publishedLines(state, `${path}.live`, signal);
      const tables = await tablesOf(state);
      const lines = withVersions(own !== null && lastTime(own) >= lastTime(live) ? own : live, tables);
      if (lines.length !== own?.length || lines.at(-1) !== own.at(-1))
        await writeDurably(path, [logColumns, ...lines].map(csvLine).join(''));
      for (const { waiting } of tables) await rm(waiting, { force: true });
      return fingerprintFile(path, seen, signal);
    },
    ({ bytes }) => plural(bytes, 'byte'),
  );
  return { source, wish: { ...wish, source: { kind: 'file', path, name } } };
};

/** The lines of a file; null where there is none, or no log in it, as after an edit by hand. */
const linesIn = async (path: string): Promise<LogLine[] | null> => {
  const text = await unless(readFile(path), ['ENOENT'], '');
  try {
    const [head, ...lines] = parse(text, { bom: true });
    return head?.length === logColumns.length ? lines : null;
  } catch (error) {
    if (error instanceof CsvError) return null;
    throw error;
  }
};

/** The lines of the log that is live, from its copy or from the datastore, also of one that is not known here; or none. */
const publishedLines = async (state: LogState, path: string, signal: AbortSignal): Promise<LogLine[]> => {
  const { deps, target, wish, entry } = state;
  const { good } = entry;
  const { datastore } = target.portal;
  const copy = good && (await goodPath({ kept: deps.kept, portal: target.item.portal, wish }, good));
  const kept = copy && (await linesIn(copy));
  if (kept) return kept;
  if (!(await datastore.isOffered(signal))) return [];
  try {
    return ((await fetchRows({ datastore, uuid: wish.uuid, path }, signal)) && (await linesIn(path))) || [];
  } finally {
    await rm(path, { force: true });
  }
};

/** The tables among resources that readers find: no drafts. */
export const publicTables = async (ledger: Ledger, portal: string, order: readonly string[]) => {
  const keys = order.filter((key) => !isChangeLog(key));
  const [entries, sent] = await Promise.all([ledger.entriesOf(portal, keys), ledger.sentOf(portal, keys)]);
  const isPublic = (entry: LedgerEntry, at: number): boolean =>
    entry.version !== null && entry.removed === null && sent[at]?.published === true;
  return entries.flatMap((entry, at) => (entry && isPublic(entry, at) ? [entry] : []));
};

/** The tables that the log lists, none of a draft, each with the file of changes that waits for its last version. */
const tablesOf = async (state: LogState): Promise<(LoggedTable & { waiting: string })[]> => {
  const { deps, target, wish } = state;
  const { portal, runId } = target.item;
  const order = wish.published ? ((await deps.runs.datasetWork(runId, wish.datasetKey))?.order ?? []) : [];
  const live = await publicTables(deps.ledger, portal, order);
  return Promise.all(
    live.map(async ({ key, uuid, version }) => {
      const waiting = changesPath(state, uuid);
      const text = await unless(readFile(waiting, 'utf8'), ['ENOENT'], '');
      const found = waitingSchema.safeParse(parsedJson(text)).data;
      const changes = found && found.sum === version?.sum ? found.changes : null;
      const versions = versionsOf(await deps.ledger.formerVersions(portal, key), version);
      return { id: idsOfKey(key).resource, versions, changes, waiting };
    }),
  );
};

export const logColumns = ['version', 'time', 'table', 'key', 'what', 'column', 'old', 'new'] as const;

/** A line by {@link logColumns}. */
export type LogLine = readonly string[];

/** Lines that a log has at most; older ones go. */
const mostLines = 10_000;

/** Rows of each kind that are listed of a version. */
export const mostListed = 1000;

const longest = 1000;

export interface LoggedTable {
  id: string;
  /** Oldest first. */
  versions: readonly TableVersion[];
  /** What changed with the last version; null where that is not known. */
  changes: RowChanges | null;
}

const [numberAt, timeAt, tableAt, whatAt] = [0, 1, 2, 4];

const isVersion = (line: LogLine): boolean => line[whatAt] === 'version';

/** When the last version of a log was made, as it says it; empty where it has none. */
export const lastTime = (log: readonly LogLine[]): string => log.findLast(isVersion)?.[timeAt] ?? '';

/** The log with the versions that it lacks, by their times. */
export const withVersions = (log: readonly LogLine[], tables: readonly LoggedTable[]): LogLine[] => {
  const ids = new Set(tables.map(({ id }) => id));
  const fresh = tables.flatMap(({ id, versions, changes }) => {
    const isOf = (line: LogLine): boolean => versions.some(({ at }) => at === Date.parse(line[timeAt] ?? ''));
    // A table that was renamed goes on under its new id.
    const last =
      log.findLast((line) => isVersion(line) && line[tableAt] === id) ??
      log.findLast((line) => isVersion(line) && !ids.has(line[tableAt] ?? '') && isOf(line));
    const since = last ? Date.parse(last[timeAt] ?? '') : 0;
    const listed = versions.findLastIndex(({ at }) => at === since);
    const known = listed < 0 ? versions.filter(({ at }) => at <= since).length : listed + 1;
    return versions.slice(known).map((version, index) => ({
      at: version.at,
      lines: linesOf(version, {
        id,
        number: Number(last?.[numberAt] ?? 0) + index + 1,
        before: versions[known + index - 1],
        // Of a version that is not listed, such as a draft, readers learn no rows.
        changes: version === versions.at(-1) && index === 0 && listed >= 0 ? changes : null,
      }),
    }));
  });
  fresh.sort((a, b) => a.at - b.at);
  return withoutOldest([...log, ...fresh.flatMap(({ lines }) => lines)]);
};

/** The last version of each table stays, so that it is never listed twice. */
const withoutOldest = (lines: LogLine[]): LogLine[] => {
  const over = lines.length - mostLines;
  if (over <= 0) return lines;
  const last = new Map(lines.filter(isVersion).map((line) => [line[tableAt], line]));
  return lines.filter((line, index) => index >= over || last.get(line[tableAt]) === line);
};

interface Told {
  id: string;
  number: number;
  before: TableVersion | undefined;
  changes: RowChanges | null;
}

interface Cells {
  key?: string;
  column?: string;
  old?: string;
  now?: string;
}

const linesOf = ({ at, rows }: TableVersion, { id, number, before, changes }: Told): LogLine[] => {
  const time = new Date(at).toISOString();
  const line = (what: string, { key = '', column = '', old = '', now = '' }: Cells): LogLine =>
    [String(number), time, id, key, what, column, old, now].map((cell) => cell.slice(0, longest));
  const first = line('version', { old: String(before?.rows ?? ''), now: String(rows) });
  if (changes === null) return [first];
  const { key, columns, examples } = changes;
  const keyOf = (row: Row): string => valuesOf(row.slice(0, key?.length ?? 0));
  const { added, removed, changed } = examples;
  const more = {
    added: changes.added - added.length,
    removed: changes.removed - removed.length,
    changed: changes.changed - changed.length,
  };
  return [
    first,
    ...columns.added.map((column) => line('column added', { column })),
    ...columns.removed.map((column) => line('column removed', { column })),
    ...columns.renamed.map(({ from, to }) => line('column renamed', { column: to, old: from, now: to })),
    ...changed.flatMap((row) =>
      row.cells.map(({ column, old, new: now }) => line('changed', { key: valuesOf(row.key), column, old, now })),
    ),
    ...added.map((row) => line('added', { key: keyOf(row), now: rowText(row) })),
    ...removed.map((row) => line('removed', { key: keyOf(row), old: rowText(row) })),
    ...(Object.values(more).some((count) => count > 0) ? [line('not listed', { now: countsText(more) })] : []),
  ];
};

type Row = RowChanges['examples']['added'][number];

const valuesOf = (row: Row): string => row.map(({ value }) => value).join(', ');

const rowText = (row: Row): string => row.map(({ column, value }) => `${column}: ${value}`).join('; ');
