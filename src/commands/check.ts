// `sluice check`: configuration, manifests and tables before they are used, and a portal before it is written to.
import { glob } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { ConfigError, orNull, TableFaultError, UsageError } from '../model/errors.ts';
import { encodings } from '../model/recipe/encodings.ts';
import { isTabular } from '../model/recipe/recipe.ts';
import { fixTable } from '../tables/check.ts';
import type { FixReport } from '../tables/fix/fix-worker.ts';
import { encodingNamed } from '../tables/scan/encodings.ts';
import { byName } from '../util/natural.ts';
import { countText, plural } from '../util/plural.ts';
import { checkFile, checkSource, faultsOf, newFinding } from './check-file.ts';
import { type CheckContext, type FileFinding, fileLines, htmlOfFiles, htmlOfFix } from './check-finding.ts';
import { type PortalFinding, portalLines, probePortal } from './check-portal.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { type CommonOptions, exitCodes, type Io, say, sayText } from './io.ts';
import { configOf, oneOffLog } from './session.ts';
import { lines } from './text.ts';

export interface CheckCommandOptions extends CommonOptions {
  fix?: boolean;
  output?: string;
  /** Encoding of the table, a name that TextDecoder knows. */
  encoding?: string;
  skipRows?: string;
  /** Of the table as it is, one of {@link separatorNames} or a character. */
  delimiter?: string;
  /** One of {@link separatorNames}; the table keeps its own when absent. */
  separator?: string;
  report?: string;
}

/** Checks files, what manifests publish, and a portal; without any, what the configuration names. Needs no Redis. */
export const checkCommand = async (paths: string[], options: CheckCommandOptions, io: Io): Promise<number> => {
  const found = await configOrFault(options, io);
  const [config, error] = found instanceof ConfigError ? [null, found] : [found, null];
  if (await writeFixed(paths, options, { io, config })) return exitCodes.ok;
  if (error && (options.portal !== undefined || paths.length === 0)) throw error;
  const form = options.json ? 'json' : options.report;
  const print = (text: string[]): void => {
    if (form === undefined || form === 'text') for (const line of text) say(io, line);
  };
  const files: FileFinding[] = [];
  let unlisted = 0;
  const show = (finding: FileFinding): void => {
    if (paths.length === 0) refuseTwin(finding, files);
    files.push(finding);
    const text = fileLines(finding, form === 'text');
    const isPlain = finding.ok && text.length <= plainLines;
    const isListed = form !== undefined || !isPlain || files.length <= mostPlain;
    if (isListed) print(text);
    else unlisted += 1;
    if (unlisted > 0 && files.length % mostPlain === 0) io.line?.show(`${plural(files.length, 'file')} checked`);
  };
  if (error && !isNamed(error, paths, io)) show(faultyConfig(error));
  const asked =
    paths.length > 0 || options.portal !== undefined ? paths : await servedFiles(config, (line) => print([line]));
  const named = new Set(asked.map((path) => resolve(io.cwd, path)));
  await checkAll(named, { io, config, reading: readingOf(options) }, show);
  io.line?.clear();
  if (unlisted > 0) print([`… and ${plural(unlisted, 'more sound file')}; \`--report text\` lists all`]);
  if (files.length > 1) print([summaryLine(files)]);
  if (options.fix) print(['nothing was written: some faults cannot be fixed automatically']);

  const asksPortal = config && options.portal !== undefined;
  const access = asksPortal && { log: oneOffLog(config, options, io), signal: io.stop };
  const portal = access ? await probePortal(config.portal ?? '', config, access) : null;
  if (portal) print(portalLines(portal));
  const code = exitCodeOf(files, portal);
  if (form === 'html') sayText(io, htmlOfFiles(files));
  const plain = files.map(({ sources, ...finding }) => ({ ...finding, sources: sources.map(({ path }) => path) }));
  const all: CheckedFiles = { ok: code === exitCodes.ok, files: plain, portal };
  if (form === 'json') sayText(io, JSON.stringify(all, null, 2));
  return code;
};

/** Beyond so many files, those with a summary and columns only are counted, not listed. */
const [mostPlain, plainLines] = [20, 2];

/** What `sluice check --json` prints: of the files that a manifest publishes only the paths. */
export interface CheckedFiles {
  ok: boolean;
  files: (Omit<FileFinding, 'sources'> & { sources: string[] })[];
  portal: PortalFinding | null;
}

/** A faulty configuration must not hide the faults of other files. */
const configOrFault = (options: CommonOptions, io: Io): Promise<Config | ConfigError> =>
  configOf(options, io).catch((error: unknown) => {
    if (error instanceof ConfigError) return error;
    throw error;
  });

const isNamed = (error: ConfigError, paths: string[], { cwd }: Io): boolean =>
  paths.some((path) => error.problems.some(({ file }) => resolve(cwd, path) === resolve(cwd, file)));

const faultyConfig = (error: ConfigError): FileFinding => {
  const file = error.problems[0]?.file ?? '';
  return { ...newFinding(file), kind: 'config', faults: faultsOf(error, file) };
};

/** The configuration file and the manifests it names; reports patterns that match none. */
const servedFiles = async (config: Config | null, report: (line: string) => void): Promise<string[]> => {
  if (!config?.file) {
    throw new UsageError('nothing to check: pass a file, or create config/sluice.yaml', {
      hint: 'sluice check data/*.csv jobs/*.yaml, or sluice check --portal NAME',
    });
  }
  const files = [config.file];
  for (const pattern of config.manifests) {
    const matches = await Array.fromAsync(glob(pattern));
    files.push(...matches.sort(byName));
    if (matches.length === 0) report(`manifests: no file matches ${pattern}`);
  }
  return files;
};

/** Of manifests with one name, the service takes only one. */
const refuseTwin = (finding: FileFinding, others: FileFinding[]): void => {
  const { file, manifest } = finding;
  const twin = others.find((other) => manifest !== undefined && other.manifest === manifest);
  if (!twin) return;
  finding.ok = false;
  const message = `\`${manifest}\` is the name of ${twin.file}, too: \`sluice start\` takes only one of them`;
  finding.faults.push({ code: 'manifest', file, key: 'name', message, hint: 'give each manifest a name of its own' });
};

/** Checks every file and shows the findings in order, each manifest followed by the files it publishes. */
const checkAll = async (named: Set<string>, context: CheckContext, show: (finding: FileFinding) => void) => {
  for await (const finding of inOrder([...named], (path) => checkFile(path, context))) {
    show(finding);
    // The same file may be published in several ways; each is checked once.
    const sources = finding.sources.filter(({ path, wish: { recipe } }) => {
      const name = recipe ? `${path} ${recipe.fingerprint}` : path;
      return !named.has(name) && named.add(name);
    });
    for await (const found of inOrder(sources, (source) => checkSource(source, context))) show(found);
  }
};

/** As many as the worker threads of the table check. */
const atOnce = 2;

async function* inOrder<T>(paths: T[], work: (path: T) => Promise<FileFinding>): AsyncGenerator<FileFinding> {
  for (let from = 0; from < paths.length; from += atOnce) {
    yield* await Promise.all(paths.slice(from, from + atOnce).map(work));
  }
}

const exitCodeOf = (files: FileFinding[], portal: PortalFinding | null): number => {
  const faults = files.flatMap((file) => file.faults);
  if (faults.some(({ code }) => ['usage', 'config', 'manifest'].includes(code))) return exitCodes.usage;
  return faults.length > 0 || portal?.ok === false ? exitCodes.someFailed : exitCodes.ok;
};

const summaryLine = (files: FileFinding[]): string => {
  const faulty = files.filter((file) => !file.ok);
  if (faulty.length === 0) return `${plural(files.length, 'file')}, all sound`;
  const total = `${plural(files.length, 'file')}, ${countText(faulty.length)} faulty`;
  if (files.length <= mostPlain) return total;
  const codes = faulty.flatMap(({ faults }) => [...new Set(faults.map(({ code }) => code))]);
  const byCode = [...Map.groupBy(codes, (code) => code)].sort(([, a], [, b]) => b.length - a.length);
  return `${total}: ${byCode.map(([code, of]) => `${countText(of.length)} with ${code}`).join(', ')}`;
};

const separatorNames: Record<string, string> = { comma: ',', semicolon: ';', tab: '\t', bar: '|' };

/** With `--fix`, fixes one table: true when the new file is written; false, and nothing is, when a fault cannot be fixed. */
const writeFixed = async (
  [path, ...others]: string[],
  options: CheckCommandOptions,
  { io, config }: { io: Io; config: Config | null },
): Promise<boolean> => {
  const { fix, output, separator } = options;
  if (!fix) return false;
  if (path === undefined || others.length > 0 || !isTabular(path) || output === undefined) {
    throw new UsageError('--fix takes one table and the name of the new file', {
      hint: 'sluice check spending.csv --fix -o spending-fixed.csv',
    });
  }
  const fixed = fixTable(resolve(io.cwd, path), resolve(io.cwd, output), {
    signal: io.stop,
    rowBytes: config?.limits.rowBytes,
    separator: separator === undefined ? undefined : separatorNames[separator],
    ...readingOf(options),
  });
  const report = await orNull(fixed, [TableFaultError]);
  if (report === null) return false;
  const form = options.json ? 'json' : options.report;
  if (form === 'json') sayText(io, JSON.stringify({ ok: true, file: path, output, ...report }, null, 2));
  else if (form === 'html') sayText(io, htmlOfFix(path, output, report));
  else for (const line of linesOf(path, output, report)) say(io, line);
  return true;
};

/** How tables are read, from the options. Throws a UsageError for an unknown encoding and a bad number. */
const readingOf = ({ encoding, skipRows, delimiter }: CheckCommandOptions): CheckContext['reading'] => {
  const refuse = (message: string, hint: string): never => {
    throw new UsageError(message, { hint });
  };
  if (skipRows !== undefined && !/^\d{1,6}$/.test(skipRows))
    refuse(`--skip-rows: ${JSON.stringify(skipRows)} is not a number of lines`, 'use a number such as 2');
  const separator = delimiter === undefined ? undefined : (separatorNames[delimiter] ?? delimiter);
  if (separator !== undefined && !/^[^A-Za-z0-9_"'\r\n]$/.test(separator)) {
    const known = Object.keys(separatorNames).join(', ');
    refuse(`--delimiter: ${JSON.stringify(delimiter)} separates no cells`, `use ${known}, or one character`);
  }
  const name = encoding === undefined ? undefined : encodings.find((known) => known === encodingNamed(encoding));
  if (encoding !== undefined && name === undefined) {
    const examples = 'for example windows-1250, windows-1251, iso-8859-2, cp852, macintosh or shift_jis';
    refuse(`unknown encoding ${JSON.stringify(encoding)}`, examples);
  }
  return {
    encoding: name === 'utf-8' ? undefined : name, // which is detected
    skipRows: skipRows === undefined ? undefined : Number(skipRows),
    delimiter: separator,
  };
};

const linesOf = (path: string, output: string, { mends, rows, unshown, bytes }: FixReport): string[] =>
  lines(
    `${path}: ${mends.length === 0 ? 'nothing to fix' : 'fixed'}, written to ${output}, ${plural(bytes, 'byte')}, sound`,
    mends.map(({ mend, count }) => `  ${mend}${count > 1 ? ` (${count.toLocaleString('en')} times)` : ''}`),
    rows.map(({ line, column, before, after }) => {
      const place = `  line ${line}${column === null ? '' : `, column ${column}`}:`;
      return [`${place} - ${before}`, after !== null && `${place} + ${after}`];
    }),
    unshown > 0 && `  … and ${plural(unshown, 'more row')}`,
  );

export const commands = {
  check: {
    arguments: { '[file...]': 'configuration, manifest, CSV or catalogue files' },
    options: {
      ...commonOptions,
      '--encoding <name>': 'encoding of the tables, if it cannot be detected, such as windows-1251',
      '--skip-rows <count>': 'number of lines above the header of the tables, if it cannot be detected; 0 for none',
      '--delimiter <name>': `delimiter of the tables, if it cannot be detected: ${Object.keys(separatorNames).join(', ')} or one character`,
      '--fix': 'write a fixed copy of one table',
      '-o, --output <file>': 'file for --fix; must not exist',
      '--separator <name>': {
        text: 'separator of the fixed copy (default: as in the table)',
        choices: Object.keys(separatorNames),
      },
      '--report <form>': { text: 'print all findings in this format', choices: ['text', 'json', 'html'] },
    },
    examples: [
      'sluice check jobs/city-finance.yaml data/spending.csv',
      'sluice check --portal city',
      'sluice check spending.csv --report html > spending.html',
      'sluice check spending.csv --fix -o spending-fixed.csv',
    ],
    run: checkCommand,
  },
} satisfies CommandDeclarations;
