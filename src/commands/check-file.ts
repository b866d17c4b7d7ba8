// Checks one file: a table, a manifest or a configuration.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join, relative, resolve } from 'node:path';
import { loadConfig } from '../config/load.ts';
import { credentialsFor } from '../config/source-credentials.ts';
import { extensionOf, namedWithEnding, usualExtensions } from '../dataset-api/file-types.ts';
import {
  byPlace,
  CatalogueFaultError,
  ConfigError,
  type ErrorCode,
  type FileProblem,
  ManifestError,
  missingSource,
  reasonOf,
  type SluiceError,
  SourceMissingError,
  sluiceError,
  TableFaultError,
} from '../model/errors.ts';
import { isTabular, isUnread, type TableRecipe } from '../model/recipe/recipe.ts';
import type { ResourceWish } from '../model/wish.ts';
import { readYaml } from '../model/yaml/document.ts';
import { unreadTable, withBytes } from '../pipeline/plan/known-wish.ts';
import { localCatalogue } from '../sources/catalogue/catalogue-bytes.ts';
import { gatherCatalogue } from '../sources/catalogue/gather-catalogue.ts';
import { kindOfFile } from '../sources/drop/fingerprint.ts';
import { shown as shownAddress } from '../sources/fetch/policy.ts';
import { gatherPackages } from '../sources/gather/datapackages.ts';
import { type GatheredList, gatherManifest, recipeOf, unprovenRemark } from '../sources/gather/dataset-wish.ts';
import { gatherIndex } from '../sources/index/gather-index.ts';
import { isAddress, resolveCatalogue } from '../sources/manifest/list-schemas.ts';
import { loadManifest, portalsOf } from '../sources/manifest/load.ts';
import {
  type CatalogueManifest,
  defaultRules,
  type Manifest,
  type ManifestBase,
  manifestKinds,
} from '../sources/manifest/schema.ts';
import { inspectTable, reportOf } from '../tables/check.ts';
import { prepareTable } from '../tables/transform/prepare.ts';
import { defined } from '../util/json.ts';
import { plural } from '../util/plural.ts';
import {
  type CheckContext,
  type Fault,
  type FileFinding,
  faultsOfTable,
  type PublishedFile,
  summaryOfTable,
} from './check-finding.ts';

/** Checks one file by its name and, for YAML, its keys. Never throws for faults of the file. */
export const checkFile = (path: string, context: CheckContext): Promise<FileFinding> =>
  findingOf(path, context, checkByName);

/** Checks a file that a manifest publishes, or what a conversion makes of it. Never throws for its faults. */
export const checkSource = ({ path, wish }: PublishedFile, context: CheckContext): Promise<FileFinding> =>
  findingOf(path, context, async (_, finding) => {
    const kind = await kindOf(path);
    const { source, recipe } = withBytes(wish, { kind });
    const name = 'name' in source ? source.name : '';
    if (recipe) return checkConverted({ path, name, recipe }, finding, context);
    if (isTabular(name)) return checkTableFile(path, finding, context);
    await checkOther(path, finding, context);
    finding.notes?.push(...unreadTable(wish, kind).map((line) => `warning: ${line}`));
  });

/** What the bytes are; null also where they cannot be read, which the check itself reports. */
const kindOf = (path: string): Promise<string | null> => kindOfFile(path).catch(() => null);

type FileCheck = (path: string, finding: FileFinding, context: CheckContext) => Promise<void>;

export const newFinding = (file: string): FileFinding => ({
  file,
  kind: 'other',
  ok: false,
  summary: null,
  table: null,
  inspection: null,
  faults: [],
  sources: [],
});

const findingOf = async (path: string, context: CheckContext, check: FileCheck): Promise<FileFinding> => {
  const file = shown(path, context.io.cwd);
  const finding = newFinding(file);
  const fault = await check(path, finding, context).then(() => null, sluiceError);
  if (fault) finding.faults.push(...faultsOf(fault, file, context.io.cwd));
  finding.ok = fault === null && finding.faults.length === 0;
  return finding;
};

const checkByName: FileCheck = async (path, finding, context) => {
  const ending = extname(path).toLowerCase();
  if (ending === '.yaml' || ending === '.yml') return checkYaml(path, finding, context);
  const name = namedWithEnding(basename(path), await kindOf(path));
  if (isTabular(name)) return checkTableFile(path, finding, context);
  if (name === 'datapackage.json') return checkPackage(path, finding, context);
  await checkOther(path, finding, context);
  const { encoding, skipRows } = context.reading;
  const recipe = recipeOf(defined({ encoding, skipRows }), { kind: 'file', path, name }, 'auto');
  if (recipe) await checkConverted({ path, name, recipe }, finding, context);
  if (finding.kind === 'table' || (recipe && ending !== '.json')) return;
  if (ending === '.json') return checkJson(path, finding, context);
  const isTable = isUnread(name);
  const message = isTable
    ? 'its format is not read: it can be published as a file only, without rows'
    : 'this is neither a table (.csv, .tsv, .csv.gz, .zip, .xlsx, .xlsm, .ndjson, .json), a manifest or configuration (.yaml, .yml), nor a catalogue (.json)';
  const hint = isTable ? 'save it as .xlsx or .csv' : 'pass files of these types; others need no check';
  finding.faults.push({ code: 'usage', file: finding.file, message, hint });
};

const checkOther: FileCheck = async (path, finding) => {
  const facts = await stat(path).catch((cause: unknown) => {
    throw missingSource(path, cause);
  });
  if (facts.isDirectory()) throw missingSource(path, { code: 'EISDIR' });
  if (!facts.isFile()) throw missingSource(path, { message: 'this is not a file' });
  finding.summary = `there, ${plural(facts.size, 'byte')}`;
  finding.notes = kindNotes(path);
};

const kindNotes = (name: string): string[] => {
  const extension = extensionOf(name);
  if (usualExtensions.includes(extension)) return [];
  const what = extension === '' ? 'a name without an extension' : `files of the kind .${extension}`;
  return [`warning: portals refuse ${what} unless they are configured for it; publish it in a .zip, or as a link`];
};

/** JSON that is no table must be a catalogue. */
const checkJson: FileCheck = async (path, finding, { io }) => {
  finding.kind = 'catalogue';
  const manifest = { ...unwritten('catalogue', path), catalogue: resolveCatalogue(path, '/') };
  addInside(finding, await inspectCatalogue(manifest, io.stop), io.cwd);
  finding.summary = 'catalogue';
};

const checkPackage: FileCheck = async (path, finding, { io }) => {
  finding.kind = 'package';
  const inside = contentsOf(await gatherPackages({ ...unwritten('package', path), datapackages: [path] }));
  finding.summary = `data package, ${plural(inside.sources.length, 'resource')}`;
  addInside(finding, inside, io.cwd);
};

const addInside = (finding: FileFinding, { sources, problems, notes }: Contents, cwd: string): void => {
  const faults = problems.map((problem) => faultOfProblem(problem, 'entry-fault', shown(problem.file, cwd), null));
  finding.faults.push(...faults);
  Object.assign(finding, { sources, notes });
};

const checkTableFile: FileCheck = async (path, finding, { io, config, reading }) => {
  finding.kind = 'table';
  const limits = { signal: io.stop, rowBytes: config?.limits.rowBytes };
  const { fix: _, ...inspection } = await inspectTable(path, { ...limits, ...reading });
  addTable(finding, inspection);
};

const addTable = (finding: FileFinding, inspection: NonNullable<FileFinding['inspection']>, from = ''): void => {
  finding.inspection = inspection;
  finding.faults.push(...faultsOfTable(inspection, finding.file));
  finding.summary = `${from}${summaryOfTable(inspection)}`;
  if (finding.faults.length === 0) finding.table = reportOf(inspection);
};

const checkYaml: FileCheck = async (path, finding, context) => {
  const { io, config } = context;
  const { document } = await readYaml(path);
  const keys = typeof document?.value === 'object' ? Object.keys(document.value ?? {}) : [];
  // Of an unreadable file the name decides.
  const isNamedConfig = path === config?.file || /^sluice\.ya?ml$/i.test(basename(path));
  const isManifest = keys.length > 0 ? ['name', ...manifestKinds].some((key) => keys.includes(key)) : !isNamedConfig;
  if (!isManifest) {
    finding.kind = 'config';
    const { portals } = await loadConfig({ file: path, cwd: io.cwd, env: io.env });
    finding.summary = `sound, ${plural(Object.keys(portals).length, 'portal')}: ${Object.keys(portals).join(', ')}`;
    return;
  }
  finding.kind = 'manifest';
  const manifest = await loadManifest(path);
  Object.assign(finding, { manifest: manifest.name, summary: `sound, ${summaryOf(manifest, io.cwd)}` });
  const contents = await inspectManifest(manifest, io.stop);
  addInside(finding, contents, io.cwd);
  await addLogins(finding, contents.addresses, context);
  // It may name any portal; where a configuration file says which there are, it must be one of them.
  if (!config?.file || config.portal !== null) return;
  const key = manifest.portals === undefined ? 'portal' : 'portals';
  const place = { code: 'manifest' as const, file: finding.file, ...document?.position([key]), key };
  const hint = `use one of ${Object.keys(config.portals).join(', ')}, or add it to ${config.file}`;
  for (const portal of portalsOf(manifest).filter((each) => !(each in config.portals)))
    finding.faults.push({ ...place, message: `the configuration has no portal \`${portal}\``, hint });
};

const summaryOf = (manifest: Manifest, cwd: string): string => {
  if ('drop' in manifest) return `manifest ${manifest.name} of the folder ${shown(manifest.drop.folder, cwd)}`;
  if ('catalogue' in manifest) return `manifest ${manifest.name} of the catalogue ${manifest.catalogue.from}`;
  if ('datapackages' in manifest) return `manifest ${manifest.name} of data packages`;
  if ('index' in manifest) return `manifest ${manifest.name} of the index ${shown(manifest.index.file, cwd)}`;
  const resources = manifest.datasets.reduce((count, dataset) => count + dataset.resources.length, 0);
  return `manifest ${manifest.name}, ${plural(manifest.datasets.length, 'dataset')}, ${plural(resources, 'resource')}`;
};

/** Says which logins of the configuration go with addresses, and tries each of them with the first one. */
const addLogins = async (finding: FileFinding, addresses: string[], { io, config }: CheckContext): Promise<void> => {
  if (config === null) return;
  const loginOf = (address: string) => {
    const url = URL.parse(address);
    return url && credentialsFor(url, config.sources.credentials);
  };
  const { configuredFetcher } = await import('../sources/fetch/fetch.ts'); // a client, which most checks do without
  const fetcher = configuredFetcher(config, io.env);
  try {
    for (const [login, all] of Map.groupBy(addresses, loginOf)) {
      const [first = ''] = all;
      if (login === null) continue;
      const inClear = login.origin.startsWith('http:') ? ', unencrypted' : '';
      const use = `login for ${login.name}: used by ${plural(all.length, 'source')}${inClear}`;
      const fault = await fetcher.probe(first, { known: null, signal: io.stop }).then(() => null, sluiceError);
      const answers = fault ? '' : `; ${shownAddress(new URL(first))} answers with it`;
      finding.notes = [...(finding.notes ?? []), `${use}${answers}`];
      if (fault) finding.faults.push(...faultsOf(fault, finding.file, io.cwd));
    }
  } finally {
    await fetcher.close();
  }
};

/** The faults that an error stands for, in `file` or, with a folder to name them from, in the files that it names. */
export const faultsOf = (error: SluiceError, file: string, cwd?: string): Fault[] => {
  const hint = error.hint ?? null;
  if (error instanceof ConfigError || error instanceof ManifestError) {
    return error.problems.map((problem) =>
      faultOfProblem(problem, error.code, cwd === undefined ? file : shown(problem.file, cwd), hint),
    );
  }
  const { line, column } = reasonOf(error);
  let { message } = error;
  if (error instanceof TableFaultError || error instanceof CatalogueFaultError) message = error.what;
  const path = `${resolve(cwd ?? '', file)}: `;
  if (error instanceof SourceMissingError && message.startsWith(path)) message = message.slice(path.length);
  return [{ code: error.code, file, ...defined({ line, column }), message, hint }];
};

const faultOfProblem = (
  { line, column, key, message, hint: own }: FileProblem,
  code: ErrorCode,
  file: string,
  hint: string | null,
): Fault =>
  own === undefined
    ? { code, file, line, column, ...(key === '' ? {} : { key }), message, hint }
    : { code, file, message, hint: own };

/** A path as people read it: below the working directory relative to it. */
const shown = (path: string, cwd: string): string => {
  const inside = relative(cwd, resolve(cwd, path));
  return inside === '' || inside.startsWith('..') ? path : inside;
};

/** Converts the table in a temporary folder and checks the result. Throws what the conversion throws. */
const checkConverted = async (
  source: { path: string; name: string; recipe: TableRecipe },
  finding: FileFinding,
  context: CheckContext,
): Promise<void> => {
  const { io, config } = context;
  const { path, name } = source;
  const signal = io.stop;
  const folder = await mkdtemp(join(tmpdir(), 'sluice-check-'));
  const limits = config?.limits ?? { rowBytes: 1024 * 1024, tableBytes: 10e9 };
  try {
    const how = { folder, label: 'check', manifest: '', rejects: null };
    const made = await prepareTable({ ...source, ...how, ...limits, signal });
    if (made.kind === 'as-is' && isTabular(name)) return await checkTableFile(path, finding, context);
    if (made.kind === 'as-is') {
      finding.summary = `${made.why}: sent unchanged`;
      finding.notes = [...(made.warnings ?? []).map((line) => `warning: ${line}`), ...kindNotes(name)];
      return;
    }
    finding.kind = 'table';
    finding.notes = [
      ...made.fixes.map((line) => `fixed: ${line}`),
      ...made.warnings.map((line) => `warning: ${line}`),
      ...made.notes,
      ...rejectedText(made.rejected),
    ];
    const { fix: _, ...found } = await inspectTable(made.path, { signal, rowBytes: limits.rowBytes, ...made.reading });
    // A converted table is fixed by its steps or in its source, not by `--fix`.
    const inspection = { ...found, verdict: found.verdict === 'mendable' ? ('faulty' as const) : found.verdict };
    const from =
      made.notes.length === 0 ? 'fixed while publishing' : `converted to CSV from ${plural(made.rowsIn, 'row')}`;
    addTable(finding, inspection, `${from}: `);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const rejectedText = ({ rows, examples }: { rows: number; examples: string[] }): string[] =>
  rows > 0 ? [`${plural(rows, 'bad row')} left out: ${examples.slice(0, 3).join('; ')}${rows > 3 ? '; …' : ''}`] : [];

interface Contents {
  sources: PublishedFile[];
  /** Its addresses: those of files, and that of a catalogue. */
  addresses: string[];
  problems: FileProblem[];
  notes: string[];
}

/** Throws what gathering throws where a list as a whole cannot be read; what a watched folder holds is checked when dropped. */
const inspectManifest = async (manifest: Manifest, signal: AbortSignal): Promise<Contents> => {
  if ('catalogue' in manifest) return inspectCatalogue(manifest, signal);
  if ('index' in manifest) {
    const contents = contentsOf(await gatherIndex(manifest));
    return { ...contents, problems: contents.problems.sort(byPlace) };
  }
  if ('datapackages' in manifest) return contentsOf(await gatherPackages(manifest));
  return contentsOf({ wishes: await gatherManifest(manifest), skipped: [], remarks: [], complete: true });
};

/** A catalogue of the web is not fetched for a check. */
const inspectCatalogue = async (manifest: CatalogueManifest, signal: AbortSignal): Promise<Contents> => {
  const { from } = manifest.catalogue;
  const notFetched = 'the catalogue is not fetched here; `sluice plan` reads it';
  if (isAddress(from)) return { sources: [], addresses: [from], problems: [], notes: [notFetched] };
  const addresses: string[] = [];
  let [datasets, resources] = [0, 0];
  const { skipped, ...rest } = await gatherCatalogue(manifest, localCatalogue(signal), async (wish) => {
    datasets += 1;
    resources += wish.resources.length;
    addresses.push(...addressesOf(wish.resources));
  });
  const size = `${plural(datasets, 'dataset')} with ${plural(resources, 'resource')}`;
  const problems = skipped.flatMap((each) => each.problems);
  return { sources: [], addresses, problems, notes: [size, ...notesOf(rest)] };
};

const unwritten = (name: string, path: string): ManifestBase => ({
  ...defaultRules,
  path,
  name,
  portal: 'local',
  defaults: { dataset: {}, resource: {} },
});

const contentsOf = ({ wishes, skipped, ...rest }: GatheredList): Contents => {
  const resources = wishes.flatMap((wish) => wish.resources);
  const addresses = addressesOf(resources);
  const later = `${plural(addresses.length, 'file')} of the web ${addresses.length === 1 ? 'is' : 'are'} fetched and checked when published, not here`;
  return {
    sources: resources.flatMap((wish) => (wish.source.kind === 'file' ? [{ path: wish.source.path, wish }] : [])),
    addresses,
    problems: skipped.flatMap(({ problems }) => problems),
    notes: [...(addresses.length > 0 ? [later] : []), ...notesOf(rest)],
  };
};

const notesOf = ({ remarks, complete }: Pick<GatheredList, 'remarks' | 'complete'>): string[] =>
  complete === true ? remarks : [...remarks, unprovenRemark(complete)];

const addressesOf = (resources: ResourceWish[]): string[] =>
  resources.flatMap(({ source }) => (source.kind === 'url' ? [source.url] : []));
