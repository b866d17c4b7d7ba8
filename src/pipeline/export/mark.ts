// Marks a folder as the export of a portal, and keeps the listing of a run in progress.
import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { errorMessage, UsageError } from '../../model/errors.ts';
import { parsedJson } from '../../util/json.ts';
import { sizeOf, writeChanged, writeWhole } from './folder.ts';
import type { ListedState, Listing } from './listing.ts';

const markName = 'export.json';
const stateSchema = z.object({ user: z.string(), newest: z.number() });
const markSchema = z.object({
  sluiceExport: z.literal(1),
  portal: z.string(),
  /** What the last whole export saw; absent before there was one. */
  listed: stateSchema.exactOptional(),
});

/**
 * Claims a folder for the export of the portal at this address; returns what the last whole export saw.
 * @throws UsageError for one that holds something else
 */
export const markFolder = async (root: string, portal: string): Promise<ListedState | null> => {
  const stats = await lstat(root).catch((error: unknown) => {
    throw new UsageError(`${root} cannot be written to by this worker: ${errorMessage(error)}`, {
      hint: 'every worker of the portal needs the folder under the same path',
    });
  });
  if (!stats.isDirectory()) {
    throw new UsageError(`${root} is not a folder`, { hint: 'use a folder, not a link to one' });
  }
  const path = join(root, markName);
  const text = (await sizeOf(path)) === null ? null : await readFile(path, 'utf8');
  const mark = text === null ? null : markSchema.safeParse(parsedJson(text)).data;
  const strange = (await readdir(root)).filter((name) => !name.startsWith('.'));
  if (!mark && strange.length > 0) {
    throw new UsageError(`${root} is neither empty nor an export`, { hint: 'use a new folder, or an earlier export' });
  }
  if (mark && mark.portal !== portal) {
    throw new UsageError(`${root} holds an export of ${mark.portal}, not of ${portal}`, {
      hint: 'export each portal into a folder of its own',
    });
  }
  if (!mark) await writeMark(root, portal, null);
  return mark?.listed ?? null;
};

/** Writes down what a whole export has seen. */
export const writeMark = async (root: string, portal: string, listed: ListedState | null): Promise<void> => {
  const mark = { sluiceExport: 1, portal, ...(listed ? { listed } : {}) };
  await writeChanged(join(root, markName), [`${JSON.stringify(mark, null, 2)}\n`]);
};

const listingName = '.listing.json';
const listingSchema = z.object({
  runId: z.string(),
  datasets: z.array(z.string()),
  resources: z.array(z.string()),
  areResourcesListed: z.boolean(),
  groups: z.record(z.string(), z.string()),
  unread: z.int(),
  state: stateSchema,
});

/** What a run has to know of its listing until it ends. */
export type KeptListing = z.infer<typeof listingSchema>;

/** Keeps what was listed for the later attempts of a run. */
export const keepListing = async (root: string, runId: string, listing: Listing): Promise<void> => {
  const { datasets, resources, groups, ...more } = listing;
  const nids = { datasets: [...datasets.keys()], resources: [...resources.keys()] };
  const kept: KeptListing = { runId, ...nids, groups: Object.fromEntries(groups), ...more };
  await writeWhole(join(root, listingName), [JSON.stringify(kept)]);
};

/** What a run has listed; null where that was of another run. */
export const keptListing = async (root: string, runId: string): Promise<KeptListing | null> => {
  const path = join(root, listingName);
  const text = (await sizeOf(path)) === null ? '' : await readFile(path, 'utf8');
  const listing = listingSchema.safeParse(parsedJson(text)).data;
  return listing?.runId === runId ? listing : null;
};

/** The run has ended. */
export const forgetListing = (root: string): Promise<void> => rm(join(root, listingName), { force: true });
