// `sluice plan`: what a publish would do, item by item; `sluice apply` does exactly that.
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { UsageError, unreadable } from '../model/errors.ts';
import { type PlanFile, planFileSchema } from '../model/plan-file.ts';
import type { Target } from '../model/redis-keys.ts';
import { changesText } from '../model/table-history.ts';
import type { ResourceWish } from '../model/wish.ts';
import { driftedFields, editOf } from '../pipeline/compare/node.ts';
import { listNodes, observe } from '../pipeline/compare/observe.ts';
import { changesAhead } from '../pipeline/compare/row-changes.ts';
import { targetLimits } from '../pipeline/compare/target-limits.ts';
import type { KnownState } from '../pipeline/plan/plan.ts';
import { openTargetPlan, planFileItems, planTotals } from '../pipeline/plan/target-plan.ts';
import type { Portal } from '../portal-client/client.ts';
import type { Runtime } from '../service/runtime.ts';
import { gatherManifestSources } from '../service/sources.ts';
import { keptFiles } from '../sources/drop/kept.ts';
import { perPortal } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import { isStale } from '../state/targets.ts';
import { defined, parsedJson, unlessEmpty } from '../util/json.ts';
import { countText, plural } from '../util/plural.ts';
import { type CommandDeclarations, commonOptions, refreshOption } from './declaration.ts';
import { manifestsOf, refuseTakenNames } from './direct-manifest.ts';
import { type CommonOptions, exitCodes, type Io, print, say } from './io.ts';
import { leftBehindLines } from './report-text.ts';
import { configOf, withRuntime } from './session.ts';
import { type Lines, lines } from './text.ts';
import { awaitReports } from './wait.ts';

export type PlanOptions = CommonOptions & { refresh?: boolean; output?: string };

/** Prints the plan of each manifest; writes nothing but the file of `-o`. 4 when a guard would hold a run. */
export const planCommand = async (paths: string[], options: PlanOptions, io: Io): Promise<number> => {
  const config = await configOf(options, io);
  const found = await manifestsOf(paths, { config, isSaved: false }, io);
  const manifests = found.manifests.flatMap((manifest) => perPortal(manifest, config.portal));
  if (options.output !== undefined && manifests.length > 1) {
    throw new UsageError('-o takes one manifest and one portal, because a plan file holds one plan', {
      hint: 'plan them one by one; --portal NAME chooses a portal',
    });
  }
  const plans = await withRuntime({ config, options, role: 'plan' }, io, async (runtime) => {
    await refuseTakenNames(runtime, found);
    return Array.fromAsync(manifests, (manifest) => showPlan(runtime, manifest, options, io));
  });
  if (options.output !== undefined) await writePlan(resolve(io.cwd, options.output), plans[0]);
  print(io, options, { json: { plans }, lines: [] });
  return plans.some((plan) => plan.held !== null) ? exitCodes.held : exitCodes.ok;
};

/** Makes a plan and prints it page by page; items are kept only for JSON and the plan file. */
const showPlan = async (runtime: Runtime, manifest: Manifest, options: PlanOptions, io: Io): Promise<PlanFile> => {
  const { ledger, fetcher } = runtime;
  const signal = io.stop;
  const gathered = await gatherManifestSources(manifest, runtime.sourceTools(signal));
  const name = runtime.config.portal ?? manifest.portal;
  const target = { manifest: manifest.name, portal: name };
  const refreshed = options.refresh ?? isStale(await ledger.refreshedAt(target), runtime.portals.refreshAfterMs(name));
  const portal = refreshed ? await runtime.portals.open(name) : null;
  const listed = portal ? await listNodes(portal, signal) : null;
  const isDoubted = options.refresh === true;
  const totals = planTotals();
  const limits = portal && targetLimits(portal);
  const show = (...text: Lines[]): void => {
    if (!options.json) for (const line of lines(...text)) say(io, line);
  };
  const kept: PlanFile['items'] = [];
  try {
    const plan = await openTargetPlan({
      ledger,
      target,
      wishes: gathered.wishes,
      only: null,
      isLimited: gathered.isDrop,
      isWhole: false,
      rules: manifest,
      stated: gathered,
      now: Date.now(),
      observe: (wishes, known) =>
        observe(wishes, known, { fetcher, listed, portal, readsStates: isDoubted, isDoubted }, signal),
    });
    const remarks = [...gathered.remarks, ...plan.remarks];
    show(`plan of ${target.manifest} for ${name}${refreshed ? ', compared with the portal' : ''}:`);
    for await (const { wishes, datasets, removals, known } of plan.pages()) {
      const items = planFileItems(datasets, removals);
      remarks.push(...standingRemarks(items, known.entries));
      const sent = new Set(items.flatMap(({ key, actions }) => (actions.length > 0 ? [key] : [])));
      await limits?.add(wishes, (key) => sent.has(key), signal);
      if (portal) for (const item of items) await explainEdit(portal, item, known, signal);
      totals.add(items);
      const ahead = rowsAhead(runtime, { target, known, signal });
      const byKey = new Map(wishes.flatMap(({ resources }) => resources.map((wish) => [wish.key, wish])));
      for (const item of items) await ahead(item, byKey.get(item.key));
      if (options.json || options.output !== undefined) kept.push(...items);
      show(items.map(itemLines));
    }
    remarks.push(...(limits?.remarks() ?? []));
    const made: PlanFile = {
      sluicePlan: 1,
      ...target,
      refreshed,
      manifestPath: manifest.path,
      madeAt: new Date().toISOString(),
      contents: totals.hash(),
      held: plan.held(),
      totals: totals.totals,
      ...defined({
        staying: unlessEmpty(plan.missing.staying),
        skipped: unlessEmpty(gathered.skipped.map(({ key, title, reason }) => ({ key, title, reason }))),
        remarks: unlessEmpty(remarks),
      }),
      items: kept,
    };
    show(totalLines(made, totals.count()));
    return made;
  } finally {
    await gathered.wishes.close();
  }
};

/** Carries out a plan file exactly; items whose source or node has changed since are refused. */
const applyCommand = async (path: string, options: CommonOptions & { strict?: boolean }, io: Io): Promise<number> => {
  const config = await configOf(options, io);
  const plan = await readPlan(resolve(io.cwd, path));
  return withRuntime({ config, options, role: 'apply' }, io, async (runtime) => {
    const id = await runtime.plans.store(options.strict ? { ...plan, strict: true } : plan);
    return awaitReports(runtime, [await runtime.requestRun(plan, 'command', { plan: id }, io.stop)], options, io);
  });
};

const writePlan = (path: string, plan: PlanFile | undefined): Promise<void> =>
  writeFile(path, `${JSON.stringify(plan, null, 2)}\n`).catch((cause: Error) => {
    throw new UsageError(`the plan cannot be written: ${cause.message}`, {
      hint: 'name a file in an existing, writable folder: sluice plan <manifest> -o plan.json',
      cause,
    });
  });

const readPlan = async (path: string): Promise<PlanFile> => {
  const fault = (why: string, cause?: unknown): UsageError =>
    new UsageError(`${path} ${why}`, { hint: 'make one with `sluice plan <manifest> -o plan.json`', cause });
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw fault(`cannot be read as a plan: ${unreadable(cause).why}`, cause);
  });
  const value = parsedJson(text);
  if (value === undefined) throw fault('cannot be read as a plan: it is not valid JSON');
  const { data, error } = planFileSchema.safeParse(value);
  if (data) return data;
  const [issue] = error.issues;
  throw fault(`is not a sluice plan: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
};

/** Files that are not sent again, because the portal failed to import them and serves their last good version. */
const standingRemarks = (items: PlanFile['items'], entries: KnownState['entries']): string[] =>
  items.flatMap(({ key, actions }) => {
    const entry = entries.get(key);
    const stands = actions.length === 0 && !entry?.live && entry?.refused?.isReplaced === true;
    return stands ? [`${key} is not sent again: ${entry.refused?.reason.message}`] : [];
  });

/** Adds who edited what, and when, to a node whose last revision is not ours. */
const explainEdit = async (
  { nodes, terms }: Portal,
  item: PlanFile['items'][number],
  known: KnownState,
  signal: AbortSignal,
): Promise<void> => {
  const entry = known.entries.get(item.key);
  const row = entry && known.listed?.get(entry.uuid.toLowerCase());
  if (!entry || !row || entry.vid === null || row.vid === entry.vid) return;
  const node = await nodes.read(row.nid, signal);
  const sent = known.sent.get(item.key) ?? null;
  const resolved = sent && { ...sent, fields: (await terms.find(sent.fields, signal, { node })).fields };
  const fields = driftedFields(entry, resolved, node);
  const what = fields.length > 0 ? fields.join(', ') : 'no managed field';
  item.why = [item.why, `edited on the portal ${editOf(node)}: ${what}`].filter(Boolean).join('; ');
};

/** Adds what would change in the rows of a table whose file is sent. */
const rowsAhead = (
  { config }: Runtime,
  { target, known, signal }: { target: Target; known: KnownState; signal: AbortSignal },
) => {
  const kept = keptFiles({ dir: join(config.stateDir, 'kept'), ...config.kept });
  const tools = { kept, preparedDir: join(config.stateDir, 'prepared'), ...config.limits, signal };
  return async (item: PlanFile['items'][number], wish: ResourceWish | undefined): Promise<void> => {
    if (wish === undefined || !item.actions.includes('attach')) return;
    const facts = { portal: target.portal, entry: known.entries.get(item.key), source: known.sources.get(item.key) };
    const rows = await changesAhead(wish, { ...tools, ...facts });
    if (rows !== null) item.rows = rows;
  };
};

const itemLines = ({ key, actions, why, changes, rows }: PlanFile['items'][number]): Lines =>
  actions.length > 0 && [
    `  ${actions.join('+').padEnd(22)} ${key}  (${why ?? ''})`,
    changes.map(({ field, from, to }) => `      ${field}: ${cut(from)} -> ${cut(to)}`),
    rows && `      rows ${changesText(rows)}`,
  ];

const totalLines = ({ totals: { actions, bytes }, ...plan }: PlanFile, count: number): Lines => {
  const each = Object.entries(actions).map(([name, of]) => `${countText(of)} ${name === 'none' ? 'unchanged' : name}`);
  const items = count > 0 ? `${plural(count, 'item')}: ${each.join(', ')}` : 'nothing to publish';
  return [
    `  ${items}${bytes > 0 ? `; ${plural(bytes, 'byte')} to send` : ''}`,
    plan.skipped?.map(({ reason }) => `  left out: ${reason.message}`),
    leftBehindLines(plan.staying ?? []),
    plan.remarks?.map((remark) => `  note: ${remark}`),
    plan.held && `  a publish would be HELD by the guard: ${plan.held}`,
  ];
};

const cut = (value: unknown): string => {
  if (value === undefined) return '?';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
};

export const commands = {
  plan: {
    arguments: { '<manifest...>': 'manifest files; or a table or folder, as `sluice publish` takes them' },
    options: { ...commonOptions, ...refreshOption, '-o, --output <file>': 'write the plan for `sluice apply`' },
    examples: ['sluice plan jobs/city-finance.yaml --refresh -o plan.json', 'sluice plan tables'],
    run: planCommand,
  },
  apply: {
    arguments: { '<plan>': 'file written by `sluice plan -o`' },
    options: { ...commonOptions, '--strict': 'do nothing if any item has changed since' },
    examples: ['sluice apply plan.json'],
    run: applyCommand,
  },
} satisfies CommandDeclarations;
