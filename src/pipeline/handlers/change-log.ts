// The change log of a dataset, a file on this host to which the versions of its tables are added once they are live; where that
// file is lost, it goes on with what the portal holds.
import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';
import { idsOfKey, isChangeLog } from '../../model/key.ts';
import type { LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import { type RowChanges, rowChangesSchema, sumOf, versionsOf } from '../../model/table-history.ts';
import type { ResourceWish } from '../../model/wish.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import type { Ledger } from '../../state/ledger.ts';
import { csvLine } from '../../tables/transform/bad-rows.ts';
import { makeFolder, sha256Of, unless, writeDurably } from '../../util/files.ts';
import { parsedJson } from '../../util/json.ts';
import { plural } from '../../util/plural.ts';
import { type LoggedTable, type LogLine, lastTime, logColumns, withVersions } from '../compare/change-log.ts';
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
    const isThere = await fetchRows({ datastore, uuid: wish.uuid, path }, signal);
    return (isThere ? await linesIn(path) : null) ?? [];
  } finally {
    await rm(path, { force: true });
  }
};

/** The tables among resources that readers find: no drafts. */
export const publicTables = async (
  ledger: Ledger,
  portal: string,
  order: readonly string[],
): Promise<LedgerEntry[]> => {
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
