// `sluice adopt`, `sluice rebuild`, `sluice verify`: the ledger against the portal. None of them writes to the portal.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'csv-parse/sync';
import { reasonOf, UsageError, unreadable, VerifyFailedError } from '../model/errors.ts';
import { isChangeLog } from '../model/key.ts';
import type { Target } from '../model/redis-keys.ts';
import { type Reconciled, type ReconcileOptions, reconcile } from '../pipeline/compare/reconcile.ts';
import type { Runtime } from '../service/runtime.ts';
import { gatherManifestSources } from '../service/sources.ts';
import { loadManifest, perPortal } from '../sources/manifest/load.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { plural, tally } from '../util/plural.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { type CommonOptions, exitCodes, type Io, type Printed, print } from './io.ts';
import { configOf, withRuntime } from './session.ts';
import { lines } from './text.ts';

export type ReconcileCommandOptions = CommonOptions & { mapping?: string; content?: boolean };

/** Links nodes that are already on the portal to the wishes of a manifest; creates nothing. 3 when something is ambiguous. */
export const adoptCommand = async (path: string, options: ReconcileCommandOptions, io: Io): Promise<number> => {
  const mapping =
    options.mapping === undefined ? new Map<string, string>() : await readMapping(resolve(io.cwd, options.mapping));
  const how = { role: 'adopt', find: { mapping, byTitle: true }, content: true };
  return withReconciled(how, { path, options, io }, async (runtime, results, target) => {
    const news = await recordNews(runtime, target, results);
    const unclear = results.filter(isUnclear).length;
    const linked = news.filter(isLinked).length;
    const counts = {
      [linked === 1 ? 'node linked' : 'nodes linked']: linked,
      unclear,
      'not on the portal': news.length - linked - unclear,
    };
    return {
      isBad: unclear > 0,
      json: { items: news.map(({ key, found }) => ({ key, ...found })) },
      lines: lines(
        news.map((result) => `  ${result.key}: ${foundText(result)}`),
        tally(counts) || 'every item is linked already',
        unclear > 0 && 'name the right ones in a file with `key,nid` rows: sluice adopt <manifest> --mapping FILE',
      ),
    };
  });
};

/** Restores the ledger of a manifest from the portal, by uuid, marker, file bytes and rows. */
export const rebuildCommand = async (path: string, options: ReconcileCommandOptions, io: Io): Promise<number> => {
  const how = { role: 'rebuild', find: { mapping: new Map(), byTitle: false }, content: true };
  return withReconciled(how, { path, options, io }, async (runtime, results, target) => {
    await recordNews(runtime, target, results);
    const unclear = results.filter(({ found }) => found.how === 'unclear');
    const found = results.filter(isLinked);
    const sound = found.filter((result) => faultsOf(result).length === 0).length;
    const counts = {
      'restored and verified': sound,
      'to be repaired by the next publish': found.length - sound,
      'not on the portal': results.length - found.length - unclear.length,
      'not searched': unclear.length,
    };
    return {
      isBad: unclear.length > 0,
      json: { items: results.map((result) => ({ key: result.key, ...result.found, faults: faultsOf(result) })) },
      lines: lines(
        found.map((result) => faultsOf(result).map((fault) => `  ${result.key}: ${fault}`)),
        unclear.map((result) => `  ${result.key}: ${foundText(result)}`),
        [plural(results.length, 'item'), tally(counts)].filter(Boolean).join(': '),
      ),
    };
  });
};

/** Verifies that the portal holds what was published: one line per fault, exit code 3. */
export const verifyCommand = async (path: string, options: ReconcileCommandOptions, io: Io): Promise<number> => {
  const how = { role: 'verify', find: null, content: options.content === true };
  return withReconciled(how, { path, options, io }, async (runtime, results, target) => {
    await doubt(runtime, target, results);
    const faults = results.flatMap(({ key, proof }) =>
      (proof?.faults ?? (isChangeLog(key) ? [] : ['was never published'])).map((fault) => ({ key, fault })),
    );
    const text = faults.map(({ key, fault }) => `${key}: ${fault}`);
    return {
      isBad: faults.length > 0,
      json: { checked: results.length, faults },
      lines: [...text, `${plural(results.length, 'item')} checked, ${plural(faults.length, 'fault')}`],
    };
  });
};

const isLinked = ({ proof }: Reconciled): boolean => Boolean(proof?.entry.nid);

const faultsOf = ({ proof }: Reconciled): string[] => proof?.faults ?? [];

type PortalResult = Printed & { isBad: boolean };

/** Does the work for each portal of the manifest; returns the worst exit code. */
const withReconciled = async (
  { role, ...how }: Pick<ReconcileOptions, 'find' | 'content'> & { role: string },
  { path, options, io }: { path: string; options: ReconcileCommandOptions; io: Io },
  work: (runtime: Runtime, results: Reconciled[], target: Target) => Promise<PortalResult>,
): Promise<number> => {
  const config = await configOf(options, io);
  const manifest = await loadManifest(resolve(io.cwd, path));
  if (options.mapping !== undefined && perPortal(manifest, config.portal).length > 1) {
    throw new UsageError('--mapping names nodes of one portal, and the manifest has several', {
      hint: 'choose the portal with --portal NAME',
    });
  }
  const results = await withRuntime({ config, options, role }, io, async (runtime) => {
    const all: (PortalResult & { portal: string })[] = [];
    for (const each of runtime.perPortal(manifest)) {
      const target = { manifest: each.name, portal: each.portal };
      const found = await reconcileOn(runtime, each, how, io.stop);
      all.push({ ...(await work(runtime, found, target)), portal: each.portal });
    }
    return all;
  });
  print(io, options, {
    json: { portals: results.map(({ portal, json }) => ({ portal, ...json })) },
    lines: lines(
      results.map(({ portal, lines }) => (results.length === 1 ? lines : [`${portal}:`, ...lines])),
      // The source of what was published from a watched folder is gone, so there is nothing to compare with.
      isDropManifest(manifest) &&
        'note: in a watched folder, only waiting files are compared, not those already published; `sluice status` shows their state at publication',
    ),
  });
  return results.some(({ isBad }) => isBad) ? exitCodes.someFailed : exitCodes.ok;
};

const reconcileOn = async (
  runtime: Runtime,
  manifest: Manifest,
  how: Pick<ReconcileOptions, 'find' | 'content'>,
  signal: AbortSignal,
): Promise<Reconciled[]> => {
  const target = { manifest: manifest.name, portal: manifest.portal };
  const portal = await runtime.portals.open(target.portal);
  if (how.find) portal.traits.forget(); // it may be another release by now
  const { wishes: list } = await gatherManifestSources(manifest, runtime.sourceTools(signal));
  const unknown = [...(how.find?.mapping.keys() ?? [])].filter((key) => !list.keys.has(key));
  if (unknown.length > 0) {
    throw new UsageError(`the mapping names keys that are not in ${manifest.path}: ${unknown.join(', ')}`, {
      hint: 'a key is <manifest name>/<dataset id>[/<resource id>]; `sluice plan` lists them',
    });
  }
  const wishes = await list.all();
  await list.close();
  const { ledger, fetcher, fetched, config } = runtime;
  const results = await reconcile({
    target,
    wishes,
    ledger,
    portal,
    fetcher,
    fetched,
    ...how,
    signal,
    concurrency: runtime.portals.config(target.portal).concurrency,
    preparedDir: join(config.stateDir, 'prepared'),
    ...config.limits,
  });
  await ledger.remember(target, manifest.path);
  return results;
};

/** True where a person must choose the node. */
const isUnclear = ({ found, proof }: Reconciled): boolean =>
  ['ambiguous', 'unclear', 'taken'].includes(found.how) || (found.how === 'mapping' && !proof?.entry.nid);

const recordNews = async (runtime: Runtime, target: Target, results: Reconciled[]): Promise<Reconciled[]> => {
  const news = results.filter(({ found }) => found.how !== 'known');
  for (const { proof } of news) {
    if (!proof?.entry.nid) continue;
    const known = await runtime.ledger.entry(target.portal, proof.entry.key);
    // What a guard holds is not what the source gives, on purpose.
    if (known?.refused?.guard !== undefined && known.nid === proof.entry.nid) continue;
    const entry = { ...proof.entry, version: known?.version ?? null };
    await runtime.ledger.settle(target.portal, entry, { sent: proof.sent ?? undefined });
  }
  return news;
};

/** Marks faulty items as not live, so that the next publish repairs them. A run in progress does that itself. */
const doubt = async (runtime: Runtime, target: Target, results: Reconciled[]): Promise<void> => {
  if ((await runtime.gate.state(target)).current !== null) return;
  const entries = await runtime.ledger.entries(target);
  for (const { key, proof } of results) {
    const entry = entries.get(key);
    const [fault] = proof?.faults ?? [];
    const isHeld = !!entry?.refused && (entry.good === null || entry.refused.guard !== undefined);
    // What is stale differs from its file here, for the reason that it has.
    if (!entry?.nid || entry.stale || isHeld || !proof?.broken || fault === undefined) continue;
    const reason = reasonOf(new VerifyFailedError(fault, { hint: 'publish again' }));
    await runtime.ledger.put(target.portal, { ...entry, ...proof.broken, live: false, reason });
  }
};

const foundText = ({ found, proof }: Reconciled): string => {
  if (found.how === 'ambiguous') return `ambiguous: nodes ${found.nids.join(', ')} have its title`;
  if (found.how === 'taken') return `node ${found.node} matches, but ${found.by} is linked to it or matches too`;
  if (found.how === 'unclear') return `search failed: ${found.why}`;
  if (!('nid' in found)) return 'not on the portal';
  const faults = proof?.faults.join('; ') ?? '';
  if (!proof?.entry.nid) return `not linked: ${faults}`;
  return `node ${found.nid} by ${found.how}${faults === '' ? ', verified' : `; the next publish repairs: ${faults}`}`;
};

const readMapping = async (path: string): Promise<Map<string, string>> => {
  const read = async (): Promise<string[][]> =>
    parse(await readFile(path, 'utf8'), { bom: true, skip_empty_lines: true, trim: true });
  const rows = await read().catch((cause: unknown) => {
    throw new UsageError(`${path} cannot be read as CSV: ${unreadable(cause).why}`, {
      hint: 'each row is a key and a node number, such as city/budget,42',
      cause,
    });
  });
  const mapping = new Map<string, string>();
  const keys = new Map<string, string>();
  for (const [index, [key, nid]] of rows.entries()) {
    if (index === 0 && key === 'key') continue;
    if (!key || !nid || !/^\d+$/.test(nid)) {
      throw new UsageError(`${path}:${index + 1}: a row is a key and a node number, such as city/budget,42`, {
        hint: 'fix that line',
      });
    }
    const twin = mapping.has(key) ? [key, mapping.get(key)] : [keys.get(nid), nid];
    if (mapping.has(key) || keys.has(nid)) {
      throw new UsageError(`${path}:${index + 1}: ${key},${nid} contradicts ${twin.join(',')}`, {
        hint: 'each key and each node may occur once',
      });
    }
    mapping.set(key, nid);
    keys.set(nid, key);
  }
  return mapping;
};

export const commands = {
  adopt: {
    arguments: { '<manifest>': '' },
    options: { ...commonOptions, '--mapping <file>': 'CSV file with `key,nid` rows, where titles are ambiguous' },
    examples: ['sluice adopt jobs/city-finance.yaml --mapping known.csv'],
    run: adoptCommand,
  },
  rebuild: {
    arguments: { '<manifest>': '' },
    examples: ['sluice rebuild jobs/city-finance.yaml'],
    run: rebuildCommand,
  },
  verify: {
    arguments: { '<manifest>': '' },
    options: { ...commonOptions, '--content': 'download every file and compare its bytes' },
    examples: ['sluice verify jobs/city-finance.yaml --content'],
    run: verifyCommand,
  },
} satisfies CommandDeclarations;
