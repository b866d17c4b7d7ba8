// What the path of a dropped file says: in which folders of the manifest it lies, and the names of its dataset and resource.

/** See the head of this file; names are as the user wrote them. */
export interface DroppedNames {
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
