// The target of a dropped file by its path: dataset and resource, and other names with the same id.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import picomatch from 'picomatch';
import { slugOf } from '../../dataset-api/names.ts';
import { idPattern } from '../../model/key.ts';
import { gone, unless } from '../../util/durable.ts';

/** Where a dropped file belongs. */
export interface DropTarget {
  dataset: string;
  resource: string;
  /** Path of the dataset's folder in the inbox (a root file's: its own without the ending) as the user wrote it. */
  datasetName: string;
  /** The file's name without its ending, as the user wrote it. */
  resourceName: string;
}

/** See {@link placeRule}. `of` is the path of the file that a marker belongs to. */
export type Placed =
  | { kind: 'file'; place: DropTarget }
  | { kind: 'marker'; of: string }
  | { kind: 'sidecar' }
  | { kind: 'ignored' }
  | { kind: 'left'; reason: string };

interface PlaceOptions {
  /** picomatch patterns below the inbox; letter case does not matter. */
  files: string[];
  marker: string;
  /** Folders that hold datasets, too, as the manifest lists them. */
  folders?: string[];
}

const unfinished = /\.(part|tmp)$/i;

const ignored = (segments: string[]): boolean =>
  segments.some((segment) => segment.startsWith('.') || segment.startsWith('~') || segment.endsWith('~')) ||
  unfinished.test(segments.at(-1) ?? '');

const tooDeep = 'is deeper than <dataset>/<resource>.csv; list folders with datasets in `folders` of the manifest';

const noId = (name: string): string =>
  `cannot derive an id from \`${name}\`: rename it to at most 64 of a-z, 0-9, \`.\`, \`_\`, \`-\``;

/**
 * Places `<dataset>/<resource>.csv` or `x.csv`, in the inbox or in a listed folder, by its name, whatever the patterns say;
 * `left` when no id can be made of it. The id of a dataset in a listed folder begins with those of the folders.
 */
export const placeOf = (path: string, folders: readonly string[] = []): Placed => {
  const names = droppedNames(path, folders);
  const slugs = names.path.split('/').map((name) => ({ name, slug: slugOf(name) }));
  const nameless = slugs.find(({ slug }) => slug === null)?.name;
  if (nameless !== undefined) return { kind: 'left', reason: noId(nameless) };
  const dataset = slugs.map(({ slug }) => slug).join('.');
  const resource = slugOf(names.resource);
  if (!idPattern.test(dataset)) return { kind: 'left', reason: noId(names.path) };
  if (resource === null) return { kind: 'left', reason: noId(names.resource) };
  return { kind: 'file', place: { dataset, resource, datasetName: names.path, resourceName: names.resource } };
};

/**
 * Makes the rule that places paths (relative to the inbox, with `/`): `<dataset>/<resource>.csv` and `x.csv` are files,
 * `x.csv.done` is a marker, `dataset.yaml`, `<resource>.yaml` and `<dataset>/datapackage.json` are sidecars; `.part`, `.tmp`, dot and `~` names are ignored.
 */
export const placeRule = ({ files, marker, folders = [] }: PlaceOptions): ((path: string) => Placed) => {
  const matches = picomatch(files, { nocase: true });
  const nameOnly = (path: string): Placed => {
    const segments = path.split('/');
    if (segments.includes('..')) return { kind: 'left', reason: 'leads out of the inbox' };
    if (ignored(segments)) return { kind: 'ignored' };
    const { isTooDeep, folder, around } = droppedNames(path, folders);
    if (isTooDeep) return { kind: 'left', reason: tooDeep };
    if (segments.at(-1) === 'datapackage.json') {
      if (folder !== '' && folder !== around.at(-1)) return { kind: 'sidecar' };
      return { kind: 'left', reason: 'describes no dataset here: move it into the folder of its dataset' };
    }
    if (path.endsWith('.yaml')) return { kind: 'sidecar' };
    if (!matches(path)) return { kind: 'left', reason: `does not match the files of this inbox (${files.join(', ')})` };
    return placeOf(path, folders);
  };
  return (path) => {
    if (!path.endsWith(marker)) return nameOnly(path);
    const of = path.slice(0, -marker.length);
    const placed = nameOnly(of);
    return placed.kind === 'file' ? { kind: 'marker', of } : nameOnly(path);
  };
};

/** Finds the other path or folder that gives the same id as a file, or null. Reads each folder once: make a new one for each scan. */
export type CollisionFinder = (path: string, place: DropTarget) => Promise<string | null>;

interface PlacedFile {
  path: string;
  place: DropTarget;
}

interface Names {
  folders: string[];
  files: string[];
}

const namesIn = async (folder: string): Promise<Names> => {
  const entries = await unless(readdir(folder, { withFileTypes: true }), gone, []);
  const visible = entries.filter((entry) => !entry.name.startsWith('.'));
  return {
    folders: visible.filter((entry) => entry.isDirectory()).map((entry) => entry.name),
    files: visible.filter((entry) => entry.isFile()).map((entry) => entry.name),
  };
};

interface CollisionOptions {
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

interface DroppedNames {
  /** Folders that the manifest lists and that lie around the dataset, outermost first: `transport`, `transport/rail`. */
  around: string[];
  /** Path of the dataset's name in the inbox; its folder, whether or not there is one. */
  path: string;
  /** Name of the dataset: of its folder, or of the file where it has none. */
  dataset: string;
  resource: string;
  /** Folder that the file lies in, relative to the inbox; empty for the inbox itself. */
  folder: string;
  /** True when the file lies deeper than `<dataset>/<resource>.csv` below the listed folders. */
  isTooDeep: boolean;
}

/**
 * The names that a dropped path gives: `<dataset>/<resource>.csv` or `x.csv`, relative to the inbox or to one of the
 * `folders` that a manifest lists.
 */
export const droppedNames = (dropped: string, folders: readonly string[]): DroppedNames => {
  const segments = dropped.split('/');
  const parents = segments.slice(0, -1);
  const around = parents
    .map((_, depth) => parents.slice(0, depth + 1).join('/'))
    .filter((path) => folders.some((listed) => listed === path || listed.startsWith(`${path}/`)));
  const depth = around.at(-1)?.split('/').length ?? 0;
  const resource = (segments.at(-1) ?? '').replace(
    /(?<=.)(?:\.(?:csv|tsv|ndjson|jsonl|json))?\.gz$|(?<=.)\.[^.]*$/i,
    '',
  );
  const dataset = parents[depth] ?? resource;
  return {
    around,
    path: [...parents.slice(0, depth), dataset].join('/'),
    dataset,
    resource,
    folder: parents.join('/'),
    isTooDeep: parents.length > depth + 1,
  };
};

/** The folders of a drop manifest that hold datasets beside the inbox itself. */
export const listedFolders = ({ folders = {} }: { folders?: Record<string, unknown> }): string[] =>
  Object.keys(folders);
