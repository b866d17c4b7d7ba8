// What a path in the inbox is, told from its name alone: a file to take, a marker, a sidecar, nothing of ours, or left with a reason.
import picomatch from 'picomatch';
import { slugOf } from '../../dataset-api/slug.ts';
import { idPattern } from '../../model/key.ts';
import { droppedNames } from '../manifest/drop-names.ts';

/** Where a dropped file belongs. */
export interface Place {
  dataset: string;
  resource: string;
  /** Path of the dataset's folder in the inbox (a root file's: its own without the ending) as the user wrote it. */
  datasetName: string;
  /** The file's name without its ending, as the user wrote it. */
  resourceName: string;
}

/** See {@link placeRule}. `of` is the path of the file that a marker belongs to. */
export type Placed =
  | { kind: 'file'; place: Place }
  | { kind: 'marker'; of: string }
  | { kind: 'sidecar' }
  | { kind: 'ignored' }
  | { kind: 'left'; reason: string };

/** Which names an inbox takes. */
export interface PlaceOptions {
  /** picomatch patterns below the inbox; letter case does not matter. */
  files: string[];
  /** Ending of marker files. */
  marker: string;
  /** Folders that hold datasets, too, as the manifest lists them. */
  folders?: string[];
}

const unfinished = /\.(part|tmp)$/i;

const ignored = (segments: string[]): boolean =>
  segments.some((segment) => segment.startsWith('.') || segment.startsWith('~') || segment.endsWith('~')) ||
  unfinished.test(segments.at(-1) ?? '');

const tooDeep = 'lies deeper than <dataset>/<resource>.csv; `folders` of the manifest lists folders that hold datasets';

const noId = (name: string): string =>
  `no id can be made of \`${name}\`: rename it to at most 64 of a-z, 0-9, \`.\`, \`_\`, \`-\``;

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
      return { kind: 'left', reason: 'describes no dataset here: put it into the folder of its dataset' };
    }
    if (path.endsWith('.yaml')) return { kind: 'sidecar' };
    if (!matches(path)) return { kind: 'left', reason: `is not of the files taken here (${files.join(', ')})` };
    return placeOf(path, folders);
  };
  return (path) => {
    if (!path.endsWith(marker)) return nameOnly(path);
    const of = path.slice(0, -marker.length);
    const placed = nameOnly(of);
    return placed.kind === 'file' ? { kind: 'marker', of } : nameOnly(path);
  };
};
