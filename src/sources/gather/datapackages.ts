// The wishes of data packages: each is a dataset.
import { existsSync } from 'node:fs';
import { glob, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileProblem, ManifestError, unreadable } from '../../model/errors.ts';
import { packageDraft } from '../datapackage/package.ts';
import { datasetOfDraft } from '../manifest/dataset-draft.ts';
import type { PackageManifest } from '../manifest/schema.ts';
import { type Completeness, datasetWish, type GatheredList, skippedDataset } from './dataset-wish.ts';

/** Gathers the packages of a manifest, in the order of their paths. A fault skips its package; the others go on. */
export const gatherPackages = async (manifest: PackageManifest): Promise<GatheredList> => {
  const { found, complete } = await filesOf(manifest.datapackages);
  const gathered: GatheredList = { wishes: [], skipped: [], remarks: [], complete };
  const files = new Map<string, string>();
  for (const file of found) {
    const { id, spec, problems, remarks } = await read(file, manifest);
    const twin = id === null ? undefined : files.get(id);
    const message = `\`${id}\` is already used by ${twin}; names must be unique`;
    const all = twin === undefined ? problems : [...problems, fileProblem(file, message, 'name')];
    if (id !== null && twin === undefined) files.set(id, file);
    gathered.remarks.push(...remarks);
    if (spec !== null && all.length === 0) gathered.wishes.push(datasetWish(manifest, spec));
    else {
      const known = twin === undefined ? id : null;
      const folder = basename(dirname(file));
      const said = { id: known, entry: folder, title: known ?? folder, isKnown: known !== null };
      const hint = 'fix this data package; the others are not affected';
      gathered.skipped.push(skippedDataset(manifest, said, { problems: all, hint }));
    }
  }
  return gathered;
};

/** The dataset of a package; without an id where it cannot be read at all. */
const read = async (file: string, manifest: PackageManifest) => {
  try {
    const { draft } = await packageDraft(file);
    const dataset = datasetOfDraft(draft, manifest.defaults, dirname(file));
    return { id: String(draft.value.id), ...dataset, remarks: draft.remarks };
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    return { id: null, spec: null, problems: error.problems, remarks: [] };
  }
};

/** Paths as they are, patterns as what they match now, sorted. */
const filesOf = async (paths: string[]): Promise<{ found: Set<string>; complete: Completeness }> => {
  const found = new Set<string>();
  const doubts: string[] = [];
  for (const path of paths) for (const file of isPattern(path) ? await matching(path, doubts) : [path]) found.add(file);
  return { found, complete: doubts.length === 0 || doubts.join('; ') };
};

const isPattern = (path: string): boolean => /[*?[{]/.test(path);

/** Doubts: no file matches, or a folder on the way is empty or cannot be read, as where a disk is not mounted. */
const matching = async (pattern: string, doubts: string[]): Promise<string[]> => {
  const parts = pattern.split('/');
  const base = parts.slice(0, parts.findIndex(isPattern)).join('/');
  const folders = new Set([base]);
  const exclude = ({ parentPath, name }: { parentPath: string; name: string }): boolean => {
    const path = join(parentPath, name);
    if (path.startsWith(`${base}/`)) folders.add(path);
    return false;
  };
  const entries = glob(pattern, { withFileTypes: true, followSymlinks: true, exclude });
  const found = await Array.fromAsync(entries, ({ parentPath, name }) => join(parentPath, name));
  if (found.length === 0) doubts.push(`no file matches \`${pattern}\``);
  for (const folder of folders) doubts.push(...(await doubtsOf(folder)));
  return found.sort();
};

const doubtsOf = async (path: string): Promise<string[]> => {
  try {
    if (!(await stat(path)).isDirectory()) return [];
    const entries = await readdir(path, { withFileTypes: true });
    const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(path, name));
    const broken = links.filter((link) => !existsSync(link));
    return entries.length === 0 ? [`the folder ${path} is empty`] : broken.map((link) => `${link} leads nowhere`);
  } catch (error) {
    return [`the folder ${path} cannot be read: ${unreadable(error).why}`];
  }
};
