// The wishes of data packages: each is a dataset.
import { existsSync } from 'node:fs';
import { glob, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  EntryFaultError,
  type FileProblem,
  fileProblem,
  ManifestError,
  problemLine,
  reasonOf,
  unreadable,
} from '../../model/errors.ts';
import { datasetKey, uuidOfKey } from '../../model/key.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { mapPackage } from '../datapackage/map-package.ts';
import { readPackage } from '../datapackage/read-package.ts';
import { datasetProblems } from '../manifest/cross-checks.ts';
import { resolveDataset } from '../manifest/load.ts';
import { type DatasetSpec, datasetSchema, type PackageManifest } from '../manifest/schema.ts';
import { type Completeness, datasetWish, type GatheredList, type SkippedEntry } from './dataset-wish.ts';

/** Gathers the packages of a manifest, in the order of their paths. A fault skips its package; the others go on. */
export const gatherPackages = async (manifest: PackageManifest): Promise<GatheredList> => {
  const { found, complete } = await filesOf(manifest.datapackages);
  const gathered: GatheredList = { wishes: [], skipped: [], remarks: [], problems: [], complete };
  const files = new Map<string, string>();
  for (const file of found) {
    const { id, spec, problems, remarks } = await readDataset(file, manifest);
    const twin = id === null ? undefined : files.get(id);
    if (twin !== undefined)
      problems.push(fileProblem(file, `\`${id}\` is already used by ${twin}; names must be unique`, 'name'));
    else if (id !== null) files.set(id, file);
    gathered.remarks.push(...remarks);
    gathered.problems.push(...problems);
    if (spec !== null && problems.length === 0) gathered.wishes.push(datasetWish(manifest, spec));
    else gathered.skipped.push(skippedOf(manifest, { file, id: twin === undefined ? id : null, problems }));
  }
  return gathered;
};

/** Paths as they are, patterns as what they match now, sorted. */
const filesOf = async (paths: string[]): Promise<{ found: Set<string>; complete: Completeness }> => {
  const found = new Set<string>();
  const doubts: string[] = [];
  for (const path of paths) {
    if (isPattern(path)) for (const file of await matching(path, doubts)) found.add(file);
    else found.add(path);
  }
  return { found, complete: doubts.length === 0 || doubts.join('; ') };
};

const isPattern = (path: string): boolean => /[*?[{]/.test(path);

/**
 * The files that match a pattern. Doubts: folders on its way that cannot be read or are empty, as where a disk is not mounted,
 * and no file at all.
 */
const matching = async (pattern: string, doubts: string[]): Promise<string[]> => {
  const parts = pattern.split('/');
  const base = parts.slice(0, parts.findIndex(isPattern)).join('/');
  const folders = new Set([base]);
  const found: string[] = [];
  const exclude = ({ parentPath, name }: { parentPath: string; name: string }): boolean => {
    const path = join(parentPath, name);
    if (path.startsWith(`${base}/`)) folders.add(path);
    return false;
  };
  for await (const { parentPath, name } of glob(pattern, { withFileTypes: true, exclude }))
    found.push(join(parentPath, name));
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

interface PackageDataset {
  id: string | null;
  spec: DatasetSpec | null;
  problems: FileProblem[];
  remarks: string[];
}

const readDataset = async (file: string, manifest: PackageManifest): Promise<PackageDataset> => {
  try {
    const draft = mapPackage(await readPackage(file), basename(dirname(file)));
    const checked = checkDocument(draft, datasetSchema);
    const between = datasetProblems(draft, manifest.defaults.dataset);
    const problems = [...draft.problems, ...checked.problems, ...between];
    const spec = checked.value === null ? null : resolveDataset(checked.value, manifest, dirname(file));
    return { id: String(draft.value.id), spec, problems, remarks: draft.remarks };
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    return { id: null, spec: null, problems: error.problems, remarks: [] };
  }
};

const skippedOf = (
  { name, renamedFrom }: PackageManifest,
  { file, id, problems }: { file: string; id: string | null; problems: FileProblem[] },
): SkippedEntry => ({
  key: id === null ? datasetKey(name, `entry#${basename(dirname(file))}`) : datasetKey(name, id),
  uuid: id === null ? '' : uuidOfKey(datasetKey(renamedFrom ?? name, id)),
  title: id ?? basename(dirname(file)),
  isKnown: id !== null,
  reason: reasonOf(
    new EntryFaultError(problems.map(problemLine).join('\n'), {
      hint: 'fix this data package; the others are not affected',
    }),
  ),
});
