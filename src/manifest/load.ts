// Reads a manifest and resolves it.
import { resolve } from 'node:path';
import { type FileProblem, ManifestError } from '../errors.ts';
import { checkDocument } from '../yaml/check.ts';
import { readYaml } from '../yaml/document.ts';
import { crossProblems } from './cross-checks.ts';
import { resolveManifest } from './resolve.ts';
import { type Manifest, manifestFileSchema } from './schema.ts';

/**
 * Loads the manifest at `path` (relative to the working directory). Throws ManifestError with all problems at once. A data
 * file that does not exist is no problem of the manifest: it fails that one resource when it is run.
 */
export const loadManifest = async (path: string): Promise<Manifest> => {
  const { document, problems } = await readYaml(path);
  if (document === null) throw new ManifestError(problems);
  const checked = checkDocument(document, manifestFileSchema);
  const all = [...checked.problems, ...crossProblems(document)];
  if (checked.value === null || all.length > 0) throw new ManifestError(all.sort(byPlace));
  return resolveManifest(checked.value, resolve(path));
};

const byPlace = (a: FileProblem, b: FileProblem): number => a.line - b.line || a.column - b.column;
