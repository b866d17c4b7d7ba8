// Makes the planned work of a run: wishes x ledger, with the files as they are now.
import { type reasonOf, SluiceError } from '../errors.ts';
import { fingerprintFile } from '../intake/fingerprint.ts';
import type { RunData } from '../job.ts';
import { type LedgerEntry, newEntry, type SourceFingerprint } from '../ledger/entry.ts';
import type { DatasetWork, ResourceWork, RunWork } from '../ledger/runs.ts';
import { planDataset } from '../plan/plan.ts';
import type { ReportItem } from '../report.ts';
import type { DatasetWish } from '../wish.ts';
import type { HandlerDeps } from './deps.ts';
import { itemOfEntry, outcomeOf } from './items.ts';

/** Files that are looked at together. */
const filesAtOnce = 8;

/** Gathers and plans; reads files and the ledger, writes nothing. */
export const planRun = async (deps: HandlerDeps, request: RunData, signal: AbortSignal): Promise<RunWork> => {
  const gathered = await deps.gather(request.manifestPath);
  const wishes = limitTo(gathered.wishes, request.only);
  const entries = await deps.ledger.entries(request);
  const sources = await lookAtFiles(wishes, entries, signal);
  const work: RunWork = {
    datasets: [],
    resources: [],
    spare: [],
    settled: gathered.refused.map(({ claim, reason }) => refusedItem(request, claim, reason)),
    claims: [
      ...gathered.superseded.map(({ id }) => ({ claim: id, reason: null })),
      ...gathered.refused.map(({ claim, reason }) => ({ claim: claim.id, reason })),
    ],
  };
  for (const wish of wishes) addDataset(work, wish, sources, entries);
  return work;
};

/** The wishes a limited run is for: named resources, and named datasets with all their resources. */
const limitTo = (wishes: DatasetWish[], only: string[] | null): DatasetWish[] => {
  if (only === null) return wishes;
  const keys = new Set(only);
  return wishes.flatMap((wish) => {
    if (keys.has(wish.key)) return [wish];
    const resources = wish.resources.filter((resource) => keys.has(resource.key));
    return resources.length > 0 ? [{ ...wish, resources }] : [];
  });
};

const lookAtFiles = async (
  wishes: DatasetWish[],
  entries: ReadonlyMap<string, LedgerEntry>,
  signal: AbortSignal,
): Promise<Map<string, SourceFingerprint | null>> => {
  const sources = new Map<string, SourceFingerprint | null>();
  const files = wishes.flatMap((wish) => wish.resources).filter((resource) => resource.source.kind === 'file');
  const next = files.values();
  const look = async (): Promise<void> => {
    for (const resource of next) {
      if (resource.source.kind !== 'file') continue;
      const known = entries.get(resource.key)?.source ?? null;
      sources.set(resource.key, await fingerprintOrNull(resource.source.path, known, signal));
    }
  };
  await Promise.all(Array.from({ length: filesAtOnce }, look));
  return sources;
};

/** A file that cannot be read is the fault of its own job, which tells the reason. */
const fingerprintOrNull = async (
  path: string,
  known: SourceFingerprint | null,
  signal: AbortSignal,
): Promise<SourceFingerprint | null> => {
  try {
    return await fingerprintFile(path, known, signal);
  } catch (error) {
    if (error instanceof SluiceError) return null;
    throw error;
  }
};

const addDataset = (
  work: RunWork,
  wish: DatasetWish,
  sources: ReadonlyMap<string, SourceFingerprint | null>,
  entries: ReadonlyMap<string, LedgerEntry>,
): void => {
  const planned = planDataset(wish, sources, entries);
  const reasons = new Map(planned.resources.map(({ key, why }) => [key, why]));
  const same = wish.resources.filter((resource) => reasons.get(resource.key) === null);
  for (const { source } of same) {
    if (source.kind === 'file' && source.claim !== undefined) work.claims.push({ claim: source.claim, reason: null });
  }
  const unchanged = same.map((resource) =>
    unchangedItem(entries.get(resource.key), resource.key, resource.uuid, resource.title, 'resource'),
  );
  const busy = wish.resources.flatMap((resource): ResourceWork[] => {
    const why = reasons.get(resource.key);
    return why ? [{ wish: resource, why, source: sources.get(resource.key) ?? null }] : [];
  });
  if (planned.why === null && busy.length === 0) {
    work.settled.push(unchangedItem(entries.get(wish.key), wish.key, wish.uuid, wish.title, 'dataset'), ...unchanged);
    return;
  }
  const { resources: _resources, ...bare } = wish;
  const dataset: DatasetWork = {
    wish: bare,
    why: planned.why ?? 'its resources have work',
    nid: entries.get(wish.key)?.nid ?? null,
    resources: busy.map((resource) => resource.wish.key),
    unchanged,
  };
  work.datasets.push(dataset);
  work.resources.push(...busy);
  if (dataset.nid === null) return;
  for (const resource of same) {
    const why = 'the node of its dataset is another one';
    work.spare.push({ wish: resource, why, source: sources.get(resource.key) ?? null });
  }
};

const unchangedItem = (
  entry: LedgerEntry | undefined,
  key: string,
  uuid: string,
  title: string,
  kind: 'dataset' | 'resource',
): ReportItem => itemOfEntry(entry ?? newEntry({ key, kind, uuid, title }), { outcome: 'unchanged', reason: null });

const refusedItem = (
  request: RunData,
  claim: { id: string; dataset: string; resource: string },
  reason: ReturnType<typeof reasonOf>,
): ReportItem => {
  const key = `${request.manifest}/${claim.dataset}/${claim.resource}`;
  return itemOfEntry(newEntry({ key, kind: 'resource', uuid: '', title: claim.resource }), {
    outcome: outcomeOf(reason),
    reason,
  });
};
