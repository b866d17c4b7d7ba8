// Two names in an inbox that give one id: neither is taken, for one would silently replace the other.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { slugOf } from '../dkan/slug.ts';
import { unless } from './durable.ts';
import type { Place, Placed } from './place.ts';

/** Tells which other path or folder stands in a file's way, or null. Reads each folder once, so make a new one for each look. */
export type CollisionFinder = (path: string, place: Place) => Promise<string | null>;

interface Names {
  folders: string[];
  files: string[];
}

const namesIn = async (folder: string): Promise<Names> => {
  const entries = await unless(readdir(folder, { withFileTypes: true }), ['ENOENT', 'ENOTDIR'], []);
  const visible = entries.filter((entry) => !entry.name.startsWith('.'));
  return {
    folders: visible.filter((entry) => entry.isDirectory()).map((entry) => entry.name),
    files: visible.filter((entry) => entry.isFile()).map((entry) => entry.name),
  };
};

/** Makes a finder over the present content of `inbox`; `placed` is the inbox's own rule. */
export const collisionFinder = (inbox: string, placed: (path: string) => Placed): CollisionFinder => {
  const read = new Map<string, Promise<Names>>();
  const names = (folder: string): Promise<Names> => {
    const known = read.get(folder) ?? namesIn(join(inbox, folder));
    read.set(folder, known);
    return known;
  };

  const filesIn = async (folder: string): Promise<{ path: string; place: Place }[]> =>
    (await names(folder)).files.flatMap((name) => {
      const path = folder === '' ? name : `${folder}/${name}`;
      const found = placed(path);
      return found.kind === 'file' ? [{ path, place: found.place }] : [];
    });

  return async (path, place) => {
    const root = await names('');
    const rootFiles = await filesIn('');
    const folder = root.folders.find((name) => name !== place.datasetName && slugOf(name) === place.dataset);
    if (folder !== undefined) return `${folder}/`;
    const foreign = rootFiles.find(
      (file) => file.place.datasetName !== place.datasetName && file.place.dataset === place.dataset,
    );
    if (foreign !== undefined) return foreign.path;
    const siblings = [...rootFiles, ...(await filesIn(place.datasetName))];
    const twin = siblings.find(
      (file) => file.path !== path && file.place.dataset === place.dataset && file.place.resource === place.resource,
    );
    return twin?.path ?? null;
  };
};
