// `sluice status`: is it live, and if not, why?
import { existsSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { z } from 'zod';
import { NotFoundError, oneLine, problemLine } from '../model/errors.ts';
import { isWithin, resourceKey } from '../model/key.ts';
import { heldBy, isGuarded, isHeldBack, itemStateOf, type LedgerEntry, warningsOf } from '../model/ledger-entry.ts';
import { type KnownTarget, targetName } from '../model/redis-keys.ts';
import { statusSchema } from '../model/status.ts';
import { waitOfRun } from '../queue/run-wait.ts';
import { type InboxViewOfService, readInboxViews } from '../service/inboxes.ts';
import { entriesWhere, inOrder, isAbout, itemViews, type KnownEntry, keysHint, wordsOf } from '../service/items.ts';
import { readManifests } from '../service/manifests.ts';
import { whatIsOverdue } from '../service/overdue.ts';
import { jobsOf, pausesOf } from '../service/overview.ts';
import { isUnattended, waitsForWorker } from '../service/run-list.ts';
import type { Runtime } from '../service/runtime.ts';
import { stateFault } from '../service/state-watch.ts';
import { changedFile, namedBy, neverPublished, othersNamed } from '../service/unpublished.ts';
import { inboxesFor, waitingFile } from '../service/waiting-file.ts';
import { placeRule } from '../sources/drop/drop-target.ts';
import { portalsOf } from '../sources/manifest/load.ts';
import { type DropManifest, isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { plural, tally } from '../util/plural.ts';
import { durationWords } from '../util/quantity.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { type CommonOptions, exitCodes, type Io, type Printed, print } from './io.ts';
import { watch } from './progress.ts';
import { detailLines, isLeftBehind, leftBehindLines } from './report-text.ts';
import { latestRuns, runJson, runLines } from './runs.ts';
import { withRuntimeOf } from './session.ts';
import { causeLines, hintLine, type Lines, lines, reasonLines, restLine } from './text.ts';
import { standstillText } from './wait.ts';

export type StatusOptions = CommonOptions & { all?: boolean; watch?: boolean };

/** Shows one key or file, or an overview; 0 when everything shown is live, 4 when a guard holds a run or table, else 3. */
export const statusCommand = async (what: string | undefined, options: StatusOptions, io: Io): Promise<number> =>
  withRuntimeOf('status', options, io, async (runtime) => {
    const look = (): Promise<View> =>
      what === undefined ? overview(runtime, options) : viewOf(runtime, what, resolve(io.cwd, what), options);
    if (options.watch) return watch(runtime, look, options, io);
    const view = await look();
    print(io, options, view);
    return view.code;
  });

type View = Printed & { code: number };

type Read = Awaited<ReturnType<typeof readManifests>>;

/** One key or file; `path` is where the file would be. */
const viewOf = async (runtime: Runtime, what: string, path: string, { all = false }: StatusOptions): Promise<View> => {
  const read = await readManifests(runtime);
  const known = await find(runtime, what, path, read.manifests);
  if (known.length === 0) return explainUnknown(runtime, what, path, read);
  const found = await Promise.all(known.map(async (entry) => ({ ...entry, run: await openRun(runtime, entry) })));
  const files = await newerFiles(runtime, what, path, found, read.manifests);
  const waiting = [...files, ...(await othersNamed(runtime, namedBy(read.manifests, what, path), found))];
  const newer = waiting.map((each, at) =>
    `${each.what}${at < files.length ? ', a newer version' : ''}: ${each.why}`.split('\n'),
  );
  const isHeld = found.some(isGuarded);
  const portals = [...found.filter((entry) => !isFine(entry)), ...waiting].map(({ portal }) => portal);
  return {
    json: statusSchema.parse({ items: found.map(itemJson), waiting }),
    lines: lines(foundLines(found, all), newer, await obstacleLines(runtime, portals)),
    code: waiting.length > 0 && !isHeld ? exitCodes.someFailed : codeOf(isHeld, found),
  };
};

const codeOf = (isHeld: boolean, entries: readonly Shown[]): number => {
  if (isHeld) return exitCodes.held;
  return entries.every(isFine) ? exitCodes.ok : exitCodes.someFailed;
};

/** An entry as it is shown; `run`: what the open run does that publishes it for the first time. */
type Shown = LedgerEntry & { run?: string | null };

const openRun = async (runtime: Runtime, { runId, portal, ...entry }: KnownEntry): Promise<string | null> => {
  if (!isDraft(entry) || runId === '' || (await runtime.runs.isClosed(runId))) return null;
  return `run ${runId} ${(await isUnattended(runtime, portal)) ? waitsForWorker : 'is publishing it'}`;
};

const isDraft = ({ live, stale, reason, removed, nid }: Omit<LedgerEntry, 'runId'>): boolean =>
  !(live || stale || reason || removed) && nid !== null;

const itemJson = (entry: KnownEntry) => ({
  ...entry,
  state: itemStateOf(entry),
  source: entry.sourcePath,
  warnings: warningsOf(entry),
  asOf: entry.syncedAt || null,
  runId: entry.runId || null,
});

type Waiting = z.input<typeof statusSchema>['waiting'][number] & { title?: string };

/** A key that a run in progress publishes for the first time; null for none. */
const findPlanned = async (runtime: Runtime, key: string): Promise<Waiting | null> => {
  const view = (await itemViews(runtime, key)).find(({ isRunning }) => isRunning);
  if (!view) return null;
  const { runId, entry } = view;
  const { manifest, portal } = view.target;
  const steps = (await jobsOf(runtime, portal)).flatMap((job) => (job.runId === runId ? job.steps : []));
  const step = steps.find(({ item }) => item === key)?.step;
  const does = `it ${step === undefined ? 'waits in' : `is at step ${step} of`} run ${runId}`;
  const why = `not live yet: ${(await isUnattended(runtime, portal)) ? `run ${runId} ${waitsForWorker}` : does}`;
  return { what: key, title: entry.title, state: 'publishing', manifest, portal, runId, since: null, why };
};

/** Newer files: the one that was asked for, else those of the items. What a guard holds says itself that it waits in the spool. */
const newerFiles = async (runtime: Runtime, what: string, path: string, found: KnownEntry[], manifests: Manifest[]) => {
  const inboxes = await inboxesFor(runtime, path, existsSync(path) ? manifests : []);
  const asked = found.some(isGuarded) ? null : await waitingFile(inboxes, { what, path, items: found });
  if (asked) return [asked];
  const items = new Map(found.slice(0, shownInFull).map((entry) => [entry.key, entry]));
  const newer = async (item: KnownEntry) => (await waitingFile(inboxes, item)) ?? changedFile(runtime, item);
  return (await Promise.all(items.values().map(newer))).filter((file) => file !== null);
};

/** What keeps all work of these portals waiting; null for a portal that is not known. */
const obstacleLines = async (runtime: Runtime, portals: (string | null)[]): Promise<string[]> => {
  const known = new Set(portals.filter((portal) => portal !== null));
  if (known.size === 0) return [];
  const paused = await pausesOf(runtime, [...known]);
  return lines(
    faultLines(await stateFault(runtime)),
    paused.map(({ portal, pause }) => [
      `portal ${portal} has been paused since ${isoTime(pause.since)}:`,
      reasonLines(pause.reason, '  '),
    ]),
  );
};

const faultLines = (fault: Awaited<ReturnType<typeof stateFault>>): Lines =>
  fault && ['the state takes no more data: work waits', reasonLines(fault, '  ')];

/** A key that is not published yet may be in a run or a manifest, and an unknown file in a watched folder. */
const explainUnknown = async (runtime: Runtime, what: string, path: string, { manifests, faulty }: Read) => {
  const [named] = namedBy(manifests, what, path);
  const dropped = async () => waitingFile(await inboxesFor(runtime, path, manifests), { what, path });
  const waiting: Waiting | null =
    (await findPlanned(runtime, what)) ??
    (named ? await findPlanned(runtime, named.keys[0] ?? '') : null) ??
    (await dropped()) ??
    (named ? await neverPublished(runtime, named.manifest, named.keys.slice(0, 1), what) : null);
  if (!waiting) {
    const causes = faulty.map(({ path: at, error }) => `${error.problems.map(problemLine)[0]}: mend ${at}`);
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile();
    const missing = /^[./]|\.\w+$/.test(what) ? ', and there is no such file' : '';
    const none = isFile ? ', and no manifest names this file' : missing;
    const usual = `${await keysHint(runtime, what)}; a file is known while \`manifests:\` of the configuration names its manifest or inbox, or once it was published`;
    const hint = [...causes, usual].join('; ');
    throw new NotFoundError(`no key, file or title matches "${what}"${none}`, { hint });
  }
  const titled = waiting.title === undefined ? '' : ` ("${waiting.title}" on ${waiting.portal})`;
  const json = statusSchema.parse({ items: [], waiting: [waiting] });
  const { manifest: of, portal } = waiting;
  const its = manifests.filter(({ name }) => portal === null && name === of).flatMap(portalsOf);
  const text = [...`${what}${titled}: ${waiting.why}`.split('\n'), ...(await obstacleLines(runtime, [portal, ...its]))];
  return { json, lines: text, code: exitCodes.someFailed };
};

/** Most keys shown in full; of more, one line each, of which so many are listed unless all are requested. */
const [shownInFull, shownFound] = [10, 40];

const foundLines = (found: (KnownEntry & Shown)[], all: boolean): string[] =>
  all || found.length <= shownInFull
    ? found.flatMap(keyLines)
    : lines(
        found.slice(0, shownFound).map((entry) => `${entry.key} "${entry.title}": ${standText(entry)}`),
        restLine(found.length - shownFound, '--all shows them'),
      );

/** By key, a dataset with its resources; by the path of a file, or of a manifest; else by words of key, title or file name. */
const find = async (runtime: Runtime, what: string, path: string, manifests: Manifest[]): Promise<KnownEntry[]> => {
  const targets = await runtime.targets();
  const start = targets.find(({ manifestPath }) => manifestPath === path)?.manifest ?? what;
  const byKey = await entriesWhere(runtime, targets, ({ key }) => isWithin(key, start), { start });
  if (byKey.length > 0) return byKey;
  const names = new Set([path, what]);
  const dropped = new Set(manifests.filter(isDropManifest).flatMap((manifest) => keyInInbox(manifest, path)));
  const isOfPath = ({ sourcePath, identifier, reason }: LedgerEntry): boolean =>
    names.has(sourcePath ?? '') || names.has(reason?.file ?? '') || identifier === what;
  const words = wordsOf(what);
  const isDropped = ({ key }: LedgerEntry): boolean => dropped.has(key);
  const meanings = [isOfPath, isDropped, (entry: LedgerEntry): boolean => isAbout(entry, words)];
  const found = await entriesWhere(runtime, targets, (entry) => meanings.some((isMeant) => isMeant(entry)));
  const first = meanings.find((isMeant) => found.some(isMeant));
  return first ? found.filter(first) : [];
};

/** The key that a file gets in the inbox of a manifest; none where it is not taken. */
const keyInInbox = ({ name, drop }: DropManifest, path: string): string[] => {
  const placed = placeRule(drop)(relative(drop.folder, path)); // `..` is left, wherever it leads
  return placed.kind === 'file' ? [resourceKey(name, placed.place.dataset, placed.place.resource)] : [];
};

const isFine = ({ live, reason, run }: Shown): boolean => live || (reason === null && !run);

const standText = (entry: Shown): string => {
  if (entry.run) return `not live yet: ${entry.run}`;
  if (isGuarded(entry) && !entry.refused) return 'stale: no new data';
  if (entry.reason && isHeldBack(entry.reason.code)) {
    // Of an edit nobody knows what readers see: it may have unpublished the node.
    const isPrevious = entry.stale && entry.reason.code !== 'drift';
    const still = entry.live ? 'live' : isPrevious ? 'the portal still serves the previous version' : 'not live';
    return `HELD by ${heldBy[entry.reason.code]}: ${still}`;
  }
  if (entry.live) return 'live';
  if (entry.removed) return `removed (${entry.removed})`;
  if (entry.stale) return 'not live: the portal still serves an older version';
  return entry.reason ? 'not live' : 'published as a draft';
};

const keyLines = (entry: KnownEntry & Shown): string[] => {
  const { file, rows, reason } = entry;
  const size = file && `${plural(file.bytes, 'byte')}${rows === null ? '' : `, ${plural(rows, 'row')}`}`;
  const since = entry.syncedAt > 0 ? isoTime(entry.syncedAt) : 'never';
  return lines(
    `${entry.key} (${entry.kind} "${entry.title}" on ${entry.portal}): ${standText(entry)}`,
    entry.identifier !== null && `  identifier ${entry.identifier}`,
    entry.url ? `  address ${entry.url}` : null,
    file && `  file ${file.name}, ${size}`,
    detailLines(entry, warningsOf(entry), '  '),
    reason && reasonLines(reason, '  '),
    `  as of ${since}${entry.runId ? `, run ${entry.runId}` : ''}`,
  );
};

const overview = async (runtime: Runtime, { all = false, json = false }: StatusOptions): Promise<View> => {
  const inboxes = await readInboxViews(runtime);
  const targets = await Promise.all((await runtime.targets()).map((target) => targetStatus(runtime, target, json)));
  const keys = targets.flatMap((target) => target.keys);
  const { portal } = runtime.config;
  const held = (await runtime.plans.held()).filter((run) => portal === null || run.portal === portal);
  const late = await whatIsOverdue(runtime);
  const runs = await latestRuns(runtime, 5);
  const fault = await stateFault(runtime);
  const isRunning = fault === null && targets.every(({ pause, stuck }) => pause === null && stuck === null);
  const code = codeOf(held.length > 0 || keys.some(isGuarded), keys);
  return {
    json: statusSchema.parse({
      items: keys.map(itemJson),
      waiting: [],
      fault,
      targets,
      held,
      overdue: late.overdue,
      runs: runs.map(runJson),
      inboxes: inboxes.map(({ left, spooled, ...inbox }) => ({ ...inbox, ignored: left, inProgress: spooled })),
    }),
    lines: lines(
      faultLines(fault),
      held.map((run) => [
        `HELD by the guard: run ${run.runId} of ${run.manifest} for ${run.portal}: ${run.why}`,
        hintLine(`\`sluice release ${run.runId}\` or \`sluice discard ${run.runId}\``),
      ]),
      overdueLines(late),
      targets.length + inboxes.length === 0
        ? 'nothing has been published yet; start with `sluice publish <manifest>`'
        : [
            causeLines(
              keys.filter((key) => !isFine(key)),
              wrongLines,
              { all, where: '`sluice status --all` lists them' },
            ),
            inboxes.map(inboxLines),
            runs.length > 0 && ['last runs:', ...runs.flatMap(runLines)],
            targets.map((of) => [totalLine(of), leftBehindLines(of.leftBehind, all), stuckLine(of), pauseLines(of)]),
          ],
    ),
    code: isRunning || code === exitCodes.held ? code : exitCodes.someFailed,
  };
};

type TargetStatus = Awaited<ReturnType<typeof targetStatus>>;

/** The state of a target, with its keys: those that are not live, or `all` of them. */
const targetStatus = async (runtime: Runtime, target: KnownTarget, all: boolean) => {
  const { ledger } = runtime;
  const { entries, live } = all ? { entries: await ledger.entries(target), live: 0 } : await ledger.exceptions(target);
  const read = inOrder(entries.values(), target);
  const keys = all ? read : read.filter((entry) => !entry.live || entry.reason !== null);
  const others = read.filter((entry) => !entry.live);
  const { current } = await runtime.gate.state(target);
  const unsettled = others.filter(isDraft);
  const drafts = current === null ? unsettled : await endedOf(runtime, current, unsettled);
  return {
    ...target,
    keys,
    live: live + read.length - others.length,
    stale: others.filter((entry) => entry.stale).length,
    notLive: others.filter((entry) => !entry.stale && entry.reason).length,
    drafts: drafts.length,
    removed: others.filter((entry) => entry.removed !== null).length,
    leftBehind: read.filter(isLeftBehind).map(({ key }) => key),
    running: current,
    unattended: current !== null && (await isUnattended(runtime, target.portal)),
    ...(await waitOfRun(runtime, { runId: current, portal: target.portal })),
    stuck: current === null ? null : (await runtime.runs.phases.quiet(current)).stuck,
    lastPause: (await runtime.pauses.record(target.portal)).last,
  };
};

/** Without those that the run in progress still works on. */
const endedOf = async (runtime: Runtime, runId: string, entries: KnownEntry[]): Promise<KnownEntry[]> => {
  const items = await Promise.all(
    entries.map((entry) => (entry.runId === runId ? runtime.runs.item(runId, entry.key) : null)),
  );
  return entries.filter((_, index) => items[index]?.ended !== null);
};

/** A hint shared by consecutive keys is printed once, below the last. */
const wrongLines = (listed: readonly KnownEntry[]): string[] =>
  listed.flatMap(({ reason, ...entry }, at) => {
    const isShared = reason?.hint === listed[at + 1]?.reason?.hint;
    return lines(
      `  ${entry.key}: ${standText({ ...entry, reason })}`,
      reason && reasonLines({ ...reason, hint: isShared ? null : reason.hint }, '    '),
    );
  });

const totalLine = ({ live, stale, notLive, drafts, removed, running, unattended, ...target }: TargetStatus): string => {
  const counts = tally({ live, stale, 'not live': notLive, [drafts === 1 ? 'draft' : 'drafts']: drafts, removed });
  const now = running && `run ${running} ${unattended ? 'waits for a worker' : 'in progress'}`;
  return `${targetName(target)}: ${lines(counts || 'nothing published', now).join(', ')}`;
};

const stuckLine = ({ stuck }: TargetStatus): Lines => {
  if (!stuck) return null;
  const { repairs, why, at } = stuck;
  const restarted = repairs > 0 && `restarted ${repairs === 1 ? 'once' : `${repairs} times`}`;
  return `  the run is stuck: ${why} (${lines(`seen at ${isoTime(at)}`, restarted).join(', ')})`;
};

const shownOverdue = 10;

const overdueLines = ({ overdue, more }: Awaited<ReturnType<typeof whatIsOverdue>>): string[] => {
  const rest = Math.max(0, overdue.length - shownOverdue) + more;
  return lines(
    overdue.slice(0, shownOverdue).map(({ why, hint }) => [`OVERDUE: ${why}`, hintLine(hint)]),
    rest > 0 && `OVERDUE: ${rest} more; \`sluice status --json\` lists them`,
  );
};

const pauseLines = ({ pause, lastPause, standstill }: TargetStatus): Lines => {
  if (pause) {
    const { reason, since, probe } = pause;
    const next = `is at ${isoTime(Math.max(probe?.nextAt ?? 0, Date.now()))}`;
    return [
      `  the portal has been paused since ${isoTime(since)}:`,
      reasonLines(reason, '    '),
      probe &&
        `    ${probe.failed > 0 ? `${plural(probe.failed, 'probe')} failed, the next` : 'the next probe'} ${next}`,
    ];
  }
  if (standstill) return `  the rest of the run waits until ${standstillText(standstill)}`;
  if (!lastPause || Date.now() - lastPause.until > 24 * 3600 * 1000) return null;
  const [since, until] = [isoTime(lastPause.since), isoTime(lastPause.until)];
  return `  the portal was paused from ${since} to ${until} (${lastPause.reason.code}) and works again`;
};

const isoTime = (ms: number): string => new Date(ms).toISOString();

const inboxLines = ({ folder, manifest, settling, spooled, cancelled, left, settleMs }: InboxViewOfService): Lines => {
  const files = { 'not complete yet': settling.length, 'in progress': spooled - cancelled, ignored: left.length };
  const still = `is unchanged for ${durationWords(settleMs)}`;
  return [
    `inbox ${folder} (${manifest}): ${tally({ ...files, cancelled }) || 'nothing waits'}`,
    cancelled > 0 && [
      `  ${plural(cancelled, 'file')} not published because the run was cancelled`,
      hintLine(`publish the manifest ${manifest}, or drop them again`),
    ],
    settling.slice(0, 10).map(({ path, bytes }) => `  waiting until ${path} ${still}, ${plural(bytes, 'byte')}`),
    left
      .slice(0, 20)
      .map(({ path, reason }) => `  ignored ${oneLine(path)}: ${reason.replaceAll('\n', '\n  ')}`.split('\n')),
  ];
};

export const commands = {
  status: {
    arguments: {
      '[key|file]': 'a key such as city-finance/budget/spending, a file, or a part of key, title or file name',
    },
    options: {
      ...commonOptions,
      '--all': 'list every key that is not live',
      '--watch': 'keep showing it, with how far runs are, until Ctrl-C',
    },
    examples: ['sluice status data/spending.csv', 'sluice status budget'],
    run: statusCommand,
  },
} satisfies CommandDeclarations;
