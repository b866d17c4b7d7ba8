// What a path in the inbox is, told from its name alone: a file to take, a marker, a sidecar, nothing of ours, or left with a reason.
import picomatch from 'picomatch';
import { slugOf } from '../dkan/slug.ts';
import { droppedNames } from '../manifest/sidecars.ts';

/** Where a dropped file belongs. */
export interface Place {
  dataset: string;
  resource: string;
  /** The folder's name (a root file's: its own without the ending) as the user wrote it. */
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
}

const unfinished = /\.(part|tmp)$/i;

const ignored = (segments: string[]): boolean =>
  segments.some((segment) => segment.startsWith('.') || segment.startsWith('~') || segment.endsWith('~')) ||
  unfinished.test(segments.at(-1) ?? '');

const noId = (name: string): string =>
  `no id can be made of \`${name}\`: rename it to at most 64 of a-z, 0-9, \`.\`, \`_\`, \`-\``;

/** Places `<dataset>/<resource>.csv` or `x.csv` by its name, whatever the patterns say; `left` when no id can be made of it. */
export const placeOf = (path: string): Placed => {
  const names = droppedNames(path);
  const dataset = slugOf(names.dataset);
  const resource = slugOf(names.resource);
  if (dataset === null) return { kind: 'left', reason: noId(names.dataset) };
  if (resource === null) return { kind: 'left', reason: noId(names.resource) };
  return { kind: 'file', place: { dataset, resource, datasetName: names.dataset, resourceName: names.resource } };
};

/**
 * Makes the rule that places paths (relative to the inbox, with `/`): `<dataset>/<resource>.csv` and `x.csv` are files,
 * `x.csv.done` is a marker, `<dataset>/dataset.yaml` and `<resource>.yaml` are sidecars; `.part`, `.tmp`, dot and `~` names are ignored.
 */
export const placeRule = ({ files, marker }: PlaceOptions): ((path: string) => Placed) => {
  const matches = picomatch(files, { nocase: true });
  const nameOnly = (path: string): Placed => {
    const segments = path.split('/');
    if (segments.includes('..')) return { kind: 'left', reason: 'leads out of the inbox' };
    if (ignored(segments)) return { kind: 'ignored' };
    if (segments.length > 2) return { kind: 'left', reason: 'lies deeper than <dataset>/<resource>.csv' };
    if (path === 'dataset.yaml') {
      return { kind: 'left', reason: 'describes no dataset here: put it into the folder of its dataset' };
    }
    if (path.endsWith('.yaml')) return { kind: 'sidecar' };
    if (!matches(path)) return { kind: 'left', reason: `is not of the files taken here (${files.join(', ')})` };
    return placeOf(path);
  };
  return (path) => {
    if (!path.endsWith(marker)) return nameOnly(path);
    const of = path.slice(0, -marker.length);
    const placed = nameOnly(of);
    return placed.kind === 'file' ? { kind: 'marker', of } : nameOnly(path);
  };
};
