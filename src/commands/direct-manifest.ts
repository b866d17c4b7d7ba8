// `sluice publish data.csv` and `sluice publish folder/`: makes the manifest of files that have none.
import type { Dirent } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { extensionOf, usualExtensions } from '../dataset-api/file-types.ts';
import { slugOf, titleOfName } from '../dataset-api/names.ts';
import { errorMessage, UsageError } from '../model/errors.ts';
import { isConvertible } from '../model/recipe/recipe.ts';
import type { Runtime } from '../service/runtime.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import type { Manifest } from '../sources/manifest/schema.ts';
import { makeFolder } from '../util/files.ts';
import { byName } from '../util/natural.ts';
import { listed } from '../util/plural.ts';
import { quoted } from './init-files.ts';
import { type Io, warn } from './io.ts';

export interface DirectManifest {
  /** In the state folder, or where it was saved. */
  path: string;
  text: string;
  isSaved: boolean;
  /** The file or folder as it was typed. */
  of: string;
}

type Found = { manifests: Manifest[]; direct: DirectManifest[] };

/** The manifests of paths, no two of one name, and those among them that were made for tables and folders. */
export const manifestsOf = async (paths: string[], options: { config: Config; isSaved: boolean }, io: Io) => {
  const direct: DirectManifest[] = [];
  for (const path of paths)
    if (await isData(resolve(io.cwd, path))) direct.push(await directManifest(path, options, io));
  const manifests: Manifest[] = [];
  for (const named of paths) {
    const manifest = await loadManifest(direct.find(({ of }) => of === named)?.path ?? resolve(io.cwd, named));
    const twin = manifests.find((other) => other.name === manifest.name);
    if (twin) {
      throw new UsageError(`${twin.path} and ${manifest.path} have the same name "${manifest.name}"`, {
        hint: 'names of manifests must be unique; rename one of them',
      });
    }
    manifests.push(manifest);
  }
  return { direct, manifests };
};

/** A file must not take over the datasets of a manifest of the same name. */
export const refuseTakenNames = async (runtime: Runtime, { manifests, direct }: Found): Promise<void> => {
  for (const { path, of } of direct) {
    const name = manifests.find((manifest) => manifest.path === path)?.name ?? '';
    const own = [path, directPath(runtime.config, name)];
    const other = (await runtime.targetsOfManifest(name)).find(({ manifestPath }) => !own.includes(manifestPath));
    if (!other) continue;
    throw new UsageError(`${of} would be published as "${name}", which ${other.manifestPath} has published`, {
      hint: `publish that manifest, or rename ${of}`,
    });
  }
};

/** True for data instead of a manifest: a folder, or a file that is not YAML. */
const isData = async (path: string): Promise<boolean> => {
  const facts = await stat(path).catch(() => null); // the loader of manifests reports it
  return facts !== null && (facts.isDirectory() || (facts.isFile() && !/^ya?ml$/.test(extensionOf(path))));
};

/** Makes and writes the manifest of a file, or of a folder as one dataset. @throws UsageError where none can be made */
const directManifest = async (named: string, { config, isSaved }: { config: Config; isSaved: boolean }, io: Io) => {
  const data = resolve(io.cwd, named);
  const isFolder = (await stat(data)).isDirectory();
  const { files, leftOut } = isFolder ? await filesOf(data, named) : { files: [data], leftOut: [] };
  const name = idOf(isFolder ? basename(data) : stemOf(data));
  const jobs = join(io.cwd, 'jobs');
  const hasJobs = (await stat(jobs).catch(() => null))?.isDirectory();
  const path = isSaved ? join(hasJobs ? jobs : io.cwd, `${name}.yaml`) : directPath(config, name);
  const ids = files.map((file) => idOf(stemOf(file)));
  const twice = ids.find((id, at) => ids.indexOf(id) < at);
  if (twice !== undefined) {
    const twins = files.filter((_file, at) => ids[at] === twice).map((file) => basename(file));
    throw noManifest(named, `${twins.join(' and ')} would get the same id "${twice}"`, 'rename one of them');
  }
  const resources = files.map((file, at) => {
    const id = quoted(ids[at] ?? '');
    const title = quoted(titleOfName(stemOf(file)));
    return `      - { id: ${id}, title: ${title}, file: ${quoted(isSaved ? relative(dirname(path), file) : file)} }\n`;
  });
  const text = `${headOf(isSaved ? named : data)}
name: ${name}
portal: ${config.portal ?? Object.keys(config.portals)[0] ?? 'local'}
defaults: { resource: { mend: safe } }   # fix faults that have only one possible fix
datasets:
  - id: ${name}
    title: ${quoted(titleOfName(basename(data, extname(data))))}
    resources:
${resources.join('')}`;
  await makeFolder(dirname(path));
  if (isSaved) await writeNew(path, text);
  else {
    // Two files of one name would overwrite each other under the same keys.
    const before = await readFile(path, 'utf8').catch(() => headOf(data)); // none yet
    if (before.split('\n', 1)[0] !== headOf(data)) throw noManifest(named, 'other data of this name was published');
    await writeFile(path, text);
  }
  const left = listed(leftOut);
  if (left) warn(io, `${named}: left out ${left}: folders are datasets of their own, and portals refuse other files`);
  return { path, text, isSaved, of: named };
};

const directPath = ({ stateDir }: Config, name: string): string => join(stateDir, 'direct', `${name}.yaml`);

const filesOf = async (folder: string, named: string): Promise<{ files: string[]; leftOut: string[] }> => {
  // Hidden files, and those that editors keep beside an open one, such as `~$spending.xlsx`.
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !/^[.~]/.test(name));
  entries.sort((a, b) => byName(a.name, b.name));
  const isTaken = (entry: Dirent): boolean =>
    entry.isFile() && (usualExtensions.includes(extensionOf(entry.name)) || isConvertible(entry.name));
  const files = entries.filter(isTaken).map(({ name }) => join(folder, name));
  if (files.length === 0) {
    const manifest = entries.find(({ name }) => /^ya?ml$/.test(extensionOf(name)))?.name;
    const hint = manifest && `manifests are named one by one: \`sluice publish ${join(named, manifest)}\``;
    throw noManifest(named, 'it contains no file of a type that portals accept, such as CSV', hint);
  }
  const leftOut = entries.filter((entry) => !isTaken(entry));
  return { files, leftOut: leftOut.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)) };
};

/** The name of a file without its extension, that of a packed file without both. */
const stemOf = (path: string): string =>
  basename(basename(path).replace(/\.gz$/i, ''), extname(path.replace(/\.gz$/i, '')));

const idOf = (name: string): string => {
  const id = slugOf(name)?.slice(0, 64);
  if (id) return id;
  throw noManifest(name, 'cannot derive an id from this name');
};

const noManifest = (named: string, why: string, hint = 'write a manifest, see `sluice help manifest`'): UsageError =>
  new UsageError(`${named} cannot be published without a manifest: ${why}`, { hint });

const writeNew = async (path: string, text: string): Promise<void> => {
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new UsageError(`the manifest cannot be saved: ${errorMessage(cause)}`, { cause });
    if ((await readFile(path, 'utf8')) === text) return; // saved before, and not edited since
    throw new UsageError(`${path} exists, and is not what would be saved now`, {
      hint: `\`sluice publish ${path}\` publishes it as it is; to make it anew, move it away first`,
      cause,
    });
  }
};

const headOf = (data: string): string => `# The manifest of ${data}`;
