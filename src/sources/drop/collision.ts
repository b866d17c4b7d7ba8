// Two names in an inbox that give one id: neither is taken, for one would silently replace the other.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { slugOf } from '../../dataset-api/slug.ts';
import { unless } from './durable.ts';
import type { Place, Placed } from './place.ts';

/** Tells which other path or folder stands in a file's way, or null. Reads each folder once, so make a new one for each look. */
export type CollisionFinder = (path: string, place: Place) => Promise<string | null>;

interface PlacedFile {
  path: string;
  place: Place;
}

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

/** What a finder knows of its inbox. */
export interface CollisionOptions {
  /** The inbox's own rule. */
  placed: (path: string) => Placed;
  /** Folders that hold datasets, too. */
  listed: string[];
}

/** Makes a finder over the present content of `inbox`. */
export const collisionFinder = (inbox: string, { placed, listed }: CollisionOptions): CollisionFinder => {
  const read = new Map<string, Promise<Names>>();
  const names = (folder: string): Promise<Names> => {
    const known = read.get(folder) ?? namesIn(join(inbox, folder));
    read.set(folder, known);
    return known;
  };
  const below = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
  const isListed = (folder: string): boolean => listed.some((path) => path === folder || path.startsWith(`${folder}/`));

  const placedIn = new Map<string, PlacedFile[]>();
  const filesIn = async (folder: string): Promise<PlacedFile[]> => {
    const { files } = await names(folder);
    const known = placedIn.get(folder);
    if (known) return known;
    const found = files.flatMap((name): PlacedFile[] => {
      const path = below(folder, name);
      const here = placed(path);
      return here.kind === 'file' ? [{ path, place: here.place }] : [];
    });
    placedIn.set(folder, found);
    return found;
  };

  /** Folders of datasets with the ids they give. */
  const datasetsIn = async (folder: string): Promise<{ path: string; id: string }[]> =>
    (await names(folder)).folders.flatMap((name) => {
      const path = below(folder, name);
      return isListed(path) ? [] : [{ path, id: path.split('/').map(slugOf).join('.') }];
    });

  return async (path, place) => {
    const siblings = [...(await filesIn(place.datasetName))];
    for (const base of ['', ...listed]) {
      const folder = (await datasetsIn(base)).find(
        (other) => other.path !== place.datasetName && other.id === place.dataset,
      );
      if (folder !== undefined) return `${folder.path}/`;
      const files = await filesIn(base);
      const foreign = files.find(
        (file) => file.place.datasetName !== place.datasetName && file.place.dataset === place.dataset,
      );
      if (foreign !== undefined) return foreign.path;
      siblings.push(...files);
    }
    const twin = siblings.find(
      (file) => file.path !== path && file.place.dataset === place.dataset && file.place.resource === place.resource,
    );
    return twin?.path ?? null;
  };
};
