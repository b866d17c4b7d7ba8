// The target of a dropped file by its path: dataset and resource, and other names with the same id.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import picomatch from 'picomatch';
import { slugOf } from '../../dataset-api/names.ts';
import { idPattern } from '../../model/key.ts';
import { gone, unless } from '../../util/files.ts';
import type { DropManifest } from '../manifest/schema.ts';

export interface DropTarget {
  dataset: string;
  resource: string;
  /** Path of the dataset's folder in the inbox (a root file's: its own without the ending) as the user wrote it. */
  datasetName: string;
}

/** See {@link placeRule}. `of` is the path of the file that a marker belongs to. */
export type Placed =
  | { kind: 'file'; place: DropTarget }
  | { kind: 'marker'; of: string }
  | { kind: 'sidecar' }
  | { kind: 'ignored' }
  | { kind: 'left'; reason: string };

/** As in a manifest: picomatch patterns below the inbox (letter case does not matter), and folders that hold datasets, too. */
type PlaceOptions = Pick<DropManifest['drop'], 'files' | 'marker' | 'folders'>;

export const defaultMarker = '.done';

/** The folder of an inbox for faulty files; what is in it is not published. */
export const faultyFolder = '_faulty';

/** Faulty files, dot and `~` names, and files that are not finished. */
const ignored = /^_faulty(?:\/|$)|(?:^|\/)[.~]|~(?:\/|$)|\.(?:part|tmp)$/i;

const tooDeep =
  'is deeper than <dataset>/<resource>.csv: move it up, or list folders with datasets in `folders` of the manifest';

const noId = (name: string): string =>
  `cannot derive an id from \`${name}\`: rename it to at most 64 of a-z, 0-9, \`.\`, \`_\`, \`-\``;

/** Places a path by its name, whatever the patterns say; `left` when no id can be made of it. */
export const placeOf = (path: string, folders: readonly string[] = []): Placed => {
  const names = droppedNames(path, folders);
  const slugs = names.path.split('/').map((name) => ({ name, slug: slugOf(name) }));
  const nameless = slugs.find(({ slug }) => slug === null)?.name;
  if (nameless !== undefined) return { kind: 'left', reason: noId(nameless) };
  const dataset = slugs.map(({ slug }) => slug).join('.');
  const resource = slugOf(names.resource);
  if (!idPattern.test(dataset)) return { kind: 'left', reason: noId(names.path) };
  if (resource === null) return { kind: 'left', reason: noId(names.resource) };
  return { kind: 'file', place: { dataset, resource, datasetName: names.path } };
};

/**
 * Makes the rule that places paths (relative to the inbox, with `/`): `<dataset>/<resource>.csv` and `x.csv` are files,
 * `x.csv.done` is a marker, `dataset.yaml`, `<resource>.yaml` and `<dataset>/datapackage.json` are sidecars; `.part`, `.tmp`, dot and `~` names are ignored.
 */
export const placeRule = ({ files, marker = defaultMarker, ...drop }: PlaceOptions): ((path: string) => Placed) => {
  const folders = listedFolders(drop);
  const matches = picomatch(files, { nocase: true });
  const notTaken = `does not match the files of this inbox (${files.join(', ')}): save it as one of these, add its ending to \`files\` in the manifest, or move it away`;
  const nameOnly = (path: string): Placed => {
    const segments = path.split('/');
    if (segments.includes('..')) return { kind: 'left', reason: 'leads out of the inbox' };
    if (ignored.test(path)) return { kind: 'ignored' };
    const { isTooDeep, folder, around } = droppedNames(path, folders);
    if (isTooDeep) return { kind: 'left', reason: tooDeep };
    if (segments.at(-1) === 'datapackage.json') {
      if (folder !== '' && folder !== around.at(-1)) return { kind: 'sidecar' };
      return { kind: 'left', reason: 'describes no dataset here: move it into the folder of its dataset' };
    }
    if (path.endsWith('.yaml')) return { kind: 'sidecar' };
    if (!matches(path)) return { kind: 'left', reason: notTaken };
    return placeOf(path, folders);
  };
  return (path) => {
    if (!path.endsWith(marker)) return nameOnly(path);
    const of = path.slice(0, -marker.length);
    const placed = nameOnly(of);
    return placed.kind === 'file' ? { kind: 'marker', of } : nameOnly(path);
  };
};

/**
 * Makes what finds the other path or folder in `inbox` that gives the same id as a file, or null; `listed` are the folders
 * that hold datasets, too. It reads each folder once: make a new one for each scan.
 */
export const collisionFinder = (inbox: string, placed: (path: string) => Placed, listed: readonly string[]) => {
  const isListed = (folder: string): boolean => listed.some((path) => path === folder || path.startsWith(`${folder}/`));

  /** The files in a folder with their places, and the folders of datasets with the ids they give. */
  const read = async (folder: string) => {
    const entries = await unless(readdir(join(inbox, folder), { withFileTypes: true }), gone, []);
    const files: { path: string; place: DropTarget }[] = [];
    const datasets: { path: string; id: string }[] = [];
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      const here = entry.isFile() ? placed(path) : null;
      if (here?.kind === 'file') files.push({ path, place: here.place });
      if (entry.isDirectory() && !ignored.test(path) && !isListed(path))
        datasets.push({ path, id: path.split('/').map(slugOf).join('.') });
    }
    return { files, datasets };
  };
  const known = new Map<string, ReturnType<typeof read>>();
  const contentOf = (folder: string): ReturnType<typeof read> => {
    const content = known.get(folder) ?? read(folder);
    known.set(folder, content);
    return content;
  };

  return async (path: string, { dataset, resource, datasetName }: DropTarget): Promise<string | null> => {
    const siblings = [...(await contentOf(datasetName)).files];
    for (const base of ['', ...listed]) {
      const { files, datasets } = await contentOf(base);
      const folder = datasets.find((other) => other.path !== datasetName && other.id === dataset);
      if (folder !== undefined) return `${folder.path}/`;
      const foreign = files.find(({ place }) => place.datasetName !== datasetName && place.dataset === dataset);
      if (foreign !== undefined) return foreign.path;
      siblings.push(...files);
    }
    const twins = siblings.filter(({ place }) => place.dataset === dataset && place.resource === resource);
    return twins.find((other) => other.path !== path)?.path ?? null;
  };
};

export const droppedNames = (dropped: string, folders: readonly string[]) => {
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
    /** Folders that the manifest lists and that lie around the dataset, outermost first: `transport`, `transport/rail`. */
    around,
    /** Path of the dataset's name in the inbox; its folder, whether or not there is one. */
    path: [...parents.slice(0, depth), dataset].join('/'),
    /** Name of the dataset: of its folder, or of the file where it has none. */
    dataset,
    resource,
    folder: parents.join('/'),
    isTooDeep: parents.length > depth + 1,
  };
};

export const listedFolders = ({ folders = {} }: Pick<PlaceOptions, 'folders'>): string[] => Object.keys(folders);
