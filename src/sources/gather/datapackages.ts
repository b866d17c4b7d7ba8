// The wishes of data packages: each is a dataset.
import { glob } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import {
  EntryFaultError,
  type FileProblem,
  fileProblem,
  ManifestError,
  problemLine,
  reasonOf,
} from '../../model/errors.ts';
import { datasetKey, uuidOfKey } from '../../model/key.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { mapPackage } from '../datapackage/map-package.ts';
import { readPackage } from '../datapackage/read-package.ts';
import { datasetProblems } from '../manifest/cross-checks.ts';
import { resolveDataset } from '../manifest/load.ts';
import { type DatasetSpec, datasetSchema, type PackageManifest } from '../manifest/schema.ts';
import { datasetWish, type GatheredList, type SkippedEntry } from './dataset-wish.ts';

/** Gathers the packages of a manifest, in the order of their paths. A fault skips its package; the others go on. */
export const gatherPackages = async (manifest: PackageManifest): Promise<GatheredList> => {
  const gathered: GatheredList = { wishes: [], skipped: [], remarks: [], problems: [] };
  const files = new Map<string, string>();
  for (const file of await filesOf(manifest.datapackages, gathered.remarks)) {
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

/** Paths as they are, patterns as what they match now, sorted; a pattern that matches nothing may be a typo. */
const filesOf = async (paths: string[], remarks: string[]): Promise<string[]> => {
  const files = new Set<string>();
  for (const path of paths) {
    const found = /[*?[{]/.test(path) ? await matching(path) : [path];
    if (found.length === 0) remarks.push(`no file matches \`${path}\``);
    for (const file of found) files.add(file);
  }
  return [...files];
};

const matching = async (pattern: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const file of glob(pattern)) found.push(file);
  return found.sort();
};

interface PackageDataset {
  /** Null where unknown. */
  id: string | null;
  spec: DatasetSpec | null;
  problems: FileProblem[];
  remarks: string[];
}

const readDataset = async (file: string, manifest: PackageManifest): Promise<PackageDataset> => {
  try {
    const draft = mapPackage(await readPackage(file), { folder: basename(dirname(file)) });
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
