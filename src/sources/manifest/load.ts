// Reads a manifest and resolves it.
import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import { type FileProblem, ManifestError } from '../../model/errors.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { parseYaml, readYamlText } from '../../model/yaml/document.ts';
import { crossProblems } from './cross-checks.ts';
import { resolveManifest } from './resolve.ts';
import { type Manifest, type ManifestFile, manifestFileSchema } from './schema.ts';

/** Manifests that somebody still holds, by path: a command, its run and the notice of it read the same text. */
const lately = new Map<string, { sha256: string; manifest: WeakRef<Manifest> }>();

/**
 * Loads the manifest at `path` (relative to the working directory). Throws ManifestError with all problems at once. A data
 * file that does not exist is no problem of the manifest: it fails that one resource when it is run. The same object is
 * given to all who load the same text, so nobody may change it.
 */
export const loadManifest = async (path: string): Promise<Manifest> => {
  const read = await readYamlText(path);
  if ('problem' in read) throw new ManifestError([read.problem]);
  const absolute = resolve(path);
  const sha256 = hash('sha256', read.text);
  const known = lately.get(absolute);
  const same = known?.sha256 === sha256 ? known.manifest.deref() : undefined;
  if (same) return same;
  const manifest = resolveManifest(checked(read.text, path), absolute);
  lately.set(absolute, { sha256, manifest: new WeakRef(manifest) });
  return manifest;
};

const checked = (text: string, path: string): ManifestFile => {
  const { document, problems } = parseYaml(text, path);
  if (document === null) throw new ManifestError(problems);
  const { value, problems: found } = checkDocument(document, manifestFileSchema);
  const all = [...found, ...crossProblems(document)];
  if (value === null || all.length > 0) throw new ManifestError(all.sort(byPlace));
  return value;
};

const byPlace = (a: FileProblem, b: FileProblem): number => a.line - b.line || a.column - b.column;
